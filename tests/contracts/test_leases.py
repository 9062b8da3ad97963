"""The contract of leases, for every implementation, where nobody else is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from gateway.conditions import Condition
from gateway.errors import StoreBusy
from gateway.inbox.postgres import PostgresInbox
from gateway.inbox.postgres_joining import Entry
from gateway.leases import Leases, ProcessLeases, one_at_a_time, shared_clock
from memory.ids import now_ms
from tests.contracts.leases import ABOUT, Worker, holding
from tests.contracts.queues import NOW_MS

REST_S = 0.01


@asynccontextmanager
async def in_process(_request: pytest.FixtureRequest) -> AsyncIterator[Leases]:
    yield ProcessLeases(ABOUT, number=7, rest_s=REST_S, clock_ms=lambda: NOW_MS)


@asynccontextmanager
async def on_postgres(request: pytest.FixtureRequest, of: str = "postgres_url") -> AsyncIterator[Leases]:
    url, entry = request.getfixturevalue(of), Entry(about=ABOUT, number=7)
    async with PostgresInbox(
        url, pool_size=2, timeout_s=5, lease_s=30, poll_s=REST_S, accept_max=100, entry=entry
    ) as queues:
        yield queues.leases


OPENED = {
    "process": in_process,
    "postgres": on_postgres,
    "postgres of tomorrow": partial(on_postgres, of="tomorrows_url"),
}


@pytest.fixture(params=OPENED)
async def leases(request: pytest.FixtureRequest) -> AsyncIterator[Leases]:
    """One line per implementation."""
    async with OPENED[request.param](request) as opened:
        yield opened


async def test_work_runs_while_its_lease_is_held(leases: Leases) -> None:
    """Who asks first gets it at once, and may believe that it is theirs."""
    worker = Worker()
    async with holding(leases, "channel:acme", worker):
        await worker.until(lambda: worker.works)
        assert worker.held[0].valid()
    assert not worker.works, "cancelled with who held it"


async def test_one_name_is_held_once(leases: Leases) -> None:
    """A second one waits, is told that another has it, and gets it when that ends, with a greater fence."""
    first, second = Worker(), Worker()
    async with holding(leases, "channel:售后-🤖", first) as task:
        await first.until(lambda: first.works)
        async with holding(leases, "channel:售后-🤖", second):
            await second.until(lambda: second.elsewhere == 1)
            assert not second.held
            task.cancel()
            await second.until(lambda: second.works)
            assert not first.works
            assert second.held[0].fence > first.held[0].fence


async def test_names_do_not_wait_for_each_other(leases: Leases) -> None:
    """Whatever letters they have: `a`, `A`, `a%`, and two spellings of one accent are four things."""
    workers = {name: Worker() for name in ("job:a", "job:A", "job:a%", "job:e\u0301", "job:\u00e9")}
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(leases.hold(name, worker.work)) for name, worker in workers.items()]
        for worker in workers.values():
            await worker.until(lambda worker=worker: worker.works)  # type: ignore[misc]
        for task in running:
            task.cancel()


async def test_slots_are_held_by_so_many(leases: Leases) -> None:
    """Of three who ask for one of two slots, two have one."""
    workers = [Worker(), Worker(), Worker()]
    async with (
        holding(leases, "channel:acme", workers[0], slots=2) as first,
        holding(leases, "channel:acme", workers[1], slots=2),
        holding(leases, "channel:acme", workers[2], slots=2),
    ):
        for worker in workers[:2]:
            await worker.until(lambda worker=worker: worker.works)  # type: ignore[misc]
        await workers[2].until(lambda: workers[2].elsewhere == 1)
        assert not workers[2].held
        first.cancel()
        await workers[2].until(lambda: workers[2].works)


async def test_work_that_returns_is_tried_again(leases: Leases) -> None:
    """After a rest in which another could have taken it."""
    worker = Worker()
    async with holding(leases, "channel:acme", worker):
        await worker.until(lambda: worker.works)
        worker.enough.set()
        await worker.until(lambda: len(worker.held) == 2)
        assert worker.held[1].fence > worker.held[0].fence


async def test_fault_of_the_work_is_its_holders(leases: Leases) -> None:
    """It comes out where it can be heard, and the lease is free again."""
    worker, next_ = Worker(), Worker()
    worker.fault = ValueError("broken")
    async with holding(leases, "job:retention", worker) as task:
        worker.enough.set()
        with pytest.raises(ValueError, match="broken"):
            await task
        async with holding(leases, "job:retention", next_):
            await next_.until(lambda: next_.works)


async def test_nothing_is_given_up_where_nobody_else_is(leases: Leases) -> None:
    """An instance that is alone does what there is to do until it has ended."""
    worker = Worker()
    async with holding(leases, "channel:acme", worker):
        await worker.until(lambda: worker.works)
        await leases.give_up({"channel"})
        assert worker.works
        assert worker.held[0].valid()


async def test_instances_tell_of_themselves(leases: Leases) -> None:
    """Which release, which settings, where, under which number, and what they hold."""
    worker = Worker()
    leases.tell("r1")
    async with holding(leases, "send:acme", worker):
        await worker.until(lambda: worker.works)
        async with asyncio.timeout(30):
            while (await leases.instances())[0].settings is None:
                await asyncio.sleep(0)
        (one,) = await leases.instances()

    assert (7, "0.1.0", "r1", ("send:acme",), True) == (one.number, one.release, one.settings, one.leases, one.here)
    assert one.host is not None
    assert one.host.startswith("maschine-一")
    assert one.left_s > 0
    assert 1 == leases.live


async def test_instances_tell_how_they_are(leases: Leases) -> None:
    """What is wrong at one is read at any, in whatever script, a platform's own words included."""
    leases.describe(lambda: Condition(stopping=True, problems={"channel 售后": "拒绝\x00🤖 \ud800"}))
    async with asyncio.timeout(30):
        while (condition := (await leases.instances())[0].condition) is None or not condition.problems:
            await asyncio.sleep(0)

    assert condition.stopping
    assert ["channel 售后"] == list(condition.problems)
    assert condition.problems["channel 售后"].startswith("拒绝")


