"""Scopes, their names, and people, on SQLite.

Runs on an open connection; what writes, inside a write transaction of `memory/stores/sqlite.py`.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from memory.base import ANSWERED_REACH, AgentChange, GroupScope, Identity, MovedRoom, ScopeRow
from memory.errors import UnknownScope
from memory.ids import Ids
from memory.key import Scope, decode_part, encode_part
from memory.stores.rows import identity_columns

_FIND = """SELECT target.id, target.title, target.last_ms, target.session_id, target.carry_scope_id, target.carry_last_id,
    target."user", target.channel, target.conversation, target.chat_type, target.agent
  FROM (SELECT coalesce(alias_of, id) AS id FROM scopes
    WHERE channel = ? AND conversation = ? AND "user" = ? AND chat_type = ? AND agent = ?) AS named
  JOIN scopes AS target ON target.id = named.id"""
_IN_PLACE = """SELECT coalesce(alias_of, id) FROM scopes
  WHERE channel = ? AND conversation = ? AND ("user" = ? OR chat_type = 'group') AND chat_type = ?
  ORDER BY "user" = ? AND agent = ? DESC LIMIT 1"""
_OTHER_AGENTS = """SELECT target.id, target.last_id, target.session_id FROM (SELECT coalesce(alias_of, id) AS id FROM scopes
    WHERE channel = ? AND conversation = ? AND "user" = ? AND chat_type = ? AND agent <> ?) AS named
  JOIN scopes AS target ON target.id = named.id ORDER BY target.last_ms DESC, target.id DESC LIMIT 1"""
_CREATE = """INSERT INTO scopes
  (id, channel, conversation, "user", chat_type, agent, alias_of, carry_scope_id, carry_last_id, created_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_NAME = """INSERT INTO scopes (id, channel, conversation, "user", chat_type, agent, alias_of, created_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (channel, conversation, "user", chat_type, agent) DO UPDATE SET alias_of = excluded.alias_of
  RETURNING id"""
_MOVE_NAMES = "UPDATE scopes SET alias_of = ? WHERE alias_of = ?"
_ROOT = "SELECT coalesce(alias_of, id) FROM scopes WHERE id = ?"
_UNNAME = """UPDATE scopes SET alias_of = NULL
  WHERE channel = ? AND conversation = ? AND "user" = ? AND chat_type = ? AND agent = ?"""
_COUNT_NAMES = "UPDATE meta SET value = value + 1 WHERE name = 'names'"
_GROUP_SCOPES = """SELECT root.id, root.last_ms, root.session_id IS NOT NULL, named.alias_of IS NOT NULL,
    named."user", named.channel, named.conversation, named.chat_type, named.agent
  FROM scopes AS named JOIN scopes AS root ON root.id = coalesce(named.alias_of, named.id)
  WHERE named.channel = ? AND named.chat_type = 'group' ORDER BY named.id"""

# A room's conversations: itself and `room/thread`. No part can hold a `/`, so the beginning is a whole part.
_IN_ROOM = "channel = :channel AND (conversation = :room OR substr(conversation, 1, length(:room) + 1) = :room || '/')"
_NAMES_IN_ROOM = (
    f"""SELECT coalesce(alias_of, id), "user", conversation, chat_type, agent FROM scopes WHERE {_IN_ROOM}"""
)
_MOVE_CHOICES = f"""INSERT INTO agent_choices ("user", channel, conversation, chat_type, agent, chosen_ms)
  SELECT "user", channel, :now_room || substr(conversation, length(:room) + 1), chat_type, agent, chosen_ms
  FROM agent_choices WHERE {_IN_ROOM} ON CONFLICT DO NOTHING"""
_MOVE = """INSERT INTO moved_rooms (channel, room, now_room, moved_ms)
  VALUES (:channel, :room, :now_room, :now)
  ON CONFLICT DO UPDATE SET now_room = excluded.now_room, moved_ms = excluded.moved_ms
  WHERE now_room <> excluded.now_room"""
_MOVE_AGAIN = "UPDATE moved_rooms SET now_room = :now_room WHERE channel = :channel AND now_room = :room"
_ARRIVE = "DELETE FROM moved_rooms WHERE channel = :channel AND room = :now_room"
_MOVED = "SELECT channel, room, now_room, moved_ms FROM moved_rooms ORDER BY moved_ms, channel, room"

_ANSWERED = f"""SELECT EXISTS (SELECT 1 FROM scopes AS named
  WHERE channel = ? AND conversation = ? AND "user" = ? AND chat_type = ? AND EXISTS (
    SELECT 1 FROM (SELECT role, conversation FROM messages WHERE scope_id = coalesce(named.alias_of, named.id)
      ORDER BY id DESC LIMIT {ANSWERED_REACH}) AS said
    WHERE role = 'assistant' AND (? IS NULL OR said.conversation = ?)))"""

_FIND_PERSON = """SELECT person_id FROM identities JOIN persons ON id = person_id
  WHERE kind = ? AND tenant = ? AND account = ? AND erased_ms IS NULL"""
_NEW_PERSON = "INSERT INTO persons (id, created_ms) VALUES (?, ?)"
_NEW_IDENTITY = (
    "INSERT OR REPLACE INTO identities (kind, tenant, account, person_id) VALUES (?, ?, ?, ?)"  # an erased one's
)


def _place(scope: Scope) -> tuple[str, str, str, str, str]:
    """Return the scope's columns in the order of the index."""
    return scope.channel, scope.conversation, scope.user, scope.chat_type, scope.agent


def find_scope(db: sqlite3.Connection, scope: Scope) -> ScopeRow | None:
    """Return the row that the scope's name leads to, None if the name is new."""
    row = db.execute(_FIND, _place(scope)).fetchone()
    return None if row is None else _scope_row(scope, row)


def scope_in_place(db: sqlite3.Connection, scope: Scope) -> int | None:
    """Return what `Store.scope_in_place` promises."""
    row = db.execute(_IN_PLACE, (*_place(scope)[:4], scope.user, scope.agent)).fetchone()
    return None if row is None else int(row[0])


def answered(db: sqlite3.Connection, scope: Scope, conversation: str | None) -> bool:
    """Do what `Store.answered` promises."""
    return bool(db.execute(_ANSWERED, (*_place(scope)[:4], conversation, conversation)).fetchone()[0])


def _scope_row(scope: Scope, row: tuple[Any, ...]) -> ScopeRow:
    id_, title, last_ms, session_id, carry_scope_id, carry_last_id, *root = row
    return ScopeRow(
        id=id_,
        scope=scope,
        root=Scope(*root),
        title=title,
        last_ms=last_ms,
        session_id=session_id,
        carry_scope_id=carry_scope_id,
        carry_last_id=carry_last_id,
    )


def create_scope(db: sqlite3.Connection, scope: Scope, *, ids: Ids, agent_change: AgentChange, now_ms: int) -> ScopeRow:
    """Return the scope's row as `Store.open_scope` promises, created if it is still missing."""
    found = find_scope(db, scope)
    if found is not None:
        return found
    other = None if agent_change == "fresh" else db.execute(_OTHER_AGENTS, _place(scope)).fetchone()
    alias_of = other[0] if other and agent_change == "alias" else None
    carried = (None, None)
    if other and agent_change == "carry" and other[2] is not None:  # talk that was ended is not carried
        carried = other[:2]
    db.execute(_CREATE, (ids.next(), *_place(scope), alias_of, *carried, now_ms))
    return _scope_row(scope, db.execute(_FIND, _place(scope)).fetchone())


def alias_scope(db: sqlite3.Connection, alias: Scope, target_id: int | None, *, ids: Ids, now_ms: int) -> None:
    """Make `alias` a name for the target, and every name of `alias` with it, so that a name is one step from its scope."""
    db.execute(_COUNT_NAMES)
    if target_id is None:
        db.execute(_UNNAME, _place(alias))
        return
    root = db.execute(_ROOT, (target_id,)).fetchone()
    if root is None:
        raise UnknownScope(f"scope {target_id} does not exist; an alias needs a scope to name")
    named = find_scope(db, alias)
    if named is not None and named.id == root[0]:
        return
    _name(db, alias, root[0], ids=ids, now_ms=now_ms)


def _name(db: sqlite3.Connection, alias: Scope, root_id: int, *, ids: Ids, now_ms: int) -> None:
    (alias_id,) = db.execute(_NAME, (ids.next(), *_place(alias), root_id, now_ms)).fetchone()
    db.execute(_MOVE_NAMES, (root_id, alias_id))


def group_scopes(db: sqlite3.Connection, channel: str) -> tuple[GroupScope, ...]:
    """Return what `Store.group_scopes` promises."""
    rows = db.execute(_GROUP_SCOPES, (encode_part(channel, name="channel"),)).fetchall()
    return tuple(
        GroupScope(scope=Scope(*five), root_id=root_id, last_ms=last_ms, active=bool(active), alias=bool(alias))
        for root_id, last_ms, active, alias, *five in rows
    )


def move_room(db: sqlite3.Connection, channel: str, room: str, now_room: str, *, ids: Ids, now_ms: int) -> None:
    """Do what `Store.move_room` promises; the caller commits."""
    if room == now_room:
        return
    here, there = encode_part(room, name="room"), encode_part(now_room, name="room")
    place = {"channel": encode_part(channel, name="channel"), "room": here, "now_room": there, "now": now_ms}
    for root_id, user, conversation, chat_type, agent in db.execute(_NAMES_IN_ROOM, place).fetchall():
        alias = Scope(user, encode_part(channel), there + conversation[len(here) :], chat_type, agent)
        named = find_scope(db, alias)
        if named is None or named.id != root_id:
            _name(db, alias, root_id, ids=ids, now_ms=now_ms)
    for statement in (_MOVE_CHOICES, _MOVE_AGAIN, _ARRIVE, _MOVE, _COUNT_NAMES):
        db.execute(statement, place)


def moved_rooms(db: sqlite3.Connection) -> tuple[MovedRoom, ...]:
    """Return what `Store.moved_rooms` promises."""
    return tuple(moved_room(row) for row in db.execute(_MOVED).fetchall())


def moved_room(row: tuple[str, str, str, int]) -> MovedRoom:
    """Return the move that a row of `moved_rooms` tells, decoded."""
    channel, room, now_room, moved_ms = row
    return MovedRoom(
        channel=decode_part(channel), room=decode_part(room), now_room=decode_part(now_room), moved_ms=moved_ms
    )


def find_person(db: sqlite3.Connection, identity: Identity) -> int | None:
    """Return the identity's person, None if it was never seen."""
    row = db.execute(_FIND_PERSON, identity_columns(identity)).fetchone()
    return None if row is None else int(row[0])


def create_person(db: sqlite3.Connection, identity: Identity, *, ids: Ids, now_ms: int) -> int:
    """Return the identity's person, created if still missing."""
    person_id = find_person(db, identity)
    if person_id is None:
        person_id = ids.next()
        db.execute(_NEW_PERSON, (person_id, now_ms))
        db.execute(_NEW_IDENTITY, (*identity_columns(identity), person_id))
    return person_id
