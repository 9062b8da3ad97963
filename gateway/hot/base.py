"""State that may be lost without loss of truth: live streams, rate limits, a bus, small values with a life.

In process, on PostgreSQL, on Redis; `falling_back.py` goes from one to the next. Where it fails, `StoreBusy` says so within the
time that was given for it, and whoever asked goes on without.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from adapters.base import StreamEvent

MINUTE_S: Final = 60.0
MOST_BODY: Final = 262_144
"""Bytes of one word on the bus, and of one value on the shelf, at most."""


class Streams(Protocol):
    """Replies while they are made, followed by any number of readers. Every turn that runs ends with one `close`."""

    def begin(self, event_ids: Sequence[int]) -> None:
        """Start (or, at another attempt, restart) the stream of a turn; all its events' ids lead to it. One that was closed is
        open again."""
        ...

    def delta(self, event_ids: Sequence[int], text: str) -> None:
        """Add text."""
        ...

    def reset(self, event_ids: Sequence[int], text: str = "") -> None:
        """Say that all shown so far counts no more; `text` stands in its place."""
        ...

    def close(self, event_id: int, *, name: str, view: bytes) -> None:
        """End one event's stream with `done` or `failed` and its final view. Where the view has a reply, and the stream shows
        another text (the reply was stored before a crash, or nothing was shown of it), a `reset` with the reply comes first."""
        ...

    def left(self, event_ids: Sequence[int]) -> None:
        """Say that the turn is not run here any more, however that came about; what was shown stays."""
        ...

    def forget(self, event_ids: Sequence[int]) -> None:
        """Drop the streams of these events, words and all: whoever follows one looks at the truth."""
        ...

    def knows(self, event_id: int) -> bool:
        """Whether the stream of the event is at hand here."""
        ...

    def follow(self, event_id: int, *, after: int | None, idle_s: float) -> AsyncGenerator[StreamEvent | None, None]:
        """Yield the stream's events behind `after`, to its end. None after `idle_s` without one: look at the truth.

        A reader whose `after` is no longer at hand gets a `reset` with all text so far.
        """
        ...


class RateLimits(Protocol):
    """How often somebody may do something: `most` times in any `within_s` seconds, by the clock of whatever keeps the counts.

    A window slides, reckoned from the counts of two: this one's, and the share of the last one's that it still covers. Each
    `who` is always asked about with the same `within_s`. Raises `StoreBusy`.
    """

    async def take(self, who: str, *, most: int, within_s: float = MINUTE_S) -> bool:
        """Count one act of `who` if it is within the limit, and only then; whether it is. Of acts at once, on whatever instances,
        exactly as many pass as may."""
        ...

    async def free(self, who: str, *, most: int, within_s: float = MINUTE_S) -> bool:
        """Whether one more act would be within the limit. Counts nothing."""
        ...

    async def give_back(self, who: str) -> None:
        """Count one less: the act counted a moment ago was none."""
        ...

    async def reset(self, who: str) -> None:
        """Begin the count of `who` anew."""
        ...


class Bus(Protocol):
    """What instances call to each other. Words may be lost, and are, when anything fails or somebody hears too slowly; those of
    one speaker come in order. Whoever speaks hears it, too. Nothing is known by these words alone."""

    def say(self, topic: str, body: bytes) -> None:
        """Call to all who hear the topic; returns at once. More than `MOST_BODY` bytes are not said."""
        ...

    def hear(self, topic: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Hear what is said from the moment this is entered. Who hears too slowly loses the oldest."""
        ...


class Shelf(Protocol):
    """Small values with a life, for whichever instance comes for them. Gone is a normal answer. Secrets are sealed by whoever
    puts them. Raises `StoreBusy`."""

    async def put(self, key: str, value: bytes, *, life_s: float) -> None:
        """Keep the value under the key, in the place of what was there. Raises `ValueError` for more than `MOST_BODY` bytes."""
        ...

    async def get(self, key: str) -> bytes | None:
        """Return the value; None: there is none, or no longer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Hot:
    """The parts as they are opened together."""

    bus: Bus
    limits: RateLimits
    shelf: Shelf
    streams: Streams
