"""What moves on SQLite: waiting messages to another lane, waiting chunks to another room, or nowhere any more. Each function
runs inside a transaction that its caller commits."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from gateway.inbox.base import Redirect
from gateway.inbox.rows import LIVE, UNSAID, WAITING, dedupe_digests, outcome_text, storable, undeliverable
from gateway.inbox.sqlite_outbox import TURN

_MESSAGES = f"lane = ? AND {WAITING} AND kind = 'message'"
_PLACES = f"SELECT DISTINCT queue, address FROM outbox_chunks WHERE channel = ? AND {LIVE}"
_SENT_FROM = f"""SELECT 1 FROM outbox_queues q WHERE queue = ? AND (owner IS NOT NULL
  OR EXISTS (SELECT 1 FROM outbox_chunks c WHERE c.queue = q.queue AND {LIVE} AND state = 'sending'))"""


def move_messages(db: sqlite3.Connection, lane: str, *, to: str) -> list[tuple[int, bool]]:
    """Put what waits in one lane into another; return the ids in order of acceptance, each with whether it had begun."""
    rows = db.execute(f"SELECT id, state FROM inbox_events WHERE {_MESSAGES} ORDER BY seq", (lane,)).fetchall()
    db.execute(
        f"UPDATE inbox_events SET lane = ?, attempts = attempts - (state = 'running') WHERE {_MESSAGES}", (to, lane)
    )
    return [(event_id, state == "running") for event_id, state in rows]


def move_chunks(db: sqlite3.Connection, channel: str, redirect: Redirect) -> None:
    """Do what `Outbox.redirect` promises."""
    for queue, address in db.execute(_PLACES, (channel,)).fetchall():
        target = redirect(address)
        if target is None:
            continue
        to = storable(target.queue)
        if any(db.execute(_SENT_FROM, (name,)).fetchone() for name in (queue, to)):
            continue
        db.execute(
            f"UPDATE outbox_chunks SET queue = ?, address = ?, shown = NULL WHERE queue = ? AND address = ? AND {LIVE}",
            (to, target.address, queue, address),
        )
        for name in (queue, to):
            due_again(db, name)


def drop_chunks(
    db: sqlite3.Connection, channel: str, gone: Callable[[bytes], bool], *, error: str, now_ms: int
) -> list[int]:
    """Do what `Outbox.give_up` promises."""
    turns: set[int] = set()
    reason, outcome = storable(error), outcome_text(undeliverable(error))
    for queue, address in db.execute(_PLACES, (channel,)).fetchall():
        if not gone(address) or db.execute(_SENT_FROM, (queue,)).fetchone():
            continue
        dropped = db.execute(
            f"UPDATE outbox_chunks SET state = 'dead', error = ?, settled_ms = ? WHERE queue = ? AND address = ? AND {LIVE}"
            " RETURNING turn_id",
            (reason, now_ms, queue, address),
        )
        turns.update(turn_id for (turn_id,) in dropped.fetchall())
        due_again(db, queue)
    for turn_id in turns:
        db.execute(
            f"UPDATE inbox_events SET state = 'dead', notice_of = outcome, outcome = :outcome"
            f" WHERE state = 'replied' AND {TURN}",
            {"turn": turn_id, "outcome": outcome},
        )
    return sorted(turns)


def take_back(db: sqlite3.Connection, channel: str, name: str, *, former: Sequence[str]) -> bool:
    """Do what `Outbox.take_back` promises."""
    told = [
        db.execute(f"SELECT turn_id FROM outbox_announced a WHERE digest = ?{rule}", (digest,)).fetchone()
        for digests, rule in (([name], ""), (former, f" AND NOT {UNSAID}"))
        for digest in dedupe_digests(channel, digests)
    ]
    turn = told[0]
    if turn is None or not any(told[1:]):
        return False
    chunks = db.execute("SELECT DISTINCT queue, state FROM outbox_chunks WHERE turn_id = ?", turn).fetchall()
    if any(state != "waiting" or db.execute(_SENT_FROM, (queue,)).fetchone() for queue, state in chunks):
        return False
    db.execute("DELETE FROM outbox_chunks WHERE turn_id = ?", turn)
    for queue, _ in chunks:
        due_again(db, queue)
    return bool(chunks)


def due_again(db: sqlite3.Connection, queue: str) -> None:
    """Let a queue be due when its head is; one in which nothing waits any more goes."""
    head = db.execute(
        f"SELECT due_ms FROM outbox_chunks WHERE queue = ? AND {LIVE} ORDER BY id LIMIT 1", (queue,)
    ).fetchone()
    if head is None:
        db.execute("DELETE FROM outbox_queues WHERE queue = ?", (queue,))
    else:
        db.execute(
            "INSERT INTO outbox_queues (queue, due_ms) VALUES (?, ?) ON CONFLICT DO UPDATE SET due_ms = excluded.due_ms",
            (queue, head[0]),
        )
