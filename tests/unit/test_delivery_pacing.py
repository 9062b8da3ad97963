"""Delivery under a platform's limits: waits that cost nothing, scopes that wait alone, rooms that move, sends looked up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from adapters.base import Adapter, Address, Call, Rate, Receipt
from adapters.errors import Moved, Throttled, Unknown, Unreachable
from gateway.delivery import Delivery
from gateway.errors import StoreBusy
from gateway.inbox.base import Chunk
from gateway.inbox.sqlite import SqliteInbox
from gateway.pacing import Pacing
from gateway.sending import Sending
from memory.ids import now_ms
from tests.unit.test_delivery import One, Platform, deliver, open_box, reply, stays

Fault = Callable[[str, str, int], Exception | None]


class Limited(Platform):
    """A platform with budgets: one for each room, one for all. Notes when each chunk came."""

    def __init__(
        self,
        *,
        per_room: tuple[int, float] = (1000, 1),
        overall: tuple[int, float] = (1000, 1),
        fault: Fault | None = None,
    ) -> None:
        super().__init__(fault or (lambda room, text, tried: None))
        self._per_room = per_room
        self._overall = overall
        self.calls: list[Call] = []
        self.times: list[tuple[float, str]] = []

    def rates(self, address: Address, call: Call) -> tuple[Rate, ...]:
        self.calls.append(call)
        room = Rate(scope=f"room {address.room}", count=self._per_room[0], per_s=self._per_room[1])
        return room, Rate(scope="all", count=self._overall[0], per_s=self._overall[1])

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        self.times.append((asyncio.get_running_loop().time(), address.room))
        return await super().send(address, chunk, chunk_id=chunk_id, shown=shown)


class Finding(Platform):
    """A platform that can tell whether it has a chunk; `answers` says so, one for each look-up, the last for ever."""

    def __init__(self, fault: Fault, *answers: Receipt | Exception | None) -> None:
        super().__init__(fault)
        self._answers = list(answers)
        self.looked = 0

    async def find(self, address: Address, *, chunk_id: str) -> Receipt | None:
        self.looked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, TimeoutError):
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def find_shown(self, address: Address, *, turn: str) -> str | None:
        raise AssertionError("only who shows replies asks for this")


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[SqliteInbox]:
    async with open_box(tmp_path) as opened:
        yield opened


def lost(room: str, text: str, tried: int) -> Exception | None:
    return Unknown("the line broke") if tried == 1 else None


async def test_a_budget_is_kept_and_costs_no_attempt(box: SqliteInbox) -> None:
    """Five chunks, two in 0.2 s: all arrive, never three in any 0.2 s, and with a single try each allowed."""
    turn = await reply(box, "r", "1|2|3|4|5")
    platform = Limited(per_room=(2, 0.2))
    outcomes = await deliver(box, platform, [turn], attempts=1)

    assert "answered" == outcomes[turn].state
    assert ["1", "2", "3", "4", "5"] == [text for _, text in platform.got]
    times = [time for time, _ in platform.times]
    assert all(later - first > 0.19 for first, later in zip(times, times[2:], strict=False))
    assert {"send"} == set(platform.calls)


async def test_one_message_does_not_wait_for_thirty(box: SqliteInbox) -> None:
    """Rooms that share a budget take turns: the short answer is not behind the long one."""
    long = await reply(box, "long", "|".join(str(n) for n in range(12)))
    short = await reply(box, "short", "x")
    platform = Limited(overall=(1, 0.06))
    await deliver(box, platform, [long, short])

    assert "short" in [room for room, _ in platform.got[:3]]


async def test_waiting_for_a_budget_takes_no_slot(box: SqliteInbox) -> None:
    """With two hands, twenty rooms that wait an hour for their budget don't keep another room waiting."""
    platform = Limited(per_room=(1, 3600))
    pacing = Pacing()
    now = asyncio.get_running_loop().time()
    for n in range(20):
        await reply(box, f"busy{n}", "x")
        pacing.turn_at("c", f"c:busy{n}", platform.rates(Address(channel="c", room=f"busy{n}"), "send"), now=now)
    calm = await reply(box, "calm", "x")
    await deliver(box, platform, [calm], most=2, pacing=pacing)

    assert [("calm", "x")] == platform.got
    assert 20 == (await box.stats()).outbox_waiting


