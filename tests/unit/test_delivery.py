"""Delivery: chunk by chunk with receipts, one owner of retries, and unknown is not failed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.base import Adapter, Address, Capabilities, Intake, Receipt
from adapters.errors import Refused, Throttled, Unknown, Unreachable
from gateway.delivery import Delivery
from gateway.errors import StoreBusy
from gateway.inbox.base import Chunk, Claim, NewEvent, Outcome, Reply
from gateway.inbox.sqlite import SqliteInbox
from gateway.pacing import Pacing
from gateway.waits import retry_wait_s
from memory.ids import Ids, now_ms

IDS = Ids(1)


class Platform:
    """The wire: takes chunks, or answers with what `fault` says for (room, text, how often it was tried)."""

    def __init__(self, fault: Callable[[str, str, int], Exception | None] = lambda room, text, tried: None) -> None:
        self.capabilities = Capabilities()
        self.got: list[tuple[str, str]] = []
        self.tried: dict[tuple[str, str], int] = {}
        self._fault = fault

    @asynccontextmanager
    async def running(self, intake: Intake) -> AsyncIterator[None]:
        yield

    def chunks(self, text: str) -> list[str]:
        return text.split("|")

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        key = (address.room, chunk)
        self.tried[key] = self.tried.get(key, 0) + 1
        fault = self._fault(address.room, chunk, self.tried[key])
        if isinstance(fault, TimeoutError):
            await asyncio.Event().wait()
        if fault is not None:
            raise fault
        self.got.append((address.room, chunk))
        return Receipt(message_id=f"p{len(self.got)}")

    async def probe(self) -> None:
        """Not asked here."""


class One:
    """A gateway with one channel, `c`, of that platform; None: none. `down_s` is how long it says it does not run."""

    def __init__(self, platform: Adapter | None, *, down_s: float = 0.0) -> None:
        self._platform = platform
        self.down_s = down_s

    def made(self, name: str) -> Adapter | None:
        return self._platform

    @contextmanager
    def lent(self, name: str) -> Iterator[Adapter | None]:
        yield None if self.down_s else self._platform

    def back_s(self, name: str) -> float | None:
        return None if self._platform is None else self.down_s


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[SqliteInbox]:
    async with open_box(tmp_path) as opened:
        yield opened


def open_box(folder: Path) -> SqliteInbox:
    return SqliteInbox(
        folder / "q.db", write_turn=asyncio.Lock(), timeout_s=10, lease_s=30, poll_s=0.05, accept_max=100_000
    )


async def reply(box: SqliteInbox, room: str, text: str, *, shown: str | None = None) -> int:
    """Put a reply into the outbox, as the responder does; return its turn."""
    id_ = IDS.next()
    lane = f"lane-{id_}"
    new = NewEvent(id=id_, channel="c", kind="message", speaker="a", body=b"", token="t", fingerprint=None, now_ms=1)
    await box.accept(new, lane=lane, dedupe_ids=[str(id_)])
    claim = next(claim for claim in await box.claim(100) if claim.lane == lane)
    await box.start([id_], turn_id=id_, lane=lane, fence=claim.fence)
    await box.put(
        Reply(
            event_ids=[id_],
            turn_id=id_,
            channel="c",
            queue=f"c:{room}",
            address=msgspec.msgpack.encode(Address(channel="c", room=room)),
            text=text,
            chunks=text.split("|"),
            failed=None,
            session=None,
            lane=lane,
            fence=claim.fence,
            now_ms=now_ms(),
            shown=shown,
        )
    )
    return id_


async def stays(channel: str, old: str, new: str) -> None:
    """No room moves here."""


async def deliver(
    box: SqliteInbox,
    platform: Adapter | One | None,
    turns: list[int],
    *,
    attempts: int = 3,
    most: int = 50,
    throttled_s: float = 60,
    first_wait_s: float = 0.01,
    pacing: Pacing | None = None,
    moved: Callable[[str, str, str], Awaitable[None]] | None = None,
    counts: list[str] | None = None,
) -> dict[int, Outcome]:
    """Run a delivery until the turns have ended; return how."""
    ended: list[int] = []
    all_ended = asyncio.Event()

    async def note(turn_id: int) -> None:
        ended.append(turn_id)
        if set(turns) <= set(ended):
            all_ended.set()

    delivery = Delivery(
        box,
        box,
        platform if isinstance(platform, One) else One(platform),
        note,
        pacing=pacing or Pacing(),
        moved=moved or stays,
        send_s=0.05,
        attempts=attempts,
        first_wait_s=first_wait_s,
        throttled_s=throttled_s,
        most=most,
        counted=lambda channel, outcome: counts.append(outcome) if counts is not None else None,
    )
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        tasks.create_task(delivery.run())
        await all_ended.wait()
        delivery.drain()
    found = {turn: await box.event(turn) for turn in turns}
    assert len(turns) == len(ended), "a turn ends once"
    return {turn: event.outcome for turn, event in found.items() if event is not None and event.outcome is not None}


async def test_chunks_go_out_in_order_and_rooms_side_by_side(box: SqliteInbox) -> None:
    """One room's replies keep their order, chunk by chunk."""
    turns = [await reply(box, room, f"{n}a|{n}b|{n}c") for n in range(3) for room in ("r1", "r2", "r3")]
    platform = Platform()
    outcomes = await deliver(box, platform, turns)

    assert {"answered"} == {outcome.state for outcome in outcomes.values()}
    for room in ("r1", "r2", "r3"):
        assert [f"{n}{c}" for n in range(3) for c in "abc"] == [text for to, text in platform.got if to == room]


