"""Showing a reply while it is made: signs and states within the budget, one message, and never in the answer's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from adapters.base import Address, Call, Rate, Receipt
from adapters.errors import Refused, Throttled, Unknown, Unreachable
from gateway.agent import Done
from gateway.asking import Draft
from gateway.errors import StoreBusy
from gateway.inbox.base import Claim, Event, NewEvent
from gateway.inbox.sqlite import SqliteInbox
from gateway.lanes import Running
from gateway.pacing import Pacing
from gateway.showing import AT_ONCE_S, Showing, Shown
from memory.ids import Ids
from tests.unit.test_delivery import One, Platform, open_box

IDS = Ids(2)
ADDRESS = Address(channel="c", room="房间 👋")


class Stage(Platform):
    """A platform on which replies can be seen while they are made. `fault` is met by (what, how often it was called)."""

    def __init__(
        self,
        fault: Callable[[str, int], Exception | None] = lambda call, n: None,
        *,
        sign_every_s: float = 60,
        show_every_s: float | None = 0.01,
        shown_s: float | None = None,
        ids: bool = True,
        limits: tuple[Rate, ...] = (),
    ) -> None:
        super().__init__()
        self.sign_every_s = sign_every_s
        self.show_every_s = show_every_s
        self.shown_s = shown_s
        self.seen: list[str] = []
        self.changed = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self._ids = ids
        self._faults = fault
        self._limits = limits
        self._calls: dict[str, int] = {}

    def rates(self, address: Address, call: Call) -> tuple[Rate, ...]:
        return () if call == "sign" else self._limits

    async def sign(self, address: Address, *, on: bool) -> None:
        await self._called("sign", f"sign {'on' if on else 'off'}")

    async def show(self, address: Address, text: str, *, turn: str, shown: str | None) -> str | None:
        assert (ADDRESS, True) == (address, turn.isdigit())
        await self._called("send" if shown is None else "edit", f"{shown}: {text}")
        return shown or ("m1" if self._ids else None)

    async def remove(self, address: Address, shown: str) -> None:
        await self._called("remove", f"removed {shown}")

    async def _called(self, call: str, line: str) -> None:
        self._calls[call] = self._calls.get(call, 0) + 1
        fault = self._faults(call, self._calls[call])
        self.note(line if fault is None else f"{type(fault).__name__} {call}")
        await self.gate.wait()
        if isinstance(fault, TimeoutError):
            await asyncio.Event().wait()
        if fault is not None:
            raise fault

    def note(self, line: str) -> None:
        self.seen.append(line)
        self.changed.set()

    async def until(self, look: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not look():
                self.changed.clear()
                await self.changed.wait()

    def texts(self) -> list[str]:
        return [line for line in self.seen if "sign" not in line]


@dataclass
class House:
    """A running turn in a real inbox."""

    box: SqliteInbox
    event: Event
    claim: Claim
    counts: list[str] = field(default_factory=list)
    pacing: Pacing = field(default_factory=Pacing)

    @asynccontextmanager
    async def showing(
        self,
        stage: Platform | None,
        *,
        show_s: float = 5,
        inbox: object = None,
        outbox: object = None,
        moved: bool = False,
        attempts: int = 0,
    ) -> AsyncIterator[Shown]:
        showing = Showing(
            inbox=cast("Any", inbox or self.box),
            outbox=cast("Any", outbox or self.box),
            channels=One(stage),
            pacing=self.pacing,
            show_s=show_s,
            counted=lambda channel, outcome: self.counts.append(outcome),
        )
        (event,) = await self.box.waiting(self.claim.lane)
        turn = Running(claim=self.claim, turn_id=event.id, speaker="a", events=(event,), attempts=attempts)
        async with showing.turn(turn, ADDRESS, queue="c:room", moved=moved) as shown:
            yield shown

    async def kept(self) -> str | None:
        (event,) = await self.box.waiting(self.claim.lane)
        return event.shown


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_box(tmp_path) as box:
        new = NewEvent(
            id=IDS.next(), channel="c", kind="message", speaker="a", body=b"", token="t", fingerprint=None, now_ms=1
        )
        accepted = await box.accept(new, lane="lane", dedupe_ids=["1"])
        (claim,) = await box.claim(1)
        await box.start([new.id], turn_id=new.id, lane=claim.lane, fence=claim.fence)
        yield House(box, accepted.event, claim)


def draft() -> Draft:
    return Draft(cast("Any", None))  # the prompt is not looked at


def write(to: Draft, text: str) -> None:
    to.text += text
    to.changed.set()


async def test_the_text_grows_in_one_message_that_the_reply_replaces(house: House) -> None:
    """Signs until there is text, posts once, then edits; the id is kept on the turn and given to the reply."""
    stage, made = Stage(), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        await stage.until(lambda: stage.seen == ["sign on"])
        write(made, "你好")
        await stage.until(lambda: len(stage.texts()) == 1)
        write(made, "，世界 👋")
        await stage.until(lambda: len(stage.texts()) == 2)
        assert "m1" == await shown.end()

    assert ["None: 你好", "m1: 你好，世界 👋"] == stage.texts()
    assert "m1" == await house.kept()
    assert ["sign on", "sign off"] == [line for line in stage.seen if line.startswith("sign")]
    assert ["signed", "shown", "shown", "signed"] == house.counts


async def test_what_is_whole_at_once_is_not_shown_first(house: House) -> None:
    """An answer in one piece is one call: the reply (of edits Slack bears 50 a minute). The sign stays; it was there before."""
    stage, made = Stage(), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        await stage.until(lambda: stage.seen == ["sign on"])
        write(made, "你好 👋")
        made.done = Done(finish="stop")
        await asyncio.sleep(2 * AT_ONCE_S)  # for as long as the store takes
        assert None is await shown.end()

    assert ["sign on", "sign off"] == stage.seen


async def test_the_last_words_come_with_the_reply(house: House) -> None:
    """What has been shown in part is not shown as a whole, to be edited into the same again; a fallback's answer is shown."""
    stage, made = Stage(), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        write(made, "one")
        await stage.until(lambda: len(stage.texts()) == 1)
        made.done = Done(finish="stop")
        write(made, " two")
        while made.changed.is_set():
            await asyncio.sleep(0)
        made.text, made.done = "", None
        write(made, "else")
        await stage.until(lambda: len(stage.texts()) == 2)
        assert "m1" == await shown.end()

    assert ["None: one", "m1: else"] == stage.texts()


