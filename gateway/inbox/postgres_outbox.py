"""The outbox's statements on PostgreSQL. Each takes a whole batch; locks are taken in the order `postgres_events` names.

`outbox_queues` has a row for every queue with something to send; whoever sets its owner sends the queue's head, and nobody
else touches the queue until the owner says how it went, or is gone.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gateway.inbox.base import Chunk
from gateway.inbox.postgres_events import HELD, Connection, lost
from gateway.inbox.rows import CHUNK_COLUMNS, LIVE, Reply, Settlement, chunk_of, outcome_text, storable, undeliverable

# A turn whose reply stands already stays as it is. Chunk numbers are drawn under the queue's lock, so that two replies in one
# room never mix their pieces.
_PUT = f"""
WITH {HELD}, jobs AS MATERIALIZED (
  SELECT * FROM unnest(%(turns)s::bigint[], %(lanes)s::text[], %(fences)s::bigint[], %(texts)s::text[],
    %(channels)s::text[], %(queues)s::text[], %(addresses)b::bytea[], %(now)s::bigint[], %(outcomes)s::text[]
  ) WITH ORDINALITY AS j (turn_id, lane, fence, text, channel, queue, address, now_ms, outcome, place)
), stored AS (
  INSERT INTO outbox_replies (turn_id, text) SELECT turn_id, text FROM jobs JOIN held USING (lane, fence) ORDER BY turn_id
  ON CONFLICT DO NOTHING RETURNING turn_id
), fresh AS MATERIALIZED (
  SELECT jobs.* FROM jobs JOIN stored USING (turn_id)
), queued AS (
  INSERT INTO outbox_queues (channel, queue, due_ms) SELECT channel, queue, min(now_ms) FROM fresh
  GROUP BY channel, queue ORDER BY channel, queue
  ON CONFLICT (channel, queue) DO UPDATE SET due_ms = 0 WHERE false
  RETURNING 1
), chunks AS (
  INSERT INTO outbox_chunks
    (turn_id, channel, queue, address, part, parts, text, state, attempts, put_ms, due_ms)
  SELECT turn_id, channel, queue, address, c.part, c.parts, c.text, 'waiting', 0, now_ms, now_ms
  FROM unnest(%(chunk_turns)s::bigint[], %(chunk_parts)s::int[], %(chunk_of)s::int[], %(chunk_texts)s::text[])
    AS c (turn_id, part, parts, text) JOIN fresh USING (turn_id) CROSS JOIN (SELECT count(*) FROM queued) AS locked
  ORDER BY place, c.part
), replied AS (
  UPDATE inbox_events e SET state = 'replied', turn_id = fresh.turn_id, outcome = fresh.outcome
  FROM unnest(%(ids)s::bigint[], %(id_turns)s::bigint[]) AS m (id, turn_id) JOIN fresh USING (turn_id)
  WHERE e.id = m.id AND e.lane = fresh.lane AND e.state IN ('accepted', 'running')
)
SELECT lane, fence FROM held"""


async def put(db: Connection, batch: Sequence[Reply], *, owner: int) -> list[Exception | None]:
    """Store replies and their chunks, mark their events replied."""
    ids = [(id_, job.turn_id) for job in batch for id_ in job.event_ids]
    chunks = [
        (job.turn_id, part, len(job.chunks), storable(text)) for job in batch for part, text in enumerate(job.chunks)
    ]
    cursor = await db.execute(
        _PUT,
        {
            "owner": owner,
            "turns": [job.turn_id for job in batch],
            "lanes": [job.lane for job in batch],
            "fences": [job.fence for job in batch],
            "texts": [storable(job.text) for job in batch],
            "channels": [job.channel for job in batch],
            "queues": [storable(job.queue) for job in batch],
            "addresses": [job.address for job in batch],
            "now": [job.now_ms for job in batch],
            "outcomes": [outcome_text(job.failed) for job in batch],
            "chunk_turns": [turn_id for turn_id, _, _, _ in chunks],
            "chunk_parts": [part for _, part, _, _ in chunks],
            "chunk_of": [parts for _, _, parts, _ in chunks],
            "chunk_texts": [text for _, _, _, text in chunks],
            "ids": [id_ for id_, _ in ids],
            "id_turns": [turn_id for _, turn_id in ids],
        },
    )
    kept = set(await cursor.fetchall())
    return [None if (job.lane, job.fence) in kept else lost(job.lane, job.fence) for job in batch]


async def reply_text(db: Connection, turn_id: int) -> str | None:
    """Return the stored reply's text, None if there is none."""
    cursor = await db.execute("SELECT text FROM outbox_replies WHERE turn_id = %s", (turn_id,))
    row = await cursor.fetchone()
    return None if row is None else str(row[0])