async def test_retry_after_holds_its_scope_and_only_that(box: SqliteInbox) -> None:
    """A wait asked for all rooms is kept by all rooms of the channel, with one call refused (openclaw#50866)."""

    def fault(room: str, text: str, tried: int) -> Exception | None:
        return Throttled("429", retry_after_s=0.3, scope="all") if room == "r0" and tried == 1 else None

    turns = [await reply(box, f"r{n}", "x") for n in range(5)]
    platform, counts = Limited(overall=(1, 0.02), fault=fault), list[str]()
    await deliver(box, platform, turns, attempts=1, counts=counts)

    (began, room), *others = platform.times
    assert ("r0", 5) == (room, len(others))
    assert all(time - began > 0.28 for time, _ in others)
    assert ["throttled"] == [outcome for outcome in counts if outcome != "sent"]


async def test_patience_with_a_platform_has_an_end(box: SqliteInbox) -> None:
    """A chunk that is put off again and again becomes a dead letter; tries don't count, time does."""
    turn, after = await reply(box, "r", "x"), await reply(box, "r", "y")
    platform = Platform(lambda room, text, tried: Throttled("429", retry_after_s=0.05) if text == "x" else None)
    outcomes = await deliver(box, platform, [turn, after], attempts=1, throttled_s=0.2)

    assert ("dead", "answered") == (outcomes[turn].state, outcomes[after].state)
    assert "0.2 s in all" in str(outcomes[turn].reason)
    assert 3 <= platform.tried["r", "x"] <= 5


async def test_a_wait_longer_than_all_patience_is_not_begun(box: SqliteInbox) -> None:
    """Who is told to come back tomorrow gives up today, in sight."""
    turn = await reply(box, "r", "x")
    platform = Platform(lambda room, text, tried: Throttled("429", retry_after_s=86_400))
    outcomes = await deliver(box, platform, [turn])

    assert "dead" == outcomes[turn].state
    assert 1 == platform.tried["r", "x"]


async def test_replies_wait_for_a_channel_that_does_not_run(box: SqliteInbox) -> None:
    """A channel that is being started again costs its replies nothing but time."""
    turn = await reply(box, "r", "1|2")
    platform = Platform()
    one = One(platform, down_s=0.05)

    async def come_up() -> None:
        await asyncio.sleep(0.15)
        assert [] == platform.got
        assert 2 == (await box.stats()).outbox_waiting
        one.down_s = 0.0

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(come_up())
        outcomes = await deliver(box, one, [turn], attempts=1)

    assert "answered" == outcomes[turn].state
    assert ["1", "2"] == [text for _, text in platform.got]


async def test_a_channel_that_ends_between_look_and_send(box: SqliteInbox) -> None:
    """The chunk goes back as if nobody had taken it."""

    class Vanishing(One):
        looks = 0

        def back_s(self, name: str) -> float | None:
            self.looks += 1
            self.down_s = 1.0 if self.looks == 2 else 0.0  # asked by the look, then by the send
            return 0.0

    turn = await reply(box, "r", "x")
    platform = Platform()
    counts: list[str] = []
    outcomes = await deliver(box, Vanishing(platform), [turn], attempts=1, counts=counts)

    assert "answered" == outcomes[turn].state
    assert ["held", "sent"] == counts


async def test_a_room_with_another_id_is_followed(box: SqliteInbox) -> None:
    """The chunk stands in the outbox when the room moves, so that it moves along (TelegramBots/Telegram.Bot#171)."""
    turn = await reply(box, "old", "1|2")
    moves: list[tuple[str, str, str]] = []
    stood: list[int] = []

    def fault(room: str, text: str, tried: int) -> Exception | None:
        return Moved("group was upgraded", new_room="new") if not moves else None

    async def moved(channel: str, old: str, new: str) -> None:
        stood.append((await box.stats()).outbox_waiting)
        moves.append((channel, old, new))

    outcomes = await deliver(box, Platform(fault), [turn], moved=moved)

    assert "answered" == outcomes[turn].state
    assert [("c", "old", "new")] == moves
    assert [2] == stood


