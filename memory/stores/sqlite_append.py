"""Appending a turn's messages on SQLite: find the session, what was stored before, the ids; write what is new.

Runs on an open connection, inside a write transaction of `memory/stores/sqlite.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from memory.base import Ledger, Message, NewMessage, SessionRule
from memory.errors import Fenced, PersonErased, ScopeMoved, UnknownScope
from memory.ids import Ids
from memory.stores.rows import stored_message, title_of
from memory.stores.sqlite_rows import MESSAGES, read_messages

_HEAD = "last_id, fence, session_id, session_first_id, session_last_ms, session_no, title, title_id, last_ms"
_READ_HEAD = f"SELECT {_HEAD}, carry_scope_id, carry_last_id, alias_of FROM scopes WHERE id = ?"
_SAVE_HEAD = f"UPDATE scopes SET ({_HEAD}) = (?{', ?' * 8}) WHERE id = ?"
_OF_TURN = "SELECT event_id, role, id FROM messages INDEXED BY messages_turn WHERE scope_id = ? AND turn_id = ?"
_STORED = f"SELECT {MESSAGES.select} FROM messages WHERE scope_id = ? AND id = ?"
_SESSION_OF = "SELECT session_id FROM messages WHERE scope_id = ? AND id = ?"
_OPEN_SESSION = "INSERT INTO sessions (id, scope_id, first_id, started_ms) VALUES (?, ?, ?, ?)"
_END_SESSION = "UPDATE sessions SET ended_ms = ?, last_id = ? WHERE id = ?"
_LENGTHEN_SESSION = "UPDATE sessions SET last_id = ? WHERE id = ?"
_ERASED = "SELECT 1 FROM persons WHERE id = ? AND erased_ms IS NOT NULL"
_SAVE_LEDGER = """INSERT INTO ledgers (turn_id, scope_id, created_ms, due_ms, body) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (turn_id) DO UPDATE
  SET created_ms = excluded.created_ms, due_ms = excluded.due_ms, tries = 0, body = excluded.body
  WHERE ledgers.scope_id = excluded.scope_id"""


@dataclass(slots=True)
class Head:
    """The state in a scope's row, while a transaction works on it."""

    last_id: int
    fence: int
    session_id: str | None
    session_first_id: int | None
    session_last_ms: int | None
    session_no: int
    title: str
    title_id: int | None
    last_ms: int
    carry_scope_id: int | None
    carry_last_id: int | None
    alias_of: int | None


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did: `rows` as asked for, old ones and new; `head` as it stands now."""

    rows: tuple[Message, ...]
    session_id: str
    opened: bool
    head: Head


def read_head(db: sqlite3.Connection, scope_id: int) -> Head | None:
    """Return the scope's state, None if there is no such scope."""
    row = db.execute(_READ_HEAD, (scope_id,)).fetchone()
    return None if row is None else Head(*row)


def known_head(db: sqlite3.Connection, scope_id: int) -> Head:
    """Return the scope's state; raises `UnknownScope`."""
    head = read_head(db, scope_id)
    if head is None:
        raise UnknownScope(f"scope {scope_id} does not exist; open it first")
    return head


def is_erased(db: sqlite3.Connection, person_id: int | None) -> bool:
    """Say whether it is somebody who is being erased, or was."""
    return person_id is not None and db.execute(_ERASED, (person_id,)).fetchone() is not None


def save_head(db: sqlite3.Connection, scope_id: int, head: Head) -> None:
    """Write the scope's state back."""
    db.execute(
        _SAVE_HEAD,
        (
            head.last_id,
            head.fence,
            head.session_id,
            head.session_first_id,
            head.session_last_ms,
            head.session_no,
            head.title,
            head.title_id,
            head.last_ms,
            scope_id,
        ),
    )


def save_ledger(db: sqlite3.Connection, ledger: Ledger, *, fence: int) -> None:
    """Do what `Store.save_ledger` promises; the caller commits."""
    _not_fenced(known_head(db, ledger.scope_id), ledger.scope_id, fence=fence)
    _not_erased(db, ledger.person_id)
    _write_ledger(db, ledger)


def _write_ledger(db: sqlite3.Connection, ledger: Ledger) -> None:
    """Store or replace the turn's ledger, due to be learned from."""
    of = (ledger.turn_id, ledger.scope_id, ledger.now_ms, ledger.now_ms)
    db.execute(_SAVE_LEDGER, (*of, msgspec.json.encode(ledger)))


