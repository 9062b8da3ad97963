"""The inbox's statements on SQLite. Each function runs inside a transaction that its caller commits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from gateway.inbox.base import Accepted, Event, Excuse, Halt, HaltReason, NewEvent, Outcome, Stats
from gateway.inbox.rows import (
    BEGUN_AGAIN,
    EVENT_COLUMNS,
    FINAL,
    LIVE,
    OLD_ANNOUNCED,
    OLDEST_FINISHED,
    WAITING,
    event_of,
    event_row,
    lighter,
    outcome_text,
    revivable,
    revived,
    storable,
    stored_event,
)
from memory.ids import first_id, made_ms

_INSERT = (
    f"INSERT INTO inbox_events ({EVENT_COLUMNS}, seq, owner)"
    f" VALUES ({', '.join('?' for _ in EVENT_COLUMNS.split(','))}, ?, ?)"
)
_REVIVE = (
    "UPDATE inbox_events SET lane = ?, kind = ?, speaker = ?, body = ?, state = ?, outcome = NULL, subject = ?, seq = ?"
    " WHERE id = ?"
)

_BY_ID = f"SELECT {EVENT_COLUMNS} FROM inbox_events WHERE id = ?"


def accept(
    db: sqlite3.Connection, new: NewEvent, *, lane: str, digests: Sequence[bytes], seq: int, owner: int
) -> Accepted:
    """Store the event, or find the one that was stored before under one of its digests; or revive that one."""
    known: dict[bytes, int] = {}
    for digest in digests:
        row = db.execute("SELECT event_id FROM inbox_dedupe WHERE digest = ?", (digest,)).fetchone()
        if row is not None:
            known[digest] = row[0]
    if known:
        # There: an event outlives its dedupe ids.
        event = event_of(db.execute(_BY_ID, (next(iter(known.values())),)).fetchone())
        fresh = [digest for digest in digests if digest not in known] if event.fingerprint == new.fingerprint else []
    else:
        event, fresh = stored_event(new, lane=lane), list(digests)
        db.execute(_INSERT, (*event_row(event), seq, owner))
    db.executemany(
        "INSERT INTO inbox_dedupe (digest, event_id) VALUES (?, ?)", [(digest, event.id) for digest in fresh]
    )
    if known and fresh and revivable(event, new):
        event, known = revived(event, new, lane=lane), {}
        speaker = event.speaker.encode("utf-8", "surrogatepass")
        db.execute(_REVIVE, (lane, event.kind, speaker, event.body, event.state, event.subject, seq, event.id))
    return Accepted(verdict="accepted" if not known else "folded" if fresh else "duplicate", event=event)


def find(db: sqlite3.Connection, event_id: int) -> Event | None:
    """Return the event, None if there is none."""
    row = db.execute(_BY_ID, (event_id,)).fetchone()
    return None if row is None else event_of(row)


def of_turn(db: sqlite3.Connection, turn_id: int) -> list[Event]:
    """Return the turn's events in order of acceptance."""
    rows = db.execute(
        f"SELECT {EVENT_COLUMNS} FROM inbox_events"
        " WHERE id = :turn AND turn_id = id OR turn_id = :turn AND turn_id <> id ORDER BY seq",
        {"turn": turn_id},
    ).fetchall()
    return [event_of(row) for row in rows]


def waiting(db: sqlite3.Connection, lane: str, *, limit: int) -> list[Event]:
    """Return the lane's oldest messages that wait or run."""
    rows = db.execute(
        f"SELECT {EVENT_COLUMNS} FROM inbox_events"
        f" WHERE lane = ? AND {WAITING} AND kind = 'message' ORDER BY seq LIMIT ?",
        (lane, limit),
    ).fetchall()
    return [event_of(row) for row in rows]


def all_waiting(db: sqlite3.Connection) -> list[tuple[int, str, str]]:
    """Return (id, lane, state) of every message that waits or runs, in order of acceptance."""
    return db.execute(
        f"SELECT id, lane, state FROM inbox_events WHERE {WAITING} AND kind = 'message' ORDER BY seq"
    ).fetchall()


