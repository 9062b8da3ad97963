"""What goes wrong between a bot and the platform, rung by rung: each fault serves for one call, in the order planned."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from tests.emulators.telegram.errors import ApiError, conflict, too_many

HTML = "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """`done`: the platform does what was asked, and only the answer is at fault. Then, after `delay_s` of the emulator's time:
    an `error`, a `page` with the status `html`, a `cut` connection, silence (`lost`), or an answer without an end, a byte
    every `drips_s`; else the true answer."""

    done: bool = False
    delay_s: float = 0.0
    error: ApiError | None = None
    html: int | None = None
    page: str = HTML
    cut: bool = False
    lost: bool = False
    drips_s: float = 0.0


FINE = Fault(done=True)


def server_error(code: int = 500, text: str = "Internal Server Error", *, done: bool = False) -> Fault:
    return Fault(error=ApiError(code, text), done=done)


def html(status: int = 502, *, page: str = HTML, done: bool = False) -> Fault:
    """A proxy's page instead of the platform's JSON; it may be JSON of its own."""
    return Fault(html=status, page=page, done=done)


def throttled(retry_after_s: int) -> Fault:
    """429; who comes back to the same chat (or, without a chat, the same method) before that violates."""
    return Fault(error=too_many(retry_after_s))


def conflicting() -> Fault:
    """409, as if another instance polled."""
    return Fault(
        error=conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
    )


def cut(*, done: bool) -> Fault:
    """The connection breaks: before anything happened, or after the message was stored."""
    return Fault(cut=True, done=done)


def lost(*, done: bool) -> Fault:
    """No answer ever comes: the caller runs into its timeout."""
    return Fault(lost=True, done=done)


def dripping(every_s: float) -> Fault:
    """Done, and answered byte by byte for ever: no single wait of the caller's is long."""
    return Fault(drips_s=every_s, done=True)


def slow(seconds: float) -> Fault:
    """Done at once, answered late."""
    return Fault(done=True, delay_s=seconds)


class Faults:
    """The plan: per method, or per method and chat, in order. What is not planned goes well."""

    def __init__(self) -> None:
        self._plan: dict[str, deque[Fault]] = defaultdict(deque)

    def plan(self, method: str, *rungs: Fault, chat: int | None = None) -> None:
        """Let the next calls of the method (as documented: `sendMessage`) meet these faults, one each; `FINE` lets one
        pass. `chat`: only those about that chat."""
        self._plan[method if chat is None else f"{method} {chat}"].extend(rungs)

    def take(self, method: str, *, chat: str | None) -> Fault:
        """Return what the next call of the method, about the chat, meets."""
        rungs = self._plan.get(f"{method} {chat}") or self._plan[method]
        return rungs.popleft() if rungs else FINE

    def left(self) -> dict[str, int]:
        """Return how many planned faults have not been met yet, by method."""
        return {method: len(rungs) for method, rungs in self._plan.items() if rungs}
