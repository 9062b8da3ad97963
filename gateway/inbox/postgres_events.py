"""The inbox's statements on PostgreSQL. Each takes a whole batch and is one round trip.

Locks are always taken in one order, so that no two batches wait for each other: lanes by name, dedupe digests by value,
queues by name. A lane's row is locked before anything is decided by what waits in the lane; deciding then takes a statement
of its own, as a statement sees only what was committed before it began.

The statistics of a queue's tables are always stale (`engines.md` A.8, 4), so no statement leaves a choice to the planner: big
tables are never joined, only looked up by `= ANY(array)` or by a subquery for one key, and a state is spelled as what it is
not where the index of waiting rows must not be walked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from psycopg import AsyncConnection

from gateway.errors import LeaseLost
from gateway.inbox.base import Claim, Event, Excuse, Halt, HaltReason, Outcome, Stats
from gateway.inbox.rows import (
    BEGUN_AGAIN,
    EVENT_COLUMNS,
    FINAL,
    LIVE,
    OLD_ANNOUNCED,
    OLDEST_FINISHED,
    WAITING,
    event_of,
    lighter,
    outcome_text,
    storable,
)
from memory.ids import first_id, made_ms

Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]


class Start(msgspec.Struct, frozen=True):
    """What `Inbox.start` was given."""

    ids: Sequence[int]
    turn_id: int
    lane: str
    fence: int


class Show(msgspec.Struct, frozen=True):
    """What `Inbox.show` was given."""

    ids: Sequence[int]
    shown: str
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


ENDED = "state IN ('replied', 'answered', 'observed', 'ignored', 'applied', 'failed', 'dead')"

# The lanes of the batch that are held as its callers believe, locked until the end of the transaction. A fence is given once,
# so it names its lane.
_OURS = "lane = ANY(%(lanes)s::text[]) AND fence = ANY(%(fences)s::bigint[]) AND owner = %(owner)s"
_HELD = f"""held AS MATERIALIZED (
  SELECT lane, fence FROM inbox_lanes WHERE {_OURS} ORDER BY lane FOR NO KEY UPDATE"""
HELD = f"{_HELD})"
IN_HELD = "ARRAY[e.lane] <@ ARRAY(SELECT lane FROM held)"


async def claim(db: Connection, n: int, *, owner: int, lease_s: float) -> list[Claim]:
    """Own up to `n` free lanes, longest waiting first."""
    cursor = await db.execute(
        """
        WITH free AS MATERIALIZED (
          SELECT lane FROM inbox_lanes WHERE owner IS NULL ORDER BY since_ms LIMIT %(n)s FOR UPDATE SKIP LOCKED)
        UPDATE inbox_lanes SET owner = %(owner)s, fence = nextval('inbox_fence'),
          lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
        WHERE lane = ANY(ARRAY(SELECT lane FROM free)) RETURNING since_ms, lane, fence""",
        {"n": n, "owner": owner, "lease_s": lease_s},
    )
    return [Claim(lane=lane, fence=fence) for _, lane, fence in sorted(await cursor.fetchall())]


async def renew(
    db: Connection, claims: Sequence[Claim], *, owner: int, lease_s: float
) -> tuple[list[Claim], list[Claim]]:
    """Extend the leases of those still held; return these, and those that are held and left as they are: somebody is just
    writing there, perhaps behind a process that hangs, and no other lane is to wait for that."""
    cursor = await db.execute(
        f"""
        WITH {_HELD} SKIP LOCKED), renewed AS (
          UPDATE inbox_lanes SET lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
          WHERE lane = ANY(ARRAY(SELECT lane FROM held)) RETURNING lane, fence)
        SELECT lane, fence, true FROM renewed
        UNION ALL SELECT lane, fence, false FROM inbox_lanes
        WHERE {_OURS} AND NOT ARRAY[lane] <@ ARRAY(SELECT lane FROM held)""",
        {**held(claims), "owner": owner, "lease_s": lease_s},
    )
    found = {(lane, fence): renewed for lane, fence, renewed in await cursor.fetchall()}
    kept = [(claim, found.get((claim.lane, claim.fence))) for claim in claims]
    return [claim for claim, renewed in kept if renewed], [claim for claim, renewed in kept if renewed is False]


async def start(db: Connection, batch: Sequence[Start], *, owner: int) -> list[list[int] | Exception]:
    """Mark waiting messages as running; return for each job the ids that were."""
    pairs = [(id_, job.turn_id) for job in batch for id_ in job.ids]
    cursor = await db.execute(
        f"""
        WITH {HELD}, marked AS (
          UPDATE inbox_events e SET state = 'running', attempts = attempts + 1, {BEGUN_AGAIN},
            turn_id = (%(turns)s::bigint[])[array_position(%(ids)s::bigint[], e.id)]
          WHERE e.id = ANY(%(ids)s::bigint[]) AND NOT e.{ENDED} AND e.kind = 'message' AND {IN_HELD} RETURNING e.id)
        SELECT lane, fence, NULL FROM held UNION ALL SELECT NULL, NULL, id FROM marked""",
        {
            **held(batch),
            "owner": owner,
            "ids": [id_ for id_, _ in pairs],
            "turns": [turn_id for _, turn_id in pairs],
        },
    )
    rows = await cursor.fetchall()
    kept = {(lane, fence) for lane, fence, _ in rows}
    marked = {id_ for _, _, id_ in rows}
    return [
        [id_ for id_ in job.ids if id_ in marked] if (job.lane, job.fence) in kept else lost(job.fence) for job in batch
    ]


# The lanes of the events in question, whoever holds them, in the order of locks.
_THEIR_LANES = """locked AS MATERIALIZED (
  SELECT 1 FROM inbox_lanes WHERE lane = ANY(ARRAY(SELECT lane FROM inbox_events WHERE id = ANY(%(ids)s::bigint[])))
  ORDER BY lane FOR NO KEY UPDATE)"""


async def halt(db: Connection, ids: Sequence[int], reason: HaltReason) -> list[int]:
    """Note that the turns of those that run are to end early; return those."""
    cursor = await db.execute(
        f"""
        WITH {_THEIR_LANES}
        UPDATE inbox_events e
        SET halt = CASE WHEN halt IS NULL OR halt = ANY(%(lighter)s::text[]) THEN %(reason)s ELSE halt END
        WHERE e.id = ANY(%(ids)s::bigint[]) AND NOT e.{ENDED} AND e.state <> 'accepted' AND e.kind = 'message'
          AND (SELECT count(*) FROM locked) >= 0
        RETURNING e.id""",
        {"ids": list(ids), "reason": reason, "lighter": lighter(reason)},
    )
    halted = {id_ for (id_,) in await cursor.fetchall()}
    return [id_ for id_ in ids if id_ in halted]


async def halts(db: Connection, ids: Sequence[int]) -> list[Halt]:
    """Return what was noted on these events."""
    cursor = await db.execute(
        "SELECT id, attempts, halt FROM inbox_events WHERE id = ANY(%s::bigint[]) AND halt IS NOT NULL", (list(ids),)
    )
    return [Halt(event_id=id_, attempts=attempts, reason=reason) for id_, attempts, reason in await cursor.fetchall()]


async def excuse(db: Connection, excuses: Sequence[Excuse]) -> None:
    """Let these starts count as no try."""
    last = {one.event_id: one for one in excuses}
    place = "array_position(%(ids)s::bigint[], e.id)"
    await db.execute(
        f"""
        WITH {_THEIR_LANES}
        UPDATE inbox_events e SET excused = greatest(e.excused, (%(excused)s::int[])[{place}] + 1)
        WHERE e.id = ANY(%(ids)s::bigint[]) AND NOT e.{ENDED} AND e.attempts > (%(attempts)s::int[])[{place}]
          AND (SELECT count(*) FROM locked) >= 0""",
        {
            "ids": list(last),
            "excused": [one.excused for one in last.values()],
            "attempts": [one.attempts for one in last.values()],
        },
    )


async def show(db: Connection, batch: Sequence[Show], *, owner: int) -> list[Exception | None]:
    """Keep on running messages which message shows their reply."""
    pairs = [(id_, job.shown) for job in batch for id_ in job.ids]
    cursor = await db.execute(
        f"""
        WITH {HELD}, marked AS (
          UPDATE inbox_events e SET shown = (%(shown)s::text[])[array_position(%(ids)s::bigint[], e.id)]
          WHERE e.id = ANY(%(ids)s::bigint[]) AND e.state = 'running' AND {IN_HELD})
        SELECT lane, fence FROM held""",
        {
            **held(batch),
            "owner": owner,
            "ids": [id_ for id_, _ in pairs],
            "shown": [storable(shown) for _, shown in pairs],
        },
    )
    kept = {*await cursor.fetchall()}
    return [None if (job.lane, job.fence) in kept else lost(job.fence) for job in batch]


async def finish(db: Connection, batch: Sequence[Finish], *, owner: int) -> list[Exception | None]:
    """End messages of held lanes, and control events."""
    fenced = [job for job in batch if job.fence is not None]
    pairs = [(id_, job) for job in batch for id_ in job.ids]
    place = "array_position(%(ids)s::bigint[], e.id)"
    cursor = await db.execute(
        f"""
        WITH {HELD}, ended AS (
          UPDATE inbox_events e SET state = (%(states)s::text[])[{place}], outcome = (%(outcomes)s::text[])[{place}]
          WHERE e.id = ANY(%(ids)s::bigint[]) AND NOT e.{ENDED} AND CASE (%(of_lane)s::text[])[{place}]
            WHEN e.lane THEN {IN_HELD} WHEN '' THEN e.kind = 'control' END)
        SELECT lane, fence FROM held""",
        {
            **held(fenced),
            "owner": owner,
            "ids": [id_ for id_, _ in pairs],
            "of_lane": ["" if job.fence is None else job.lane for _, job in pairs],
            "states": [job.outcome.state for _, job in pairs],
            "outcomes": [outcome_text(job.outcome) for _, job in pairs],
        },
    )
    kept = {*await cursor.fetchall()}
    return [None if job.fence is None or (job.lane, job.fence) in kept else lost(job.fence) for job in batch]


async def release(db: Connection, batch: Sequence[Release], *, owner: int) -> list[bool]:
    """Give lanes up in which nothing waits, or that are handed over; False for those kept."""
    claims = [job.claim for job in batch]
    given = [job.claim for job in batch if job.hand_over]
    parameters = {**held(claims), "owner": owner}
    mine = "owner = %(owner)s AND lane = ANY(%(lanes)s::text[]) AND fence = ANY(%(fences)s::bigint[])"
    async with db.transaction():
        ours = await db.execute(f"WITH {HELD} SELECT lane, fence FROM held", parameters)
        empty = await db.execute(
            f"DELETE FROM inbox_lanes l WHERE {mine} AND (SELECT 1 FROM inbox_events e"
            f" WHERE e.lane = l.lane AND e.{WAITING} AND e.kind = 'message' LIMIT 1) IS NULL RETURNING lane, fence",
            parameters,
        )
        if given:
            await db.execute(f"UPDATE inbox_lanes SET owner = NULL WHERE {mine}", {**held(given), "owner": owner})
    kept = {*await ours.fetchall()} - {*await empty.fetchall()}
    return [job.hand_over or (job.claim.lane, job.claim.fence) not in kept for job in batch]


async def find(db: Connection, event_id: int) -> Event | None:
    """Return the event, None if there is none."""
    cursor = await db.execute(f"SELECT {EVENT_COLUMNS} FROM inbox_events WHERE id = %s", (event_id,))
    row = await cursor.fetchone()
    return None if row is None else event_of(row)


async def of_turn(db: Connection, turn_id: int) -> list[Event]:
    """Return the turn's events in order of acceptance."""
    cursor = await db.execute(
        f"SELECT {EVENT_COLUMNS}, seq FROM inbox_events WHERE id = %(turn)s AND turn_id = id UNION ALL"
        f" SELECT {EVENT_COLUMNS}, seq FROM inbox_events WHERE turn_id = %(turn)s AND turn_id <> id ORDER BY seq",
        {"turn": turn_id},
    )
    return [event_of(row) for row in await cursor.fetchall()]