async def next_due_ms(db: Connection) -> int | None:
    """Return when the next queue that nobody sends from is due."""
    cursor = await db.execute("SELECT due_ms FROM outbox_queues WHERE owner IS NULL ORDER BY due_ms LIMIT 1")
    row = await cursor.fetchone()
    return None if row is None else int(row[0])


async def take_due(db: Connection, *, now_ms: int, limit: int, owner: int) -> list[Chunk]:
    """Own the heads that are due. One that is `sending` already was left so by an owner that is gone."""
    async with db.transaction():
        cursor = await db.execute(
            """
            WITH due AS MATERIALIZED (
              SELECT channel, queue FROM outbox_queues WHERE owner IS NULL AND due_ms <= %s
              ORDER BY due_ms LIMIT %s FOR UPDATE SKIP LOCKED)
            UPDATE outbox_queues q SET owner = %s FROM due
            WHERE q.channel = due.channel AND q.queue = due.queue RETURNING q.channel, q.queue""",
            (now_ms, limit, owner),
        )
        queues = await cursor.fetchall()
        if not queues:
            return []
        # A statement of its own: the one above may have waited for a receipt that this one must see.
        columns = ", ".join(f"c.{name.strip()}" for name in CHUNK_COLUMNS.split(","))
        cursor = await db.execute(
            f"""
            WITH heads AS MATERIALIZED (
              SELECT h.* FROM unnest(%s::text[], %s::text[]) AS q (channel, queue) CROSS JOIN LATERAL (
                SELECT id, state FROM outbox_chunks c WHERE c.channel = q.channel AND c.queue = q.queue AND c.{LIVE}
                ORDER BY id LIMIT 1) AS h)
            UPDATE outbox_chunks c SET state = 'sending', attempts = attempts + (heads.state = 'waiting')::int
            FROM heads WHERE c.id = heads.id RETURNING {columns}, heads.state""",
            ([channel for channel, _ in queues], [queue for _, queue in queues]),
        )
        rows = sorted(await cursor.fetchall())
    chunks = [(chunk_of(row), row[-1] == "sending") for row in rows]
    return [msgspec.structs.replace(chunk, state="unknown") if left else chunk for chunk, left in chunks]


# The settlements of the batch, with whether this instance still sends the chunk.
_JOBS = """jobs AS MATERIALIZED (
  SELECT j.* FROM unnest(%(ids)s::bigint[], %(turns)s::bigint[], %(channels)s::text[], %(queues)s::text[],
    %(states)s::text[], %(due)s::bigint[], %(now)s::bigint[], %(message_ids)s::text[], %(errors)s::text[],
    %(outcomes)s::text[]) AS j (id, turn_id, channel, queue, state, due_ms, now_ms, message_id, error, outcome)
  JOIN outbox_queues q USING (channel, queue) WHERE q.owner = %(owner)s)"""


