"""The outbox's statements on SQLite. Each function runs inside a transaction that its caller commits.

`outbox_queues` has a row for every queue with something to send; whoever sets its owner sends the queue's head, and nobody
else touches the queue until the owner says how it went.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from gateway.inbox.base import ANNOUNCE_TRIES, Announcement, Chunk, Reply, Sent
from gateway.inbox.rows import (
    CHUNK_COLUMNS,
    LIVE,
    RECENT_MS,
    UNSAID,
    Settlement,
    chunk_of,
    dedupe_digests,
    outcome_text,
    storable,
    taken,
    undeliverable,
)
from memory.ids import first_id

_HEAD = f"SELECT {CHUNK_COLUMNS} FROM outbox_chunks WHERE queue = ? AND {LIVE} ORDER BY id LIMIT 1"
TURN = "id IN (SELECT :turn UNION SELECT id FROM inbox_events WHERE turn_id = :turn AND turn_id <> id)"


def put(db: sqlite3.Connection, reply: Reply) -> bool:
    """Store the reply and its chunks and mark its events replied; False: the turn has its reply, or none any more."""
    stored = db.execute(
        "INSERT INTO outbox_replies (turn_id, text) VALUES (?, ?) ON CONFLICT DO NOTHING",
        (reply.turn_id, storable(reply.text)),
    )
    if not stored.rowcount:
        return False
    _put_chunks(db, reply, due_ms=reply.now_ms, shown=reply.shown)
    session = None if reply.session is None else storable(reply.session)
    db.executemany(
        "UPDATE inbox_events SET state = ?, turn_id = ?, outcome = ?, session = ?"
        " WHERE id = ? AND lane = ? AND state IN ('accepted', 'running')",
        [
            (reply.state, reply.turn_id, outcome_text(reply.outcome), session, event_id, reply.lane)
            for event_id in reply.event_ids
        ],
    )
    return True


def announce(db: sqlite3.Connection, announcement: Announcement) -> bool:
    """Do what `Outbox.announce` promises."""
    digests = dedupe_digests(announcement.channel, announcement.names)
    known = db.execute(
        f"SELECT turn_id, tries < ? AND {UNSAID} FROM outbox_announced a"
        f" WHERE digest IN ({', '.join('?' for _ in digests)})",
        (ANNOUNCE_TRIES, *digests),
    ).fetchall()
    if not all(unsaid for _, unsaid in known):
        return False
    db.executemany("DELETE FROM outbox_chunks WHERE turn_id = ?", [(turn_id,) for turn_id, _ in known])
    db.execute(
        "INSERT INTO outbox_announced (digest, turn_id) VALUES (?, ?)"
        " ON CONFLICT (digest) DO UPDATE SET turn_id = excluded.turn_id, tries = tries + 1",
        (digests[0], announcement.turn_id),
    )
    _put_chunks(db, announcement, due_ms=announcement.due_ms, shown=None)
    return True


def _put_chunks(db: sqlite3.Connection, sent: Reply | Announcement, *, due_ms: int, shown: str | None) -> None:
    db.executemany(
        "INSERT INTO outbox_chunks (turn_id, channel, queue, address, part, parts, text, state, attempts, put_ms, due_ms,"
        " shown) VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', 0, ?, ?, ?)",
        [
            (
                sent.turn_id,
                sent.channel,
                storable(sent.queue),
                sent.address,
                index,
                len(sent.chunks),
                storable(text),
                sent.now_ms,
                due_ms,
                None if index or shown is None else storable(shown),
            )
            for index, text in enumerate(sent.chunks)
        ],
    )
    if sent.chunks:
        db.execute(
            "INSERT INTO outbox_queues (queue, due_ms) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (storable(sent.queue), due_ms),
        )


def reply_text(db: sqlite3.Connection, turn_id: int) -> str | None:
    """Return the stored reply's text, None if there is none."""
    row = db.execute("SELECT text FROM outbox_replies WHERE turn_id = ?", (turn_id,)).fetchone()
    return None if row is None else row[0]


def _ours(elsewhere: Collection[str]) -> str:
    """Return the condition that leaves out the queues of channels that are sent elsewhere; as parameters it takes these."""
    return f"substr(queue, 1, instr(queue, ':') - 1) NOT IN ({', '.join('?' for _ in elsewhere)})"


def next_due_ms(db: sqlite3.Connection, *, elsewhere: Collection[str] = ()) -> int | None:
    """Return when the next queue that nobody sends from is due, but those of channels that are sent elsewhere."""
    sql = f"SELECT due_ms FROM outbox_queues WHERE owner IS NULL AND {_ours(elsewhere)} ORDER BY due_ms LIMIT 1"
    row = db.execute(sql, tuple(elsewhere)).fetchone()
    return None if row is None else row[0]


def recent(db: sqlite3.Connection, channel: str, *, since_ms: int) -> list[Sent]:
    """Do what `Outbox.recent` promises."""
    rows = db.execute(
        "SELECT address, shown IS NOT NULL, settled_ms FROM outbox_chunks WHERE turn_id >= ? AND channel = ?"
        " AND attempts > 0 AND (settled_ms >= ? OR state = 'sending')",
        (first_id(since_ms - RECENT_MS), channel, since_ms),
    )
    return [Sent(address=bytes(address), edit=bool(edit), at_ms=at_ms) for address, edit, at_ms in rows]


