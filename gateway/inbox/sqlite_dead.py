"""Letters that wait for an admin, on SQLite, as `letters` of the queues."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from gateway.inbox.base import Event, Redirect
from gateway.inbox.dead import RETRIED, ByHand, Letter, Wanted
from gateway.inbox.rows import CHUNK_COLUMNS, EVENT_COLUMNS, letter_of, outcome_text, storable
from gateway.inbox.sqlite_file import SqliteFile

# Each is bounded by itself: how many letters wait must cost a page nothing.
_DEAD = """SELECT * FROM (SELECT DISTINCT turn_id FROM inbox_events INDEXED BY inbox_letters
  WHERE state = 'dead' AND dealt_ms IS NULL AND turn_id < :before{channels}{code} ORDER BY turn_id DESC LIMIT :limit)"""
_UNKNOWN = """SELECT * FROM (SELECT DISTINCT c.turn_id FROM outbox_chunks c INDEXED BY outbox_unknown
  JOIN inbox_events e ON e.id = c.turn_id
  WHERE c.state = 'unknown' AND c.dealt_ms IS NULL AND c.turn_id < :before AND e.state IN ('answered', 'failed')
    AND c.part >= 0{channels} ORDER BY c.turn_id DESC LIMIT :limit)"""
_EVENTS = f"""SELECT {EVENT_COLUMNS}, dealt_ms, reopened, notice_of FROM inbox_events
  WHERE id = :turn AND turn_id = id OR turn_id = :turn AND turn_id <> id ORDER BY seq"""
_CHUNKS = f"SELECT {CHUNK_COLUMNS}, dealt_ms FROM outbox_chunks WHERE turn_id = :turn ORDER BY id"

_REOPEN = """UPDATE inbox_events SET state = 'accepted', outcome = CASE kind WHEN 'message' THEN ? END, attempts = 1,
  excused = 0, shown = NULL, halt = NULL, notice_of = NULL, reopened = reopened + 1,
  owner = CASE kind WHEN 'control' THEN 0 ELSE owner END
  WHERE id = ?"""
_REPLIED = """UPDATE inbox_events SET state = 'replied', outcome = CASE state WHEN 'dead' THEN notice_of ELSE outcome END,
  notice_of = NULL, reopened = reopened + 1 WHERE id = ?"""
_PAST = "UPDATE outbox_chunks SET part = ?, dealt_ms = coalesce(dealt_ms, ?) WHERE id = ?"
_AGAIN = """INSERT INTO outbox_chunks
  (turn_id, channel, queue, address, part, parts, text, state, attempts, put_ms, due_ms, shown)
  SELECT turn_id, channel, ?, ?, ?, parts, text, 'waiting', 0, ?, ?, ? FROM outbox_chunks WHERE id = ?"""


class SqliteLetters:
    """Implements `gateway.inbox.dead.DeadLetters`. `reopened` hears of events that wait again."""

    def __init__(self, file: SqliteFile, *, reopened: Callable[[Sequence[Event]], None]) -> None:
        self._file = file
        self._reopened = reopened

    async def listed(self, wanted: Wanted) -> tuple[Letter, ...]:
        return self._file.read(lambda db: _listed(db, wanted))

    async def find(self, turn_id: int) -> Letter | None:
        return self._file.read(lambda db: _find(db, turn_id))

    async def reopen(self, turn_id: int, *, seen: int, answer: ByHand | None, now_ms: int) -> bool:
        def work(db: sqlite3.Connection) -> tuple[Event, ...]:
            return _reopen(db, turn_id, seen=seen, answer=answer, now_ms=now_ms)

        events = await self._file.write(work, self._reopened)
        return bool(events)

    async def send_again(self, turn_id: int, *, seen: int, redirect: Redirect, now_ms: int) -> bool:
        def work(db: sqlite3.Connection) -> bool:
            return _send_again(db, turn_id, seen=seen, redirect=redirect, now_ms=now_ms)

        return await self._file.write(work, lambda _: self._reopened(()))

    async def set_aside(self, turn_id: int, *, seen: int, now_ms: int) -> bool:
        return await self._file.write(lambda db: _set_aside(db, turn_id, seen=seen, now_ms=now_ms))


def _listed(db: sqlite3.Connection, wanted: Wanted) -> tuple[Letter, ...]:
    values: dict[str, Any] = {
        "before": 2**63 - 1 if wanted.before_id is None else wanted.before_id,
        "code": wanted.code,
    }
    channels = ""
    if wanted.channels is not None:
        if not wanted.channels:
            return ()
        names = {f"channel{number}": name for number, name in enumerate(sorted(wanted.channels))}
        values |= names
        channels = f" AND {{}}channel IN ({', '.join(f':{name}' for name in names)})"
    code = "" if wanted.code is None else " AND json_extract(outcome, '$.code') = :code"
    dead = _DEAD.format(channels=channels.format(""), code=code)
    unknown = _UNKNOWN.format(channels=channels.format("c."))
    both = {"dead": dead, "unknown": unknown}
    if wanted.code is not None:
        del both["unknown"]  # nothing of theirs has failed
    sql = " UNION ".join(part for kind, part in both.items() if wanted.kind in (None, kind))
    if not sql:
        return ()
    found: list[Letter] = []
    while (most := wanted.limit - len(found)) > 0:
        turns = db.execute(f"{sql} ORDER BY turn_id DESC LIMIT :limit", values | {"limit": most}).fetchall()
        found += [letter for (turn_id,) in turns if (letter := _find(db, turn_id)) is not None]
        if len(turns) < most:
            break
        values["before"] = turns[-1][0]  # one that is just being taken up again does not end the list
    return tuple(found)


def _find(db: sqlite3.Connection, turn_id: int) -> Letter | None:
    of = {"turn": turn_id}
    return letter_of(turn_id, db.execute(_EVENTS, of).fetchall(), db.execute(_CHUNKS, of).fetchall())


def _reopen(
    db: sqlite3.Connection, turn_id: int, *, seen: int, answer: ByHand | None, now_ms: int
) -> tuple[Event, ...]:
    found = _find(db, turn_id)
    if found is None or not found.open_to(seen, answer):
        return ()
    db.executemany(_PAST, [(part, now_ms, chunk.id) for chunk, part in found.past(found.current())])
    db.execute("DELETE FROM outbox_replies WHERE turn_id = ?", (turn_id,))
    outcome = outcome_text(RETRIED if answer is None else answer.outcome())
    db.executemany(_REOPEN, [(outcome, event.id) for event in found.concerned()])
    return found.concerned()


def _send_again(db: sqlite3.Connection, turn_id: int, *, seen: int, redirect: Redirect, now_ms: int) -> bool:
    found = _find(db, turn_id)
    if found is None or found.seen != seen or not found.undelivered():
        return False
    for chunk, part in found.past(found.undelivered()):
        target = redirect(chunk.address)
        queue, address = (chunk.queue, chunk.address) if target is None else (storable(target.queue), target.address)
        shown = chunk.shown if target is None else None  # the old room's message
        db.execute(_PAST, (part, now_ms, chunk.id))
        # A new chunk, with an id of its own: an older one ahead of what is just being sent would confuse the queue.
        db.execute(_AGAIN, (queue, address, chunk.index, now_ms, now_ms, shown, chunk.id))
        db.execute("INSERT INTO outbox_queues (queue, due_ms) VALUES (?, ?) ON CONFLICT DO NOTHING", (queue, now_ms))
    db.executemany(_REPLIED, [(event.id,) for event in found.concerned()])
    return True


def _set_aside(db: sqlite3.Connection, turn_id: int, *, seen: int, now_ms: int) -> bool:
    found = _find(db, turn_id)
    if found is None or found.seen != seen:
        return False
    db.executemany(
        "UPDATE inbox_events SET dealt_ms = ? WHERE id = ?", [(now_ms, event.id) for event in found.concerned()]
    )
    db.execute(
        "UPDATE outbox_chunks SET dealt_ms = ? WHERE turn_id = ? AND state = 'unknown' AND dealt_ms IS NULL",
        (now_ms, turn_id),
    )
    return True