@pytest.mark.parametrize("fault", [StoreBusy("away", retry_after_s=1), RuntimeError("bug")], ids=repr)
async def test_a_move_that_fails_is_repeated_and_sends_nothing_twice(box: SqliteInbox, fault: Exception) -> None:
    """The store is away for a moment, or the move breaks off: the chunk is on its way again meanwhile, once."""
    turn = await reply(box, "old", "1|2")
    moves: list[str] = []

    async def moved(channel: str, old: str, new: str) -> None:
        moves.append(new)
        if len(moves) < 3:
            raise fault

    platform = Platform(lambda room, text, tried: Moved("upgraded", new_room="new") if len(moves) < 3 else None)
    outcomes = await deliver(box, platform, [turn], moved=moved, attempts=8)

    assert "answered" == outcomes[turn].state
    assert ["1", "2"] == [text for _, text in platform.got]


async def test_a_room_that_moves_for_ever_is_given_up(box: SqliteInbox) -> None:
    """Each move counts as a try, and the dead letter names where the room is said to be."""
    turn = await reply(box, "old", "x")

    async def moved(channel: str, old: str, new: str) -> None:
        """Says it did, and did not."""

    platform = Platform(lambda room, text, tried: Moved("upgraded", new_room="new"))
    outcomes = await deliver(box, platform, [turn], moved=moved, attempts=2)

    assert "dead" == outcomes[turn].state
    assert "'new'" in str(outcomes[turn].reason)
    assert {("old", "x"): 2} == platform.tried


@pytest.mark.parametrize("stores_anything", [True, False], ids=["arrived", "did not arrive"])
async def test_a_lost_answer_is_looked_up(box: SqliteInbox, stores_anything: bool) -> None:
    """Where the platform can tell, an unknown send is settled: found, or made again, never both. It may still be under way
    when it is looked for first: nothing found once proves nothing."""
    turn = await reply(box, "r", "x")
    platform = Finding(
        lost,
        TimeoutError(),
        None,
        Throttled("429", retry_after_s=0.02),
        Receipt(message_id="p9") if stores_anything else None,
    )
    outcomes = await deliver(box, platform, [turn], attempts=4)

    assert "answered" == outcomes[turn].state
    assert 4 == platform.looked
    assert ([] if stores_anything else [("r", "x")]) == platform.got


async def test_a_lost_answer_is_given_a_moment(box: SqliteInbox) -> None:
    """No look comes at once: what is found too early would not be there yet, and stand there twice later."""
    turn = await reply(box, "r", "x")
    looks: list[float] = []

    class Slow(Finding):
        async def find(self, address: Address, *, chunk_id: str) -> Receipt | None:
            looks.append(asyncio.get_running_loop().time())
            return await super().find(address, chunk_id=chunk_id)

    begun = asyncio.get_running_loop().time()
    platform = Slow(lost, None, Receipt(message_id="p9"))
    await deliver(box, platform, [turn], first_wait_s=0.2)

    assert [] == platform.got
    assert looks[0] - begun >= 0.2
    assert looks[1] - looks[0] >= 0.4


async def test_a_send_that_never_arrives_has_an_end(box: SqliteInbox) -> None:
    """Lost each time and surely not there: the tries are counted as any others."""
    turn = await reply(box, "r", "x")
    platform = Finding(lambda room, text, tried: Unknown("lost"), None)
    outcomes = await deliver(box, platform, [turn], attempts=3)

    assert "dead" == outcomes[turn].state
    assert 3 == platform.tried["r", "x"]


@pytest.mark.parametrize("answer", [Unreachable("down"), RuntimeError("bug")], ids=repr)
async def test_what_can_not_be_looked_up_stays_unknown(box: SqliteInbox, answer: Exception) -> None:
    """After as many look-ups as there would be tries the chunk is labelled, and the room goes on."""
    turn, after = await reply(box, "r", "x"), await reply(box, "r", "y")
    platform = Finding(lambda room, text, tried: Unknown("lost") if text == "x" else None, answer)
    counts: list[str] = []
    outcomes = await deliver(box, platform, [turn, after], attempts=3, counts=counts)

    assert {"answered"} == {outcome.state for outcome in outcomes.values()}
    assert ["unknown", "sent"] == counts
    assert 3 == platform.looked


async def test_look_ups_keep_no_other_send_waiting(box: SqliteInbox) -> None:
    """With one hand, an outage met by one chunk does not keep another room from its answer."""
    turn, other = await reply(box, "r", "x"), await reply(box, "other", "y")
    platform = Finding(
        lambda room, text, tried: Unknown("lost") if text == "x" and tried == 1 else None,
        Throttled("429", retry_after_s=0.2),
        None,
    )
    await deliver(box, platform, [turn, other], most=1)

    assert [("other", "y"), ("r", "x")] == platform.got