async def test_the_next_attempt_goes_on_with_the_same_message(house: House) -> None:
    """After a crash no second half-made reply stands beside the first."""
    await house.box.show([house.event.id], "m7", lane="lane", fence=house.claim.fence)
    stage, made = Stage(), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        write(made, "again")
        await stage.until(lambda: len(stage.seen) == 1)
        assert "m7" == await shown.end()

    assert ["m7: again"] == stage.seen, "no sign where the text can be seen"


async def test_the_next_attempt_in_a_room_that_moved_begins_a_message(house: House) -> None:
    """The former one stays in the old room; its number can be another message's in the new one."""
    stage, text = Stage(), draft()
    await house.box.show([house.event.id], "m7", lane=house.claim.lane, fence=house.claim.fence)
    async with house.showing(stage, moved=True) as shown:
        shown.follow(text)
        write(text, "你好")
        await stage.until(lambda: "None: 你好" in stage.seen)
        assert "m1" == await shown.end()

    assert "m1" == await house.kept()


async def test_the_sign_is_renewed_until_there_is_text(house: House) -> None:
    """What the platform takes away after a while is put there again; blank text is no text (TEXT must be non-empty)."""
    stage, made = Stage(sign_every_s=0.01), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        write(made, " \n")
        await stage.until(lambda: stage.seen.count("sign on") == 3)
        write(made, "x")
        await stage.until(lambda: len(stage.texts()) == 1)
    assert "sign off" == stage.seen[-1]


async def test_only_the_sign_where_the_settings_say_so(house: House) -> None:
    """No streaming: the sign, and nothing that the reply would have to replace."""
    stage, made = Stage(show_every_s=None), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        write(made, "text")
        await stage.until(lambda: stage.seen == ["sign on"])
        assert None is await shown.end()
    assert [] == stage.texts()


async def test_a_preview_that_goes_away_leaves_nothing_to_replace(house: House) -> None:
    """A draft has no id: the reply is a message of its own."""
    stage, made = Stage(ids=False), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        for word in ("one", " two"):
            write(made, word)
            await stage.until(lambda word=word: made.text in stage.texts()[-1] if stage.texts() else False)  # type: ignore[misc]
        assert None is await shown.end()
    assert ["None: one", "None: one two"] == stage.texts()
    assert None is await house.kept()


