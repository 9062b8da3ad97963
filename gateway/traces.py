"""Spans: how long each step of a message took, for whoever collects traces. Off unless asked for (`telemetry.traces_url`).

A trace's ids come from the turn's own, so that accepting, answering and sending find each other over the stored rows: after a
restart and on another instance, too. Attributes are ids, names out of the settings and counts; never a word or a person's name.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Literal, Protocol

from config.telemetry import TelemetrySettings

Step = Literal["turn", "load", "ask", "append", "store", "send", "learn"]
Value = str | int | float | bool
Outcome = Literal["exported", "failed", "dropped"]


class Span(Protocol):
    """A step under way."""

    def note(self, **about: Value | None) -> None:
        """Add attributes; None: nothing."""
        ...


class Traces(Protocol):
    """What steps are told to. No verb raises, and none waits."""

    def span(
        self, step: Step, *, turn: int | None = None, joined: Sequence[int] = (), **about: Value | None
    ) -> AbstractContextManager[Span]:
        """Time what is done inside, and whether it raised (by the error's type, not by its words).

        `turn` puts it below the turn's acceptance; None: below the span that is open around it. `joined` are the other
        messages which this turn answers.
        """
        ...

    def accepted(self, turn: int, *, since_ns: int, first: bool, **about: Value | None) -> None:
        """A message was accepted as this turn, or (not `first`) came again; `since_ns` is when that began, of `time.time_ns`."""
        ...


class _NoSpan:
    def note(self, **about: Value | None) -> None:
        """Nobody listens."""


class NoTraces:
    """What steps are told to where nobody collects traces."""

    def __init__(self) -> None:
        self._none = nullcontext(_NoSpan())

    def span(
        self, step: Step, *, turn: int | None = None, joined: Sequence[int] = (), **about: Value | None
    ) -> AbstractContextManager[Span]:
        return self._none

    def accepted(self, turn: int, *, since_ns: int, first: bool, **about: Value | None) -> None:
        pass


OFF = NoTraces()


@asynccontextmanager
async def traced(
    settings: TelemetrySettings, *, instance: str, version: str, ended: Callable[[Outcome, int], None]
) -> AsyncIterator[Traces]:
    """Give what steps are told to, by the settings; `ended` hears, from any thread, what became of how many spans."""
    if settings.traces_url is None:
        yield OFF
        return
    from gateway.telemetry.otlp import exporting  # only who traces pays for it

    async with exporting(
        settings.traces_url, settings=settings, instance=instance, version=version, ended=ended
    ) as traces:
        yield traces


def trace_id(turn: int) -> int:
    """Return a turn's trace id: 128 bits that look random, as samplers want them, and never 0. Pure."""
    return _digest("trace", turn, 16)


def root_id(turn: int) -> int:
    """Return the id of the span that stands for the turn's acceptance: 64 bits, never 0. Pure."""
    return _digest("accept", turn, 8)


def _digest(what: str, turn: int, size: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"clew {what} {turn}".encode(), digest_size=size).digest(), "big") or 1
