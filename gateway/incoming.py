"""What was said, and by whom, as memory and the agent take it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from adapters.base import MessageEvent
from gateway.agent import Caller
from gateway.inbox.base import Event
from gateway.routing import Route
from memory.base import Quoted
from memory.turn import Incoming


def message_of(route: Route) -> MessageEvent:
    """Return the route's message. TypeError for any other event, which has no place in a lane."""
    if not isinstance(route.event, MessageEvent):
        raise TypeError(f"{type(route.event).__name__} stands in a lane, where only messages wait")
    return route.event


def incoming(
    events: Sequence[Event], routes: Sequence[Route], person: int | None, *, said: str | None
) -> tuple[Incoming, ...]:
    """Return what was said, as memory takes it; `said` instead of the first text, if it is not None."""
    messages = [_said(event, route, person) for event, route in zip(events, routes, strict=True)]
    if said is not None:
        messages[0] = msgspec.structs.replace(messages[0], text=said)
    return tuple(messages)


def _said(event: Event, route: Route, person: int | None) -> Incoming:
    message = message_of(route)
    quote = message.quote
    return Incoming(
        key=route.conversation_key(),
        event_id=event.id,
        text=message.text,
        speaker_name=message.sender.name,
        person_id=person,
        platform_message_id=message.message_id,
        reply_to=message.in_reply_to,
        quote=None if quote is None else Quoted(name=quote.name, text=quote.text, by_bot=quote.by_bot),
    )


def caller_of(head: Route, *, kind: str, person: int | None) -> Caller:
    """Return who asks, as the platform vouches for it: the only ground for what an agent may do for them."""
    event = head.event
    return Caller(
        channel=event.channel,
        kind=kind,
        tenant=event.sender.tenant,
        account=event.sender.account,
        person_id=person,
        chat_type=event.chat_type,
        room=event.room,
        thread=event.thread,
        language=head.language,
    )