async def test_states_are_dropped_where_the_budget_is_for_sends(house: House) -> None:
    """Of twenty a minute ten may be edits; the eleventh state is not shown, and nobody who sends waits for it."""
    limit = Rate(scope="chat", count=20, per_s=60)
    stage, made = Stage(limits=(limit,)), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        for n in range(10):
            write(made, f"{n} ")
            await stage.until(lambda n=n: len(stage.texts()) == n + 1)  # type: ignore[misc]
        write(made, "dropped")
        while "dropped" not in house.counts:
            await asyncio.sleep(0)
    assert 10 == len(stage.texts())
    now = asyncio.get_running_loop().time()
    assert [now] * 10 == [house.pacing.turn_at("c", f"q{n}", (limit,), now=now) for n in range(10)]


async def test_what_was_dropped_is_shown_when_there_is_budget(house: House) -> None:
    """The latest state comes as soon as it may, also when nothing is added to it."""
    stage, made = Stage(limits=(Rate(scope="chat", count=1, per_s=0.1),)), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        write(made, "one")
        await stage.until(lambda: len(stage.texts()) == 1)
        write(made, " two")
        await stage.until(lambda: len(stage.texts()) == 2)
    assert "dropped" in house.counts
    assert "m1: one two" == stage.texts()[-1]


class Line:
    """The line of what is to be sent to the room: `way` says what comes of each look at it; the last stays."""

    def __init__(self, *way: bool | Exception) -> None:
        self._way = list(way)

    async def clear(self, queue: str) -> bool:
        assert "c:room" == queue
        found = self._way.pop(0) if len(self._way) > 1 else self._way[0]
        if isinstance(found, Exception):
            raise found
        return found


async def test_no_message_comes_between_the_parts_of_an_earlier_reply(house: House) -> None:
    """While an earlier reply is on its way the text is not shown; once it is out all there is appears, and then grows: what
    is sent behind it comes to stand behind it anyway."""
    stage, made, line = Stage(), draft(), Line(False, StoreBusy("away", retry_after_s=1), True, False)
    async with house.showing(stage, outbox=line) as shown:
        shown.follow(made)
        write(made, "one")
        await stage.until(lambda: len(stage.texts()) == 1)
        write(made, " two")
        await stage.until(lambda: len(stage.texts()) == 2)
        await shown.end()
    assert ["None: one", "m1: one two"] == stage.texts()
    assert ["dropped", "dropped"] == [count for count in house.counts if count == "dropped"]


async def test_a_wait_that_is_asked_for_is_kept(house: House) -> None:
    """Retry-After on an edit holds the scope, sends included; the answer goes on (NousResearch/hermes-agent#100446)."""
    limit = Rate(scope="chat", count=100, per_s=1)
    fault = Throttled("429", retry_after_s=30, scope="chat")
    stage, made = Stage(lambda call, n: fault if call == "edit" else None, limits=(limit,)), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        write(made, "one")
        await stage.until(lambda: len(stage.texts()) == 1)
        write(made, " two")
        await stage.until(lambda: len(stage.texts()) == 2)
        while "dropped" not in house.counts:
            await asyncio.sleep(0)
        assert "m1" == await shown.end()
    now = asyncio.get_running_loop().time()
    assert 29 < house.pacing.turn_at("c", "q", (limit,), now=now) - now <= 30
    assert 2 == len(stage.texts())


@pytest.mark.parametrize("fault", [Unknown("lost"), TimeoutError(), Refused("no"), RuntimeError("bug")], ids=repr)
async def test_a_first_message_nobody_knows_of_is_the_last(house: House, fault: Exception) -> None:
    """It may stand there without an id: a second one would be a second half-made reply."""
    stage, made = Stage(lambda call, n: fault if call == "send" else None), draft()
    async with house.showing(stage, show_s=0.05) as shown:
        shown.follow(made)
        write(made, "one")
        while "failed" not in house.counts:
            await asyncio.sleep(0)
        write(made, " two")
        await asyncio.sleep(0.03)
        assert None is await shown.end()
    assert 1 == len(stage.texts())


