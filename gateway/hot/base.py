"""State that may be lost without loss of truth: live streams and rate limits. One process here; many later."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from adapters.base import StreamEvent


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
        """End one event's stream with `done` or `failed` and its final view."""
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
    """How often somebody may do something."""

    def allows(self, who: str, *, per_minute: int, now: float) -> bool:
        """Whether one more act of `who` is within the limit; `now` in seconds, from any fixed start. Counts nothing."""
        ...

    def count(self, who: str, *, now: float) -> None:
        """Count one act of `who`."""
        ...

    def take_back(self, who: str, *, now: float) -> None:
        """Count one less: the act counted a moment ago was none."""
        ...
