"""What instances tell each other of live streams: nothing that nobody wants, and what gets lost is asked for again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.hot import wanted
from gateway.hot.hearing import ProcessBus
from gateway.hot.process import ProcessStreams
from gateway.hot.streams import FORGET, WANTS, SharedStreams
from gateway.hot.wanted import WANTED_S, Piece, Want, Wanted

TURN = 7


class Line(ProcessBus):
    """A bus between processes that notes what is said, and loses the words that `lost` says."""

    def __init__(self, lost: Sequence[bool] = ()) -> None:
        super().__init__()
        self.said: list[str] = []
        self._lost = iter(lost)

    def say(self, topic: str, body: bytes) -> None:
        self.said.append(topic)
        if not next(self._lost, False):
            super().say(topic, body)


@asynccontextmanager
async def sharing(bus: ProcessBus, count: int) -> AsyncIterator[list[SharedStreams]]:
    """Open the streams of so many processes on one bus."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                SharedStreams(ProcessStreams(first_id=number * 1_000_000), bus, within_s=5).opened()
            )
            for number in range(1, count + 1)
        ]


def view(text: str) -> bytes:
    return msgspec.json.encode({"reply": {"text": text}})


async def test_what_nobody_wants_elsewhere_is_sent_nowhere() -> None:
    """However much is said: a turn whose reader is here, or that has none, costs the others nothing."""
    bus = Line()
    async with sharing(bus, 2) as (runs, _):
        runs.begin([TURN])
        for number in range(100):
            runs.delta([TURN], f"{number} ")
        runs.close(TURN, name="done", view=view("x"))
        await asyncio.sleep(0)

    assert [] == bus.said


async def test_words_of_another_release_are_passed_over() -> None:
    """Side by side with it, during a deployment: they neither break anything nor are believed."""
    bus = Line()
    async with asyncio.timeout(20), sharing(bus, 2) as (runs, reads):
        for topic in (WANTS, FORGET, f"to {reads._me}"):
            for body in (b"", b"\xff", msgspec.msgpack.encode({"v": 2}), msgspec.msgpack.encode([8])):
                bus.say(topic, body)
        runs.begin([TURN])
        async with aclosing(reads.follow(TURN, after=None, idle_s=0.05)) as events:
            bus.say(f"to {reads._me}", msgspec.msgpack.encode(Piece(8, "x", 1, "reset", "another's")))
            runs.delta([TURN], "words")
            shown = [event for event in [await anext(events)] if event is not None]
            while not shown:
                shown = [event for event in [await anext(events)] if event is not None]

    assert ["reset"] == [event.name for event in shown]
    assert {"text": "words"} == msgspec.json.decode(shown[0].data)


async def test_a_piece_that_was_lost_is_asked_for_again() -> None:
    """The next one shows that it is missing, and then all comes anew."""
    bus = Line(lost=[False, False, True])  # the wish, all there is, more
    async with asyncio.timeout(20), sharing(bus, 2) as (runs, reads):
        runs.begin([TURN])
        runs.delta([TURN], "one ")
        shown = list[str]()
        async with aclosing(reads.follow(TURN, after=None, idle_s=10)) as events:
            async for event in events:
                assert event is not None
                shown.append(f"{event.name} {msgspec.json.decode(event.data)['text']}")
                if len(shown) == 1:
                    runs.delta([TURN], "two ")
                    while len(bus.said) < 3:
                        await asyncio.sleep(0.01)
                    runs.delta([TURN], "三")
                else:
                    break

    assert ["reset one ", "reset one two 三"] == shown


async def test_who_asks_for_what_has_not_begun_leaves_nothing_behind() -> None:
    """And what was begun here, and ends elsewhere, is let go with the last of those that ended."""
    async with AsyncExitStack() as stack:
        here = await stack.enter_async_context(SharedStreams(ProcessStreams(finished=1), Line(), within_s=5).opened())
        async with aclosing(here.follow(TURN, after=None, idle_s=0.01)) as events:
            assert None is await anext(events)
            assert here.knows(TURN)
        assert not here.knows(TURN)
        for turn in (1, 2):
            here.begin([turn])
            here.delta([turn], "整个")
            here.left([turn])
        async with aclosing(here.follow(2, after=None, idle_s=0.01)) as events:
            assert await anext(events) is not None

        assert (False, True) == (here.knows(1), here.knows(2)), "its words are here and nowhere else"


async def follow(streams: SharedStreams, ended: asyncio.Event) -> str:
    """Return what a reader shows at the end: the stream's, or the row's where that came first."""
    text = ""
    async with aclosing(streams.follow(TURN, after=None, idle_s=0.02)) as events:
        async for event in events:
            if event is None:
                if ended.is_set():
                    return "as the row tells"
            elif event.name in ("done", "failed"):
                return text
            else:
                said = msgspec.json.decode(event.data)["text"]
                text = said if event.name == "reset" else text + said
    raise AssertionError("the stream ended without an end")