async def test_nobody_has_gone_since_a_moment_that_is_still_to_come(leases: Leases) -> None:
    """Where one process has the database, nobody ever has."""
    assert [] == list(await leases.departed(since_ms=now_ms() + 3_600_000))


def test_shared_clock_is_the_database_s() -> None:
    """What one instance writes of its time, another reads by its own."""

    class Ahead(ProcessLeases):
        @property
        def skew_s(self) -> float:
            return 2.5

    ahead = Ahead(ABOUT, number=7, rest_s=REST_S, clock_ms=lambda: NOW_MS)

    assert NOW_MS - 2_500 == shared_clock(ahead, lambda: NOW_MS)()


async def test_one_at_a_time(leases: Leases) -> None:
    """What may be done by one at a time waits for its turn, and hands its result back; what it raises, too."""
    log: list[str] = []

    async def act(name: str) -> str:
        log.append(f"{name} begins")
        await asyncio.sleep(0)
        log.append(f"{name} ends")
        if name == "坏":
            raise ValueError(name)
        return name

    acts = (one_at_a_time(leases, "erasure:one", partial(act, name), wait_s=20) for name in ("a", "b", "坏", "c"))
    results = await asyncio.gather(*acts, return_exceptions=True)

    assert ["a", "b", "ValueError", "c"] == [one if isinstance(one, str) else type(one).__name__ for one in results]
    assert [line.replace("begins", "ends") for line in log[::2]] == log[1::2]


async def test_who_waits_too_long_for_their_turn_is_told(leases: Leases) -> None:
    """So that an admin's request ends, and can be made again."""
    worker = Worker()

    async def never() -> None:
        raise AssertionError("somebody else is at it")

    async with holding(leases, "erasure:one", worker):
        await worker.until(lambda: worker.works)
        with pytest.raises(StoreBusy):
            await one_at_a_time(leases, "erasure:one", never, wait_s=0.05)