@pytest.mark.parametrize("fault", [Unreachable("down"), Throttled("wait", retry_after_s=0.01, scope="s")], ids=repr)
async def test_an_edit_that_fails_is_followed_by_the_next(house: House, fault: Exception) -> None:
    """A state is worth little: the next one shows all there is. It was not made, so the reply takes its message's place."""
    stage, made = Stage(lambda call, n: fault if call == "edit" and n == 1 else None), draft()
    async with house.showing(stage, show_s=0.05) as shown:
        shown.follow(made)
        write(made, "one")
        await stage.until(lambda: len(stage.texts()) == 1)
        write(made, " two")
        await stage.until(lambda: len(stage.texts()) == 3)
        assert "m1" == await shown.end()
    assert "m1: one two" == stage.texts()[-1]


async def test_a_sign_that_is_refused_does_not_keep_the_text_away(house: House) -> None:
    """And what was never on is not taken away."""
    stage, made = Stage(lambda call, n: Refused("missing_scope") if call == "sign" else None), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        write(made, "text")
        await stage.until(lambda: len(stage.texts()) == 1)
    assert ["Refused sign"] == [line for line in stage.seen if "sign" in line]


async def test_the_end_waits_for_the_call_under_way(house: House) -> None:
    """Else a late edit would come after the reply and put half of it back."""
    stage, made = Stage(), draft()
    stage.gate.clear()
    async with house.showing(stage) as shown:
        shown.follow(made)
        write(made, "half")
        await stage.until(lambda: len(stage.texts()) == 1)
        end = asyncio.create_task(shown.end())
        await asyncio.sleep(0.01)
        assert not end.done()
        stage.gate.set()
        assert "m1" == await end
    assert "m1" == await house.kept()


async def states(stage: Stage, made: Draft, *texts: str) -> None:
    """Write more and more, each when what was written before has been shown, or could not be."""
    for number, text in enumerate(texts):
        write(made, text)
        await stage.until(lambda number=number: len(stage.texts()) > number)  # type: ignore[misc]


@pytest.mark.parametrize(
    "fault", [TimeoutError(), Unknown("cut"), ValueError("a bug")], ids=["no answer", "cut", "bug"]
)
async def test_no_reply_stands_where_a_state_of_it_may_come_late(house: House, fault: Exception) -> None:
    """An edit that got no answer can be on its way still, behind the reply's, and put half of it back for ever. So its message
    goes, whatever was shown after it, and the reply stands in one of its own."""
    stage, made = Stage(lambda call, n: fault if (call, n) == ("edit", 1) else None), draft()
    async with house.showing(stage, show_s=0.05) as shown:
        shown.follow(made)
        await states(stage, made, "half", " more", *([] if isinstance(fault, ValueError) else [" 更多"]))
        assert None is await shown.end()
        assert "removed m1" not in stage.texts(), "not before the reply is stored: the next attempt may need it"
        await shown.clear()
        await shown.clear()
    assert "removed m1" == stage.texts()[-1]
    assert 1 == house.counts.count("removed")


async def test_what_cannot_be_taken_away_stays(house: House) -> None:
    """The reply does not go there all the same."""
    faults = {"edit": Unknown("cut"), "remove": Refused("too old")}
    stage, made = Stage(lambda call, n: faults.get(call)), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        await states(stage, made, "half", " more")
        assert None is await shown.end()
        await shown.clear()
    assert "Refused remove" == stage.texts()[-1]


async def test_nothing_is_taken_away_where_all_was_answered(house: House) -> None:
    """Nor where nothing was shown."""
    stage, made = Stage(), draft()
    async with house.showing(stage) as shown:
        await shown.clear()
        shown.follow(made)
        await states(stage, made, "half", " more")
        assert "m1" == await shown.end()
        await shown.clear()
    assert "removed m1" not in stage.texts()


async def test_a_turn_that_begins_again_keeps_its_message(house: House) -> None:
    """Whatever ended it before its reply was stored: the next attempt goes on with what stands there."""
    stage, made = Stage(lambda call, n: Unknown("cut") if call == "edit" else None), draft()

    async def turn() -> None:
        async with house.showing(stage) as shown:
            shown.follow(made)
            await states(stage, made, "half", " more")
            raise StoreBusy("away", retry_after_s=1)

    with pytest.raises(StoreBusy):
        await turn()
    assert "removed m1" not in stage.texts()
    assert "m1" == await house.kept()


