"""What the queues hold of a person, and how it goes: the protocol beside `Inbox` and `Outbox`, on the same object.

The rows' places stay, as numbers and states, until retention takes them; bodies, texts, addresses and accounts go. Dedupe ids
stay, too: digests that name nobody to whoever reads them, and without them a platform's late repeat would bring back what
was erased.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import msgspec

from gateway.inbox.base import Event, Outcome

EMPTIED = {
    "inbox_events": "body, speaker, lane, subject, fingerprint and shown message are emptied; what waits or runs ends",
    "outbox_replies": "the text is emptied",
    "outbox_chunks": "text, address, queue and the platform's ids are emptied; what waits is given up",
    "outbox_queues": "a queue of which nothing is left to send goes",
}
"""The tables that hold something of a person, each with what becomes of it."""

NOTHING_PERSONAL = {
    "inbox_dedupe": "16-byte digests; they keep a repeat of an erased message out, until retention takes them",
    "outbox_announced": "digests of what rooms were told",
    "inbox_lanes": "lanes in which something waits, gone with that",
    "inbox_instances": "running gateways",
    "inbox_departed": "gateways that ran, the newest hundred",
    "inbox_backlog": "how many messages wait, for all gateways",
    "inbox_leases": "which gateway does what only one may do",
    "inbox_numbers": "the numbers gateways had for their ids",
    "inbox_origin": "which server's database this is",
    "hot_counts": "digests and counts of two minutes; of bots in a row, two days",
    "hot_shelf": "sealed values of minutes, under digests",
    "queue_run": "a counter",
    "queue_schema": "the migrations applied",
}
"""The other tables, each with the reason why an erasure leaves it alone."""

Mend = Callable[[bytes], bytes | None]
"""Given an event's body, returns the one to keep instead; None: it stays. Must answer at once, from any thread."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some of a walk through a channel's events: those that were asked for, and where to go on; None: this was the end."""

    events: tuple[Event, ...] = ()
    mended: int = 0
    next_id: int | None


class Emptied(msgspec.Struct, frozen=True, kw_only=True):
    """What `Erasable.erase` did: the events that it ended, those whose reply is being sent at the moment and which are to be
    erased again when it was, and how many rows it emptied, by kind."""

    ended: tuple[int, ...]
    busy: tuple[int, ...]
    counts: dict[str, int]


class Erasable(Protocol):
    """Queues from which a person can be erased. Errors as in `gateway/inbox/base.py`."""

    async def spoken(self, channel: str, speakers: Collection[str], *, after_id: int, limit: int) -> Page:
        """Return the speakers' events among the channel's next `limit` behind `after_id`, oldest first."""
        ...

    async def posted(self, turn_ids: Sequence[int]) -> list[tuple[int, str]]:
        """Return (turn, message id) of the platform's messages in which the turns' replies stand."""
        ...

    async def erase(self, event_ids: Sequence[int], outcome: Outcome, *, now_ms: int) -> Emptied:
        """End those of the events that have not ended, running ones too, whose reply will then not be stored and whose turns are
        halted as `withdrawn`; give up chunks that wait; empty all that has ended. Repeating it changes nothing."""
        ...

    async def unsay(self, turn_ids: Sequence[int], *, now_ms: int) -> tuple[int, list[int]]:
        """Give up what waits of announcements and empty the rest; return how many chunks were emptied, and those turns of which
        one is being sent and which are to be unsaid again when it was. Repeating it changes nothing."""
        ...

    async def mend(self, channel: str, mend: Mend, *, after_id: int, limit: int) -> Page:
        """Mend the bodies with a quote of the channel's events among its next `limit` behind `after_id`."""
        ...
