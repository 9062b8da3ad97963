"""What is said of a message on PostgreSQL while it waits, or before it comes. Locks as in `postgres_events`."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.inbox.base import Event, Outcome
from gateway.inbox.postgres_events import ENDED, Connection
from gateway.inbox.rows import EVENT_COLUMNS, WAITING, event_of, outcome_text


async def amendments(db: Connection, batch: Sequence[Sequence[bytes]]) -> list[list[Event]]:
    """Return for each job the control events about its messages, oldest first."""
    cursor = await db.execute(
        f"SELECT {EVENT_COLUMNS} FROM inbox_events"
        " WHERE subject = ANY(%b::bytea[]) AND kind = 'control' AND subject IS NOT NULL ORDER BY seq",
        ([subject for subjects in batch for subject in subjects],),
    )
    found = [event_of(row) for row in await cursor.fetchall()]
    return [[event for event in found if event.subject in subjects] for subjects in batch]


async def pending(db: Connection, subject: bytes) -> list[Event]:
    """Return the subject's messages that wait or run, oldest first."""
    cursor = await db.execute(
        f"SELECT {EVENT_COLUMNS} FROM inbox_events"
        f" WHERE subject = %b AND {WAITING} AND kind = 'message' AND subject IS NOT NULL ORDER BY seq",
        (subject,),
    )
    return [event_of(row) for row in await cursor.fetchall()]


async def withdraw(db: Connection, ids: Sequence[int], outcome: Outcome, *, lane: str) -> list[int]:
    """End those of the lane's messages that have not begun; return which."""
    cursor = await db.execute(
        f"""
        WITH locked AS MATERIALIZED (SELECT 1 FROM inbox_lanes WHERE lane = %(lane)s FOR NO KEY UPDATE)
        UPDATE inbox_events e SET state = %(state)s, outcome = %(outcome)s
        WHERE e.id = ANY(%(ids)s::bigint[]) AND NOT e.{ENDED} AND e.state <> 'running' AND e.kind = 'message'
          AND e.lane = %(lane)s AND (SELECT count(*) FROM locked) >= 0
        RETURNING e.id""",
        {"ids": list(ids), "lane": lane, "state": outcome.state, "outcome": outcome_text(outcome)},
    )
    ended = {id_ for (id_,) in await cursor.fetchall()}
    return [id_ for id_ in ids if id_ in ended]
