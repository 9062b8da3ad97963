"""What edits and deletions make of a message that has not begun, or has not even come. Pure.

They are stored as control events beside their message and found by it (`Inbox.amendments`). Whoever begins a message looks at
them after it has begun; whoever applies one looks at its message after the edit is stored. So one of the two sees the other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import msgspec

from adapters.base import DeleteEvent, EditEvent, InboundEvent, MessageEvent, MoveEvent, PresenceEvent
from gateway.inbox.base import Event, Outcome
from gateway.routing import Route, decode
from memory.key import ConversationKey, Scope, mode_of, scope_of
from memory.text import cut_middle

DELETED = Outcome(state="ignored", rule="deleted_before_answer")


CUT = "\n[… {n} characters left out 省略 …]\n"
"""Stands where an edit was too long."""


def within(event: InboundEvent, most: int) -> InboundEvent:
    """Return the event, an edit with no more than `most` characters of text: a message may not grow, once it is let in, to what
    would have been refused. It is cut in its middle and not refused, because what it said before is not to be kept."""
    if not isinstance(event, EditEvent) or len(event.text) <= most:
        return event
    return msgspec.structs.replace(event, text=cut_middle(event.text, most, count=len, marker=CUT))


def subject_of(event: InboundEvent) -> str | None:
    """Return the name, within its channel, of the message that the event is or is about; None: of none."""
    if isinstance(event, MoveEvent | PresenceEvent):
        return None
    return subject_named(event.room, event.message_id)


def subject_named(room: str, message_id: str) -> str:
    """Return the name of a room's message within its channel."""
    return f"{len(room)}:{room}:{message_id}"


def amended(route: Route, about: Sequence[Event]) -> Route | None:
    """Return the route of a message as what was said about it, oldest first, has left it; None: it was deleted, or emptied.

    Only its text changes. Where it is answered, by whom and behind what was decided when it came; and what was no command
    among other messages becomes none (NousResearch/hermes-agent#81183 shows what comes of edited commands).
    """
    message = route.event
    for said in _read(about):
        match said:
            case DeleteEvent():
                return None
            case EditEvent() if emptied(said):
                return None
            case EditEvent(text=text) if isinstance(message, MessageEvent):
                message = msgspec.structs.replace(message, text=text)
    return route if message is route.event else msgspec.structs.replace(route, event=message)


def places_of(route: Route) -> Iterator[tuple[Scope, ConversationKey]]:
    """Yield where memory may have the message that is edited or deleted. One that stands in no thread, or in that of its own
    id, may have begun that thread when it was said, or not: what it says by now does not tell."""
    scope, key = route.memory_scope(), route.conversation_key()
    yield scope, key
    message_id = None if isinstance(route.event, MoveEvent | PresenceEvent) else route.event.message_id
    if message_id and key.thread in (None, message_id) and mode_of(scope) != "room":
        other = dataclasses.replace(key, thread=message_id if key.thread is None else None)
        yield scope_of(other, mode=mode_of(scope)), other


def emptied(event: InboundEvent) -> bool:
    """Whether it is an edit that leaves nothing of its message: what can be answered or remembered is as gone as if it had
    been deleted, and edited again it does not come back. One without words that quotes another asks about that."""
    return isinstance(event, EditEvent) and not event.text.strip() and event.quote is None


def last_edit(about: Sequence[Event]) -> EditEvent | None:
    """Return the last edit with words of what was said about a message, oldest first; None: there is none."""
    edits = [said for said in _read(about) if isinstance(said, EditEvent) and not emptied(said)]
    return edits[-1] if edits else None


def _read(about: Sequence[Event]) -> Iterator[InboundEvent]:
    for event in about:
        try:
            yield decode(event.body).event
        except msgspec.DecodeError:
            continue  # it has ended `unreadable`, in sight
