"""Accepting on PostgreSQL: a whole batch in one statement, in which every event is stored with its dedupe ids or not at all.

Locks as in `postgres_events`: lanes by name, then dedupe digests by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from psycopg.errors import UniqueViolation

from gateway.inbox.base import Accepted, NewEvent
from gateway.inbox.postgres_events import Connection
from gateway.inbox.rows import EVENT_COLUMNS, event_of, event_row, revivable, revived, stored_event


class Arrival(msgspec.Struct, frozen=True):
    """What `Inbox.accept` was given."""

    event: NewEvent
    lane: str
    digests: Sequence[bytes]


# `WHERE false`: the row of a lane that has one is locked, not written. Sequence numbers are drawn under the locks, so that
# they agree with the order of commits.
_ACCEPT = f"""
WITH jobs AS MATERIALIZED (
  SELECT * FROM unnest(
    %(id)s::bigint[], %(turn_id)s::bigint[], %(lane)s::text[], %(channel)s::text[], %(kind)s::text[],
    %(speaker)b::bytea[], %(body)b::bytea[], %(token)s::text[], %(fingerprint)s::text[], %(state)s::text[],
    %(outcome)s::text[], %(attempts)s::int[], %(accepted_ms)s::bigint[], %(session)s::text[],
    %(shown)s::text[], %(subject)b::bytea[], %(halt)s::text[], %(excused)s::int[]
  ) WITH ORDINALITY AS j ({EVENT_COLUMNS}, place)
), digests AS MATERIALIZED (
  SELECT * FROM unnest(%(digests)b::bytea[], %(whose)s::bigint[]) AS d (digest, id)
), known AS MATERIALIZED (
  SELECT digest FROM inbox_dedupe WHERE digest = ANY(%(digests)b::bytea[])
), fresh AS MATERIALIZED (
  SELECT * FROM jobs WHERE id NOT IN (SELECT id FROM digests JOIN known USING (digest))
), lanes AS (
  INSERT INTO inbox_lanes (lane, since_ms)
  SELECT lane, min(accepted_ms) FROM fresh WHERE kind = 'message' AND state = 'accepted' GROUP BY lane ORDER BY lane
  ON CONFLICT (lane) DO UPDATE SET since_ms = 0 WHERE false
  RETURNING 1
), stored AS (
  INSERT INTO inbox_events ({EVENT_COLUMNS}, owner)
  SELECT {EVENT_COLUMNS}, %(owner)s FROM fresh CROSS JOIN (SELECT count(*) FROM lanes) AS locked ORDER BY place
), remembered AS (
  INSERT INTO inbox_dedupe (digest, event_id) SELECT digest, id FROM digests JOIN fresh USING (id) ORDER BY digest
)
SELECT id FROM fresh"""

_KNOWN = f"""
WITH found AS MATERIALIZED (
  SELECT event_id FROM inbox_dedupe WHERE digest = ANY(%(digests)b::bytea[])
  ORDER BY array_position(%(digests)b::bytea[], digest) LIMIT 1
), added AS (
  INSERT INTO inbox_dedupe (digest, event_id)
  SELECT digest, event_id FROM unnest(%(digests)b::bytea[]) AS d (digest), found
  WHERE (SELECT fingerprint FROM inbox_events WHERE id = event_id) IS NOT DISTINCT FROM %(fingerprint)s ORDER BY digest
  ON CONFLICT DO NOTHING RETURNING 1
)
SELECT {EVENT_COLUMNS}, (SELECT count(*) FROM added) FROM inbox_events WHERE id = (SELECT event_id FROM found)"""


async def accept(db: Connection, batch: Sequence[Arrival], *, owner: int) -> list[Accepted]:
    """Store the events not known yet; return what became of each, in order."""
    done: dict[int, Accepted] = {}
    left = list(enumerate(batch))
    while left:
        # A duplicate inside a batch is one, too: it goes into the next statement, which sees the first.
        seen: set[bytes] = set()
        now: list[tuple[int, Arrival]] = []
        later: list[tuple[int, Arrival]] = []
        for place, arrival in left:
            (later if seen.intersection(arrival.digests) else now).append((place, arrival))
            seen.update(arrival.digests)
        fresh = await _store(db, [arrival for _, arrival in now], owner=owner)
        for place, arrival in now:
            if arrival.event.id in fresh:
                event = stored_event(arrival.event, lane=arrival.lane)
                done[place] = Accepted(verdict="accepted", event=event)
            elif known := await _sibling(db, arrival) if arrival.event.revives else await _known(db, arrival):
                done[place] = known
            else:
                later.append((place, arrival))  # what it repeats was purged at this moment
        left = later
    return [done[place] for place in range(len(batch))]


async def _store(db: Connection, arrivals: Sequence[Arrival], *, owner: int) -> set[int]:
    rows = [event_row(stored_event(arrival.event, lane=arrival.lane)) for arrival in arrivals]
    parameters: dict[str, Any] = {
        name.strip(): list(column)
        for name, column in zip(EVENT_COLUMNS.split(","), zip(*rows, strict=True), strict=True)
    }
    pairs = [(digest, arrival.event.id) for arrival in arrivals for digest in arrival.digests]
    parameters |= {"digests": [digest for digest, _ in pairs], "whose": [id_ for _, id_ in pairs], "owner": owner}
    try:
        cursor = await db.execute(_ACCEPT, parameters)
    except UniqueViolation:
        # Another instance stored the same message at the same moment; its commit is what we waited for.
        cursor = await db.execute(_ACCEPT, parameters)
    return {id_ for (id_,) in await cursor.fetchall()}


_FIND = f"""
SELECT {EVENT_COLUMNS}, (SELECT count(*) FROM inbox_dedupe WHERE digest = ANY(%(digests)b::bytea[]))
FROM inbox_events WHERE id = (
  SELECT event_id FROM inbox_dedupe WHERE digest = ANY(%(digests)b::bytea[])
  ORDER BY array_position(%(digests)b::bytea[], digest) LIMIT 1)"""

_LOCK_LANE = """
INSERT INTO inbox_lanes (lane, since_ms) VALUES (%(lane)s, %(since_ms)s)
ON CONFLICT (lane) DO UPDATE SET since_ms = 0 WHERE false"""

# Of the states in which it can be revived it may have gone from one to another since it was read, but to none beside them.
_REVIVE = """
UPDATE inbox_events SET lane = %(lane)s, kind = 'message', speaker = %(speaker)b, body = %(body)b, state = 'accepted',
  outcome = NULL, subject = %(subject)b, seq = DEFAULT
