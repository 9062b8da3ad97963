"""What goes back for a turn: the answer, or the notice of why there is none. Decided without looking at anything else.

The responder decides which; the outbox keeps it, delivery sends it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

import msgspec

from adapters.base import Adapter, Address, MessageEvent
from config.channels.base import RoomSettings
from gateway.inbox.base import Event, Outcome, Reply
from gateway.incoming import message_of
from gateway.notices import notice
from gateway.routing import Route

SPLIT_AT_ONCE = 4_000
"""Characters that are split where they are; longer texts are split in a thread."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What goes back to the person. `failed` set: it is a notice, and the turn ends so. `personal`: it is for that person's
    eyes only, where the platform can see to that."""

    text: str
    failed: Outcome | None = None
    session: str | None = None
    personal: bool = False


def failure(
    code: str, text: str, *, state: Literal["failed", "dead"] = "failed", session: str | None = None
) -> Outgoing:
    """Return a notice with which the turn ends."""
    return Outgoing(text, Outcome(state=state, code=code, message=text), session)


def refusal(head: Route, room: RoomSettings) -> Outgoing:
    """Return the notice of a message that was refused by its rule, for any but a quota's."""
    limits, chars = room.limits, len(message_of(head).text)
    limit = limits.per_minute if head.rule == "rate_limited" else limits.message_chars
    return failure(head.rule, notice(head.rule, head.language, chars=chars, limit=limit))


def whispered(address: Address, outgoing: Outgoing, *, said: MessageEvent, adapter: Adapter | None) -> Address:
    """Return the address, for the asker's eyes only where the reply is personal and the platform can see to that."""
    if not outgoing.personal or said.chat_type == "private" or adapter is None or not adapter.capabilities.whispers:
        return address
    return msgspec.structs.replace(address, only_for=said.sender.account, quoted=None)


def left_by(event: Event, reply: Reply) -> Event:
    """Return the event as the stored reply has left it."""
    return msgspec.structs.replace(
        event, state=reply.state, outcome=reply.outcome, turn_id=reply.turn_id, session=reply.session
    )


async def chunks_of(adapter: Adapter | None, text: str) -> list[str]:
    """Return the text in pieces; none where the reply is collected. A channel that is gone splits nothing; its delivery gives
    the reply up, in sight."""
    if adapter is None:
        return [text]
    if adapter.capabilities.collected:
        return []
    if len(text) <= SPLIT_AT_ONCE:
        return adapter.chunks(text)
    # Splitting is pure, and of a long text takes up to seconds, in which nobody else would be heard.
    return await asyncio.to_thread(adapter.chunks, text)