@settings(max_examples=25)
@given(st.lists(st.booleans(), max_size=40), st.lists(st.sampled_from(["delta", "reset", "begin"]), max_size=8))
def test_whatever_is_lost_no_reader_shows_something_else(lost: list[bool], acts: list[str]) -> None:
    """A reader on another instance ends with just the text of the reply, or is sent to the row."""

    async def scene() -> tuple[str, str]:
        bus, ended = Line(lost), asyncio.Event()
        async with asyncio.timeout(60), sharing(bus, 2) as (runs, reads):
            reading = asyncio.create_task(follow(reads, ended))
            await asyncio.sleep(0)
            said = ""
            runs.begin([TURN])
            for number, act in enumerate(acts):
                match act:
                    case "delta":
                        runs.delta([TURN], f"d{number}字")
                        said += f"d{number}字"
                    case "reset":
                        said = f"r{number}"
                        runs.reset([TURN], said)
                    case _:
                        said = ""
                        runs.begin([TURN])
                await asyncio.sleep(0.03 * (number % 3))
            runs.left([TURN])
            runs.close(TURN, name="done", view=view(said))
            ended.set()
            return said, await reading

    said, shown = asyncio.run(scene())
    assert shown in (said, "as the row tells")


class TestWanted:
    """What is sent to whom."""

    @pytest.fixture
    def wishes(self) -> Wanted:
        return Wanted("me")

    def sent(self, pieces: Iterator[tuple[str, Piece]]) -> list[tuple[str, int, str, str]]:
        return [(by, piece.number, piece.name, piece.text) for by, piece in pieces]

    def now(self, wishes: Wanted, now: float = 0) -> list[tuple[str, int, str, str]]:
        return self.sent(wishes.pieces(lambda _: "all", now=now))

    def left(self, wishes: Wanted, count: int) -> list[int]:
        """Return of which of the first so many streams somebody wants something."""
        for event_id in range(count):
            wishes.grew(event_id, "x")
        return [piece.event_id for _, piece in wishes.pieces(lambda _: "", now=-1)]

    def test_first_all_then_what_is_new(self, wishes: Wanted) -> None:
        """Each who asked, by numbers of their own."""
        wishes.want(Want(TURN, "a"), now=0)
        wishes.grew(TURN, "one ")
        first = self.now(wishes)
        wishes.want(Want(TURN, "b"), now=0)
        wishes.grew(TURN, "two ")
        wishes.grew(TURN, "three")

        assert [("a", 1, "reset", "all")] == first
        assert [("a", 2, "delta", "two three"), ("b", 1, "reset", "all")] == self.now(wishes)
        assert [] == self.now(wishes)

    def test_who_has_all_is_sent_nothing_again(self, wishes: Wanted) -> None:
        wishes.want(Want(TURN, "a"), now=0)
        wishes.grew(TURN, "one")
        self.now(wishes)
        wishes.want(Want(TURN, "a", "me", 1), now=5)
        wishes.grew(TURN, "")

        assert [] == self.now(wishes)

    @pytest.mark.parametrize("behind", [("me", 0), ("another", 1), ("", 0)])
    def test_who_lacks_something_begins_anew(self, wishes: Wanted, behind: tuple[str, int]) -> None:
        wishes.want(Want(TURN, "a"), now=0)
        wishes.grew(TURN, "one")
        self.now(wishes)
        wishes.want(Want(TURN, "a", *behind), now=0)
        wishes.grew(TURN, "")

        assert [("a", 2, "reset", "all")] == self.now(wishes)

    def test_a_wish_has_an_end(self, wishes: Wanted) -> None:
        """Who went away without a word is sent nothing for long; and who comes back, all."""
        wishes.want(Want(TURN, "a"), now=0)
        wishes.grew(TURN, "one")
        self.now(wishes)
        wishes.grew(TURN, "two")
        late = self.now(wishes, now=WANTED_S)
        wishes.want(Want(TURN, "a", "me", 1), now=WANTED_S)
        wishes.grew(TURN, "three")

        assert [] == late
        assert [("a", 2, "reset", "all")] == self.now(wishes, now=WANTED_S)

    def test_the_end_is_told_once(self, wishes: Wanted) -> None:
        for by in "ab":
            wishes.want(Want(TURN, by), now=0)
        wishes.grew(TURN, "one")

        assert [("a", 1, "done", ""), ("b", 1, "done", "")] == self.sent(wishes.end(TURN, "done", b"{}"))
        assert [] == self.sent(wishes.end(TURN, "done", b"{}"))
        assert [] == self.now(wishes)

    def test_wishes_are_bounded(self, wishes: Wanted) -> None:
        """Old ones make room; those that are over go without being many (openclaw#54155)."""
        for event_id in range(wanted.MOST + 10):
            wishes.want(Want(event_id, "a"), now=0)
        full = self.left(wishes, wanted.MOST + 10)
        wishes.want(Want(1_000_000, "a"), now=WANTED_S)

        assert list(range(10, wanted.MOST + 10)) == full
        assert [] == self.left(wishes, wanted.MOST + 10)