def end_active_session(db: sqlite3.Connection, head: Head, *, now_ms: int) -> None:
    """End the scope's active session, if there is one. The caller saves the head."""
    if head.session_id is not None:
        db.execute(_END_SESSION, (now_ms, head.last_id, head.session_id))
        head.session_id = head.session_first_id = head.session_last_ms = None


def end_session(db: sqlite3.Connection, scope_id: int, *, now_ms: int) -> bool:
    """Do what `Store.end_session` promises; the caller commits."""
    head = read_head(db, scope_id)
    if head is None or head.session_id is None:
        return False
    end_active_session(db, head, now_ms=now_ms)
    save_head(db, scope_id, head)
    return True


def append(
    db: sqlite3.Connection,
    scope_id: int,
    messages: Sequence[NewMessage],
    *,
    ids: Ids,
    turn_id: int,
    session: SessionRule,
    now_ms: int,
    fence: int,
    ledger: Ledger | None,
) -> Appended:
    """Do what `Store.append` promises; the caller commits, or rolls back when this raises."""
    head = known_head(db, scope_id)
    _not_fenced(head, scope_id, fence=fence)
    head.fence = fence
    for person_id in {item.person_id for item in messages}:
        _not_erased(db, person_id)
    stored = {(event_id, role): id_ for event_id, role, id_ in db.execute(_OF_TURN, (scope_id, turn_id))}
    if head.alias_of is not None and not stored:
        raise ScopeMoved(f"scope {scope_id} is a name of scope {head.alias_of} now; look it up again")
    fresh: dict[tuple[int, str], NewMessage] = {}
    for item in messages:
        if (item.event_id, item.role) not in stored:
            fresh.setdefault((item.event_id, item.role), item)
    session_id = head.session_id or ""
    if stored:  # a turn stays in one session, even if that has ended meanwhile
        session_id = db.execute(_SESSION_OF, (scope_id, min(stored.values()))).fetchone()[0]
    opens = bool(fresh) and not stored and not _continues(head, session, now_ms=now_ms)
    if opens:
        session_id = session.fresh_id
        end_active_session(db, head, now_ms=now_ms)

    rows: dict[tuple[int, str], Message] = {}
    for name, item in fresh.items():
        head.last_id = max(ids.next(), head.last_id + 1)
        rows[name], user = stored_message(
            item, id_=head.last_id, scope_id=scope_id, session_id=session_id, turn_id=turn_id, now_ms=now_ms
        )
        db.execute(MESSAGES.insert, MESSAGES.values(rows[name], user=user))
    if rows:
        _note(db, head, tuple(rows.values()), opens=opens, now_ms=now_ms)
        if ledger is not None:
            _write_ledger(db, ledger)
    save_head(db, scope_id, head)
    for name, id_ in stored.items():
        rows[name] = read_messages(db.execute(_STORED, (scope_id, id_)))[0]
    return Appended(tuple(rows[item.event_id, item.role] for item in messages), session_id, opens, head)


def _not_fenced(head: Head, scope_id: int, *, fence: int) -> None:
    if fence < head.fence:
        raise Fenced(
            f"fence {fence} is older than {head.fence}: another owner has taken scope {scope_id}; stop this turn"
        )


def _not_erased(db: sqlite3.Connection, person_id: int | None) -> None:
    if is_erased(db, person_id):
        raise PersonErased(f"person {person_id} was erased; nothing is stored for them, look their account up again")


def _continues(head: Head, rule: SessionRule, *, now_ms: int) -> bool:
    """Tell whether the scope's active session goes on: it has not expired and no other one was asked for (B34)."""
    return (
        head.session_last_ms is not None
        and now_ms - head.session_last_ms < rule.idle_ms
        and rule.asked in (None, head.session_id)
    )


def _note(db: sqlite3.Connection, head: Head, rows: tuple[Message, ...], *, opens: bool, now_ms: int) -> None:
    """Take new rows into the scope's state: its session, title and last time (A16)."""
    first, last = rows[0], rows[-1]
    if opens:
        db.execute(_OPEN_SESSION, (first.session_id, first.scope_id, first.id, now_ms))
        head.session_id, head.session_first_id = first.session_id, first.id
        head.session_no += 1
    if last.session_id == head.session_id:
        head.session_last_ms = max(head.session_last_ms or 0, now_ms)
    else:
        db.execute(_LENGTHEN_SESSION, (last.id, last.session_id))
    head.last_ms = max(head.last_ms, now_ms)
    for row in rows:
        if not head.title and row.role == "user":
            head.title, head.title_id = title_of(row.text), row.id
