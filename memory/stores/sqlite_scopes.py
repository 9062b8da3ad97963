"""Scopes, their names, and people, on SQLite.

Runs on an open connection; what writes, inside a write transaction of `memory/stores/sqlite.py`.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from memory.base import AgentChange, Identity, ScopeRow
from memory.errors import UnknownScope
from memory.ids import Ids
from memory.key import Scope
from memory.stores.rows import identity_columns

_FIND = """SELECT target.id, target.title, target.last_ms, target.session_id, target.carry_scope_id, target.carry_last_id
  FROM (SELECT coalesce(alias_of, id) AS id FROM scopes
    WHERE channel = ? AND conversation = ? AND "user" = ? AND chat_type = ? AND agent = ?) AS named
  JOIN scopes AS target ON target.id = named.id"""
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

_FIND_PERSON = "SELECT person_id FROM identities WHERE kind = ? AND tenant = ? AND account = ?"
_NEW_PERSON = "INSERT INTO persons (id, created_ms) VALUES (?, ?)"
_NEW_IDENTITY = "INSERT INTO identities (kind, tenant, account, person_id) VALUES (?, ?, ?, ?)"


def _place(scope: Scope) -> tuple[str, str, str, str, str]:
    """Return the scope's columns in the order of the index."""
    return scope.channel, scope.conversation, scope.user, scope.chat_type, scope.agent


def find_scope(db: sqlite3.Connection, scope: Scope) -> ScopeRow | None:
    """Return the row that the scope's name leads to, None if the name is new."""
    row = db.execute(_FIND, _place(scope)).fetchone()
    return None if row is None else _scope_row(scope, row)


def _scope_row(scope: Scope, row: tuple[Any, ...]) -> ScopeRow:
    id_, title, last_ms, session_id, carry_scope_id, carry_last_id = row
    return ScopeRow(
        id=id_,
        scope=scope,
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


def alias_scope(db: sqlite3.Connection, alias: Scope, target_id: int, *, ids: Ids, now_ms: int) -> None:
    """Make `alias` a name for the target, and every name of `alias` with it, so that a name is one step from its scope."""
    root = db.execute(_ROOT, (target_id,)).fetchone()
    if root is None:
        raise UnknownScope(f"scope {target_id} does not exist; an alias needs a scope to name")
    named = find_scope(db, alias)
    if named is not None and named.id == root[0]:
        return
    (alias_id,) = db.execute(_NAME, (ids.next(), *_place(alias), root[0], now_ms)).fetchone()
    db.execute(_MOVE_NAMES, (root[0], alias_id))


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
