"""A person's end in the queues on SQLite. Each function runs inside a transaction that its caller commits."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from gateway.inbox.base import Outcome
from gateway.inbox.erasable import Emptied, Mend, Page
from gateway.inbox.rows import EVENT_COLUMNS, FINAL, LIVE, WAITING, event_of, outcome_text, without_reason
from gateway.inbox.sqlite_moves import due_again

_UPTO = """SELECT max(id), count(*) FROM (SELECT id FROM inbox_events
  WHERE channel = ? AND id > ? ORDER BY id LIMIT ?)"""
_SPOKEN = f"""SELECT {EVENT_COLUMNS} FROM inbox_events
  WHERE channel = ? AND id > ? AND id <= ? AND speaker IN ({{}}) ORDER BY id"""
_QUOTING = """SELECT id, body FROM inbox_events
  WHERE channel = ? AND id > ? AND id <= ? AND instr(body, CAST('"quote":{' AS BLOB))"""
_FOUND = "SELECT id, turn_id, lane, kind, state FROM inbox_events WHERE id = ? AND length(speaker)"
_END = f"""UPDATE inbox_events SET state = ?, outcome = ?, halt = CASE state WHEN 'running' THEN 'withdrawn' END
  WHERE id = ? AND {WAITING}"""
_NO_REPLY = "INSERT INTO outbox_replies (turn_id, text) VALUES (?, '') ON CONFLICT DO NOTHING"
# What is marked as being sent from a queue that is nobody's was left so by a process that is gone.
_GIVE_UP = """UPDATE outbox_chunks SET state = 'dead', settled_ms = ?
  WHERE turn_id = ? AND (state = 'waiting' OR state = 'sending'
    AND NOT EXISTS (SELECT 1 FROM outbox_queues q WHERE q.queue = outbox_chunks.queue AND q.owner IS NOT NULL))
  RETURNING queue"""
_SENDING = f"SELECT 1 FROM outbox_chunks WHERE turn_id = ? AND {LIVE} LIMIT 1"
_END_REPLIED = "UPDATE inbox_events SET state = ?, outcome = ? WHERE id = ? AND state = 'replied'"
_SAY_WHY = "UPDATE inbox_events SET outcome = ? WHERE id = ? AND state IN ('ignored', 'observed')"
_REASON = "SELECT outcome FROM inbox_events WHERE id = ? AND state IN ('dead', 'failed') AND outcome IS NOT NULL"
_NO_REASON = "UPDATE inbox_events SET outcome = ? WHERE id = ?"
_EMPTY = f"""UPDATE inbox_events SET body = x'', speaker = x'', lane = '', subject = NULL, fingerprint = NULL, shown = NULL,
  notice_of = NULL, dealt_ms = coalesce(dealt_ms, ?) WHERE id = ? AND {FINAL}"""
_EMPTY_REPLY = "UPDATE outbox_replies SET text = '' WHERE turn_id = ? AND text <> ''"
_EMPTY_CHUNKS = """UPDATE outbox_chunks SET text = '', address = x'', queue = '', message_id = NULL, shown = NULL, error = NULL,
  dealt_ms = coalesce(dealt_ms, ?) WHERE turn_id = ? AND queue <> ''"""


def spoken(db: sqlite3.Connection, channel: str, speakers: Collection[str], *, after_id: int, limit: int) -> Page:
    """Do what `Erasable.spoken` promises."""
    upto, count = db.execute(_UPTO, (channel, after_id, limit)).fetchone()
    names = [speaker.encode("utf-8", "surrogatepass") for speaker in speakers]
    found = db.execute(_SPOKEN.format(", ".join("?" * len(names))), (channel, after_id, upto, *names)).fetchall()
    return Page(events=tuple(map(event_of, found)), next_id=upto if count == limit else None)


def posted(db: sqlite3.Connection, turn_ids: Sequence[int]) -> list[tuple[int, str]]:
    """Do what `Erasable.posted` promises."""
    find = "SELECT turn_id, message_id FROM outbox_chunks WHERE turn_id = ? AND message_id IS NOT NULL"
    return [row for turn_id in turn_ids for row in db.execute(find, (turn_id,)).fetchall()]


def erase(
    db: sqlite3.Connection, event_ids: Sequence[int], outcome: Outcome, *, now_ms: int
) -> tuple[Emptied, list[tuple[int, str]]]:
    """Do what `Erasable.erase` promises; also return (id, lane) of the messages that waited or ran."""
    ended: list[int] = []
    busy: list[int] = []
    left: list[tuple[int, str]] = []
    counts = {"inbox_events": 0, "outbox_replies": 0, "outbox_chunks": 0}
    end = (outcome.state, outcome_text(outcome))
    for event_id in event_ids:
        found = db.execute(_FOUND, (event_id,)).fetchone()
        if found is None:
            continue
        _, turn_id, lane, kind, state = found
        if state in ("accepted", "running"):
            db.execute(_END, (*end, event_id))
            ended.append(event_id)
            if kind == "message":
                left.append((event_id, lane))
            if state == "running":
                db.execute(_NO_REPLY, (turn_id,))
        elif state == "replied":
            for (queue,) in db.execute(_GIVE_UP, (now_ms, turn_id)).fetchall():
                due_again(db, queue)
            if db.execute(_SENDING, (turn_id,)).fetchone():
                busy.append(event_id)
                continue
            db.execute(_END_REPLIED, (*end, event_id))
            ended.append(event_id)
        db.execute(_SAY_WHY, (end[1], event_id))
        for (given,) in db.execute(_REASON, (event_id,)).fetchall():
            if (kept := without_reason(given)) is not None:
                db.execute(_NO_REASON, (kept, event_id))
        counts["inbox_events"] += db.execute(_EMPTY, (now_ms, event_id)).rowcount
        counts["outbox_replies"] += db.execute(_EMPTY_REPLY, (turn_id,)).rowcount
        counts["outbox_chunks"] += db.execute(_EMPTY_CHUNKS, (now_ms, turn_id)).rowcount
    return Emptied(ended=tuple(ended), busy=tuple(busy), counts=counts), left


def unsay(db: sqlite3.Connection, turn_ids: Sequence[int], *, now_ms: int) -> tuple[int, list[int]]:
    """Do what `Erasable.unsay` promises."""
    emptied, busy = 0, []
    for turn_id in turn_ids:
        for (queue,) in db.execute(_GIVE_UP, (now_ms, turn_id)).fetchall():
            due_again(db, queue)
        if db.execute(_SENDING, (turn_id,)).fetchone():
            busy.append(turn_id)
        else:
            emptied += db.execute(_EMPTY_CHUNKS, (now_ms, turn_id)).rowcount
    return emptied, busy


def mend(db: sqlite3.Connection, channel: str, mend_: Mend, *, after_id: int, limit: int) -> Page:
    """Do what `Erasable.mend` promises."""
    upto, count = db.execute(_UPTO, (channel, after_id, limit)).fetchone()
    mended = 0
    for event_id, body in db.execute(_QUOTING, (channel, after_id, upto)).fetchall():
        new = mend_(body)
        if new is not None:
            db.execute("UPDATE inbox_events SET body = ? WHERE id = ?", (new, event_id))
            mended += 1
    return Page(mended=mended, next_id=upto if count == limit else None)