async def test_it_resumes_at_the_chunk_that_was_refused_for_now(box: SqliteInbox) -> None:
    """The third chunk of five fails twice: nothing before it is sent again (hermes-agent#70504)."""
    turn = await reply(box, "r", "1|2|3|4|5")
    platform = Platform(lambda room, text, tried: Unreachable("down") if text == "3" and tried < 3 else None)
    outcomes = await deliver(box, platform, [turn])

    assert "answered" == outcomes[turn].state
    assert ["1", "2", "3", "4", "5"] == [text for _, text in platform.got]
    assert {"1": 1, "2": 1, "3": 3, "4": 1, "5": 1} == {text: tried for (_, text), tried in platform.tried.items()}


async def test_a_wait_binds_the_room_that_asked(box: SqliteInbox) -> None:
    """Retry-After holds up its own queue; others go on (openclaw#50866), and waiting is no failed attempt."""
    slow = await reply(box, "slow", "x")
    fast = await reply(box, "fast", "y")

    def fault(room: str, text: str, tried: int) -> Exception | None:
        return Throttled("wait", retry_after_s=0.15) if room == "slow" and tried == 1 else None

    platform = Platform(fault)
    outcomes = await deliver(box, platform, [slow, fast])

    assert [("fast", "y"), ("slow", "x")] == platform.got
    assert {"answered"} == {outcome.state for outcome in outcomes.values()}


async def test_full_hands_look_for_nothing_more(tmp_path: Path) -> None:
    """While as many sends are under way as may be, the outbox is left in peace, whatever is due in it."""

    class Counted(SqliteInbox):
        looks = 0

        async def next_due_ms(self, *, elsewhere: Collection[str] = ()) -> int | None:
            self.looks += 1
            return await super().next_due_ms(elsewhere=elsewhere)

    async with Counted(
        tmp_path / "q.db", write_turn=asyncio.Lock(), timeout_s=10, lease_s=30, poll_s=5, accept_max=1000
    ) as box:
        turns = [await reply(box, f"r{n}", "x") for n in range(6)]
        platform = Platform(lambda room, text, tried: TimeoutError())
        outcomes = await deliver(box, platform, turns, most=2)

        assert {"answered"} == {outcome.state for outcome in outcomes.values()}
        assert box.looks < 40


async def test_a_refusal_is_final(box: SqliteInbox) -> None:
    """Chat not found: never again, a dead letter with its reason, and the room's next reply still goes (openclaw#23777)."""
    gone, next_ = await reply(box, "r", "1|2"), await reply(box, "r", "3")
    platform = Platform(lambda room, text, tried: Refused("chat not found") if text == "1" else None)
    outcomes = await deliver(box, platform, [gone, next_])

    assert "dead" == outcomes[gone].state
    assert "chat not found" in str(outcomes[gone].reason)
    assert [("r", "3")] == platform.got
    assert 1 == platform.tried["r", "1"]


