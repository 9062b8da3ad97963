"""The inbox's statements on PostgreSQL. Each takes a whole batch and is one round trip.

Locks are always taken in one order, so that no two batches wait for each other: lanes by name, dedupe digests by value,
queues by name. A lane's row is locked before anything is decided by what waits in the lane; deciding then takes a statement
of its own, as a statement sees only what was committed before it began.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from psycopg import AsyncConnection
from psycopg.errors import UniqueViolation

from gateway.errors import LeaseLost
from gateway.inbox.base import Accepted, Claim, Event, NewEvent, Outcome, Stats
from gateway.inbox.rows import (
    EVENT_COLUMNS,
    FINAL,
    LIVE,
    WAITING,
    event_of,
    event_row,
    first_id,
    outcome_text,
    stored_event,
)

Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]


class Arrival(msgspec.Struct, frozen=True):
    """What `Inbox.accept` was given."""

    event: NewEvent
    lane: str
    digests: Sequence[bytes]


class Start(msgspec.Struct, frozen=True):
    """What `Inbox.start` was given."""

    ids: Sequence[int]
    turn_id: int
    lane: str
    fence: int


class Finish(msgspec.Struct, frozen=True):
    """What `Inbox.finish` was given."""

    ids: Sequence[int]
    outcome: Outcome
    lane: str
    fence: int | None


class Release(msgspec.Struct, frozen=True):
    """What `Inbox.release` was given."""

    claim: Claim
    hand_over: bool


# The lanes of the batch that are held as its callers believe, locked until the end of the transaction.
HELD = """held AS MATERIALIZED (
  SELECT l.lane, l.fence FROM inbox_lanes l JOIN unnest(%(lanes)s::text[], %(fences)s::bigint[]) AS j (lane, fence)
  USING (lane, fence) WHERE l.owner = %(owner)s ORDER BY l.lane FOR NO KEY UPDATE OF l)"""

# `WHERE false`: the row of a lane that has one is locked, not written. Sequence numbers are drawn under the locks, so that
# they agree with the order of commits.
_ACCEPT = f"""
WITH jobs AS MATERIALIZED (
  SELECT * FROM unnest(
    %(id)s::bigint[], %(turn_id)s::bigint[], %(lane)s::text[], %(channel)s::text[], %(kind)s::text[],
    %(speaker)b::bytea[], %(body)b::bytea[], %(token)s::text[], %(fingerprint)s::text[], %(state)s::text[],
    %(outcome)s::text[], %(attempts)s::int[], %(accepted_ms)s::bigint[], %(session)s::text[]
  ) WITH ORDINALITY AS j ({EVENT_COLUMNS}, place)
), digests AS MATERIALIZED (
  SELECT * FROM unnest(%(digests)b::bytea[], %(whose)s::bigint[]) AS d (digest, id)
), fresh AS MATERIALIZED (
  SELECT * FROM jobs WHERE id NOT IN (SELECT d.id FROM digests d JOIN inbox_dedupe USING (digest))
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
WITH digests AS (
  SELECT * FROM unnest(%(digests)b::bytea[]) WITH ORDINALITY AS d (digest, place)
), found AS (
  SELECT event_id FROM digests JOIN inbox_dedupe USING (digest) ORDER BY place LIMIT 1
), added AS (
  INSERT INTO inbox_dedupe (digest, event_id) SELECT digest, event_id FROM digests, found ORDER BY digest
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
            elif known := await _known(db, arrival):
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


async def _known(db: Connection, arrival: Arrival) -> Accepted | None:
    cursor = await db.execute(_KNOWN, {"digests": list(arrival.digests)})
    row = await cursor.fetchone()
    if row is None:
        return None
    return Accepted(verdict="folded" if row[-1] else "duplicate", event=event_of(row))


async def claim(db: Connection, n: int, *, owner: int, lease_s: float) -> list[Claim]:
    """Own up to `n` free lanes, longest waiting first."""
    cursor = await db.execute(
        """
        WITH free AS MATERIALIZED (
          SELECT lane FROM inbox_lanes WHERE owner IS NULL ORDER BY since_ms LIMIT %(n)s FOR UPDATE SKIP LOCKED)
        UPDATE inbox_lanes l SET owner = %(owner)s, fence = nextval('inbox_fence'),
          lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
        FROM free WHERE l.lane = free.lane RETURNING l.since_ms, l.lane, l.fence""",
        {"n": n, "owner": owner, "lease_s": lease_s},
    )
    return [Claim(lane=lane, fence=fence) for _, lane, fence in sorted(await cursor.fetchall())]


async def renew(db: Connection, claims: Sequence[Claim], *, owner: int, lease_s: float) -> list[Claim]:
    """Extend the leases of those still held."""
    cursor = await db.execute(
        f"""
        WITH {HELD}
        UPDATE inbox_lanes l SET lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
        FROM held WHERE l.lane = held.lane RETURNING l.lane, l.fence""",
        {**_held(claims), "owner": owner, "lease_s": lease_s},
    )
    kept = set(await cursor.fetchall())
    return [claim for claim in claims if (claim.lane, claim.fence) in kept]


async def start(db: Connection, batch: Sequence[Start], *, owner: int) -> list[list[int] | Exception]:
    """Mark waiting messages as running; return for each job the ids that were."""
    pairs = [(id_, job) for job in batch for id_ in job.ids]
    cursor = await db.execute(
        f"""
        WITH {HELD}, marked AS (
          UPDATE inbox_events e SET state = 'running', turn_id = m.turn_id, attempts = attempts + 1
          FROM unnest(%(ids)s::bigint[], %(of_lane)s::text[], %(turns)s::bigint[]) AS m (id, lane, turn_id)
          JOIN held USING (lane)
          WHERE e.id = m.id AND e.lane = m.lane AND e.{WAITING} AND e.kind = 'message' RETURNING e.id)
        SELECT lane, fence, NULL FROM held UNION ALL SELECT NULL, NULL, id FROM marked""",
        {
            **_held(batch),
            "owner": owner,
            "ids": [id_ for id_, _ in pairs],
            "of_lane": [job.lane for _, job in pairs],
            "turns": [job.turn_id for _, job in pairs],
        },
    )
    rows = await cursor.fetchall()
    kept = {(lane, fence) for lane, fence, _ in rows}
    marked = {id_ for _, _, id_ in rows}
    return [
        [id_ for id_ in job.ids if id_ in marked] if (job.lane, job.fence) in kept else lost(job.lane, job.fence)
        for job in batch
    ]


async def finish(db: Connection, batch: Sequence[Finish], *, owner: int) -> list[Exception | None]:
    """End messages of held lanes, and control events."""
    pairs = [(id_, job) for job in batch for id_ in job.ids]
    cursor = await db.execute(
        f"""
        WITH {HELD}, ended AS (
          UPDATE inbox_events e SET state = m.state, outcome = m.outcome
          FROM unnest(%(ids)s::bigint[], %(of_lane)s::text[], %(of_fence)s::bigint[], %(states)s::text[],
            %(outcomes)s::text[]) AS m (id, lane, fence, state, outcome) LEFT JOIN held USING (lane, fence)
          WHERE e.id = m.id AND e.{WAITING}
            AND (held.lane = e.lane OR m.fence IS NULL AND e.kind = 'control'))
        SELECT lane, fence FROM held""",
        {
            **_held([job for job in batch if job.fence is not None]),
            "owner": owner,
            "ids": [id_ for id_, _ in pairs],
            "of_lane": [job.lane for _, job in pairs],
            "of_fence": [job.fence for _, job in pairs],
            "states": [job.outcome.state for _, job in pairs],
            "outcomes": [outcome_text(job.outcome) for _, job in pairs],
        },
    )
    kept = {*await cursor.fetchall()}
    return [None if job.fence is None or (job.lane, job.fence) in kept else lost(job.lane, job.fence) for job in batch]


async def release(db: Connection, batch: Sequence[Release], *, owner: int) -> list[bool]:
    """Give lanes up in which nothing waits, or that are handed over; False for those kept."""
    claims = [job.claim for job in batch]
    given = [job.claim.lane for job in batch if job.hand_over]
    parameters = {**_held(claims), "owner": owner, "given": given}
    mine = "owner = %(owner)s AND (lane, fence) IN (SELECT * FROM unnest(%(lanes)s::text[], %(fences)s::bigint[]))"
    async with db.pipeline(), db.transaction():
        await db.execute(f"WITH {HELD} SELECT count(*) FROM held", parameters)
        await db.execute(
            f"DELETE FROM inbox_lanes l WHERE {mine} AND NOT EXISTS"
            f" (SELECT 1 FROM inbox_events e WHERE e.lane = l.lane AND e.{WAITING} AND e.kind = 'message')",
            parameters,
        )
        await db.execute(
            f"UPDATE inbox_lanes SET owner = NULL WHERE {mine} AND lane = ANY(%(given)s::text[])", parameters
        )
        cursor = await db.execute(f"SELECT lane, fence FROM inbox_lanes WHERE {mine}", parameters)
    kept = set(await cursor.fetchall())
    return [(claim.lane, claim.fence) not in kept for claim in claims]


async def find(db: Connection, event_id: int) -> Event | None:
    """Return the event, None if there is none."""
    cursor = await db.execute(f"SELECT {EVENT_COLUMNS} FROM inbox_events WHERE id = %s", (event_id,))
    row = await cursor.fetchone()
    return None if row is None else event_of(row)


async def of_turn(db: Connection, turn_id: int) -> list[Event]:
    """Return the turn's events in order of acceptance."""
    cursor = await db.execute(
        f"SELECT {EVENT_COLUMNS} FROM inbox_events"
        " WHERE id = %(turn)s AND turn_id = id OR turn_id = %(turn)s AND turn_id <> id ORDER BY seq",
        {"turn": turn_id},
    )
    return [event_of(row) for row in await cursor.fetchall()]


async def waiting(db: Connection, lane: str, *, limit: int) -> list[Event]:
    """Return the lane's oldest messages that wait or run."""
    cursor = await db.execute(
        f"SELECT {EVENT_COLUMNS} FROM inbox_events"
        f" WHERE lane = %s AND {WAITING} AND kind = 'message' ORDER BY seq LIMIT %s",
        (lane, limit),
    )
    return [event_of(row) for row in await cursor.fetchall()]


async def note_session(db: Connection, ids: Sequence[int], session: str) -> None:
    """Note the session on the events."""
    await db.execute("UPDATE inbox_events SET session = %s WHERE id = ANY(%s::bigint[])", (session, list(ids)))


async def take_controls(db: Connection, *, owner: int) -> list[Event]:
    """Give `owner` the control events whose instance is gone; return them in order of acceptance."""
    cursor = await db.execute(
        f"""
        UPDATE inbox_events e SET owner = %s WHERE {WAITING} AND kind = 'control'
          AND NOT EXISTS (SELECT 1 FROM inbox_instances i WHERE i.id = e.owner) RETURNING {EVENT_COLUMNS}, seq""",
        (owner,),
    )
    return [event_of(row) for row in sorted(await cursor.fetchall(), key=lambda row: row[-1])]


async def stats(db: Connection) -> Stats:
    """Count what waits; reads only indexes as large as that."""
    cursor = await db.execute(
        f"""
        SELECT e.*, c.*, (SELECT count(*) FROM inbox_events WHERE state = 'dead') FROM (
          SELECT count(*) FILTER (WHERE state = 'accepted'), count(*) FILTER (WHERE state = 'running'),
            min(accepted_ms) FILTER (WHERE state = 'accepted')
          FROM inbox_events WHERE {WAITING} AND kind = 'message') AS e,
          (SELECT count(*), min(put_ms) FROM outbox_chunks WHERE {LIVE}) AS c"""
    )
    ((waiting_, running, oldest, live, outbox_oldest, dead),) = await cursor.fetchall()
    return Stats(
        waiting=waiting_,
        running=running,
        oldest_waiting_ms=oldest,
        outbox_waiting=live,
        outbox_oldest_ms=outbox_oldest,
        dead=dead,
    )


async def purge(db: Connection, *, before_ms: int, dedupe_before_ms: int, limit: int) -> int:
    """Delete what `Inbox.purge` says; return how many rows."""
    dedupe = await db.execute(
        f"""
        DELETE FROM inbox_dedupe WHERE digest IN (
          SELECT digest FROM inbox_dedupe d WHERE event_id < %s
            AND NOT EXISTS (SELECT 1 FROM inbox_events e WHERE e.id = d.event_id AND NOT {FINAL})
          ORDER BY event_id LIMIT %s)""",
        (first_id(dedupe_before_ms), limit),
    )
    cursor = await db.execute(
        f"""
        WITH old AS (
          DELETE FROM inbox_events WHERE id IN (
            SELECT id FROM inbox_events e WHERE id < %s AND {FINAL}
              AND NOT EXISTS (SELECT 1 FROM inbox_dedupe d WHERE d.event_id = e.id)
            ORDER BY id LIMIT %s) RETURNING id
        ), chunks AS (
          DELETE FROM outbox_chunks USING old WHERE turn_id = old.id RETURNING 1
        ), replies AS (
          DELETE FROM outbox_replies USING old WHERE turn_id = old.id RETURNING 1
        )
        SELECT (SELECT count(*) FROM old) + (SELECT count(*) FROM chunks) + (SELECT count(*) FROM replies)""",
        (first_id(min(before_ms, dedupe_before_ms)), limit),
    )
    ((rows,),) = await cursor.fetchall()
    return dedupe.rowcount + int(rows)


def lost(lane: str, fence: int) -> LeaseLost:
    """Return the error for whoever does not hold the lane any more."""
    return LeaseLost(f"lane {lane!r} is not held under {fence} any more")


def _held(jobs: Sequence[Any]) -> dict[str, list[Any]]:
    return {"lanes": [job.lane for job in jobs], "fences": [job.fence for job in jobs]}
