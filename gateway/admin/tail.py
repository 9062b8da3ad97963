"""The live tail: who follows it hears of each message as it is accepted and as its state changes, on whatever instance.

One follower for all readers, and only while there are any: woken by the queues' own bell, it looks at the newest events at most
once a second, and tells what is new. A reader that is too slow loses the oldest it has not read, and is told how many. Every
reader is sent away after a while, and comes again with the rights that it has by then.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import msgspec

from gateway.admin.acts.turns import TAIL, TailAsked, TurnLine
from gateway.admin.operations import Acting, Handlers, Stream
from gateway.admin.seen import name_of, route_of, text_of, visible
from gateway.admin.turns import line_of
from gateway.amending import DELETED
from gateway.errors import StoreBusy
from gateway.inbox.base import Event, Inbox
from gateway.inbox.looking import Looking, Walk, Wanted
from gateway.waits import happens

logger = logging.getLogger(__name__)

NEWEST = 200
"""Events that one query passes, and changes that wait for one reader, at most."""
LOOKS = 5
"""So many events, times `NEWEST`, are looked at for where the last look ended."""
KNOWN = 2_000
"""Events whose state is remembered."""
READERS = 50
_OPEN = frozenset({"accepted", "running", "replied"})


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One change. `name`, `text` and `reply` are for who may read there; `reply` comes with the reply's state."""

    line: TurnLine
    name: str = ""
    text: str = ""
    reply: str = ""


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that were not told: of these `count` is known."""

    count: int


@dataclass(slots=True)
class _Reader:
    """What one reader may see (None: all channels), and what waits for it."""

    sees: frozenset[str] | None
    reads: frozenset[str] | None
    waiting: deque[Told] = field(default_factory=lambda: deque(maxlen=NEWEST))
    missed: int = 0
    rung: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, told: Told) -> None:
        channel = told.line.channel
        if self.sees is not None and channel not in self.sees:
            return
        if self.reads is not None and channel not in self.reads:
            told = Told(line=told.line)
        self.missed += len(self.waiting) == NEWEST
        self.waiting.append(told)
        self.rung.set()


class Tail:
    """Follows the queues for its readers. `run` lives as long as the gateway; `close` sends all readers away."""

    def __init__(
        self, *, inbox: Inbox, looking: Looking, look_s: float = 1.0, beat_s: float = 15.0, lasts_s: float = 600.0
    ) -> None:
        """A look every `look_s` seconds at most; a reader gets a sign of life after `beat_s` of silence, and is sent away after
        `lasts_s`."""
        self._inbox = inbox
        self._looking = looking
        self._look_s = look_s
        self._beat_s = beat_s
        self._lasts_s = lasts_s
        self._readers: list[_Reader] = []
        self._wanted, self._begun = asyncio.Event(), asyncio.Event()
        self._states: OrderedDict[int, str] = OrderedDict()
        self._closed = False

    def handlers(self) -> Handlers:
        return {TAIL: self.tail}

    async def tail(self, acting: Acting, asked: TailAsked) -> Stream:
        """Give the stream of what happens from now on. Raises `StoreBusy` where too many follow already."""
        channels = visible(acting, asked.channel)
        acting.note(channel=asked.channel)
        if len(self._readers) >= READERS or self._closed:
            raise StoreBusy(
                f"{len(self._readers)} follow already, or the gateway stops; try again later", retry_after_s=10
            )
        reads = acting.channels("read")
        reader = _Reader(sees=None if channels is None else frozenset(channels), reads=reads)
        return Stream(pieces=self._pieces(reader), media="text/event-stream")

    def close(self) -> None:
        """Send all readers away, for good."""
        self._closed = True
        self._begun.set()
        for reader in self._readers:
            reader.rung.set()

    async def _pieces(self, reader: _Reader) -> AsyncGenerator[bytes, None]:
        if len(self._readers) >= READERS:  # others came in the same moment
            yield b"retry: 10000\n\n"
            return
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._lasts_s
        self._readers.append(reader)
        self._wanted.set()
        try:
            await happens(self._begun, within_s=self._beat_s)  # what comes from now on is told
            yield b": follows\n\n"
            while not self._closed and loop.time() < ends:
                try:
                    async with asyncio.timeout_at(min(loop.time() + self._beat_s, ends)):
                        await reader.rung.wait()
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                reader.rung.clear()
                if reader.missed:
                    yield _event("missed", Missed(count=reader.missed))
                    reader.missed = 0
                while reader.waiting:
                    yield _event("turn", reader.waiting.popleft())
        finally:
            self._readers.remove(reader)

    async def run(self) -> None:
        """Follow the queues while anybody reads."""
        seen = 0
        while True:
            if not self._readers:
                self._begun.clear()
                self._wanted.clear()
                await self._wanted.wait()
            try:
                if not self._begun.is_set():
                    await self._begin()
                seen = await self._inbox.changed(seen)
                await self._look()
            except StoreBusy:
                logger.warning("the tail waits for the queue", exc_info=True)
            except Exception:  # people are answered whether or not anybody can watch
                logger.exception("the tail failed; it looks again")
            await asyncio.sleep(self._look_s)  # not oftener, however busy the queues are

    async def _begin(self) -> None:
        """Note what there is already, which is no news."""
        self._states.clear()
        for event in reversed((await self._newest(before_id=None)).events):
            self._remember(event)
        self._begun.set()

    async def _newest(self, *, before_id: int | None) -> Walk:
        return await self._looking.events(Wanted(), before_id=before_id, limit=NEWEST)

    async def _since(self) -> tuple[list[Event], bool]:
        """Return the newest events, the newest first, back to one that is known; and whether that one was met."""
        found: list[Event] = []
        before: int | None = None
        for _ in range(LOOKS):
            walk = await self._newest(before_id=before)
            found += walk.events
            before = walk.next_id
            if before is None or any(event.id in self._states for event in walk.events):
                return found, True
        return found, False

    async def _look(self) -> None:
        newest, met = await self._since()
        if not met:
            for reader in self._readers:
                reader.missed += 1  # of those that were not even looked at, one at least
        inside = {event.id for event in newest}
        older = [id_ for id_, state in self._states.items() if state in _OPEN and id_ not in inside][-NEWEST:]
        events = [*newest, *(await self._looking.by_id(older) if older else ())]
        changed = [
            event for event in sorted(events, key=lambda one: one.id) if self._states.get(event.id) != event.state
        ]
        turns = sorted({event.turn_id for event in changed if event.state in ("replied", "answered", "failed", "dead")})
        replies = await self._looking.replies(turns) if turns else {}
        for event in changed:
            self._remember(event)
            told = _told(event, replies.get(event.turn_id, ""))
            for reader in self._readers:
                reader.tell(told)

    def _remember(self, event: Event) -> None:
        self._states[event.id] = event.state
        while len(self._states) > KNOWN:
            self._states.popitem(last=False)


def _told(event: Event, reply: str) -> Told:
    route = route_of(event)
    shown = None if event.outcome == DELETED else route
    return Told(
        line=line_of(event, route),
        name="" if shown is None else name_of(shown),
        text="" if shown is None else text_of(shown.event),
        reply=reply,
    )


def _event(name: str, data: msgspec.Struct) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))
