"""What the acts that look at things share: which channels an actor may look at, numbers and marks out of requests, and what
became of messages since."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from adapters.base import DeleteEvent, EditEvent, InboundEvent, MessageEvent, MoveEvent, PresenceEvent
from gateway.admin.operations import Acting, FieldProblem, Invalid, Missing
from gateway.amending import DELETED, emptied
from gateway.inbox.base import Event, Inbox
from gateway.routing import Route, decode

_GREATEST = (1 << 63) - 1


def visible(acting: Acting, channel: str | None) -> tuple[str, ...] | None:
    """Return the channels to look at: the one that was asked for, or all for which the actor holds the operation's right (None:
    every one). Raises `Refused` for one that is not theirs."""
    if channel is not None:
        acting.require(channel)
        return (channel,)
    channels = acting.channels()
    return None if channels is None else tuple(sorted(channels))


def admit(acting: Acting, channel: str, what: str) -> None:
    """Go on only where the actor may look at something of the channel. Of what they may not even know of it is said that there is
    none (`Missing`); where they may know of it and not do this, `Refused`."""
    if not acting.may("see", channel):
        acting.channel = channel
        raise missing(what)
    acting.require(channel)


def missing(what: str) -> Missing:
    """Return the fault of something that there is not, or that the actor may not know of."""
    return Missing(f"there is no {what}, or its time is over")


def number(text: str, what: str) -> int:
    """Return the number that an id in a request is. Raises `Missing` for one that no database can hold."""
    found = int(text)
    if found > _GREATEST:
        raise missing(f"{what} {text}")
    return found


def mark(text: str | None, parts: int) -> tuple[int, ...] | None:
    """Return the numbers of a cursor; None: from the start. Raises `Invalid` for one that none of ours is."""
    if text is None:
        return None
    pieces = text.split(".")
    if len(pieces) != parts or not all(re.fullmatch(r"\d{1,19}", piece, re.ASCII) for piece in pieces):
        raise _no_cursor(text)
    numbers = tuple(map(int, pieces))
    if max(numbers) > _GREATEST:
        raise _no_cursor(text)
    return numbers


def cursor(*numbers: int) -> str:
    """Return the cursor of these numbers."""
    return ".".join(map(str, numbers))


def _no_cursor(text: str) -> Invalid:
    problem = FieldProblem(
        path="after", value=text, problem="is no cursor of ours", remedy="give `next` of the page before"
    )
    return Invalid(
        f"after: {text!r} is no cursor; give `next` of the page before, or leave it out", problems=(problem,)
    )


def route_of(event: Event) -> Route | None:
    """Return an event's route; None: it was erased, or this release can't read it."""
    try:
        return decode(event.body)
    except msgspec.DecodeError:
        return None


def kind_of(route: Route) -> str:
    """Return what kind of event it is, in one word; `human` is what an operator does in a conversation."""
    if route.human is not None:
        return "human"
    match route.event:
        case MessageEvent():
            return "message"
        case EditEvent():
            return "edit"
        case DeleteEvent():
            return "delete"
        case MoveEvent():
            return "move"
        case PresenceEvent():
            return "presence"


def name_of(route: Route) -> str:
    """Return the name of who said it: of an operator's words the operator's, though the event is the person's."""
    return route.event.sender.name if route.human is None else route.human.name


def message_id_of(route: Route) -> str | None:
    """Return the platform's id of the message that it is, or is about; of an operator's act there is none."""
    said = route.event
    return None if route.human is not None or isinstance(said, MoveEvent | PresenceEvent) else said.message_id


def text_of(said: InboundEvent) -> str:
    """Return what was said."""
    return said.text if isinstance(said, MessageEvent | EditEvent) else ""


async def amendments_of(inbox: Inbox, events: Iterable[Event]) -> Sequence[Event]:
    """Return the edits and deletions of the messages of these events, oldest first. Raises `StoreBusy`."""
    subjects = sorted({event.subject for event in events if event.subject is not None})
    return await inbox.amendments(subjects) if subjects else ()


def gone(event: Event, about: Iterable[Event]) -> bool:
    """Whether the event's message was deleted on its platform, by what was said `about` it: the queue keeps its words for a
    while, and shows them to nobody."""
    if event.outcome == DELETED:
        return True
    told = (route_of(one) for one in about if one.subject == event.subject)
    return any(isinstance(one.event, DeleteEvent) or emptied(one.event) for one in told if one is not None)


def rule_of(event: Event, route: Route | None) -> str:
    """Return the rule that let the event in, or ended it."""
    outcome = event.outcome
    return (outcome.rule if outcome is not None else None) or (route.rule if route is not None else "")


def code_of(event: Event) -> str:
    """Return how an event ended that got no answer; "": it did not end so."""
    return (event.outcome.code if event.outcome is not None else None) or ""