def start(db: sqlite3.Connection, ids: Iterable[int], *, turn_id: int, lane: str) -> list[int]:
    """Mark the lane's waiting messages as running in one turn; return those."""
    update = (
        f"UPDATE inbox_events SET state = 'running', turn_id = ?, attempts = attempts + 1, {BEGUN_AGAIN}"
        f" WHERE id = ? AND lane = ? AND {WAITING} AND kind = 'message'"
    )
    return [event_id for event_id in ids if db.execute(update, (turn_id, event_id, lane)).rowcount]


def halt(db: sqlite3.Connection, ids: Iterable[int], reason: HaltReason) -> list[int]:
    """Note that the turns of those that run are to end early; return those."""
    weaker = lighter(reason)
    update = (
        f"UPDATE inbox_events SET halt = CASE WHEN halt IS NULL OR halt IN ({', '.join('?' for _ in weaker)}) THEN ?"
        " ELSE halt END WHERE id = ? AND state = 'running' AND kind = 'message'"
    )
    return [event_id for event_id in ids if db.execute(update, (*weaker, reason, event_id)).rowcount]


def halts(db: sqlite3.Connection, ids: Iterable[int]) -> list[Halt]:
    """Return what was noted on these events."""
    find = "SELECT attempts, halt FROM inbox_events WHERE id = ? AND halt IS NOT NULL"
    return [
        Halt(event_id=event_id, attempts=attempts, reason=reason)
        for event_id in ids
        for attempts, reason in db.execute(find, (event_id,)).fetchall()
    ]


def excuse(db: sqlite3.Connection, excuses: Iterable[Excuse]) -> None:
    """Let these starts count as no try."""
    db.executemany(
        f"UPDATE inbox_events SET excused = max(excused, ?) WHERE id = ? AND attempts > ? AND {WAITING}",
        [(one.excused + 1, one.event_id, one.attempts) for one in excuses],
    )


def show(db: sqlite3.Connection, ids: Iterable[int], shown: str, *, lane: str) -> None:
    """Keep on the lane's running messages which message shows their reply."""
    db.executemany(
        "UPDATE inbox_events SET shown = ? WHERE id = ? AND lane = ? AND state = 'running'",
        [(storable(shown), event_id, lane) for event_id in ids],
    )


def finish(db: sqlite3.Connection, ids: Iterable[int], outcome: Outcome, *, lane: str | None) -> None:
    """End those of the lane's events that wait or run; `lane` None: those of the control events."""
    whose = "kind = 'control'" if lane is None else "lane = :lane"
    db.executemany(
        f"UPDATE inbox_events SET state = :state, outcome = :outcome WHERE id = :id AND {WAITING} AND {whose}",
        [{"state": outcome.state, "outcome": outcome_text(outcome), "id": event_id, "lane": lane} for event_id in ids],
    )


def amendments(db: sqlite3.Connection, subjects: Sequence[bytes]) -> list[Event]:
    """Return the control events about these messages, oldest first."""
    rows = db.execute(
        f"SELECT {EVENT_COLUMNS} FROM inbox_events INDEXED BY inbox_subject_controls"
        f" WHERE subject IN ({', '.join('?' for _ in subjects)}) AND kind = 'control' AND subject IS NOT NULL ORDER BY seq",
        subjects,
    ).fetchall()
    return [event_of(row) for row in rows]


def pending(db: sqlite3.Connection, subject: bytes) -> list[Event]:
    """Return the subject's messages that wait or run, oldest first."""
    rows = db.execute(
        f"SELECT {EVENT_COLUMNS} FROM inbox_events INDEXED BY inbox_subject_waiting"
        f" WHERE subject = ? AND {WAITING} AND kind = 'message' AND subject IS NOT NULL ORDER BY seq",
        (subject,),
    ).fetchall()
    return [event_of(row) for row in rows]


