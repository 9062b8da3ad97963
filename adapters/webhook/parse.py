"""What a webhook's body says: JSON in, a `MessageEvent` and its fingerprint out. Pure.

Unknown fields are refused: a misspelt `thread` that was passed over would put people into one conversation who never asked
to share it.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from adapters import strict
from adapters.base import MessageEvent, Sender
from adapters.strict import Id
from adapters.webhook.identity import MAX_NAME_CHARS

Mode = Literal["sync", "stream", "async"]


class BodySender(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who wrote. `id` may be missing where a bearer token names the caller."""

    id: Id | None = None
    name: Annotated[str, msgspec.Meta(max_length=MAX_NAME_CHARS)] | None = None


class BodyMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was written."""

    id: Id
    text: Annotated[str, msgspec.Meta(min_length=1)]
    in_reply_to: Id | None = None


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call. `conversation` is the room, `thread` the place inside it."""

    conversation: Id
    chat_type: Literal["private", "group"]
    message: BodyMessage
    sender: BodySender = BodySender()
    thread: Id | None = None
    session: Id | None = None
    mode: Mode = "sync"


def parse_body(raw: bytes) -> Body:
    """Return what `raw` says. Raises a `Problem`, 400 or 422, as `adapters.strict` has it."""
    body = strict.decode(raw, Body)
    strict.require(
        ids={
            "conversation": body.conversation,
            "thread": body.thread,
            "sender.id": body.sender.id,
            "message.id": body.message.id,
            "message.in_reply_to": body.message.in_reply_to,
            "session": body.session,
        },
        texts={"sender.name": body.sender.name, "message.text": body.message.text},
    )
    return body


def to_event(body: Body, sender: Sender, *, channel: str, delivery: str | None) -> MessageEvent:
    """Return the event. Its dedupe ids hold the sender, so that nobody can occupy another one's message ids; `delivery`
    is the `webhook-id`, which stays over a sender's retries."""
    seen = {"message": body.message.id, "delivery": delivery}
    return MessageEvent(
        channel=channel,
        room=body.conversation,
        thread=body.thread,
        chat_type=body.chat_type,
        sender=sender,
        dedupe_ids=tuple(
            f"{kind}:{strict.digest([channel, sender.user, value])}" for kind, value in seen.items() if value
        ),
        message_id=body.message.id,
        text=body.message.text,
        in_reply_to=body.message.in_reply_to,
        session=body.session,
    )


def fingerprint(body: Body, *, user: str) -> str:
    """Return a digest of what was said: equal for retries however they are written, in whatever mode; `user` stands for
    the sender, named in the body or not."""
    message = body.message
    place = [body.conversation, body.thread, body.chat_type, body.session]
    return strict.digest([*place, user, body.sender.name, message.id, message.text, message.in_reply_to])
