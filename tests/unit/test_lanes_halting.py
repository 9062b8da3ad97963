"""Lanes: turns that are cut short, on whatever instance they run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.errors import StoreBusy
from gateway.inbox.base import Claim, Event, Halt, HaltReason
from gateway.inbox.sqlite import SqliteInbox
from gateway.lanes import Lanes, Running
from tests.unit.test_lanes import Turns, event, gathering, numbers, put, settled, stored

CLAIM = Claim(lane="l", fence=1)


@pytest.fixture
async def inbox(tmp_path: Path) -> AsyncIterator[SqliteInbox]:
    async with SqliteInbox(
        tmp_path / "q.db", write_turn=asyncio.Lock(), timeout_s=10, lease_s=30, poll_s=0.05, accept_max=100
    ) as opened:
        yield opened


@asynccontextmanager
async def begun(
    inbox: SqliteInbox, ran: list[Running], *, lanes: int = 1, most: int = 10
) -> AsyncIterator[list[Lanes]]:
    """Run so many instances' lanes on one queue, of turns that wait until they are halted; kept in `ran`."""

    async def until_halted(turn: Running) -> None:
        ran.append(turn)
        await inbox.halt([], "stopped")  # rings: somebody may wait for this one to have begun
        if len(turn.events) < 3:
            await turn.halted.wait()

    turns = Turns(inbox, until_halted)
    instances = [
        Lanes(inbox, turns, gathering("interrupt", most=most), most=1, lease_s=30, retry_s=0.01) for _ in range(lanes)
    ]
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        for one in instances:
            tasks.create_task(one.run())
        yield instances
        for one in instances:
            one.drain()


async def seen(inbox: SqliteInbox, ran: list[Running], n: int = 1) -> Running:
    """Wait until so many turns have begun; return the last."""
    changes = 0
    while len(ran) < n:
        changes = await inbox.changed(changes)
    return ran[n - 1]


@pytest.mark.parametrize("reason", ["stopped", "withdrawn"])
async def test_a_turn_is_halted_from_another_instance(reason: HaltReason, inbox: SqliteInbox) -> None:
    """Whoever hears of it tells the queue, and who runs the turn hears it there; nobody runs what is not there."""
    ran: list[Running] = []
    async with begun(inbox, ran) as _:
        id_ = await put(inbox, "l")
        turn = await seen(inbox, ran)
        elsewhere = Lanes(inbox, Turns(inbox), gathering(), most=1, lease_s=30, retry_s=0.01)
        assert not await elsewhere.halt([404], reason)
        assert not await elsewhere.halt([], reason)
        assert await elsewhere.halt([id_], reason)
        await settled(inbox, [id_])

    assert reason == turn.reason


async def test_a_turn_is_halted_at_once_where_it_runs(inbox: SqliteInbox) -> None:
    """It hears before the queue does; the row says so, too, for whoever takes it over."""
    ran: list[Running] = []
    async with begun(inbox, ran) as (lanes,):
        id_ = await put(inbox, "l")
        turn = await seen(inbox, ran)
        assert await lanes.halt([id_], "stopped")
        reasons = [halt.reason for halt in await inbox.halts([id_])]
        await settled(inbox, [id_])

    assert ("stopped", ["stopped"]) == (turn.reason, reasons)


