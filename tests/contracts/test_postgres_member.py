"""An instance among others on one PostgreSQL: how long it may believe that its lease is its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg
from psycopg_pool import AsyncConnectionPool

from gateway.inbox.changes import Changes
from gateway.inbox.postgres_member import Member, how_to_connect
from gateway.waits import boottime_s

LEASE_S = 30.0


@dataclass
class Clock:
    """A machine's clock that moves when told."""

    now_s: float = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@asynccontextmanager
async def joined(url: str, clock_s: Callable[[], float], *, poll_s: float = 0.05) -> AsyncIterator[Member]:
    """An instance that looks at the others every `poll_s`."""
    changes = Changes(poll_s=poll_s)
    pool: AsyncConnectionPool[psycopg.AsyncConnection[tuple[object, ...]]] = AsyncConnectionPool(
        url, kwargs=how_to_connect(5), min_size=1, open=False
    )
    async with (
        pool,
        Member(url, pool=pool, changes=changes, lease_s=LEASE_S, poll_s=poll_s, timeout_s=5, clock_s=clock_s) as member,
    ):
        yield member


async def test_lease_counts_from_before_it_was_asked_for(postgres_url: str) -> None:
    """It holds for its time and not a moment longer (engines.md A.8, 3), by a clock that runs on while the machine sleeps."""
    clock = Clock()
    async with joined(postgres_url, clock, poll_s=60) as member:
        assert member.valid()
        clock.now_s += LEASE_S - 0.001
        assert member.valid()
        clock.now_s += 0.001
        assert not member.valid()


async def test_renewal_makes_a_lease_valid_again(postgres_url: str) -> None:
    """An instance that was late, and that nobody has given up, goes on."""
    clock = Clock()
    async with joined(postgres_url, clock) as member:
        clock.now_s += LEASE_S
        assert not member.valid()
        seen = 0
        while not member.valid():
            seen = await member.looked.wait(seen)


async def test_one_buried_alive_is_valid_again_under_its_new_number(postgres_url: str) -> None:
    """What it held under the old one is gone: whoever asks looks at the number, too."""
    async with joined(postgres_url, boottime_s) as member:
        old, seen = member.id, await member.looked.wait(0)
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute("DELETE FROM inbox_instances")
        while member.id == old:
            seen = await member.looked.wait(seen)
        assert member.valid()