def withdraw(db: sqlite3.Connection, ids: Iterable[int], outcome: Outcome, *, lane: str) -> list[int]:
    """End those of the lane's messages that have not begun; return which."""
    update = (
        "UPDATE inbox_events SET state = ?, outcome = ?"
        " WHERE id = ? AND lane = ? AND state = 'accepted' AND kind = 'message'"
    )
    end = outcome.state, outcome_text(outcome)
    return [event_id for event_id in ids if db.execute(update, (*end, event_id, lane)).rowcount]


def take_controls(db: sqlite3.Connection, *, owner: int, before_ms: int) -> list[Event]:
    """Give `owner` the control events that others left unapplied; return them in order of acceptance, with its own old ones."""
    rows = db.execute(
        f"SELECT {EVENT_COLUMNS} FROM inbox_events WHERE {WAITING} AND kind = 'control'"
        " AND (owner <> ? OR accepted_ms < ?) ORDER BY seq",
        (owner, before_ms),
    ).fetchall()
    db.executemany(
        "UPDATE inbox_events SET owner = ? WHERE id = ? AND owner <> ?", [(owner, row[0], owner) for row in rows]
    )
    return [event_of(row) for row in rows]


def stats(db: sqlite3.Connection) -> Stats:
    """Count what waits; reads only indexes as large as that."""
    waiting_, running, oldest, unanswered = db.execute(
        "SELECT count(*) FILTER (WHERE state = 'accepted'), count(*) FILTER (WHERE state = 'running'),"
        " min(accepted_ms) FILTER (WHERE state = 'accepted'), min(accepted_ms)"
        f" FROM inbox_events WHERE {WAITING} AND kind = 'message'"
    ).fetchone()
    live, outbox_oldest = db.execute(f"SELECT count(*), min(put_ms) FROM outbox_chunks WHERE {LIVE}").fetchone()
    (dead,) = db.execute("SELECT count(*) FROM inbox_events WHERE state = 'dead' AND dealt_ms IS NULL").fetchone()
    return Stats(
        waiting=waiting_,
        running=running,
        oldest_waiting_ms=oldest,
        outbox_waiting=live,
        outbox_oldest_ms=outbox_oldest,
        dead=dead,
        oldest_unanswered_ms=unanswered,
    )


def purge(db: sqlite3.Connection, *, before_ms: int, dedupe_before_ms: int, limit: int) -> int:
    """Delete what `Inbox.purge` says; return how many rows."""
    dedupe = db.execute(
        "DELETE FROM inbox_dedupe WHERE digest IN (SELECT digest FROM inbox_dedupe d WHERE event_id < ? AND NOT EXISTS"
        f" (SELECT 1 FROM inbox_events e WHERE e.id = d.event_id AND NOT {FINAL}) ORDER BY event_id LIMIT ?)",
        (first_id(dedupe_before_ms), limit),
    ).rowcount
    old = db.execute(
        f"SELECT id FROM inbox_events e WHERE id < ? AND {FINAL}"
        " AND NOT EXISTS (SELECT 1 FROM inbox_dedupe d WHERE d.event_id = e.id) ORDER BY id LIMIT ?",
        (first_id(min(before_ms, dedupe_before_ms)), limit),
    ).fetchall()
    chunks = db.executemany("DELETE FROM outbox_chunks WHERE turn_id = ?", old).rowcount
    replies = db.executemany("DELETE FROM outbox_replies WHERE turn_id = ?", old).rowcount
    db.executemany("DELETE FROM inbox_events WHERE id = ?", old)
    told = db.execute(OLD_ANNOUNCED.format("?", "?"), (first_id(before_ms), limit)).rowcount
    return dedupe + max(chunks, 0) + max(replies, 0) + len(old) + told


def oldest_finished_ms(db: sqlite3.Connection) -> int | None:
    """Return what `Inbox.oldest_finished_ms` says."""
    row = db.execute(OLDEST_FINISHED).fetchone()
    return made_ms(row[0]) if row else None
