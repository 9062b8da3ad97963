"""Loading a turn's memory on SQLite: each part one index scan of its own, so that a broken one costs itself only.

Runs on an open connection, inside a read transaction of `memory/stores/sqlite.py`: all parts are of one moment.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from memory.base import Corpus, Fact, Load, Loaded, Message, Observed, Owner, ProfileItem, Summary
from memory.errors import UNREADABLE, StoreUnavailable
from memory.stores import sqlite_derived
from memory.stores.sqlite_append import Appended, Head, read_head
from memory.stores.sqlite_rows import FACTS, MESSAGES, OBSERVED, PROFILE, SUMMARIES, read_messages, read_observed

CARRIED = 20
"""How many messages of the scope it continues open a new one."""

_SESSION = "SELECT first_id, coalesce(last_id, ?) FROM sessions WHERE id = ? AND scope_id = ?"
_WINDOW = f"""SELECT {MESSAGES.select} FROM messages
  WHERE scope_id = ? AND id BETWEEN ? AND ? AND session_id = ? ORDER BY id DESC LIMIT ?"""
_TURN = (
    f"SELECT {MESSAGES.select} FROM messages INDEXED BY messages_turn WHERE scope_id = ? AND turn_id = ? ORDER BY id"
)
_LAST_SESSION = "FROM sessions AS s WHERE s.scope_id = :scope AND s.first_id <= :last ORDER BY s.first_id DESC LIMIT 1"
_CARRIED = f"""SELECT {MESSAGES.select} FROM messages
  WHERE scope_id = :scope AND id BETWEEN (SELECT s.first_id {_LAST_SESSION}) AND :last
  AND session_id = (SELECT s.id {_LAST_SESSION}) ORDER BY id DESC LIMIT {CARRIED}"""
_HANDOVER = f"""SELECT {SUMMARIES.select} FROM summaries WHERE scope_id = :scope
  AND session_id = (SELECT s.id {_LAST_SESSION}) ORDER BY id DESC LIMIT 1"""
_OBSERVED = f"SELECT {OBSERVED.select} FROM observed WHERE scope_id = ? ORDER BY id DESC LIMIT ?"
_FACTS = f"""SELECT {FACTS.select} FROM facts
  WHERE scope_id = ? AND session_id = ? AND person_id = ? AND status = 'active' AND expires_ms > ? ORDER BY id"""
_PROFILE = f"""SELECT {PROFILE.select} FROM profile_items
  WHERE person_id = ? AND namespace = ? AND pinned = ? AND status = 'active' AND valid_from_ms <= ?
  AND coalesce(valid_to_ms > ?, TRUE) AND (chat_type = 'group' OR ?) ORDER BY id DESC LIMIT ?"""

Part = TypeVar("Part")


def load(
    db: sqlite3.Connection, wish: Load, *, session_id: str | None = None, appended: Appended | None = None
) -> Loaded:
    """Do what `Store.load` promises; with `appended`, for the session of that append and without its rows."""
    owner, now_ms = wish.owner, wish.now_ms
    head = appended.head if appended else read_head(db, owner.scope_id)
    if head is None:
        return Loaded()
    session_id = appended.session_id if appended else session_id or head.session_id
    rows = appended.rows if appended else ()
    failed: list[str] = []

    def part(name: str, empty: Part, read: Callable[[], Part]) -> Part:
        try:
            return read()
        except (sqlite3.Error, *UNREADABLE):
            failed.append(name)
            return empty

    before_id = min((row.id for row in rows), default=None)
    nothing: tuple[Message, ...] = ()
    window = part("window", nothing, lambda: _window(db, wish, head, session_id, before_id=before_id))
    return Loaded(
        session_id=session_id or "",
        session_opened=appended is not None and appended.opened,
        appended=rows,
        window=window[-wish.page :],
        more=len(window) > wish.page,
        observed=part("observed", (), lambda: _observed(db, wish)),
        summary=part("summary", None, lambda: _summary(db, owner, session_id)),
        facts=part("facts", (), lambda: _facts(db, owner, session_id, now_ms=now_ms)),
        pinned=part("pinned", (), lambda: _profile(db, owner, now_ms=now_ms, pinned=True, limit=-1)[::-1]),
        profile=part("profile", (), lambda: _profile(db, owner, now_ms=now_ms, pinned=False, limit=wish.profile)),
        unlearned=part("unlearned", 0, lambda: sqlite_derived.unlearned(db, owner.scope_id)),
        hits=part("hits", (), lambda: sqlite_derived.hits(db, wish)),
        corpus=part("corpus", Corpus(), lambda: sqlite_derived.corpus(db, owner)),
        handover=part("handover", None, lambda: _handover(db, head)),
        carried=part("carried", (), lambda: _carried(db, head)),
        failed=tuple(failed),
    )


def page(db: sqlite3.Connection, scope_id: int, session_id: str, *, before_id: int, limit: int) -> tuple[Message, ...]:
    """Return up to `limit` messages of the session before `before_id`, oldest first."""
    head = read_head(db, scope_id)
    if head is None:
        return ()
    first_id, last_id = _span(db, scope_id, head, session_id)
    rows = db.execute(_WINDOW, (scope_id, first_id, min(last_id, before_id - 1), session_id, limit))
    return tuple(read_messages(rows)[::-1])


def turn_messages(db: sqlite3.Connection, scope_id: int, turn_id: int) -> tuple[Message, ...]:
    """Return the turn's messages, oldest first."""
    return tuple(read_messages(db.execute(_TURN, (scope_id, turn_id))))