async def test_the_reply_waits_for_no_sign(house: House) -> None:
    """A platform that is slow to show a sign delays no answer; the sign may be there by then, so it is taken away."""
    stage, made = Stage(), draft()
    stage.gate.clear()
    async with house.showing(stage) as shown:
        shown.follow(made)
        await stage.until(lambda: stage.seen == ["sign on"])
        async with asyncio.timeout(1):
            assert None is await shown.end()
        stage.gate.set()
    assert ["sign on", "sign off"] == stage.seen


async def test_a_store_that_is_busy_hears_of_the_message_later(house: House) -> None:
    """The text goes on being shown; the id is kept with the next state."""

    class Busy:
        calls = 0

        def mine(self, claim: Claim) -> bool:
            return house.box.mine(claim)

        async def show(self, ids: list[int], shown: str, *, lane: str, fence: int) -> None:
            self.calls += 1
            if self.calls == 1:
                raise StoreBusy("away", retry_after_s=1)
            await house.box.show(ids, shown, lane=lane, fence=fence)

    stage, made = Stage(), draft()
    async with house.showing(stage, inbox=Busy()) as shown:
        shown.follow(made)
        write(made, "one")
        await stage.until(lambda: len(stage.texts()) == 1)
        write(made, " two")
        await stage.until(lambda: len(stage.texts()) == 2)
        await shown.end()
    assert "m1" == await house.kept()


@pytest.mark.parametrize("first", ["one", ""])
async def test_who_wakes_late_writes_over_nothing(first: str, house: House) -> None:
    """The process was stopped, and another has taken the turn over: no text, no sign, and none is taken away either; by its own
    clock, as nobody could tell it yet."""
    stage, made = Stage(), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        await stage.until(lambda: stage.seen == ["sign on"])
        if first:
            write(made, first)
            await stage.until(lambda: len(stage.texts()) == 1)
            async with asyncio.timeout(20):
                while await house.kept() is None:
                    await asyncio.sleep(0)
        seen = list(stage.seen)
        await house.box.release(house.claim, hand_over=True)
        write(made, " 晚了")
        async with asyncio.timeout(20):
            while "dropped" not in house.counts:
                await asyncio.sleep(0)

    assert seen == stage.seen


async def test_who_lost_the_lane_shows_no_more(house: House) -> None:
    """Its next owner does; also where the queue knows it before our own clock."""

    class Sure:
        show = house.box.show

        def mine(self, claim: Claim) -> bool:
            return True

    stage, made = Stage(), draft()
    house.claim = Claim(lane="lane", fence=house.claim.fence - 1)
    async with house.showing(stage, inbox=Sure()) as shown:
        shown.follow(made)
        write(made, "one")
        await stage.until(lambda: len(stage.texts()) == 1)
        write(made, " two")
        await asyncio.sleep(0.03)
    assert 1 == len(stage.texts())


@pytest.mark.parametrize("how", ["broke", "cancelled", "interrupted"])
async def test_the_sign_is_taken_away_however_the_turn_ends(house: House, how: str) -> None:
    """'is thinking…' does not stay for ever (NousResearch/hermes-agent#24117), and nothing is shown after the end."""
    stage, made = Stage(), draft()

    async def turn() -> None:
        async with house.showing(stage) as shown:
            shown.follow(made)
            await stage.until(lambda: stage.seen == ["sign on"])
            if how == "broke":
                raise ZeroDivisionError
            if how == "cancelled":
                await asyncio.Event().wait()

    task = asyncio.create_task(turn())
    await stage.until(lambda: stage.seen == ["sign on"])
    await asyncio.sleep(0)
    if how == "cancelled":
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    write(made, "late")
    await asyncio.sleep(0.02)

    assert ["sign on", "sign off"] == stage.seen


@pytest.mark.parametrize("platform", [Platform(), None], ids=["shows nothing", "gone"])
async def test_a_channel_that_shows_nothing_is_asked_nothing(house: House, platform: Platform | None) -> None:
    """Collected replies, and platforms without such things, are as before."""
    made = draft()
    async with house.showing(platform) as shown:
        shown.follow(made)
        write(made, "text")
        assert None is await shown.end()
    assert [] == house.counts