async def waiting(db: Connection, batch: Sequence[tuple[str, int]]) -> list[list[Event]]:
    """Return for each (lane, limit) the lane's oldest messages that wait or run."""
    cursor = await db.execute(
        f"""
        SELECT {EVENT_COLUMNS}, place FROM unnest(%s::text[], %s::int[]) WITH ORDINALITY AS j (of_lane, most, place)
        CROSS JOIN LATERAL (
          SELECT {EVENT_COLUMNS}, seq FROM inbox_events e WHERE e.lane = j.of_lane AND e.{WAITING} AND e.kind = 'message'
          ORDER BY seq LIMIT j.most) AS found ORDER BY place, seq""",
        ([lane for lane, _ in batch], [limit for _, limit in batch]),
    )
    found: list[list[Event]] = [[] for _ in batch]
    for row in await cursor.fetchall():
        found[row[-1] - 1].append(event_of(row))
    return found


async def take_controls(db: Connection, *, owner: int, before_ms: int) -> list[Event]:
    """Give `owner` the control events whose instance is gone; return them in order of acceptance, with its own old ones."""
    there = "EXISTS (SELECT 1 FROM inbox_instances i WHERE i.id = e.owner)"
    cursor = await db.execute(
        f"""
        WITH taken AS (
          UPDATE inbox_events e SET owner = %(owner)s WHERE {WAITING} AND kind = 'control' AND NOT {there}
          RETURNING {EVENT_COLUMNS}, seq)
        SELECT * FROM taken UNION ALL SELECT {EVENT_COLUMNS}, seq FROM inbox_events e
        WHERE {WAITING} AND kind = 'control' AND e.owner = %(owner)s AND e.accepted_ms < %(before_ms)s AND {there}""",
        {"owner": owner, "before_ms": before_ms},
    )
    return [event_of(row) for row in sorted(await cursor.fetchall(), key=lambda row: row[-1])]


