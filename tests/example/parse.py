"""What the platform's events say: JSON in, an event out. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from adapters import strict
from adapters.base import MessageEvent, Sender
from adapters.strict import Id


class Author(msgspec.Struct, frozen=True):
    """Who wrote."""

    id: Id
    name: str = ""
    bot: bool = False


class Letter(msgspec.Struct, frozen=True):
    """One message, as the platform tells of it. Fields that a platform adds later are passed over."""

    id: Id
    loft: Id
    kind: Literal["direct", "group"]
    author: Author = msgspec.field(name="from")
    text: str = ""
    called: bool = False  # the bot is mentioned


def parse(raw: bytes, *, channel: str) -> MessageEvent:
    """Return the message. Raises a `Problem`, 400 or 422, that names the field."""
    letter = strict.decode(raw, Letter)
    strict.require(
        ids={"id": letter.id, "loft": letter.loft, "from.id": letter.author.id},
        texts={"from.name": letter.author.name, "text": letter.text},
    )
    author = letter.author
    return MessageEvent(
        channel=channel,
        room=letter.loft,
        chat_type="private" if letter.kind == "direct" else "group",
        sender=Sender(user=author.id, tenant=channel, account=author.id, name=author.name, is_bot=author.bot),
        # With the sender in it, nobody can occupy another's message ids; as a digest, no id is too long for an index.
        dedupe_ids=(f"message:{strict.digest([letter.loft, author.id, letter.id])}",),
        message_id=letter.id,
        text=letter.text,
        mentions_bot=letter.called,
    )