def _span(db: sqlite3.Connection, scope_id: int, head: Head, session_id: str) -> tuple[int, int]:
    """Return the first and last id that a message of the session may have; nothing lies in an unknown session's."""
    if session_id == head.session_id:
        return head.session_first_id or 0, head.last_id
    span: tuple[int, int] | None = db.execute(_SESSION, (head.last_id, session_id, scope_id)).fetchone()
    return span or (0, -1)


def _window(
    db: sqlite3.Connection, wish: Load, head: Head, session_id: str | None, *, before_id: int | None
) -> tuple[Message, ...]:
    """Return a page of the session and, if there is one, the message before it."""
    if session_id is None:
        return ()
    scope_id = wish.owner.scope_id
    first_id, last_id = _span(db, scope_id, head, session_id)
    if before_id is not None:
        last_id = min(last_id, before_id - 1)
    rows = db.execute(_WINDOW, (scope_id, first_id, last_id, session_id, wish.page + 1))
    return tuple(read_messages(rows)[::-1])


def _observed(db: sqlite3.Connection, wish: Load) -> tuple[Observed, ...]:
    rows = db.execute(_OBSERVED, (wish.owner.scope_id, wish.observed)) if wish.observed else ()
    return tuple(read_observed(rows)[::-1])


def _summary(db: sqlite3.Connection, owner: Owner, session_id: str | None) -> Summary | None:
    found = sqlite_derived.covering(db, owner.scope_id, session_id)
    if found is None:
        return None
    if not found.sound:
        raise StoreUnavailable("a summary does not cover what it says")
    return found.summary


def _facts(db: sqlite3.Connection, owner: Owner, session_id: str | None, *, now_ms: int) -> tuple[Fact, ...]:
    if owner.person_id is None:
        return ()
    return tuple(FACTS.structs(db.execute(_FACTS, (owner.scope_id, session_id, owner.person_id, now_ms))))


def _profile(db: sqlite3.Connection, owner: Owner, *, now_ms: int, pinned: bool, limit: int) -> tuple[ProfileItem, ...]:
    """Return the speaker's items that may be shown in this place, newest first; `limit` -1 is all of them."""
    if owner.person_id is None:
        return ()
    private_too = owner.chat_type == "private" or owner.private_in_group
    of = (owner.person_id, owner.namespace, pinned, now_ms, now_ms, private_too, limit)
    return tuple(PROFILE.structs(db.execute(_PROFILE, of)))


def _carried(db: sqlite3.Connection, head: Head) -> tuple[Message, ...]:
    if head.carry_scope_id is None or head.session_no > 1:
        return ()
    upto = {"scope": head.carry_scope_id, "last": head.carry_last_id}
    return tuple(read_messages(db.execute(_CARRIED, upto))[::-1])


def _handover(db: sqlite3.Connection, head: Head) -> Summary | None:
    if head.carry_scope_id is None or head.session_no > 1:
        return None
    found = SUMMARIES.structs(db.execute(_HANDOVER, {"scope": head.carry_scope_id, "last": head.carry_last_id}))
    return found[0] if found else None