def clear(db: sqlite3.Connection, queue: str) -> bool:
    """Do what `Outbox.clear` promises."""
    return db.execute("SELECT 1 FROM outbox_queues WHERE queue = ?", (storable(queue),)).fetchone() is None


def abandon(db: sqlite3.Connection) -> None:
    """Take every queue from its owner; what is being sent stays marked so."""
    db.execute("UPDATE outbox_queues SET owner = NULL WHERE owner IS NOT NULL")


def heads(db: sqlite3.Connection, *, now_ms: int, limit: int, elsewhere: Collection[str]) -> list[Chunk]:
    """Return the heads that are due and that nobody sends, as their new owner would get them, longest due first; but those of
    channels that are sent elsewhere."""
    queues = db.execute(
        f"SELECT queue FROM outbox_queues WHERE owner IS NULL AND due_ms <= ? AND {_ours(elsewhere)} ORDER BY due_ms LIMIT ?",
        (now_ms, *elsewhere, limit),
    ).fetchall()
    return [taken(chunk_of(db.execute(_HEAD, queue).fetchone())) for queue in queues]


def take(db: sqlite3.Connection, chunks: Sequence[Chunk], *, owner: int) -> list[Chunk]:
    """Give `owner` those heads that are still nobody's, in order of acceptance."""
    ours = []
    for chunk in sorted(chunks, key=lambda chunk: chunk.id):
        if not _free_head(db, chunk):
            continue
        db.execute("UPDATE outbox_queues SET owner = ? WHERE queue = ?", (owner, chunk.queue))
        db.execute("UPDATE outbox_chunks SET state = 'sending', attempts = ? WHERE id = ?", (chunk.attempts, chunk.id))
        ours.append(chunk)
    return ours


def hold_back(db: sqlite3.Connection, later: Sequence[tuple[Chunk, int]]) -> None:
    """Let heads that are nobody's wait, each until its time."""
    for chunk, due_ms in later:
        if _free_head(db, chunk):
            db.execute("UPDATE outbox_queues SET due_ms = ? WHERE queue = ?", (due_ms, chunk.queue))
            db.execute("UPDATE outbox_chunks SET due_ms = max(due_ms, ?) WHERE id = ?", (due_ms, chunk.id))


def settle(db: sqlite3.Connection, how: Settlement, *, owner: int) -> bool:
    """Record how a send went and free its queue for the next chunk; True when that ended the turn."""
    chunk = how.chunk
    head = db.execute(_HEAD, (chunk.queue,)).fetchone()
    if head is None or head[0] != chunk.id or not _sends(db, chunk, owner=owner):
        return False
    error = None if how.error is None else storable(how.error)
    message_id = None if how.message_id is None else storable(how.message_id)
    db.execute(
        "UPDATE outbox_chunks SET state = ?, due_ms = max(due_ms, ?), message_id = ?, error = ?, settled_ms = ?,"
        " attempts = attempts - ? WHERE id = ?",
        (how.state, how.due_ms, message_id, error, how.now_ms, not how.counted, chunk.id),
    )
    if how.state == "dead":
        db.execute(
            f"UPDATE outbox_chunks SET state = 'dead', error = ?, settled_ms = ? WHERE turn_id = ? AND {LIVE}",
            (error, how.now_ms, chunk.turn_id),
        )
    _free(db, chunk.queue)
    return _end_turn(db, how)


def _sends(db: sqlite3.Connection, chunk: Chunk, *, owner: int) -> bool:
    row = db.execute("SELECT owner FROM outbox_queues WHERE queue = ?", (chunk.queue,)).fetchone()
    return row is not None and row[0] == owner


def _free_head(db: sqlite3.Connection, chunk: Chunk) -> bool:
    """Whether the chunk is still the head of its queue, and nobody's."""
    row = db.execute("SELECT owner FROM outbox_queues WHERE queue = ?", (chunk.queue,)).fetchone()
    return row == (None,) and bool(db.execute(_HEAD, (chunk.queue,)).fetchone()[0] == chunk.id)


def _free(db: sqlite3.Connection, queue: str) -> None:
    head = db.execute(_HEAD, (queue,)).fetchone()
    if head is None:
        db.execute("DELETE FROM outbox_queues WHERE queue = ?", (queue,))
    else:
        db.execute("UPDATE outbox_queues SET owner = NULL, due_ms = ? WHERE queue = ?", (head[10], queue))


def _end_turn(db: sqlite3.Connection, how: Settlement) -> bool:
    turn = {"turn": how.chunk.turn_id}
    if db.execute(f"SELECT 1 FROM outbox_chunks WHERE turn_id = :turn AND {LIVE} LIMIT 1", turn).fetchone():
        return False
    if how.state == "dead":
        outcome = outcome_text(undeliverable(how.error or ""))
        db.execute(
            f"UPDATE inbox_events SET state = 'dead', notice_of = outcome, outcome = :outcome"
            f" WHERE state = 'replied' AND {TURN}",
            {**turn, "outcome": outcome},
        )
    else:
        db.execute(
            "UPDATE inbox_events SET state = coalesce(json_extract(outcome, '$.state'), 'answered')"
            f" WHERE state = 'replied' AND {TURN}",
            turn,
        )
    return True