_END_TURNS = f"""
WITH {_JOBS}, ended AS MATERIALIZED (
  SELECT DISTINCT turn_id, outcome FROM jobs WHERE state <> 'waiting'
    AND NOT EXISTS (SELECT 1 FROM outbox_chunks c WHERE c.turn_id = jobs.turn_id AND c.{LIVE})
), events AS (
  UPDATE inbox_events e SET outcome = coalesce(ended.outcome, e.outcome),
    state = coalesce(coalesce(ended.outcome, e.outcome)::json ->> 'state', 'answered')
  FROM ended
  WHERE e.state = 'replied' AND (e.id = ended.turn_id OR e.turn_id = ended.turn_id AND e.turn_id <> e.id)
)
SELECT turn_id FROM ended"""

_MINE = """q.owner = %(owner)s
  AND (q.channel, q.queue) IN (SELECT * FROM unnest(%(channels)s::text[], %(queues)s::text[]))"""

_DROP_EMPTY = f"""
DELETE FROM outbox_queues q WHERE {_MINE} AND NOT EXISTS (
  SELECT 1 FROM outbox_chunks c WHERE c.channel = q.channel AND c.queue = q.queue AND c.{LIVE})"""

_FREE = f"""
UPDATE outbox_queues q SET owner = NULL, due_ms = head.due_ms FROM (
  SELECT q.channel, q.queue, h.due_ms FROM outbox_queues q CROSS JOIN LATERAL (
    SELECT c.due_ms, c.state FROM outbox_chunks c WHERE c.channel = q.channel AND c.queue = q.queue AND c.{LIVE}
    ORDER BY id LIMIT 1) AS h WHERE {_MINE} AND h.state = 'waiting') AS head
WHERE q.channel = head.channel AND q.queue = head.queue"""


async def settle(db: Connection, batch: Sequence[Settlement], *, owner: int) -> list[bool]:
    """Record how sends went, free their queues for the next chunks; True for each that ended its turn."""
    parameters = {
        "owner": owner,
        "ids": [how.chunk.id for how in batch],
        "turns": [how.chunk.turn_id for how in batch],
        "channels": [how.chunk.channel for how in batch],
        "queues": [how.chunk.queue for how in batch],
        "states": [how.state for how in batch],
        "due": [how.due_ms for how in batch],
        "now": [how.now_ms for how in batch],
        "message_ids": [None if how.message_id is None else storable(how.message_id) for how in batch],
        "errors": [None if how.error is None else storable(how.error) for how in batch],
        "outcomes": [outcome_text(undeliverable(how.error or "")) if how.state == "dead" else None for how in batch],
    }
    async with db.pipeline(), db.transaction():
        await db.execute(
            "SELECT 1 FROM outbox_queues JOIN (SELECT DISTINCT * FROM unnest(%(channels)s::text[], %(queues)s::text[])"
            " AS u (channel, queue)) AS j USING (channel, queue)"
            " WHERE owner = %(owner)s ORDER BY channel, queue FOR UPDATE OF outbox_queues",
            parameters,
        )
        settled = await db.execute(
            f"""
            WITH {_JOBS}
            UPDATE outbox_chunks c SET state = jobs.state, due_ms = greatest(c.due_ms, jobs.due_ms),
              message_id = jobs.message_id, error = jobs.error, settled_ms = jobs.now_ms
            FROM jobs WHERE c.id = jobs.id AND c.state = 'sending' RETURNING c.id""",
            parameters,
        )
        await db.execute(
            f"""
            WITH {_JOBS}
            UPDATE outbox_chunks c SET state = 'dead', error = jobs.error, settled_ms = jobs.now_ms
            FROM jobs JOIN outbox_chunks head ON head.id = jobs.id AND head.state = 'dead'
            WHERE jobs.state = 'dead' AND c.turn_id = jobs.turn_id AND c.{LIVE}""",
            parameters,
        )
        ended = await db.execute(_END_TURNS, parameters)
        await db.execute(_DROP_EMPTY, parameters)
        await db.execute(_FREE, parameters)
    ours = {id_ for (id_,) in await settled.fetchall()}
    over = {turn_id for (turn_id,) in await ended.fetchall()}
    return [how.chunk.id in ours and how.chunk.turn_id in over for how in batch]
