"""Live streams on many instances, over each kind of bus: whoever holds the reader's connection has the words as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from gateway.hot.base import Streams
from tests.contracts.hot import Where, instances, where

__all__ = ["where"]

TURN = 7_000_000_000_000_000_007
IDLE_S = 0.2


@dataclass
class Reader:
    """Follows a turn on one instance, as a page does; `text` is what it shows, `names` what came."""

    text: str = ""
    names: list[str] = field(default_factory=list)
    view: bytes = b""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    last: int | None = None

    async def follow(self, streams: Streams, *, after: int | None = None) -> None:
        async with aclosing(streams.follow(TURN, after=after, idle_s=IDLE_S)) as events:
            async for event in events:
                if event is None:
                    continue  # what the row would tell is another test's
                self.names.append(event.name)
                self.last = event.id
                if event.name in ("done", "failed"):
                    self.view = event.data
                else:
                    said = msgspec.json.decode(event.data)["text"]
                    self.text = said if event.name == "reset" else self.text + said
                self.changed.set()

    async def shows(self, text: str) -> None:
        """Return once it shows just this."""
        async with asyncio.timeout(30):
            while self.text != text:
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def reading(streams: Streams, *, after: int | None = None) -> AsyncIterator[Reader]:
    """Let a reader follow; on the way out it has come to the end of the stream."""
    reader = Reader()
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(reader.follow(streams, after=after))
        yield reader


def view(text: str | None) -> bytes:
    return msgspec.json.encode(
        {"turn": str(TURN), "status": "answered", "reply": None if text is None else {"text": text}}
    )


async def test_a_reader_elsewhere_sees_the_words_as_they_come(where: Where) -> None:
    """Before the end, on whatever instance; and as many readers as there are."""
    async with instances(where, 3) as (runs, one, other):
        runs.streams.begin([TURN])
        runs.streams.delta([TURN], "你好")
        async with reading(one.streams) as first, reading(one.streams) as second, reading(other.streams) as third:
            for reader in (first, second, third):
                await reader.shows("你好")
            for piece in (", world", " 👋", "!"):
                runs.streams.delta([TURN], piece)
            for reader in (first, second, third):
                await reader.shows("你好, world 👋!")
            runs.streams.left([TURN])
            runs.streams.close(TURN, name="done", view=view("你好, world 👋!"))

    for reader in (first, second, third):
        assert "done" == reader.names[-1]
        assert view("你好, world 👋!") == reader.view
        assert 1 == reader.names.count("done")


async def test_a_reader_that_came_first_is_served(where: Where) -> None:
    """The turn begins later, wherever that is: on another instance, or in the end on its own."""
    async with instances(where, 2) as (runs, reads), reading(reads.streams) as elsewhere, reading(runs.streams) as here:
        runs.streams.begin([TURN])
        runs.streams.delta([TURN], "a")
        await elsewhere.shows("a")
        await here.shows("a")
        runs.streams.close(TURN, name="failed", view=view(None))

    assert "failed" == elsewhere.names[-1]
    assert "failed" == here.names[-1]


async def test_a_turn_that_changes_hands_goes_on_for_its_reader(where: Where) -> None:
    """What the first runner showed is taken back, and the rest comes from the second (hermes-agent#36965: never a second copy
    behind the first)."""
    async with instances(where, 3) as (first, second, reads), reading(reads.streams) as reader:
        first.streams.begin([TURN])
        first.streams.delta([TURN], "half an ans")
        await reader.shows("half an ans")
        first.streams.left([TURN])
        second.streams.begin([TURN])
        await reader.shows("")
        second.streams.delta([TURN], "整个答案")
        await reader.shows("整个答案")
        second.streams.close(TURN, name="done", view=view("整个答案"))

    assert "整个答案" == reader.text


async def test_a_turn_taken_over_by_the_readers_own_instance(where: Where) -> None:
    """It hears no more of who had the turn before."""
    async with instances(where, 2) as (first, own), reading(own.streams) as reader:
        first.streams.begin([TURN])
        first.streams.delta([TURN], "half")
        await reader.shows("half")
        own.streams.begin([TURN])
        own.streams.delta([TURN], "whole")
        await reader.shows("whole")
        own.streams.close(TURN, name="done", view=view("whole"))

    assert "whole" == reader.text


async def test_the_end_comes_from_who_delivers(where: Where) -> None:
    """Which need not be who ran the turn: readers on both, and elsewhere, are told; with the text, should they lack some."""
    async with (
        instances(where, 3) as (runs, sends, reads),
        reading(runs.streams) as here,
        reading(reads.streams) as elsewhere,
    ):
        runs.streams.begin([TURN])
        runs.streams.delta([TURN], "words")
        await here.shows("words")
        await elsewhere.shows("words")
        runs.streams.left([TURN])
        sends.streams.close(TURN, name="done", view=view("words, sent"))

    assert [("words, sent", "done")] * 2 == [(reader.text, reader.names[-1]) for reader in (here, elsewhere)]


async def test_a_reader_that_comes_late_is_told_the_end(where: Where) -> None:
    """As long as the instance that had the turn has it at hand."""
    async with instances(where, 2) as (runs, reads):
        runs.streams.begin([TURN])
        runs.streams.delta([TURN], "all of it")
        runs.streams.close(TURN, name="done", view=view("all of it"))
        async with reading(reads.streams) as reader:
            pass

    assert "all of it" == reader.text
    assert "done" == reader.names[-1]


async def test_a_reader_that_changes_the_instance_has_it_all(where: Where) -> None:
    """Its last event's number is another process's: it gets the whole text, and what comes."""
    async with instances(where, 3) as (runs, one, other):
        runs.streams.begin([TURN])
        runs.streams.delta([TURN], "first ")
        async with asyncio.timeout(60):
            before = Reader()
            leaving = asyncio.create_task(before.follow(one.streams))
            await before.shows("first ")
            leaving.cancel()
            await asyncio.wait([leaving])
        runs.streams.delta([TURN], "then")
        async with reading(other.streams, after=before.last) as reader:
            reader.text = before.text
            await reader.shows("first then")
            runs.streams.close(TURN, name="done", view=view("first then"))

    assert "first then" == reader.text


async def test_what_is_erased_is_forgotten_everywhere(where: Where) -> None:
    """B46: words that were at hand on another instance than the one that erases."""
    async with AsyncExitStack() as stack:
        runs, erases = await stack.enter_async_context(instances(where, 2))
        runs.streams.begin([TURN])
        runs.streams.delta([TURN], "Quittengelee")
        runs.streams.close(TURN, name="done", view=view("Quittengelee"))
        async with reading(erases.streams):
            pass  # they hear each other
        erases.streams.forget([TURN])
        async with asyncio.timeout(30):
            while runs.streams.knows(TURN):
                await asyncio.sleep(0.01)  # looked at from outside: nothing tells it there

        assert not erases.streams.knows(TURN)
