"""Lanes: what is not a turn's own fault does not spend its tries; what is, does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import LeaseLost, QueueRefused, StoreBusy
from gateway.inbox.base import Claim, Excuse, Outcome
from gateway.inbox.sqlite import SqliteInbox
from gateway.lanes import EXCUSED_MOST, Lanes, Running
from memory.errors import Fenced, StoreRefused, StoreUnavailable
from tests.unit.test_lanes import Turns, gathering, put, settled, stored

AWAY = StoreBusy("away", retry_after_s=1)


class Flaky(SqliteInbox):
    """Refuses so many excuses, and so many renewals."""

    refused = 0
    unrenewed = 0
    excuses = 0

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.written = asyncio.Event()

    async def excuse(self, excuses: Sequence[Excuse]) -> None:
        if self.refused:
            self.refused -= 1
            raise AWAY
        self.excuses += len(excuses)
        await super().excuse(excuses)
        self.written.set()

    async def renew(self, claims: Sequence[Claim]) -> list[Claim]:
        if self.unrenewed and claims:
            self.unrenewed -= 1
            for claim in claims:
                await self.release(claim, hand_over=True)
            return []
        return await super().renew(claims)


@pytest.fixture
async def inbox(tmp_path: Path) -> AsyncIterator[Flaky]:
    async with Flaky(
        tmp_path / "q.db", write_turn=asyncio.Lock(), timeout_s=10, lease_s=0.3, poll_s=0.02, accept_max=100
    ) as opened:
        yield opened


@asynccontextmanager
async def lanes_of(
    inbox: SqliteInbox, turns: Turns, *, lease_s: float = 30, clock_s: Callable[[], float] | None = None
) -> AsyncIterator[Lanes]:
    clock = {} if clock_s is None else {"clock_s": clock_s}
    lanes = Lanes(inbox, turns, gathering("interrupt"), most=4, lease_s=lease_s, retry_s=0.0001, **clock)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        tasks.create_task(lanes.run())
        yield lanes
        lanes.drain()


async def counted(inbox: SqliteInbox, id_: int) -> tuple[int, int]:
    event = await stored(inbox, id_)
    return event.attempts, event.excused


class Broken:
    """Raises these one after the other, then lets turns pass; keeps what it saw."""

    def __init__(self, *faults: Exception) -> None:
        self._faults = list(faults)
        self.seen: list[tuple[int, int]] = []  # starts before it, and those of them that count
        self.fences: list[int] = []

    async def __call__(self, turn: Running) -> None:
        self.seen.append((turn.attempts, turn.tries))
        self.fences.append(turn.claim.fence)
        if self._faults:
            raise self._faults.pop(0)


async def test_what_the_store_breaks_off_is_no_try(inbox: Flaky) -> None:
    """An overloaded database, or one that starts again, kills no message: its starts are excused; the agent's and our own faults
    count, before and behind."""
    faults = (AWAY, RuntimeError("ours"), StoreUnavailable("cut"), AWAY, StoreUnavailable("slow"))
    broken = Broken(*faults)
    id_ = await put(inbox, "l")
    async with lanes_of(inbox, Turns(inbox, broken)):
        await settled(inbox, [id_])

    assert [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (5, 1)] == broken.seen
    assert (6, 4) == await counted(inbox, id_)


async def test_what_the_store_refuses_is_a_try(inbox: Flaky) -> None:
    """It is there, and something of this message stands against it."""
    broken = Broken(StoreRefused("no such table"), QueueRefused("no such table", retry_after_s=1))
    id_ = await put(inbox, "l")
    async with lanes_of(inbox, Turns(inbox, broken)):
        await settled(inbox, [id_])

    assert [(0, 0), (1, 1), (2, 2)] == broken.seen
    assert (3, 0) == await counted(inbox, id_)


async def test_a_turn_that_broke_off_begins_again_under_a_new_fence(inbox: Flaky) -> None:
    """What it had sent to a store, and was given up, may arrive there later: it must find that somebody newer has the lane. The
    order in the lane stays."""
    broken = Broken(AWAY, RuntimeError("ours"))
    ids = [await put(inbox, "l") for _ in range(2)]
    turns = Turns(inbox, broken)
    async with lanes_of(inbox, turns):
        await settled(inbox, ids)

    first, second, third = broken.fences
    assert first < second < third
    assert ids == [id_ for _, together in turns.ran for id_ in together]


async def test_what_a_store_can_never_take_comes_to_its_end(inbox: Flaky) -> None:
    """Something in this message makes the database fail each time: its excuses are used up in the end, and each later start
    counts (a poison, hermes-agent#22899)."""
    broken = Broken(*[AWAY] * (EXCUSED_MOST + 3))
    id_ = await put(inbox, "l")
    async with lanes_of(inbox, Turns(inbox, broken)):
        await settled(inbox, [id_])

    assert [0] * (EXCUSED_MOST + 1) + [1, 2, 3] == [tries for _, tries in broken.seen]
    assert (EXCUSED_MOST + 4, EXCUSED_MOST) == await counted(inbox, id_)


async def test_an_excuse_that_could_not_be_written_is_written_later(inbox: Flaky) -> None:
    """The database that broke the turn off is away for that, too; the turn begins again meanwhile."""
    inbox.refused = 5

    async def respond(turn: Running) -> None:
        if not turn.attempts:
            raise StoreUnavailable("away")
        await inbox.written.wait()

    id_ = await put(inbox, "l")
    async with lanes_of(inbox, Turns(inbox, respond)):
        await settled(inbox, [id_])

    assert 0 == inbox.refused
    assert (2, 1) == await counted(inbox, id_)


async def test_excuses_that_are_not_written_yet_add_up(inbox: Flaky) -> None:
    """A database that lets turns begin and hangs behind every excuse makes none of their starts a try."""
    inbox.refused = 1_000_000
    broken = Broken(*[AWAY] * 4)
    id_ = await put(inbox, "l")
    async with lanes_of(inbox, Turns(inbox, broken)):
        await settled(inbox, [id_])

    assert [(starts, 0) for starts in range(5)] == broken.seen


async def test_an_interruption_is_excused_for_good(inbox: Flaky) -> None:
    """It stands on the row, so that a process that ends now makes no failure of it (openclaw#121831)."""
    seen: list[tuple[int, int]] = []
    ids = [await put(inbox, "l")]

    async def interrupted_once(turn: Running) -> None:
        seen.append((turn.attempts, turn.tries))
        if len(seen) == 1:
            turn.halt("interrupted")

    async with lanes_of(inbox, Turns(inbox, interrupted_once)):
        await settled(inbox, ids)

    assert [(0, 0), (1, 0)] == seen
    assert (2, 1) == await counted(inbox, ids[0])


@pytest.mark.parametrize("fault", [LeaseLost("taken"), Fenced("taken")])
async def test_a_lane_that_was_taken_is_no_fault_of_its_turn(fault: Exception, inbox: Flaky) -> None:
    """Renewals found no connection, so another has the lane by now: nobody was waited for, and the message did nothing."""
    broken = Broken(fault)
    id_ = await put(inbox, "l")
    async with lanes_of(inbox, Turns(inbox, broken)):
        await settled(inbox, [id_])

    assert [(0, 0), (1, 0)] == broken.seen


async def test_a_lane_that_the_renewal_misses_is_no_fault_of_its_turn(inbox: Flaky) -> None:
    """So it is with one that ends in mid-turn."""
    id_ = await put(inbox, "l")
    tries: list[int] = []

    async def once(turn: Running) -> None:
        tries.append(turn.tries)
        if len(tries) == 1:
            inbox.unrenewed = 1
            await asyncio.Event().wait()

    async with lanes_of(inbox, Turns(inbox, once), lease_s=0.06):
        await settled(inbox, [id_])

    assert [0, 0] == tries


async def test_a_lane_that_is_claimed_again_here_ends_the_turn_that_ran_in_it(inbox: Flaky) -> None:
    """Its lease ran out unnoticed, and this instance is the next owner: one scope's turns run one at a time all the same."""
    begun: list[Claim] = []
    ended = asyncio.Event()

    async def for_ever(turn: Running) -> None:
        begun.append(turn.claim)
        if len(begun) == 1:
            await inbox.release(turn.claim, hand_over=True)
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

    id_ = await put(inbox, "l")
    async with lanes_of(inbox, turns := Turns(inbox, for_ever)):
        while not turns.ran:
            await asyncio.sleep(0.001)
        assert ended.is_set()
        await settled(inbox, [id_])

    assert begun[0].fence < begun[-1].fence


@pytest.mark.parametrize(("stood_still_s", "tries"), [(0, 0), (20, 1)])
async def test_a_process_that_stood_still_counts(stood_still_s: float, tries: int, inbox: Flaky) -> None:
    """What kept it from renewing its leases may be the message itself, as with one that kills it: after that, the start is a
    try."""
    now = 0.0
    seen: list[int] = []

    async def stand_still(turn: Running) -> None:
        nonlocal now
        seen.append(turn.tries)
        if len(seen) == 1:
            now += stood_still_s
            await inbox.release(turn.claim, hand_over=True)
            raise LeaseLost("taken")

    id_ = await put(inbox, "l")
    async with lanes_of(inbox, Turns(inbox, stand_still), lease_s=15, clock_s=lambda: now):
        await settled(inbox, [id_])

    assert [0, tries] == seen


async def test_a_message_that_kills_its_process_is_not_excused(inbox: Flaky) -> None:
    """Nobody is left to excuse it: the start counts for whoever takes the lane over."""
    id_ = await put(inbox, "l")
    (claim,) = await inbox.claim(1)
    await inbox.start([id_], turn_id=id_, lane="l", fence=claim.fence)
    await inbox.release(claim, hand_over=True)
    broken = Broken()
    async with lanes_of(inbox, Turns(inbox, broken)):
        await settled(inbox, [id_])

    assert [(1, 1)] == broken.seen


async def test_rests_grow_and_end_with_the_gateway(inbox: Flaky) -> None:
    """A database that can't keep up is not asked by all lanes at once all the time; a gateway that stops waits for none."""
    broken = Broken(AWAY)
    id_ = await put(inbox, "l")
    lanes = Lanes(inbox, Turns(inbox, broken), gathering(), most=4, lease_s=30, retry_s=1_000)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        tasks.create_task(lanes.run())
        seen = 0
        while not broken.seen:
            seen = await inbox.changed(seen)
        lanes.drain()

    assert [(0, 0)] == broken.seen
    assert (1, 1) == await counted(inbox, id_)
    (claim,) = await inbox.claim(1)
    await inbox.finish([id_], Outcome(state="answered"), lane="l", fence=claim.fence)
