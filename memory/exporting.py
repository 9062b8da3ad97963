"""What is stored of a person, as one JSON document with its sources, made piece by piece: nothing of it is held as a whole.

Quotes are left out: they are other people's words. Ids are strings, as in all of our JSON; times are UTC.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from memory.base import Fact, Message, ProfileItem, Summary
from memory.key import decode_part
from memory.people import Overheard, Person, Persons, Request

Row = TypeVar("Row", Message, Overheard, Fact, ProfileItem, Summary, Request)

PAGE = 500
NAMES = 1000

_encode = msgspec.json.Encoder().encode


async def export(
    persons: Persons, person: Person, *, besides: Sequence[tuple[str, AsyncGenerator[Mapping[str, Any], None]]] = ()
) -> AsyncGenerator[bytes, None]:
    """Yield the document in pieces: who the person is, what they wrote and what answered it, what they said without asking the
    bot and is kept as background, what memory made of it, with the status of each and the messages that it came from, and what
    they have asked for. `besides` are further lists, of what is kept elsewhere."""
    head = {
        "person": str(person.id),
        "created_at": time_told(person.created_ms),
        "erased_at": time_told(person.erased_ms),
        "identities": person.identities,
        "names": await persons.names(person.id, channels=None, limit=NAMES),
    }
    yield _encode(head)[:-1]
    id_ = person.id

    async def messages(last: Message | None) -> Sequence[Message]:
        return await persons.messages(id_, after=(last.scope_id, last.id) if last else (0, 0), limit=PAGE)

    async def overheard(last: Overheard | None) -> Sequence[Overheard]:
        return await persons.overheard(id_, after=(last.scope_id, last.id) if last else (0, 0), limit=PAGE)

    async def items(last: ProfileItem | None) -> Sequence[ProfileItem]:
        return await persons.items(id_, after_id=last.id if last else 0, limit=PAGE)

    async def facts(last: Fact | None) -> Sequence[Fact]:
        return await persons.facts(id_, after_id=last.id if last else 0, limit=PAGE)

    async def summaries(last: Summary | None) -> Sequence[Summary]:
        return await persons.summaries(id_, after_id=last.id if last else 0, limit=PAGE)

    async def requests(last: Request | None) -> Sequence[Request]:
        return await persons.requests(after=(last.due_ms, last.id) if last else (0, 0), limit=PAGE, person_id=id_)

    async for piece in _list("messages", messages, _message):
        yield piece
    async for piece in _list("observed", overheard, _overheard):
        yield piece
    async for piece in _list("profile", items, _item):
        yield piece
    async for piece in _list("facts", facts, _fact):
        yield piece
    async for piece in _list("summaries", summaries, _summary):
        yield piece
    async for piece in _list("requests", requests, _request):
        yield piece
    for name, rows in besides:
        yield b"," + _encode(name) + b":["
        between = b""
        async with aclosing(rows):
            async for row in rows:
                yield between + _encode(row)
                between = b","
        yield b"]"
    yield b"}"


async def _list(
    name: str, page: Callable[[Row | None], Awaitable[Sequence[Row]]], told: Callable[[Row], dict[str, Any]]
) -> AsyncGenerator[bytes, None]:
    yield b"," + _encode(name) + b":["
    last: Row | None = None
    while rows := await page(last):
        yield (b"," if last is not None else b"") + b",".join(_encode(told(row)) for row in rows)
        last = rows[-1]
    yield b"]"


def _message(row: Message) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "conversation": str(row.scope_id),
        "session": row.session_id,
        "turn": str(row.turn_id),
        "role": row.role,
        "text": row.text,
        "said_at": time_told(row.created_ms),
        "edited_at": time_told(row.edited_ms),
        "deleted_at": time_told(row.deleted_ms),
        **_place(row.channel, row.conversation),
        "chat_type": row.chat_type,
        "agent": decode_part(row.agent),
        "account": row.user,
        "name": row.speaker_name,
        "message": row.platform_message_id,
        "replies_to": row.reply_to,
    }


def _overheard(row: Overheard) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "conversation": str(row.scope_id),
        "text": row.text,
        "said_at": time_told(row.created_ms),
        **_place(row.channel, row.conversation),
        "agent": decode_part(row.agent),
        "account": row.user,
        "name": row.speaker_name,
        "message": row.platform_message_id,
    }


def _place(channel: str, conversation: str) -> dict[str, str | None]:
    room, slash, thread = conversation.partition("/")
    return {
        "channel": decode_part(channel),
        "room": decode_part(room),
        "thread": decode_part(thread) if slash else None,
    }


def _item(row: ProfileItem) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "namespace": row.namespace,
        "kind": row.kind,
        "slot": row.slot,
        "text": row.text,
        "value": row.value,
        "pinned": row.pinned,
        "chat_type": row.chat_type,
        "status": row.status,
        "valid_from": time_told(row.valid_from_ms),
        "valid_to": time_told(row.valid_to_ms),
        "conversation": str(row.scope_id) if row.scope_id else None,
        "sources": [str(id_) for id_ in row.source_ids],
    }


def _fact(row: Fact) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "conversation": str(row.scope_id),
        "session": row.session_id,
        "slot": row.slot,
        "value": row.value,
        "status": row.status,
        "noted_at": time_told(row.created_ms),
        "valid_to": time_told(row.expires_ms),
        "sources": [str(id_) for id_ in row.source_ids],
    }


def _summary(row: Summary) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "conversation": str(row.scope_id),
        "session": row.session_id,
        "text": row.text,
        "made_at": time_told(row.created_ms),
        "first": str(row.first_id),
        "last": str(row.last_id),
    }


def _request(row: Request) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "kind": row.kind,
        "channel": row.channel,
        "asked_at": time_told(row.asked_ms),
        "due_at": time_told(row.due_ms),
    }


def time_told(ms: int | None) -> str | None:
    """Return the time as the document writes it. Pure."""
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