async def test_a_queue_that_is_away_now_and_then(tmp_path: Path) -> None:
    """Every look that fails is made again; a message that could interrupt nothing is answered by itself."""

    class Flaky(SqliteInbox):
        calls = 0

        def _now_and_then(self) -> None:
            self.calls += 1
            if self.calls % 2:
                raise StoreBusy("away", retry_after_s=1)

        async def claim(self, n: int) -> list[Claim]:
            self._now_and_then()
            return await super().claim(n)

        async def halts(self, ids: Sequence[int]) -> list[Halt]:
            self._now_and_then()
            return await super().halts(ids)

        async def waiting(self, lane: str, *, limit: int = 100) -> list[Event]:
            self._now_and_then()
            return await super().waiting(lane, limit=limit)

    async with Flaky(
        tmp_path / "q.db", write_turn=asyncio.Lock(), timeout_s=10, lease_s=0.2, poll_s=0.02, accept_max=9
    ) as inbox:
        turns = Turns(inbox)
        elsewhere = Lanes(inbox, turns, gathering("interrupt"), most=1, lease_s=30, retry_s=0.01)
        first = await put(inbox, "l")
        await elsewhere.arrived(await stored(inbox, first))
        lanes = Lanes(inbox, turns, gathering("interrupt"), most=2, lease_s=0.2, retry_s=0.01)
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            tasks.create_task(lanes.run())
            ids = [first, *[await put(inbox, f"l{n}") for n in range(4)]]
            await settled(inbox, ids)
            lanes.drain()

    assert sorted(ids) == sorted(id_ for _, answered in turns.ran for id_ in answered)


async def test_a_turn_of_several_begins_again_without_the_one_that_is_gone(inbox: SqliteInbox) -> None:
    """What is left of it is answered, whoever hears of the deletion."""
    turn = Running(claim=CLAIM, turn_id=1, speaker="a", events=(event(1), event(2)), attempts=0)
    turn.halt("withdrawn")

    assert "interrupted" == turn.reason


async def test_a_message_interrupts_a_turn_that_runs_elsewhere(inbox: SqliteInbox) -> None:
    """It came to another instance than the one that answers; both are answered together all the same (openclaw#76777)."""
    ran: list[Running] = []
    async with begun(inbox, ran):
        ids = [await put(inbox, "l")]
        await seen(inbox, ran)
        elsewhere = Lanes(inbox, Turns(inbox), gathering("interrupt"), most=1, lease_s=30, retry_s=0.01)
        for n in (2, 3):
            ids.append(await put(inbox, "l"))
            await elsewhere.arrived(await stored(inbox, ids[-1]))
            await seen(inbox, ran, n)
        await settled(inbox, ids)

    assert [ids[:1], ids[:2], ids] == [numbers(turn.events) for turn in ran]
    assert [0, 0, 0] == [turn.tries for turn in ran]


@pytest.mark.parametrize(("speaker", "body"), [("b", b"hi"), ("a", b"/help"), ("a", b"@other hi")])
async def test_another_s_message_interrupts_nothing_elsewhere(speaker: str, body: bytes, inbox: SqliteInbox) -> None:
    """The rule is the one of a turn that runs here (openclaw#106483)."""
    ran: list[Running] = []
    async with begun(inbox, ran):
        first = await put(inbox, "l")
        turn = await seen(inbox, ran)
        elsewhere = Lanes(inbox, Turns(inbox), gathering("interrupt"), most=1, lease_s=30, retry_s=0.01)
        await elsewhere.arrived(await stored(inbox, await put(inbox, "l", speaker=speaker, body=body)))

        assert [] == await inbox.halts([first])
        turn.halt("stopped")
        await settled(inbox, [first])
        (await seen(inbox, ran, 2)).halt("stopped")


async def test_a_stop_is_heard_by_whoever_takes_the_turn_over(inbox: SqliteInbox) -> None:
    """Who should have heard it was killed first: the turn ends as stopped, whoever begins it again."""
    id_ = await put(inbox, "l")
    (claim,) = await inbox.claim(1)
    await inbox.start([id_], turn_id=id_, lane="l", fence=claim.fence)
    await inbox.halt([id_], "stopped")
    await inbox.release(claim, hand_over=True)
    ran: list[Running] = []
    async with begun(inbox, ran):
        await settled(inbox, [id_])

    assert [("stopped", True)] == [(turn.reason, turn.halted.is_set()) for turn in ran]


async def test_stop_outweighs_interruption(inbox: SqliteInbox) -> None:
    """Whoever says stop means it, whatever else was said before or after."""
    turn = Running(claim=CLAIM, turn_id=1, speaker="a", events=(event(1),), attempts=0)
    turn.halt("interrupted")
    turn.halt("taken_over")
    turn.halt("withdrawn")
    turn.halt("stopped")
    turn.halt("interrupted")

    assert "stopped" == turn.reason