async def stats(db: Connection) -> Stats:
    """Count what waits; reads only indexes as large as that."""
    cursor = await db.execute(
        f"""
        SELECT e.*, c.*, (SELECT count(*) FROM inbox_events WHERE state = 'dead' AND dealt_ms IS NULL) FROM (
          SELECT count(*) FILTER (WHERE state = 'accepted'), count(*) FILTER (WHERE state = 'running'),
            min(accepted_ms) FILTER (WHERE state = 'accepted'), min(accepted_ms)
          FROM inbox_events WHERE {WAITING} AND kind = 'message') AS e,
          (SELECT count(*), min(put_ms) FROM outbox_chunks WHERE {LIVE}) AS c"""
    )
    ((waiting_, running, oldest, unanswered, live, outbox_oldest, dead),) = await cursor.fetchall()
    return Stats(
        waiting=waiting_,
        running=running,
        oldest_waiting_ms=oldest,
        outbox_waiting=live,
        outbox_oldest_ms=outbox_oldest,
        dead=dead,
        oldest_unanswered_ms=unanswered,
    )


async def purge(db: Connection, *, before_ms: int, dedupe_before_ms: int, limit: int) -> int:
    """Delete what `Inbox.purge` says; return how many rows."""
    dedupe = await db.execute(
        f"""
        DELETE FROM inbox_dedupe WHERE digest = ANY(ARRAY(
          SELECT digest FROM inbox_dedupe d WHERE event_id < %s
            AND coalesce((SELECT {FINAL} FROM inbox_events e WHERE e.id = d.event_id), true)
          ORDER BY event_id LIMIT %s))""",
        (first_id(dedupe_before_ms), limit),
    )
    cursor = await db.execute(
        f"""
        WITH old AS (
          DELETE FROM inbox_events WHERE id = ANY(ARRAY(
            SELECT id FROM inbox_events e WHERE id < %s AND {FINAL}
              AND (SELECT 1 FROM inbox_dedupe d WHERE d.event_id = e.id LIMIT 1) IS NULL
            ORDER BY id LIMIT %s)) AND {FINAL} RETURNING id
        ), chunks AS (
          DELETE FROM outbox_chunks WHERE turn_id = ANY(ARRAY(SELECT id FROM old)) RETURNING 1
        ), replies AS (
          DELETE FROM outbox_replies WHERE turn_id = ANY(ARRAY(SELECT id FROM old)) RETURNING 1
        )
        SELECT (SELECT count(*) FROM old) + (SELECT count(*) FROM chunks) + (SELECT count(*) FROM replies)""",
        (first_id(min(before_ms, dedupe_before_ms)), limit),
    )
    ((rows,),) = await cursor.fetchall()
    told = await db.execute(OLD_ANNOUNCED.format("%s", "%s"), (first_id(before_ms), limit))
    return dedupe.rowcount + int(rows) + told.rowcount


async def oldest_finished_ms(db: Connection) -> int | None:
    """Return what `Inbox.oldest_finished_ms` says."""
    cursor = await db.execute(OLDEST_FINISHED)
    rows = await cursor.fetchall()
    return made_ms(rows[0][0]) if rows else None


def lost(fence: int) -> LeaseLost:
    """Return the error for whoever does not hold the lane any more."""
    return LeaseLost(f"the lane claimed under {fence} is not held any more")


def held(jobs: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the parameters of HELD but the owner."""
    return {"lanes": [job.lane for job in jobs], "fences": [job.fence for job in jobs]}
