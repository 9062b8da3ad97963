"""Dead letters: what was given up, or was sent and may not have arrived, until an admin has dealt with it; the protocol beside
`Inbox` and `Outbox` (there as `letters`).

A letter is a turn. Each act takes place once: whoever decides on a letter names how often it was taken up again (`seen`), and
whoever comes second changes nothing. What was sent before stays on record behind negative parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, Protocol

import msgspec

from gateway.inbox.base import Chunk, Event, Outcome, Redirect

LetterKind = Literal["dead", "unknown"]

RETRIED = Outcome(state="answered", rule="retried")
"""What stands on an event that an admin gave back to its lane, until it has its end: one more start is granted to it."""

BY_HAND = "by_hand"
"""The rule of what was answered by an admin's own words."""


class ByHand(msgspec.Struct, frozen=True, kw_only=True):
    """An admin's own answer. `id` is one of `memory/ids.py`'s, of this answer alone; `name` is what the person is told."""

    id: int
    name: str
    text: str

    def outcome(self) -> Outcome:
        """Return what stands on the event until the words are on their way."""
        return Outcome(state="answered", rule=BY_HAND, message=msgspec.json.encode(self).decode())


def by_hand(event: Event) -> ByHand | None:
    """Return the admin's words that a waiting event is to be answered with; None: there are none. Pure."""
    outcome = event.outcome
    if event.state not in ("accepted", "running") or outcome is None or outcome.rule != BY_HAND:
        return None
    return msgspec.json.decode(outcome.message or "", type=ByHand)


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that waits for an admin. `dead`: its events were given up, or their reply was; `unknown`: all was done, but a chunk
    may not have arrived.

    `events` are the turn's, `chunks` all that went out or should have, both oldest first; those of negative index belong to
    earlier tries. `notice_of`: what could not be delivered was the notice of this failure. `seen` counts how often it was
    taken up again.
    """

    turn_id: int
    kind: LetterKind
    events: tuple[Event, ...]
    chunks: tuple[Chunk, ...]
    seen: int
    notice_of: Outcome | None = None

    def concerned(self) -> tuple[Event, ...]:
        """Return the events that an act on the letter concerns."""
        states = ("dead",) if self.kind == "dead" else ("answered", "failed")
        return tuple(event for event in self.events if event.state in states)

    def current(self) -> tuple[Chunk, ...]:
        """Return the chunks of the reply that stands."""
        return tuple(chunk for chunk in self.chunks if chunk.index >= 0)

    def undelivered(self) -> tuple[Chunk, ...]:
        """Return the chunks that did not arrive, or may not have."""
        return tuple(chunk for chunk in self.current() if chunk.state == self.kind)

    def open_to(self, seen: int, answer: ByHand | None) -> bool:
        """Say whether whoever saw it so may have it answered again, or by their own words."""
        return self.seen == seen and (self.kind == "dead" or answer is not None)

    def past(self, chunks: Iterable[Chunk]) -> list[tuple[Chunk, int]]:
        """Return the chunks with the parts under which they stay on record: below all others of the turn."""
        lowest = min(0, *(chunk.index for chunk in self.chunks)) if self.chunks else 0
        return [(chunk, lowest - 1 - chunk.index) for chunk in chunks]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which letters: of these channels (None: all), of one kind or both, ended with this code; older than turn `before_id`."""

    channels: Collection[str] | None = None
    kind: LetterKind | None = None
    code: str | None = None
    before_id: int | None = None
    limit: int = 50


class DeadLetters(Protocol):
    """Every implementation passes `tests/contracts/dead.py`. Errors as in `gateway/inbox/base.py`.

    The three acts return False, and change nothing, where there is no such letter (any more) or it was taken up since `seen`
    was read.
    """

    async def listed(self, wanted: Wanted) -> tuple[Letter, ...]:
        """Return letters, the newest first."""
        ...

    async def find(self, turn_id: int) -> Letter | None:
        """Return the turn's letter; None: it is none, or none any more."""
        ...

    async def reopen(self, turn_id: int, *, seen: int, answer: ByHand | None, now_ms: int) -> bool:
        """Give the turn's events back to their lane, at their old place, as one turn: to be answered again, or by the admin's
        words (an unknown letter only so). A reply that stood is none any more."""
        ...

    async def send_again(self, turn_id: int, *, seen: int, redirect: Redirect, now_ms: int) -> bool:
        """Put the letter's dead chunks, or unknown ones, on their way again, behind what waits in their queue; `redirect` says
        where to now. With the last of them the events end as they would have. False also where there are none."""
        ...

    async def set_aside(self, turn_id: int, *, seen: int, now_ms: int) -> bool:
        """Let the letter be one no more: it stays as it ended, and was seen."""
        ...