async def test_retries_have_an_end_and_one_owner(box: SqliteInbox) -> None:
    """A platform that stays down costs `attempts` tries and no more (nanobot#3054: 18 calls from three layers)."""
    turn = await reply(box, "r", "x")
    platform = Platform(lambda room, text, tried: Unreachable("down"))
    outcomes = await deliver(box, platform, [turn], attempts=4)

    assert "dead" == outcomes[turn].state
    assert 4 == platform.tried["r", "x"]


@pytest.mark.parametrize("fault", [TimeoutError(), Unknown("lost answer"), RuntimeError("bug")], ids=repr)
async def test_a_send_whose_end_nobody_saw_is_unknown(box: SqliteInbox, fault: Exception) -> None:
    """Neither failed nor repeated (openclaw#29106): the turn counts as answered, the chunk is labelled."""
    turn = await reply(box, "r", "1|2")
    platform = Platform(lambda room, text, tried: fault if text == "1" else None)
    outcomes = await deliver(box, platform, [turn])

    assert "answered" == outcomes[turn].state
    assert [("r", "2")] == platform.got
    assert 1 == platform.tried["r", "1"]


async def test_a_channel_that_is_gone_gives_a_dead_letter(box: SqliteInbox) -> None:
    """A reply for a channel that was removed from the settings does not wait for ever."""
    turn = await reply(box, "r", "x")
    outcomes = await deliver(box, None, [turn])

    assert "dead" == outcomes[turn].state
    assert "'c'" in str(outcomes[turn].reason)


async def test_after_a_crash_in_mid_send(tmp_path: Path) -> None:
    """What a dead process may have sent is unknown, and is not sent again."""
    async with open_box(tmp_path) as box:
        turn = await reply(box, "r", "x")
        assert 1 == len(await box.due(now_ms=now_ms() + 1, limit=10))
    platform = Platform()
    async with open_box(tmp_path) as box:
        outcomes = await deliver(box, platform, [turn])

    assert "answered" == outcomes[turn].state
    assert [] == platform.got


async def test_nothing_is_sent_once_the_lease_may_have_run_out(tmp_path: Path) -> None:
    """Another instance may be sending it by then: what was taken goes back as it was, its try not counted, and goes out when the
    lease is sure again."""

    class Late(SqliteInbox):
        asked = 0

        def mine(self, held: Claim | Chunk) -> bool:
            self.asked += 1
            return self.asked > 2

    async with Late(
        tmp_path / "q.db", write_turn=asyncio.Lock(), timeout_s=10, lease_s=30, poll_s=0.05, accept_max=1000
    ) as box:
        turn = await reply(box, "r", "x")
        platform = Platform()
        outcomes = await deliver(box, platform, [turn], attempts=1)

    assert ("answered", 3) == (outcomes[turn].state, box.asked)
    assert [("r", "x")] == platform.got


def test_waits_double_up_to_five_minutes() -> None:
    """1, 2, 4 … 256, 300, 300 seconds, whatever the attempt's number."""
    waits = [retry_wait_s(attempt, first_s=1) for attempt in (1, 2, 3, 9, 10, 10_000)]

    assert [1, 2, 4, 256, 300, 300] == waits


async def test_a_store_that_is_away_for_a_moment(tmp_path: Path) -> None:
    """Looks, waits and receipts are repeated until the store is back; nothing is sent twice for that."""

    class Flaky(SqliteInbox):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            self._calls: Counter[str] = Counter()

        def _now_and_then(self, verb: str) -> None:
            self._calls[verb] += 1
            if self._calls[verb] % 2:
                raise StoreBusy("away", retry_after_s=1)

        async def next_due_ms(self, *, elsewhere: Collection[str] = ()) -> int | None:
            self._now_and_then("next_due_ms")
            return await super().next_due_ms(elsewhere=elsewhere)

        async def changed(self, after: int) -> int:
            self._now_and_then("changed")
            return await super().changed(after)

        async def sent(self, chunk: Chunk, *, message_id: str | None, now_ms: int) -> bool:
            self._now_and_then("sent")
            return await super().sent(chunk, message_id=message_id, now_ms=now_ms)

    async with Flaky(
        tmp_path / "q.db", write_turn=asyncio.Lock(), timeout_s=10, lease_s=30, poll_s=0.05, accept_max=1000
    ) as box:
        turn = await reply(box, "r", "1|2|3")
        platform = Platform()
        outcomes = await deliver(box, platform, [turn])

    assert "answered" == outcomes[turn].state
    assert ["1", "2", "3"] == [text for _, text in platform.got]