WHERE id = %(id)s AND attempts = 0
  AND (kind = 'control' AND state IN ('accepted', 'observed') OR kind = 'message' AND state = 'ignored')"""


async def _sibling(db: Connection, arrival: Arrival) -> Accepted | None:
    """As `_known`, for an event that may revive the one found. In the order of locks: its lane first."""
    async with db.transaction():
        cursor = await db.execute(_FIND, {"digests": list(arrival.digests)})
        row = await cursor.fetchone()
        if row is None:
            return None
        if row[-1] == len(arrival.digests) or not revivable(event_of(row), arrival.event):
            return await _known(db, arrival)
        event = revived(event_of(row), arrival.event, lane=arrival.lane)
        await db.execute(_LOCK_LANE, {"lane": arrival.lane, "since_ms": event.accepted_ms})
        known = await _known(db, arrival)
        if known is None or known.verdict != "folded" or known.event.id != event.id:
            return known
        cursor = await db.execute(
            _REVIVE,
            {
                "id": event.id,
                "lane": arrival.lane,
                "speaker": event.speaker.encode("utf-8", "surrogatepass"),
                "body": event.body,
                "subject": event.subject,
            },
        )
        return Accepted(verdict="accepted", event=event) if cursor.rowcount else known


async def _known(db: Connection, arrival: Arrival) -> Accepted | None:
    cursor = await db.execute(_KNOWN, {"digests": list(arrival.digests), "fingerprint": arrival.event.fingerprint})
    row = await cursor.fetchone()
    if row is None:
        return None
    return Accepted(verdict="folded" if row[-1] else "duplicate", event=event_of(row))
