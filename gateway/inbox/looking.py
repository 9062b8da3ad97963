"""What an admin sees of the queues: the protocol beside `Inbox`, on the same object as `looking`. Reads only.

Not on the answer path, and not in its way: on SQLite it reads in a thread of its own. Every look is bounded, whatever is
stored: a walk passes at most `EXAMINED` events and says where to go on. Newest first unless it says otherwise. Ids and errors
as in `gateway/inbox/base.py`; an event's `token` is nobody's business but its sender's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from gateway.inbox.base import Chunk, Event, EventState, Outcome

EXAMINED = 2_000
"""Events that one page of a walk passes at most."""
COUNTED = 50_000
"""Events that one count passes at most, the newest."""
DELIVERIES = 200
"""Messages that got a reply, the newest of the `EXAMINED` newest of a channel, among which its last delivery is looked for."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which events. `channels` None: of all; `rule` is one that admitted, ended or failed an event; times are of acceptance,
    from `since_ms` on and before `until_ms`."""

    channels: tuple[str, ...] | None = None
    states: tuple[EventState, ...] = ()  # none: any
    rule: str | None = None
    speaker: str | None = None
    room: str | None = None  # that the event names: others may be among what is found
    since_ms: int | None = None
    until_ms: int | None = None


class Walk(msgspec.Struct, frozen=True, kw_only=True):
    """Some of a walk: what was found, and before which id it goes on; None: this was the end."""

    events: tuple[Event, ...]
    next_id: int | None


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk with its times: put into the outbox, and its end known (None: not yet)."""

    chunk: Chunk
    put_ms: int
    settled_ms: int | None


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How many events were accepted in an hour (its first millisecond) that are in a state by a rule or code ("": by none)."""

    channel: str
    hour_ms: int
    state: EventState
    rule: str
    count: int


class Tallies(msgspec.Struct, frozen=True, kw_only=True):
    """A count; `from_ms`: when the oldest event that it passed was accepted, where it did not reach back to what was asked."""

    tallies: tuple[Tally, ...]
    from_ms: int | None


class ChannelLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the queues of a channel. Times None: there is none; `last_delivery_ms`: none among its newest events."""

    channel: str
    last_event_ms: int | None = None
    last_delivery_ms: int | None = None
    waiting: int = 0  # messages without a reply yet
    oldest_waiting_ms: int | None = None
    outbox_waiting: int = 0
    outbox_oldest_ms: int | None = None


class Looking(Protocol):
    """Every implementation passes `tests/contracts/looking.py`."""

    async def events(self, wanted: Wanted, *, before_id: int | None, limit: int) -> Walk:
        """Return up to `limit` of the wanted events before an id (None: the newest)."""
        ...

    async def by_id(self, ids: Sequence[int]) -> tuple[Event, ...]:
        """Return those of these events that there are."""
        ...

    async def of_turns(self, turn_ids: Sequence[int]) -> tuple[Event, ...]:
        """Return all events answered as one of these turns, oldest first."""
        ...

    async def in_lanes(self, lanes: Sequence[str], *, after_id: int, before_id: int, limit: int) -> tuple[Event, ...]:
        """Return the newest `limit` events of these lanes between two ids, oldest first."""
        ...

    async def about(self, subject: bytes) -> tuple[Event, ...]:
        """Return the newest events that are, or are about, the message of this digest (`rows.digest_of`)."""
        ...

    async def receipted(self, message_id: str, *, queue: str) -> tuple[Sent, ...]:
        """Return the chunks of a room's queue, or of a thread's there, for which the platform has given this message id, the
        newest twenty. Elsewhere the id may be any other message's."""
        ...

    async def chunks(self, turn_ids: Sequence[int]) -> tuple[Sent, ...]:
        """Return the turns' chunks in their order."""
        ...

    async def replies(self, turn_ids: Sequence[int]) -> dict[int, str]:
        """Return the stored replies' texts by turn; "" where it was erased."""
        ...

    async def untold(self, event_id: int) -> Outcome | None:
        """Return the failure of which the notice could not be delivered; None: there is none."""
        ...

    async def tallies(self, *, since_ms: int, channels: Sequence[str] | None) -> Tallies:
        """Count the events accepted since then; `channels` None: all."""
        ...

    async def load(self, channels: Sequence[str]) -> tuple[ChannelLoad, ...]:
        """Return what stands in the queues of these channels, in their order."""
        ...
