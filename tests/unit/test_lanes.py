"""Lanes: order within a scope, scopes side by side, and what is joined into one turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import LeaseLost, StoreBusy
from gateway.inbox.base import Chunk, Claim, Event, NewEvent, Outcome
from gateway.inbox.sqlite import SqliteInbox
from gateway.lanes import BusyMode, Gathering, Lanes, Running, next_turn
from memory.ids import Ids

IDS = Ids(1)


def event(number: int, *, speaker: str = "a", turn: int | None = None, attempts: int = 0, body: bytes = b"") -> Event:
    return Event(
        id=number, turn_id=turn or number, lane="l", channel="c", kind="message", speaker=speaker, body=body, token="t",
        fingerprint=None, state="running" if attempts else "accepted", outcome=None, attempts=attempts, accepted_ms=0,
    )  # fmt: skip


def gathering(busy: BusyMode = "collect", most: int = 10) -> Callable[[Event], Gathering]:
    """By the body: `/…` is a command, `@thread …` asks for an answer there."""

    def of(event: Event) -> Gathering:
        body = event.body.decode()
        target = (body.split()[0],) if body.startswith("@") else ()
        return Gathering(busy=busy, most=most, alone=body.startswith("/"), target=target)

    return of


def numbers(events: tuple[Event, ...]) -> list[int]:
    return [event.id for event in events]


class TestNextTurn:
    """Pure: which events at the head of a lane are answered together."""

    def test_one_speaker_is_collected(self) -> None:
        """What waits from one speaker is answered together."""
        assert [1, 2, 3] == numbers(next_turn([event(1), event(2), event(3)], gathering()))

    def test_speakers_are_never_joined(self) -> None:
        """Each speaker keeps a turn of his own, in order (LangBot pkg/pipeline/aggregator.py: a key without the sender)."""
        waiting = [event(1), event(2), event(3, speaker="b"), event(4)]

        assert [1, 2] == numbers(next_turn(waiting, gathering()))
        assert [3] == numbers(next_turn(waiting[2:], gathering()))

    def test_queue_joins_nothing(self) -> None:
        """busy: queue answers each message alone."""
        assert [1] == numbers(next_turn([event(1), event(2)], gathering("queue")))

    def test_collecting_is_bounded(self) -> None:
        """At most collect_max together."""
        assert [1, 2, 3] == numbers(next_turn([event(n) for n in range(1, 9)], gathering(most=3)))

    @pytest.mark.parametrize("command_at", [1, 2, 3])
    def test_a_command_stands_alone(self, command_at: int) -> None:
        """/new between two messages parts them."""
        waiting = [event(n, body=b"/new" if n == command_at else b"hi") for n in (1, 2, 3)]

        expected = {1: [1], 2: [1], 3: [1, 2]}[command_at]
        assert expected == numbers(next_turn(waiting, gathering()))

    def test_two_places_are_never_joined(self) -> None:
        """Threads may share a lane (scope: room); a question in one is not answered in the other."""
        waiting = [event(1, body=b"@t1 one"), event(2, body=b"@t2 two"), event(3, body=b"@t1 three")]

        assert [1] == numbers(next_turn(waiting, gathering()))
        assert [1] == numbers(next_turn(waiting, gathering(), interrupted=True))

    @pytest.mark.parametrize("busy", ["collect", "interrupt", "queue"])
    def test_a_broken_turn_comes_back_as_it_was(self, busy: BusyMode) -> None:
        """After a crash the same events make the same turn. What was said since is a turn of its own: the broken one's reply
        may be stored already, and would be passed off as the answer to it."""
        waiting = [event(1, attempts=1), event(2, turn=1, attempts=1), event(3), event(4, speaker="b")]

        assert [1, 2] == numbers(next_turn(waiting, gathering(busy)))

    def test_an_interrupted_turn_is_joined_by_what_was_said_since(self) -> None:
        """Nothing of it was answered: old and new are answered together, unless the room has come to queue."""
        waiting = [event(1, attempts=1), event(2, turn=1, attempts=1), event(3), event(4, speaker="b")]

        assert [1, 2, 3] == numbers(next_turn(waiting, gathering("interrupt"), interrupted=True))
        assert [1, 2] == numbers(next_turn(waiting, gathering("queue"), interrupted=True))

    @given(st.lists(st.sampled_from("ab"), min_size=1, max_size=20), st.sampled_from(["collect", "queue"]))
    def test_turns_keep_the_order(self, speakers: list[str], busy: BusyMode) -> None:
        """However it is cut, every event is answered once, in order, and no turn has two speakers."""
        waiting = [event(number, speaker=speaker) for number, speaker in enumerate(speakers, 1)]
        order = []
        while waiting:
            turn = next_turn(waiting, gathering(busy, most=4))
            assert len({item.speaker for item in turn}) == 1
            order += numbers(turn)
            waiting = waiting[len(turn) :]

        assert list(range(1, len(speakers) + 1)) == order


@pytest.fixture
async def inbox(tmp_path: Path) -> AsyncIterator[SqliteInbox]:
    async with SqliteInbox(
        tmp_path / "q.db", write_turn=asyncio.Lock(), timeout_s=10, lease_s=30, poll_s=0.05, accept_max=100_000
    ) as opened:
        yield opened


async def put(inbox: SqliteInbox, lane: str, *, speaker: str = "a", body: bytes = b"hi") -> int:
    new = NewEvent(
        id=IDS.next(), channel="c", kind="message", speaker=speaker, body=body, token="t", fingerprint=None, now_ms=1
    )
    return (await inbox.accept(new, lane=lane, dedupe_ids=[str(new.id)])).event.id


class Turns:
    """A responder that finishes what it gets, after `before` was awaited; keeps who ran and how many at once."""

    def __init__(self, inbox: SqliteInbox, before: Callable[[Running], Awaitable[None]] | None = None) -> None:
        self._inbox = inbox
        self._before = before
        self.ran: list[tuple[str, list[int]]] = []
        self.at_once: dict[str, int] = {}
        self.most_at_once = 0

    async def __call__(self, turn: Running) -> None:
        ids, lane, fence = numbers(turn.events), turn.claim.lane, turn.claim.fence
        self.at_once[lane] = self.at_once.get(lane, 0) + 1
        assert 1 == self.at_once[lane], "two turns of one lane at once"
        self.most_at_once = max(self.most_at_once, sum(self.at_once.values()))
        try:
            await self._inbox.start(ids, turn_id=turn.turn_id, lane=lane, fence=fence)
            if self._before is not None:
                await self._before(turn)
            self.ran.append((lane, ids))
            if turn.reason != "interrupted":
                await self._inbox.finish(ids, Outcome(state="answered"), lane=lane, fence=fence)
        finally:
            self.at_once[lane] -= 1


@asynccontextmanager
async def running(
    inbox: SqliteInbox, turns: Turns, *, most: int = 100, busy: BusyMode = "queue"
) -> AsyncIterator[Lanes]:
    lanes = Lanes(inbox, turns, gathering(busy), most=most, lease_s=30, retry_s=0.01)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        tasks.create_task(lanes.run())
        yield lanes
        lanes.drain()


async def settled(inbox: SqliteInbox, ids: list[int]) -> None:
    """Wait until all events are terminal."""
    seen = 0
    while "answered" not in await states(inbox, ids) or len(set(await states(inbox, ids))) > 1:
        seen = await inbox.changed(seen)


async def stored(inbox: SqliteInbox, id_: int) -> Event:
    found = await inbox.event(id_)
    assert found is not None
    return found


async def states(inbox: SqliteInbox, ids: list[int]) -> list[str]:
    found = [await inbox.event(id_) for id_ in ids]
    return [event.state for event in found if event is not None]


async def test_order_within_a_lane_and_lanes_side_by_side(inbox: SqliteInbox) -> None:
    """Twenty lanes run at once, one turn each at a time, each in the order of acceptance (langchain4j#1966)."""
    ids: dict[str, list[int]] = {}
    for _ in range(5):
        for lane in (f"lane{n}" for n in range(20)):
            ids.setdefault(lane, []).append(await put(inbox, lane))
    all_there = asyncio.Event()

    async def meet(turn: Running) -> None:
        if sum(turns.at_once.values()) == 20:
            all_there.set()
        await all_there.wait()

    turns = Turns(inbox, meet)
    async with running(inbox, turns):
        await settled(inbox, [id_ for lane in ids.values() for id_ in lane])

    assert 20 == turns.most_at_once
    for lane, expected in ids.items():
        assert expected == [id_ for ran, batch in turns.ran for id_ in batch if ran == lane]


async def test_the_number_of_lanes_is_bounded(inbox: SqliteInbox) -> None:
    """Back-pressure: more lanes than `most` wait their turn, and none is forgotten."""
    ids = [await put(inbox, f"lane{n}") for n in range(30)]
    turns = Turns(inbox)
    async with running(inbox, turns, most=3):
        await settled(inbox, ids)

    assert turns.most_at_once <= 3
    assert set(ids) == {id_ for _, batch in turns.ran for id_ in batch}


async def test_a_turn_that_breaks_is_tried_again_in_its_place(inbox: SqliteInbox) -> None:
    """A failing turn blocks its own lane only, keeps its order, and counts its attempts."""
    attempts: list[int] = []

    async def fail_twice(turn: Running) -> None:
        if turn.claim.lane == "bad" and len(attempts) < 3:
            attempts.append(turn.tries)
            if len(attempts) < 3:
                raise RuntimeError("broken")

    first, second, other = await put(inbox, "bad"), await put(inbox, "bad"), await put(inbox, "good")
    turns = Turns(inbox, fail_twice)
    async with running(inbox, turns):
        await settled(inbox, [first, second, other])

    assert [0, 1, 2] == attempts
    assert [[first], [second]] == [batch for lane, batch in turns.ran if lane == "bad"]


async def test_an_interrupted_turn_begins_again_with_what_was_added(inbox: SqliteInbox) -> None:
    """Interrupting joins the old and the new message and is no failed attempt, however often (openclaw#121831)."""
    started = asyncio.Queue[Running]()

    async def until_halted(turn: Running) -> None:
        await started.put(turn)
        if len(turn.events) < 5:
            await turn.halted.wait()

    ids = [await put(inbox, "l")]
    turns = Turns(inbox, until_halted)
    async with running(inbox, turns, busy="interrupt") as lanes:
        for _ in range(4):
            await started.get()
            ids.append(await put(inbox, "l"))
            await lanes.arrived(await stored(inbox, ids[-1]))
        last = await started.get()
        await settled(inbox, ids)

    assert ids == numbers(last.events)
    assert 0 == last.tries


@pytest.mark.parametrize(
    ("busy", "body", "speaker"),
    [
        ("collect", b"and then?", "a"),
        ("queue", b"and then?", "a"),
        ("interrupt", b"and then?", "b"),
        ("interrupt", b"/help", "a"),
        ("interrupt", b"@other and then?", "a"),
    ],
    ids=["collect", "queue", "another-speaker", "command", "another-thread"],
)
async def test_only_what_joins_a_turn_interrupts_it(
    busy: BusyMode, body: bytes, speaker: str, inbox: SqliteInbox
) -> None:
    """A turn begins again only for what it is then joined by: never for another speaker (openclaw#76777,
    openclaw#106483), for a command, or for what is answered elsewhere."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    reasons: list[str | None] = []

    async def wait(turn: Running) -> None:
        begun.set()
        await go_on.wait()
        reasons.append(turn.reason)

    ids = [await put(inbox, "l")]
    async with running(inbox, Turns(inbox, wait), busy=busy) as lanes:
        await begun.wait()
        ids.append(await put(inbox, "l", speaker=speaker, body=body))
        await lanes.arrived(await stored(inbox, ids[-1]))
        go_on.set()
        await settled(inbox, ids)

    assert [None, None] == reasons


async def test_a_full_turn_is_not_interrupted(inbox: SqliteInbox) -> None:
    """What could not be joined any more (collect_max) lets the turn end, and is answered next."""
    waiting, go_on = asyncio.Event(), asyncio.Event()

    async def wait(turn: Running) -> None:
        waiting.set()
        await go_on.wait()

    ids = [await put(inbox, "l"), await put(inbox, "l")]
    turns = Turns(inbox, wait)
    lanes = Lanes(inbox, turns, gathering("interrupt", most=2), most=10, lease_s=30, retry_s=0.01)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        tasks.create_task(lanes.run())
        await waiting.wait()
        ids.append(await put(inbox, "l"))
        await lanes.arrived(await stored(inbox, ids[-1]))
        go_on.set()
        await settled(inbox, ids)
        lanes.drain()

    assert [("l", ids[:2]), ("l", ids[2:])] == turns.ran


async def test_interruptions_stay_excused_when_a_later_start_breaks(inbox: SqliteInbox) -> None:
    """A turn cut short by its own speaker and then broken by a fault has failed once, and comes back as it was."""
    seen: list[tuple[int, list[int]]] = []

    async def interrupt_then_break(turn: Running) -> None:
        seen.append((turn.tries, numbers(turn.events)))
        if len(seen) <= 2:
            ids.append(await put(inbox, "l"))
            turn.halt("interrupted")
        if len(seen) == 3:
            ids.append(await put(inbox, "l"))
            raise RuntimeError("broken")

    ids = [await put(inbox, "l")]
    turns = Turns(inbox, interrupt_then_break)
    async with running(inbox, turns, busy="interrupt"):
        await settled(inbox, [ids[0]])
        await settled(inbox, ids)

    assert [(0, ids[:1]), (0, ids[:2]), (0, ids[:3]), (1, ids[:3]), (0, ids[3:])] == seen


async def test_what_is_taken_up_again_is_not_joined_for_an_interruption_behind_it(inbox: SqliteInbox) -> None:
    """A dead letter that an admin gives back to its lane comes before the turn that was interrupted meanwhile. It is answered
    as it was, or by the admin's words; the interrupted turn then begins again with what interrupted it, excused."""
    attempts: list[int] = []

    async def until_taken_up(turn: Running) -> None:
        attempts.append(turn.tries)
        if len(attempts) == 1:
            assert await inbox.letters.reopen(dead, seen=0, answer=None, now_ms=1)
            ids.append(await put(inbox, "l"))
            await lanes.arrived(await stored(inbox, ids[-1]))

    dead = await put(inbox, "l")
    (claim,) = await inbox.claim(1)
    await inbox.start([dead], turn_id=dead, lane="l", fence=claim.fence)
    await inbox.finish([dead], Outcome(state="dead", code="gave_up"), lane="l", fence=claim.fence)
    assert await inbox.release(claim)
    ids = [await put(inbox, "l")]
    turns = Turns(inbox, until_taken_up)
    async with running(inbox, turns, busy="interrupt") as lanes:
        await settled(inbox, ids[:1])
        await settled(inbox, [dead, *ids])

    assert [("l", ids[:1]), ("l", [dead]), ("l", ids)] == turns.ran
    assert [0, 1, 0] == attempts


async def test_a_lane_that_is_somebody_else_s_now_is_given_up(tmp_path: Path) -> None:
    """The renewal says so: its turn ends, and writes nothing more."""

    class Taken(SqliteInbox):
        async def renew(self, claims: Sequence[Claim]) -> list[Claim]:
            for claim in claims:
                await self.release(claim, hand_over=True)
            return []

    ran: list[Running] = []
    begun_, ended = asyncio.Event(), asyncio.Event()

    async def until_told(turn: Running) -> None:
        ran.append(turn)
        if len(ran) > 1:
            return
        begun_.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with Taken(
        tmp_path / "q.db", write_turn=asyncio.Lock(), timeout_s=10, lease_s=30, poll_s=0.02, accept_max=9
    ) as inbox:
        lanes = Lanes(inbox, Turns(inbox, until_told), gathering(), most=1, lease_s=0.1, retry_s=0.01)
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            tasks.create_task(lanes.run())
            id_ = await put(inbox, "l")
            await begun_.wait()
            await ended.wait()
            await settled(inbox, [id_])
            lanes.drain()

    assert [id_, id_] == [turn.turn_id for turn in ran]
    assert ran[0].claim.fence < ran[1].claim.fence


async def test_a_turn_ends_when_its_lease_has_run_out_here(tmp_path: Path) -> None:
    """A process that was stopped for longer, or whose machine slept, ends its turns by its own clock, though the queue does not
    answer and nobody tells; how late it is, is told. Its lane is claimed again."""

    class Away(SqliteInbox):
        async def renew(self, claims: Sequence[Claim]) -> list[Claim]:
            raise StoreBusy("away", retry_after_s=1)

        def mine(self, held: Claim | Chunk) -> bool:
            return alone or now < 1

    alone, now, late, ran = True, 0.0, list[float](), list[Running]()
    begun, ended = asyncio.Event(), asyncio.Event()

    async def for_ever(turn: Running) -> None:
        ran.append(turn)
        if len(ran) > 1:
            return
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with Away(
        tmp_path / "q.db", write_turn=asyncio.Lock(), timeout_s=10, lease_s=0.15, poll_s=0.02, accept_max=9
    ) as inbox:
        lanes = Lanes(
            inbox, Turns(inbox, for_ever), gathering(), most=1, lease_s=0.15, retry_s=0.01, late=late.append, clock_s=lambda: now
        )  # fmt: skip
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            tasks.create_task(lanes.run())
            id_ = await put(inbox, "l")
            await begun.wait()
            while len(late) < 3:
                await asyncio.sleep(0.01)
            assert not ended.is_set(), "what is not renewed is still ours"
            now, told = 100, len(late)
            while len(late) < told + 2:
                await asyncio.sleep(0.01)
            assert not ended.is_set(), "where there is nobody else, a machine that slept has lost nothing"
            alone = False
            await ended.wait()
            await settled(inbox, [id_])
            lanes.drain()

    assert late[-1] >= 0
    assert max(late) > 99
    assert [id_] == [turn.turn_id for turn in ran[1:]]


async def test_draining_finishes_what_runs_and_hands_over_the_rest(inbox: SqliteInbox) -> None:
    """A stop lets the running turn end and starts no other; what waits stays accepted for the next owner."""
    begun = asyncio.Event()
    go_on = asyncio.Event()

    async def slow(turn: Running) -> None:
        begun.set()
        await go_on.wait()

    first, second = await put(inbox, "l"), await put(inbox, "l")
    turns = Turns(inbox, slow)
    async with running(inbox, turns) as lanes:
        await begun.wait()
        lanes.drain()
        go_on.set()

    assert ["answered", "accepted"] == await states(inbox, [first, second])
    assert ["l"] == [claim.lane for claim in await inbox.claim(10)]


async def test_a_lost_lease_ends_the_turn_without_a_trace(inbox: SqliteInbox) -> None:
    """LeaseLost is no failure of the turn: the new owner answers (vercel/chat#685)."""

    async def lost(turn: Running) -> None:
        if len(lost_once) == 0:
            await inbox.start([id_], turn_id=id_, lane="l", fence=turn.claim.fence)
            lost_once.append(turn.turn_id)
            raise LeaseLost("taken over")

    lost_once: list[int] = []
    id_ = await put(inbox, "l")
    turns = Turns(inbox, lost)
    lanes = Lanes(inbox, turns, gathering(), most=10, lease_s=0.2, retry_s=0.01)
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        runner = tasks.create_task(lanes.run())
        while not lost_once:
            await asyncio.sleep(0)
        while lanes.busy:
            await asyncio.sleep(0)
        lanes.drain()
        await runner

    assert ["running"] == await states(inbox, [id_])
    assert [] == turns.ran
