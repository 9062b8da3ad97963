"""What happens to stored messages on SQLite: edits, deletions, versions; and the bounded background of a group.

Runs on an open connection; what writes, inside a write transaction of `memory/stores/sqlite.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from memory.base import Message, Observed
from memory.ids import Ids
from memory.key import ConversationKey
from memory.stores.rows import storable, storable_or_none, title_of
from memory.stores.sqlite_append import is_erased, known_head, save_head
from memory.stores.sqlite_derived import drop_fragments, source_changed
from memory.stores.sqlite_rows import MESSAGES, OBSERVED, read_messages

# The platform knows no agents: a message is looked for in all scopes of its place, a private one's being one person's.
# A scope with several names is in several places (a room that has moved).
_PLACE = """SELECT id FROM (
    SELECT DISTINCT coalesce(b.alias_of, b.id) AS id FROM (
      SELECT * FROM scopes WHERE id = :scope UNION ALL SELECT * FROM scopes WHERE alias_of = :scope) AS a
    JOIN scopes AS b ON b.channel = a.channel AND b.conversation = a.conversation AND b.chat_type = a.chat_type
      AND (b."user" = a."user" OR a.chat_type = 'group')) AS near
  WHERE id = :scope
    OR EXISTS (SELECT 1 FROM messages INDEXED BY messages_platform
      WHERE scope_id = near.id AND platform_message_id = :message)
    OR EXISTS (SELECT 1 FROM messages INDEXED BY messages_quote
      WHERE scope_id = near.id AND reply_to = :message AND quote IS NOT NULL)
    OR EXISTS (SELECT 1 FROM observed WHERE scope_id = near.id AND platform_message_id = :message)"""
# A room that moved may have given its ids anew (`Store.edit`). No part can hold a `/`, so the beginning is a whole part.
_IN_ROOM = "substr(conversation || '/', 1, length(:room) + 1) = :room || '/'"
_OF_PLATFORM = f"""scope_id = :scope AND platform_message_id = :message AND ({_IN_ROOM} OR "user" = :user)"""
_LIVE = f"{_OF_PLATFORM} AND deleted_ms IS NULL"
# Here and below the index is named, because the planner would walk the whole scope instead.
_FIND = f"SELECT id, text FROM messages INDEXED BY messages_platform WHERE {_LIVE}"
_KEEP_VERSION = """INSERT INTO message_versions (scope_id, id, version, text, tokens, low_value, edited_ms)
  SELECT scope_id, id, version, text, tokens, low_value, edited_ms FROM messages WHERE scope_id = :scope AND id = :id"""
_CHANGE = """UPDATE messages SET text = :text, tokens = :tokens, low_value = :low_value, version = version + 1, edited_ms = :now
  WHERE scope_id = :scope AND id = :id"""
_DELETE = """UPDATE messages SET text = '', tokens = 0, quote = NULL, thinking = NULL, steps = NULL, deleted_ms = :now
  WHERE scope_id = :scope AND id = :id"""
_EMPTY_VERSIONS = "UPDATE message_versions SET text = '', tokens = 0 WHERE scope_id = :scope AND id = :id"
_RETITLE = "UPDATE scopes SET title = :title WHERE id = :scope AND title_id = :id"
_UNTITLE = "UPDATE scopes SET title = '', title_id = NULL WHERE id = :scope AND title_id = :id"
_REPLIES = """SELECT id FROM messages INDEXED BY messages_turn WHERE scope_id = :scope AND role = 'assistant'
  AND turn_id = (SELECT turn_id FROM messages WHERE scope_id = :scope AND id = :id)"""
_QUOTES = f"scope_id = :scope AND reply_to = :message AND quote IS NOT NULL AND {_IN_ROOM}"
_REQUOTE = f"UPDATE messages INDEXED BY messages_quote SET quote = json_set(quote, '$.text', :text) WHERE {_QUOTES}"
_UNQUOTE = f"UPDATE messages INDEXED BY messages_quote SET quote = NULL WHERE {_QUOTES}"
_EDIT_OBSERVED = f"""UPDATE observed SET text = :text, tokens = :tokens, version = version + 1
  WHERE {_OF_PLATFORM} AND text <> :text"""
_HAS_OBSERVED = f"SELECT 1 FROM observed WHERE {_OF_PLATFORM}"
_DELETE_OBSERVED = f"DELETE FROM observed WHERE {_OF_PLATFORM}"

_BY_ID = f"SELECT {MESSAGES.select} FROM messages WHERE scope_id = ? AND id = ?"
_VERSION = """SELECT text, tokens, low_value, edited_ms FROM message_versions
  WHERE scope_id = ? AND id = ? AND version = ?"""

_OBSERVE = f"{OBSERVED.insert} ON CONFLICT (scope_id, event_id) DO NOTHING"
_TRIM = """DELETE FROM observed WHERE scope_id = ?
  AND id <= (SELECT id FROM observed WHERE scope_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)"""


def edit(
    db: sqlite3.Connection,
    scope_id: int,
    platform_message_id: str,
    *,
    by: ConversationKey,
    text: str,
    tokens: int,
    low_value: bool,
    now_ms: int,
) -> bool:
    """Do what `Store.edit` promises; the caller commits."""
    text = storable(text)
    new = _meant(scope_id, platform_message_id, by=by) | {
        "text": text,
        "tokens": tokens,
        "low_value": low_value,
        "now": now_ms,
    }
    return True in [_edit(db, new | {"scope": id_}) for (id_,) in db.execute(_PLACE, new).fetchall()]


def _edit(db: sqlite3.Connection, new: dict[str, Any]) -> bool:
    text = new["text"]
    live = db.execute(_FIND, new).fetchall()
    for id_, old in live:
        if old != text:
            db.execute(_KEEP_VERSION, new | {"id": id_})
            db.execute(_CHANGE, new | {"id": id_})
            db.execute(_RETITLE, new | {"id": id_, "title": title_of(text)})
            _changed(db, new, id_)
    db.execute(_REQUOTE, new)
    observed = db.execute(_HAS_OBSERVED, new).fetchone()
    db.execute(_EDIT_OBSERVED, new)
    return bool(live or observed)


def delete(
    db: sqlite3.Connection, scope_id: int, platform_message_id: str, *, by: ConversationKey, now_ms: int
) -> bool:
    """Do what `Store.delete` promises; the caller commits."""
    gone = _meant(scope_id, platform_message_id, by=by) | {"now": now_ms}
    return True in [_delete(db, gone | {"scope": id_}) for (id_,) in db.execute(_PLACE, gone).fetchall()]


def _delete(db: sqlite3.Connection, gone: dict[str, Any]) -> bool:
    live = db.execute(_FIND, gone).fetchall()
    for id_, _ in live:
        for statement in (_DELETE, _EMPTY_VERSIONS, _UNTITLE):
            db.execute(statement, gone | {"id": id_})
        _changed(db, gone, id_)
    db.execute(_UNQUOTE, gone)
    observed = db.execute(_DELETE_OBSERVED, gone).rowcount
    return bool(live or observed)


def _changed(db: sqlite3.Connection, meant: dict[str, Any], id_: int) -> None:
    """Take along what was made of the message, and the place in recall of what was replied to it: that may repeat the words."""
    source_changed(db, meant["scope"], id_, now_ms=meant["now"])
    replies = db.execute(_REPLIES, meant | {"id": id_}).fetchall()
    drop_fragments(db, [(meant["scope"], reply) for (reply,) in replies])


def _meant(scope_id: int, platform_message_id: str, *, by: ConversationKey) -> dict[str, Any]:
    user, _, conversation, *_ = by.columns()
    return {
        "scope": scope_id,
        "message": storable(platform_message_id),
        "user": user,
        "room": conversation.partition("/")[0],
    }


def messages_by_id(db: sqlite3.Connection, scope_id: int, ids: Sequence[tuple[int, int]]) -> tuple[Message, ...]:
    """Return the rows in the versions asked for, oldest first, without what does not exist."""
    found: list[Message] = []
    for id_, version in sorted(set(ids)):
        for stored in read_messages(db.execute(_BY_ID, (scope_id, id_))):
            found.extend(_in_version(db, stored, version))
    return tuple(found)


def _in_version(db: sqlite3.Connection, stored: Message, version: int) -> Iterator[Message]:
    if stored.version == version:
        yield stored
        return
    rows = db.execute(_VERSION, (stored.scope_id, stored.id, version))
    for text, tokens, low_value, edited_ms in rows:
        yield msgspec.structs.replace(
            stored, version=version, text=text, tokens=tokens, low_value=low_value == 1, edited_ms=edited_ms
        )


def observe(
    db: sqlite3.Connection,
    scope_id: int,
    key: ConversationKey,
    *,
    ids: Ids,
    event_id: int,
    text: str,
    speaker_name: str,
    tokens: int,
    now_ms: int,
    keep: int,
    platform_message_id: str | None,
    person_id: int | None,
) -> None:
    """Do what `Store.observe` promises; the caller commits."""
    head = known_head(db, scope_id)
    if is_erased(db, person_id):
        return
    head.last_id = max(ids.next(), head.last_id + 1)
    user, channel, conversation, chat_type, agent = key.columns()
    row = Observed(
        id=head.last_id,
        scope_id=scope_id,
        event_id=event_id,
        user=user,
        speaker_name=storable(speaker_name),
        text=storable(text),
        tokens=tokens,
        created_ms=now_ms,
    )
    values = OBSERVED.values(
        row,
        channel=channel,
        conversation=conversation,
        chat_type=chat_type,
        agent=agent,
        platform_message_id=storable_or_none(platform_message_id),
        person_id=person_id,
    )
    db.execute(_OBSERVE, values)
    db.execute(_TRIM, (scope_id, scope_id, keep))
    save_head(db, scope_id, head)