async def test_a_channel_that_goes_down_meanwhile(house: House) -> None:
    """Nothing is shown while it does not run."""
    stage, made = Stage(), draft()
    one = One(stage, down_s=1)
    showing = Showing(inbox=house.box, outbox=house.box, channels=one, pacing=Pacing(), show_s=1)
    turn = Running(claim=house.claim, turn_id=house.event.id, speaker="a", events=(house.event,), attempts=0)
    async with showing.turn(turn, ADDRESS, queue="q") as shown:
        shown.follow(made)
        write(made, "text")
        await asyncio.sleep(0.01)
    assert [] == stage.seen


class Finder(Stage):
    """A stage that can be asked what it shows for a turn; `there` says what, or fails."""

    def __init__(
        self,
        there: str | Exception | None,
        *,
        show_every_s: float | None = 0.01,
        fault: Callable[[str, int], Exception | None] = lambda call, n: None,
    ) -> None:
        super().__init__(fault, show_every_s=show_every_s)
        self.there = there

    async def find(self, address: Address, *, chunk_id: str) -> Receipt | None:
        raise AssertionError("showing asks for what is shown only")

    async def find_shown(self, address: Address, *, turn: str) -> str | None:
        assert (ADDRESS, True) == (address, turn.isdigit())
        self.note("looked")
        if isinstance(self.there, TimeoutError):
            await asyncio.Event().wait()
        if isinstance(self.there, Exception):
            raise self.there
        return self.there


async def test_what_a_dead_attempt_has_shown_is_found_again(house: House) -> None:
    """A process that died between showing the first words and keeping their id leaves no second message behind: the next
    attempt goes on in the one that stands there, also when it shows nothing more itself."""
    async with house.showing(Finder("m8"), attempts=1) as shown:
        assert "m8" == await shown.end()
    stage, made = Finder("m7"), draft()
    async with house.showing(stage, attempts=1) as shown:
        shown.follow(made)
        write(made, "text")
        await stage.until(lambda: "m7: text" in stage.seen)
        assert "m7" == await shown.end()


@pytest.mark.parametrize(
    ("fault", "looked"),
    [(TimeoutError(), True), (Unknown("lost"), True), (RuntimeError("broken"), True), (Refused("no"), False)],
    ids=["late", "lost", "broken", "refused"],
)
async def test_a_first_message_whose_id_was_lost_is_replaced_too(house: House, fault: Exception, looked: bool) -> None:
    """Else it stays there half-done, beside the finished answer: a platform that is slow to answer has it all the same."""
    stage, made = Finder("m7", fault=lambda call, n: fault if call == "send" else None), draft()
    async with house.showing(stage, show_s=0.05) as shown:
        shown.follow(made)
        write(made, "text")
        await stage.until(lambda: bool(stage.texts()))
        assert ("m7" if looked else None) == await shown.end()
    assert int(looked) == stage.seen.count("looked")


@pytest.mark.parametrize(
    ("stage", "attempts", "looked"),
    [
        pytest.param(Finder("m7"), 0, False, id="first attempt"),
        pytest.param(Finder("m7", show_every_s=None), 1, False, id="shows no text"),
        pytest.param(Finder(None), 1, True, id="nothing there"),
        pytest.param(Finder(Unreachable("away")), 1, True, id="away"),
        pytest.param(Finder(TimeoutError()), 1, True, id="silent"),
        pytest.param(Finder(RuntimeError("broken")), 1, True, id="broken"),
    ],
)
async def test_no_look_up_stands_in_the_answers_way(house: House, stage: Finder, attempts: int, looked: bool) -> None:
    """A turn's first attempt asks nothing, and what can't be told leaves the reply a message of its own."""
    async with house.showing(stage, attempts=attempts, show_s=0.05) as shown:
        assert None is await shown.end()
    assert looked == ("looked" in stage.seen)


async def test_nothing_is_looked_up_in_a_room_that_moved(house: House) -> None:
    """What stood in the old room is not in the new one."""
    stage = Finder("m7")
    async with house.showing(stage, attempts=1, moved=True) as shown:
        assert None is await shown.end()
    assert [] == stage.seen


async def test_a_text_that_fades_is_shown_anew(house: House) -> None:
    """Where what is shown is no message and goes away by itself, a text that stands still is shown again in time."""
    stage, made = Stage(shown_s=0.02, ids=False), draft()
    async with house.showing(stage) as shown:
        shown.follow(made)
        write(made, "text")
        await stage.until(lambda: stage.texts()[:3] == ["None: text"] * 3)
        assert None is await shown.end()
