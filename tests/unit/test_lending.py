"""A pool's connections are lent for a time and always come back, whoever is cut off, and whenever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from memory.lending import GRACE_S, lent, within

Pool = AsyncConnectionPool[AsyncConnection]


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[Pool]:
    """One connection."""
    async with AsyncConnectionPool(
        postgres_url, kwargs={"autocommit": True}, min_size=1, max_size=1, open=False, timeout=5
    ) as opened:
        await opened.wait()
        yield opened


@pytest.mark.parametrize("steps", range(6))
async def test_whoever_is_cancelled_while_it_is_handed_one_is_cancelled(pool: Pool, steps: int) -> None:
    """At whatever moment of the handing over: the cancellation arrives, and the connection is there for the next
    (psycopg/psycopg#1345)."""
    reached = False

    async def borrow() -> None:
        nonlocal reached
        async with lent(pool, limit_s=5):
            reached = True
            await asyncio.Event().wait()

    async with lent(pool, limit_s=5):
        waiting = asyncio.create_task(borrow())
        while not pool.get_stats().get("requests_waiting"):
            await asyncio.sleep(0)
    for _ in range(steps):
        await asyncio.sleep(0)
    waiting.cancel()
    ended, _ = await asyncio.wait([waiting], timeout=2)

    assert {waiting} == ended, f"it runs on ({reached=})"
    assert waiting.cancelled()
    async with lent(pool, limit_s=5) as connection:
        await connection.execute("SELECT 1")


async def test_what_takes_too_long_is_cut_off_and_its_connection_is_lent_again(pool: Pool) -> None:
    """A statement is cancelled on the server, and the same connection serves the next one."""
    async with lent(pool, limit_s=5) as connection:
        first = connection.info.backend_pid
    with pytest.raises(TimeoutError):
        async with lent(pool, limit_s=0.1) as connection:
            await connection.execute("SELECT pg_sleep(60)")

    async with lent(pool, limit_s=5) as connection:
        assert first == connection.info.backend_pid


async def test_what_takes_its_time_to_stop_is_told_twice() -> None:
    """The second time comes after the grace, and ends in the same TimeoutError."""
    told: list[float] = []
    clock = asyncio.get_running_loop().time

    async def patient() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            told.append(clock())
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        async with within(0.01):
            await patient()

    assert 1 == len(told)
    assert clock() - told[0] >= GRACE_S / 2


async def test_a_cancellation_from_outside_stays_one() -> None:
    """Who is told to stop and takes too long for it is cancelled in the end, and not late."""
    begun = asyncio.Event()

    async def patient() -> None:
        async with within(0.01):
            try:
                begun.set()
                await asyncio.Event().wait()
            finally:
                await asyncio.Event().wait()

    task = asyncio.create_task(patient())
    await begun.wait()
    task.cancel()
    await asyncio.wait([task], timeout=30)

    assert task.cancelled()
