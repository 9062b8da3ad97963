"""Hot state in this process's own memory; every map has a bound."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Literal

import msgspec

from adapters.base import StreamEvent
from adapters.remembering import remember
from gateway.hot.base import MINUTE_S, MOST_BODY
from gateway.hot.counting import Count, at, less, room

KEPT_EVENTS = 256
"""Events of one stream kept for readers that come back; older ones are replaced by a `reset`."""


class _Stream:
    """One turn's events so far, and the wish to know of more."""

    __slots__ = ("closed", "events", "first_id", "last_id", "more", "text")

    def __init__(self, first_id: int) -> None:
        self.text = ""
        self.first_id = self.last_id = first_id
        self.events: deque[StreamEvent] = deque(maxlen=KEPT_EVENTS)
        self.more = asyncio.Event()
        self.closed = False

    def push(self, name: Literal["turn", "delta", "reset", "done", "failed"], data: bytes) -> None:
        self.last_id += 1
        self.events.append(StreamEvent(id=self.last_id, name=name, data=data))
        self.more.set()
        self.more = asyncio.Event()

    def behind(self, after: int) -> list[StreamEvent]:
        """Return the events behind `after`; a gap or a foreign number becomes one `reset` (and the end, if closed). The end
        comes again for a reader that has it: nothing else would tell him to stop waiting."""
        first = self.events[0].id if self.events else self.last_id + 1
        end = self.events[-1] if self.closed else None
        if first - 1 <= after <= self.last_id:
            behind = [event for event in self.events if event.id > after]
            return behind or ([end] if end else [])
        at = self.last_id - 1 if end else self.last_id
        reset = StreamEvent(id=at, name="reset", data=_text(self.text))
        return [reset, end] if end else [reset]


class _End(msgspec.Struct):
    """What is read of a final view."""

    reply: dict[str, str] | None = None


_end_of = msgspec.json.Decoder(_End).decode


def _text(text: str) -> bytes:
    return msgspec.json.encode({"text": text})


def _reply(view: bytes) -> str | None:
    """Return the reply that a final view has; None: none, or another release says it in another way."""
    try:
        end = _end_of(view)
    except msgspec.MsgspecError:
        return None
    return None if end.reply is None else end.reply.get("text")