async def test_the_end_leaves_a_look_up_for_the_next_start(tmp_path: Path) -> None:
    """A gateway that stops while it looks a send up keeps it on record; the next one looks again, and finds it."""
    async with open_box(tmp_path) as box:
        turn = await reply(box, "r", "x")
        platform = Finding(lost, Throttled("429", retry_after_s=60))

        async def ended(turn_id: int) -> None:
            raise AssertionError("nothing ends here")

        delivery = Delivery(
            box,
            box,
            One(platform),
            ended,
            pacing=Pacing(),
            moved=stays,
            send_s=1,
            attempts=3,
            first_wait_s=0.01,
            throttled_s=60,
        )
        async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
            tasks.create_task(delivery.run())
            while not platform.looked:
                await asyncio.sleep(0)
            delivery.drain()
    found = Finding(lost, Receipt(message_id="p1"))
    async with open_box(tmp_path) as box:
        outcomes = await deliver(box, found, [turn])

    assert "answered" == outcomes[turn].state
    assert [] == found.got
    assert 1 == found.looked


async def test_a_shown_reply_may_be_put_in_place_twice(box: SqliteInbox) -> None:
    """An edit that broke off is made again: the same text in the same message does no harm (sipeed/picoclaw#2092)."""
    places: list[str | None] = []
    broken = RuntimeError("broken")

    class Editing(Limited):
        async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
            places.append(shown)
            return await super().send(address, chunk, chunk_id=chunk_id, shown=shown)

    turn = await reply(box, "r", "1|2", shown="m7")
    platform = Editing(fault=lambda room, text, tried: broken if text == "1" and tried == 1 else None)
    outcomes = await deliver(box, platform, [turn])

    assert "answered" == outcomes[turn].state
    assert ["m7", "m7", None] == places
    assert ["edit", "edit", "send"] == platform.calls


async def test_a_shown_reply_is_looked_up_where_that_can_be_done(box: SqliteInbox) -> None:
    """The message that showed it may be gone, and the reply have gone out as a new one: made again, that would stand there
    twice."""
    turn = await reply(box, "r", "x", shown="m7")
    platform = Finding(lost, Receipt(message_id="p1"))
    outcomes = await deliver(box, platform, [turn])

    assert "answered" == outcomes[turn].state
    assert ([], 1) == (platform.got, platform.looked)


async def test_an_edit_that_is_always_lost_is_unknown(box: SqliteInbox) -> None:
    """It has an end, and is no dead letter: the text may well stand there."""
    turn = await reply(box, "r", "1", shown="m7")
    counts: list[str] = []
    await deliver(box, Platform(lambda room, text, tried: RuntimeError("broken")), [turn], attempts=3, counts=counts)

    assert ["retried", "retried", "unknown"] == counts


async def test_a_shown_reply_that_may_stand_below_is_not_sent_twice(box: SqliteInbox) -> None:
    """An adapter calls unknown only what may have become a new message, as the one to edit was gone."""
    turn = await reply(box, "r", "1", shown="m7")
    platform = Platform(lambda room, text, tried: Unknown("lost"))
    counts: list[str] = []
    await deliver(box, platform, [turn], counts=counts)

    assert ["unknown"] == counts


async def test_limits_that_can_not_be_told_don_t_stop_the_outbox(box: SqliteInbox) -> None:
    """A fault in one adapter's figures is its own; what goes out is what would."""

    class Broken(Limited):
        def rates(self, address: Address, call: Call) -> tuple[Rate, ...]:
            raise ZeroDivisionError

    turn = await reply(box, "r", "x")
    outcomes = await deliver(box, Broken(), [turn])

    assert "answered" == outcomes[turn].state


async def test_nothing_is_asked_of_a_channel_that_can_not_look_up() -> None:
    """`find` without an adapter that has it says so, as for a channel that does not run."""
    chunk = Chunk(
        id=1,
        turn_id=1,
        channel="c",
        queue="c:r",
        address=b"",
        index=0,
        of=1,
        text="x",
        state="unknown",
        attempts=1,
        due_ms=0,
    )
    platform: Adapter = Platform()
    sending = Sending(One(platform), Pacing(), send_s=1, now_ms=now_ms)

    assert not sending.can_find(chunk)
    with pytest.raises(Unreachable):
        await sending.find(chunk)
