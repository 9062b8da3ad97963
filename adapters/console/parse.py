"""From the chat page's JSON to an event. Pure.

The page names its people itself (two demo persons): whoever is let in may speak as either. That is the page's purpose, and
the reason why it is closed to everybody else (`access.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from adapters import strict
from adapters.base import MessageEvent, Sender
from adapters.problems import Problem
from adapters.strict import Id


class Person(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who speaks."""

    id: Id
    name: Annotated[str, msgspec.Meta(max_length=128)] = ""


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said. `id` is the page's own and stays when the message is sent again."""

    id: Id
    text: Annotated[str, msgspec.Meta(min_length=1)]


class Post(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `POST /channels/{name}` on a console channel. `language` is the page's (BCP 47)."""

    room: Id
    chat_type: Literal["private", "group"]
    person: Person
    message: Said
    language: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]{2,35}$")] | None = None


class Where(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of `GET /chat/said`: whose conversation, and what of it they have."""

    room: Id
    chat_type: Literal["private", "group"]
    person: Id
    after: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,19}$")] | None = None


def whereabouts(query: Mapping[str, str]) -> Where:
    """Return the query. Raises a `Problem`, 422, for one that says not which conversation."""
    try:
        where = msgspec.convert(dict(query), Where)
    except msgspec.ValidationError as exc:
        raise Problem(422, "bad_query", f"room, chat_type and person say which conversation: {exc}") from exc
    strict.require(ids={"room": where.room, "person": where.person}, texts={})
    return where


def parse(body: bytes) -> Post:
    """Return the body. Raises a `Problem`, 400 or 422, as `adapters.strict` has it."""
    post = strict.decode(body, Post)
    strict.require(
        ids={"room": post.room, "person.id": post.person.id, "message.id": post.message.id},
        texts={"person.name": post.person.name, "message.text": post.message.text},
    )
    return post


def event_of(post: Post, *, channel: str) -> MessageEvent:
    """Return what was said, as the gateway takes it."""
    person = post.person
    return MessageEvent(
        channel=channel,
        room=post.room,
        chat_type=post.chat_type,
        sender=sender_of(person.id, channel=channel, name=person.name.strip()),
        dedupe_ids=(f"message:{strict.digest([channel, person.id, post.message.id])}",),
        message_id=post.message.id,
        text=post.message.text,
        language=post.language,
    )


def sender_of(person_id: str, *, channel: str, name: str = "") -> Sender:
    """Return a person of the page, as the gateway knows them: this channel's, whatever other channels call so."""
    return Sender(user=person_id, tenant=channel, account=person_id, name=name or person_id)


def fingerprint(post: Post) -> str:
    """Return a digest of what was said, where and by whom; a new name or page language makes no other message."""
    said = (post.room, post.chat_type, post.person.id, post.message.id, post.message.text)
    return strict.digest(said)