class ProcessStreams:
    """Streams of the turns that run here, `bound` at most; of those that ended, or ran here and end elsewhere, the last
    `finished`. Whoever comes later is told from the stored reply."""

    def __init__(self, bound: int = 20_000, finished: int = 500, *, first_id: int = 0) -> None:
        """Events are numbered from behind `first_id`: greater in each process than all numbers of the one before, so that a
        reader who comes back after a restart is not given the rest of another answer."""
        self._next_first_id = first_id
        self._bound = bound
        self._most_finished = finished
        self._streams: OrderedDict[int, _Stream] = OrderedDict()
        self._finished: OrderedDict[int, None] = OrderedDict()  # by when they ended, or were left to others

    def _stream(self, event_id: int) -> _Stream:
        stream = self._streams.get(event_id)
        if stream is None:
            stream = self._streams[event_id] = _Stream(self._next_first_id)
            while len(self._streams) > self._bound:
                self._finished.pop(self._streams.popitem(last=False)[0], None)
        else:
            self._streams.move_to_end(event_id)
        return stream

    def _push(self, stream: _Stream, name: Literal["delta", "reset", "done", "failed"], data: bytes) -> None:
        stream.push(name, data)
        # A stream that was dropped and comes again has numbers of its own: nobody is given the rest of another one.
        self._next_first_id = max(self._next_first_id, stream.last_id + 1)

    def knows(self, event_id: int) -> bool:
        return event_id in self._streams

    def text(self, event_id: int) -> str:
        """Return all text of the stream so far."""
        stream = self._streams.get(event_id)
        return "" if stream is None else stream.text

    def end(self, event_id: int) -> StreamEvent | None:
        """Return the event that ended the stream; None: it has not ended, or is not at hand."""
        stream = self._streams.get(event_id)
        return stream.events[-1] if stream is not None and stream.closed else None

    def begin(self, event_ids: Sequence[int]) -> None:
        for event_id in event_ids:
            stream = self._stream(event_id)
            self._finished.pop(event_id, None)
            if stream.closed:
                stream.closed = False
                stream.events.clear()
            if stream.text:
                stream.text = ""
                self._push(stream, "reset", _text(""))

    def delta(self, event_ids: Sequence[int], text: str) -> None:
        data = _text(text)
        for event_id in event_ids:
            stream = self._stream(event_id)
            stream.text += text
            self._push(stream, "delta", data)

    def reset(self, event_ids: Sequence[int], text: str = "") -> None:
        for event_id in event_ids:
            stream = self._stream(event_id)
            stream.text = text
            self._push(stream, "reset", _text(text))

    def close(self, event_id: int, *, name: str, view: bytes) -> None:
        stream = self._stream(event_id)
        if not stream.closed:
            reply = _reply(view)
            if reply is not None and reply != stream.text:
                self.reset([event_id], reply)
            stream.closed = True
            self._push(stream, "done" if name == "done" else "failed", view)
            self._over(event_id)

    def left(self, event_ids: Sequence[int]) -> None:
        """Its end may be told elsewhere, and never here: it is kept as one that ended."""
        for event_id in event_ids:
            if event_id in self._streams:
                self._over(event_id)

    def _over(self, event_id: int) -> None:
        self._finished[event_id] = None
        self._finished.move_to_end(event_id)
        while len(self._finished) > self._most_finished:
            self._streams.pop(self._finished.popitem(last=False)[0], None)

    def forget(self, event_ids: Sequence[int]) -> None:
        for event_id in event_ids:
            self._streams.pop(event_id, None)
            self._finished.pop(event_id, None)

    async def follow(
        self, event_id: int, *, after: int | None, idle_s: float
    ) -> AsyncGenerator[StreamEvent | None, None]:
        stream = self._stream(event_id)
        last = after or stream.first_id
        while True:
            more = stream.more
            for event in stream.behind(last):
                last = event.id
                yield event
                if event.name in ("done", "failed"):
                    return
            if stream.last_id > last:
                continue
            try:
                async with asyncio.timeout(idle_s):
                    await more.wait()
            except TimeoutError:
                yield None


class ProcessRateLimits:
    """Implements `RateLimits`. Those who did something long ago are forgotten first."""

    def __init__(self, bound: int = 100_000, *, clock: Callable[[], float] = time.time) -> None:
        self._bound = bound
        self._clock = clock
        self._counts: OrderedDict[str, Count] = OrderedDict()

    async def take(self, who: str, *, most: int, within_s: float = MINUTE_S) -> bool:
        """See `RateLimits.take`."""
        count = at(self._counts.get(who), now=self._clock(), within_s=within_s)
        passes = room(count, most=most, within_s=within_s) > 0
        remember(self._counts, who, count._replace(acts=count.acts + passes), most=self._bound)
        return passes

    async def free(self, who: str, *, most: int, within_s: float = MINUTE_S) -> bool:
        """See `RateLimits.free`."""
        count = at(self._counts.get(who), now=self._clock(), within_s=within_s)
        return room(count, most=most, within_s=within_s) > 0

    async def give_back(self, who: str) -> None:
        """See `RateLimits.give_back`."""
        if who in self._counts:
            self._counts[who] = less(self._counts[who])

    async def reset(self, who: str) -> None:
        """See `RateLimits.reset`."""
        self._counts.pop(who, None)


class ProcessShelf:
    """Implements `Shelf`: the newest `bound` values."""

    def __init__(self, bound: int = 1_000, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._bound = bound
        self._clock = clock
        self._kept: OrderedDict[str, tuple[bytes, float]] = OrderedDict()

    async def put(self, key: str, value: bytes, *, life_s: float) -> None:
        """See `Shelf.put`."""
        remember(self._kept, key, (small(value), self._clock() + life_s), most=self._bound)

    async def get(self, key: str) -> bytes | None:
        """See `Shelf.get`."""
        value, until = self._kept.get(key, (None, 0.0))
        return value if until > self._clock() else None


def small(value: bytes) -> bytes:
    """Return the value. Raises `ValueError` if it is too large for a shelf."""
    if len(value) > MOST_BODY:
        raise ValueError(
            f"a value of {len(value)} bytes is more than the {MOST_BODY} that a shelf takes; keep it in a store"
        )
    return value
