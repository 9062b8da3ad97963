"""The fault ladder of the Web API: what a test can make the next call of a method meet, and what was called.

`workspace.will("chat.postMessage", throttled(3), None, cut_after())`: the first call is told to wait, the second is normal, the
third is stored and never answered.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


class ApiError(Exception):
    """Slack's usual no: HTTP 200 with `ok: false`."""

    def __init__(self, error: str, *messages: str, **fields: Any) -> None:
        super().__init__(error)
        self.error = error
        self.messages = messages
        self.fields = fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way for a call to go wrong. `stored`: the call takes effect all the same."""

    delay_s: float = 0.0
    stored: bool = False
    cut: bool = False  # the connection ends without an answer
    status: int | None = None  # None: the answer of a call that went well, late
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    error: str | None = None  # Slack's own no
    retry_after_s: float | None = None  # for so long every call of the method meets the same


def throttled(retry_after_s: float, *, header: str | None = None) -> Fault:
    """429; calls of the method here that come before the time is over meet it too, and are noted as violations."""
    told = str(int(retry_after_s)) if header is None else header
    return Fault(status=429, headers=(("Retry-After", told),), retry_after_s=retry_after_s)


def broken(status: int = 503, *, stored: bool = False) -> Fault:
    """A server error."""
    return Fault(status=status, body=b"upstream connect error", stored=stored)


def cut_before() -> Fault:
    """The connection ends before the call takes effect."""
    return Fault(cut=True)


def cut_after() -> Fault:
    """The call takes effect and its answer is lost."""
    return Fault(cut=True, stored=True)


def slow(delay_s: float) -> Fault:
    """The call waits before it takes effect."""
    return Fault(delay_s=delay_s)


def slow_after(delay_s: float) -> Fault:
    """The call takes effect at once and is answered late."""
    return Fault(delay_s=delay_s, stored=True)


def html() -> Fault:
    """A page for browsers instead of JSON, with status 200."""
    page = b"<!DOCTYPE html><html><body>Server Error: we are on it</body></html>"
    return Fault(status=200, headers=(("Content-Type", "text/html; charset=utf-8"),), body=page)


def refused(error: str) -> Fault:
    """`ok: false` with this error."""
    return Fault(error=error)


@dataclass(slots=True, kw_only=True, eq=False)
class Call:
    """One call as it came. `answer` is None where no JSON went back."""

    method: str
    args: Json
    at: float  # by the platform's clock
    monotonic: float  # by the machine's
    team: str | None = None
    http_verb: str = "POST"
    status: int | None = None  # None: cut, or not answered yet
    answer: Json | None = None

    @property
    def error(self) -> str | None:
        """Slack's word for what was wrong; None: it went well, or there was no answer in JSON."""
        return None if self.answer is None else self.answer.get("error")


@dataclass(slots=True, eq=False)
class Faults:
    """What the next calls will meet, method by method."""

    _queues: dict[str, deque[Fault | None]] = field(default_factory=lambda: defaultdict(deque))
    _always: dict[str, Fault] = field(default_factory=dict)
    _held: dict[str, tuple[float, Fault]] = field(default_factory=dict)

    def will(self, method: str, *faults: Fault | None) -> None:
        """Let the next calls of `method` meet these, in order; None is a normal call. `method` may be `*`."""
        self._queues[method].extend(faults)

    def always(self, method: str, fault: Fault | None) -> None:
        """Let every call of `method` meet this, until told None."""
        if fault is None:
            self._always.pop(method, None)
        else:
            self._always[method] = fault

    def held(self, method: str, now: float) -> tuple[float, Fault] | None:
        """Return how long the method is still to be left alone, and the fault that said so."""
        until, fault = self._held.get(method, (0.0, None))
        return (until - now, fault) if fault is not None and now < until else None

    def next(self, method: str, now: float) -> Fault | None:
        """Return what this call meets."""
        queue = self._queues.get(method) or self._queues.get("*")
        fault = queue.popleft() if queue else self._always.get(method) or self._always.get("*")
        if fault is not None and fault.retry_after_s is not None:
            self._held[method] = (now + fault.retry_after_s, fault)
        return fault
