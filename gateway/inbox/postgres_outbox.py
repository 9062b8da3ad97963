"""The outbox's statements on PostgreSQL. Each takes a whole batch; locks are taken in the order `postgres_events` names.

`outbox_queues` has a row for every queue with something to send; whoever sets its owner sends the queue's head, and nobody
else touches the queue until the owner says how it went, or is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from gateway.inbox.base import ANNOUNCE_TRIES, Announcement, Chunk, Reply, Sent
from gateway.inbox.postgres_events import ENDED, HELD, IN_HELD, Connection, held, lost
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

# A turn whose reply stands already stays as it is. Chunk numbers are drawn under the queue's lock, so that two replies in one
# room never mix their pieces.
_PUT = f"""
WITH {HELD}, jobs AS MATERIALIZED (
  SELECT * FROM unnest(%(turns)s::bigint[], %(lanes)s::text[], %(fences)s::bigint[], %(texts)s::text[],
    %(channels)s::text[], %(queues)s::text[], %(addresses)b::bytea[], %(now)s::bigint[],
    %(shown)s::text[]
  ) WITH ORDINALITY AS j (turn_id, lane, fence, text, channel, queue, address, now_ms, shown, place)
), stored AS (
  INSERT INTO outbox_replies (turn_id, text) SELECT turn_id, text FROM jobs JOIN held USING (lane, fence) ORDER BY turn_id
  ON CONFLICT DO NOTHING RETURNING turn_id
), fresh AS MATERIALIZED (
  SELECT jobs.* FROM jobs JOIN stored USING (turn_id)
), queued AS (
  INSERT INTO outbox_queues (queue, due_ms) SELECT queue, min(now_ms) FROM fresh
  WHERE turn_id = ANY(%(chunk_turns)s::bigint[]) GROUP BY queue ORDER BY queue
  ON CONFLICT (queue) DO UPDATE SET due_ms = 0 WHERE false
  RETURNING 1
), chunks AS (
  INSERT INTO outbox_chunks
    (turn_id, channel, queue, address, part, parts, text, state, attempts, put_ms, due_ms, shown)
  SELECT turn_id, channel, queue, address, c.part, c.parts, c.text, 'waiting', 0, now_ms, now_ms,
    CASE c.part WHEN 0 THEN shown END
  FROM unnest(%(chunk_turns)s::bigint[], %(chunk_parts)s::int[], %(chunk_of)s::int[], %(chunk_texts)s::text[])
    AS c (turn_id, part, parts, text) JOIN fresh USING (turn_id) CROSS JOIN (SELECT count(*) FROM queued) AS locked
  ORDER BY place, c.part
), replied AS (
  UPDATE inbox_events e SET state = (%(id_states)s::text[])[array_position(%(ids)s::bigint[], e.id)],
    turn_id = (%(id_turns)s::bigint[])[array_position(%(ids)s::bigint[], e.id)],
    outcome = (%(id_outcomes)s::text[])[array_position(%(ids)s::bigint[], e.id)],
    session = (%(id_sessions)s::text[])[array_position(%(ids)s::bigint[], e.id)]
  WHERE e.id = ANY(%(ids)s::bigint[]) AND NOT e.{ENDED} AND {IN_HELD}
    AND (%(id_turns)s::bigint[])[array_position(%(ids)s::bigint[], e.id)] = ANY(ARRAY(SELECT turn_id FROM stored))
)
SELECT lane, fence, ARRAY(SELECT turn_id FROM stored) FROM held"""


async def put(db: Connection, batch: Sequence[Reply], *, owner: int) -> list[Exception | bool]:
    """Store replies and their chunks, mark their events replied; return for each what `Outbox.put` promises."""
    ids = [(id_, job) for job in batch for id_ in job.event_ids]
    chunks = [
        (job.turn_id, part, len(job.chunks), storable(text)) for job in batch for part, text in enumerate(job.chunks)
    ]
    cursor = await db.execute(
        _PUT,
        {
            **held(batch),
            "owner": owner,
            "turns": [job.turn_id for job in batch],
            "texts": [storable(job.text) for job in batch],
            "channels": [job.channel for job in batch],
            "queues": [storable(job.queue) for job in batch],
            "addresses": [job.address for job in batch],
            "now": [job.now_ms for job in batch],
            "shown": [None if job.shown is None else storable(job.shown) for job in batch],
            "chunk_turns": [turn_id for turn_id, _, _, _ in chunks],
            "chunk_parts": [part for _, part, _, _ in chunks],
            "chunk_of": [parts for _, _, parts, _ in chunks],
            "chunk_texts": [text for _, _, _, text in chunks],
            "ids": [id_ for id_, _ in ids],
            "id_turns": [job.turn_id for _, job in ids],
            "id_states": [job.state for _, job in ids],
            "id_outcomes": [outcome_text(job.outcome) for _, job in ids],
            "id_sessions": [None if job.session is None else storable(job.session) for _, job in ids],
        },
    )
    kept = {(lane, fence): stored for lane, fence, stored in await cursor.fetchall()}
    return [
        job.turn_id in kept[job.lane, job.fence] if (job.lane, job.fence) in kept else lost(job.fence) for job in batch
    ]


async def announce(db: Connection, announcement: Announcement) -> bool:
    """Do what `Outbox.announce` promises."""
    digests = dedupe_digests(announcement.channel, announcement.names)
    now_ms, due_ms, chunks = announcement.now_ms, announcement.due_ms, list(map(storable, announcement.chunks))
    place = (announcement.turn_id, announcement.channel, storable(announcement.queue), announcement.address)
    async with db.transaction():
        cursor = await db.execute(
            f"SELECT turn_id, tries < %s AND {UNSAID} FROM outbox_announced a WHERE digest = ANY(%s::bytea[])",
            (ANNOUNCE_TRIES, digests),
        )
        known = await cursor.fetchall()
        if not all(unsaid for _, unsaid in known):
            return False
        turns = [turn_id for turn_id, _ in known]
        # Another instance may say it at this moment: what it has written is none of what was found.
        cursor = await db.execute(
            "INSERT INTO outbox_announced AS a (digest, turn_id) VALUES (%s, %s) ON CONFLICT (digest) DO UPDATE"
            " SET turn_id = excluded.turn_id, tries = a.tries + 1 WHERE a.turn_id = ANY(%s::bigint[]) RETURNING 1",
            (digests[0], announcement.turn_id, turns),
        )
        if await cursor.fetchone() is None:
            return False
        await db.execute("DELETE FROM outbox_chunks WHERE turn_id = ANY(%s::bigint[])", (turns,))
        if chunks:
            await db.execute(
                "INSERT INTO outbox_queues (queue, due_ms) VALUES (%s, %s) ON CONFLICT (queue) DO UPDATE SET due_ms = 0"
                " WHERE false",
                (place[2], due_ms),
            )
        await db.execute(
            "INSERT INTO outbox_chunks (turn_id, channel, queue, address, part, parts, text, state, attempts, put_ms, due_ms)"
            " SELECT %s, %s, %s, %b, part - 1, cardinality(%s::text[]), text, 'waiting', 0, %s, %s"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS c (text, part) ORDER BY part",
            (*place, chunks, now_ms, due_ms, chunks),
        )
    return True


async def reply_text(db: Connection, turn_id: int) -> str | None:
    """Return the stored reply's text, None if there is none."""
    cursor = await db.execute("SELECT text FROM outbox_replies WHERE turn_id = %s", (turn_id,))
    row = await cursor.fetchone()
    return None if row is None else str(row[0])


_OURS = "split_part(queue, ':', 1) <> ALL(%s::text[])"


async def next_due_ms(db: Connection, *, elsewhere: Collection[str] = ()) -> int | None:
    """Return when the next queue that nobody sends from is due, but those of channels that are sent elsewhere."""
    cursor = await db.execute(
        f"SELECT due_ms FROM outbox_queues WHERE owner IS NULL AND {_OURS} ORDER BY due_ms LIMIT 1", (list(elsewhere),)
    )
    row = await cursor.fetchone()
    return None if row is None else int(row[0])


async def clear(db: Connection, queue: str) -> bool:
    """Do what `Outbox.clear` promises."""
    cursor = await db.execute("SELECT 1 FROM outbox_queues WHERE queue = %s", (storable(queue),))
    return await cursor.fetchone() is None


async def recent(db: Connection, channel: str, *, since_ms: int) -> list[Sent]:
    """Do what `Outbox.recent` promises."""
    cursor = await db.execute(
        "SELECT address, shown IS NOT NULL, settled_ms FROM outbox_chunks WHERE turn_id >= %s AND channel = %s"
        " AND attempts > 0 AND (settled_ms >= %s OR state = 'sending')",
        (first_id(since_ms - RECENT_MS), channel, since_ms),
    )
    return [Sent(address=bytes(address), edit=edit, at_ms=at_ms) for address, edit, at_ms in await cursor.fetchall()]


async def take_due(
    db: Connection,
    *,
    now_ms: int,
    limit: int,
    owner: int,
    not_before: Callable[[Chunk], int],
    elsewhere: Collection[str],
) -> list[Chunk]:
    """Own the heads that are due, but those that `not_before` lets wait, and those of channels that are sent elsewhere. One that
    is `sending` already was left so by an owner that is gone."""
    async with db.transaction():
        cursor = await db.execute(
            f"""
            WITH due AS MATERIALIZED (
              SELECT queue FROM outbox_queues WHERE owner IS NULL AND due_ms <= %s AND {_OURS}
              ORDER BY due_ms LIMIT %s FOR UPDATE SKIP LOCKED)
            UPDATE outbox_queues SET owner = %s WHERE queue = ANY(ARRAY(SELECT queue FROM due)) RETURNING queue""",
            (now_ms, list(elsewhere), limit, owner),
        )
        queues = [queue for (queue,) in await cursor.fetchall()]
        if not queues:
            return []
        # A statement of its own: the one above may have waited for a receipt that this one must see.
        cursor = await db.execute(
            f"""
            SELECT head.* FROM unnest(%s::text[]) AS q (name) CROSS JOIN LATERAL (
              SELECT {CHUNK_COLUMNS} FROM outbox_chunks c WHERE c.queue = q.name AND c.{LIVE} ORDER BY id LIMIT 1) AS head
            ORDER BY id""",
            (queues,),
        )
        heads = [taken(chunk_of(row)) for row in await cursor.fetchall()]
        times = [(chunk, not_before(chunk)) for chunk in heads]
        now = [chunk for chunk, due_ms in times if due_ms <= now_ms]
        if later := [(chunk, due_ms) for chunk, due_ms in times if due_ms > now_ms]:
            await db.execute(_HOLD_BACK, _held_back(later))
        if now:
            await db.execute(
                "UPDATE outbox_chunks SET state = 'sending', attempts = attempts + 1"
                " WHERE turn_id = ANY(%s::bigint[]) AND id = ANY(%s::bigint[]) AND state <> 'sending'",
                ([chunk.turn_id for chunk in now], [chunk.id for chunk in now]),
            )
    return now


_HOLD_BACK = """
WITH chunks AS (
  UPDATE outbox_chunks c
  SET due_ms = greatest(c.due_ms, (%(due)s::bigint[])[array_position(%(ids)s::bigint[], c.id)])
  WHERE c.turn_id = ANY(%(turns)s::bigint[]) AND c.id = ANY(%(ids)s::bigint[])
)
UPDATE outbox_queues q SET owner = NULL, due_ms = (%(due)s::bigint[])[array_position(%(queues)s::text[], q.queue)]
WHERE q.queue = ANY(%(queues)s::text[])"""


def _held_back(later: Sequence[tuple[Chunk, int]]) -> dict[str, list[Any]]:
    return {
        "ids": [chunk.id for chunk, _ in later],
        "turns": [chunk.turn_id for chunk, _ in later],
        "queues": [chunk.queue for chunk, _ in later],
        "due": [due_ms for _, due_ms in later],
    }


async def free_unheard(db: Connection, *, owner: int, sending: Sequence[int]) -> None:
    """Free the queues that `owner` has taken but whose head is none of those that it is `sending`: the server took them for it
    when it had given up waiting for that."""
    await db.execute(_FREE_UNHEARD, {"owner": owner, "ids": list(sending)})


SETTLED = "state IN ('sent', 'unknown', 'dead')"

# By attempt: what was said of an earlier one may come when the next is under way, long given up and said again. One that did not
# count is known by when it was due.
_SETTLE = """
UPDATE outbox_chunks c SET state = (%(states)s::text[])[{place}],
  due_ms = greatest(c.due_ms, (%(due)s::bigint[])[{place}]), settled_ms = (%(now)s::bigint[])[{place}],
  attempts = c.attempts - (%(uncounted)s::int[])[{place}],
  message_id = (%(message_ids)s::text[])[{place}], error = (%(errors)s::text[])[{place}]
WHERE c.turn_id = ANY(%(turns)s::bigint[]) AND c.id = ANY(%(ids)s::bigint[])
  AND c.state <> 'waiting' AND NOT c.{settled}
  AND (SELECT q.owner FROM outbox_queues q WHERE q.queue = c.queue) = %(owner)s
  AND c.attempts = (%(attempts)s::int[])[{place}] AND c.due_ms = (%(were_due)s::bigint[])[{place}]
RETURNING c.id""".format(place="array_position(%(ids)s::bigint[], c.id)", settled=SETTLED)

_BURY = f"""
UPDATE outbox_chunks c SET state = 'dead', error = head.error, settled_ms = head.settled_ms
FROM (
  SELECT turn_id, error, settled_ms FROM outbox_chunks
  WHERE turn_id = ANY(%(buried_turns)s::bigint[]) AND id = ANY(%(buried)s::bigint[]) AND state = 'dead') AS head
WHERE c.turn_id = ANY(%(buried_turns)s::bigint[]) AND c.turn_id = head.turn_id
  AND NOT c.{SETTLED}"""

END_TURNS = f"""
WITH ended AS MATERIALIZED (
  SELECT turn_id FROM unnest(%(over)s::bigint[]) AS t (turn_id)
  WHERE (SELECT 1 FROM outbox_chunks c WHERE c.turn_id = t.turn_id AND NOT c.{SETTLED} LIMIT 1) IS NULL
), heads AS (
  UPDATE inbox_events e SET {{end}} WHERE e.id = ANY(ARRAY(SELECT turn_id FROM ended)) AND e.state = 'replied'
), joined AS (
  UPDATE inbox_events e SET {{end}}
  WHERE e.turn_id = ANY(ARRAY(SELECT turn_id FROM ended)) AND e.turn_id <> e.id AND e.state = 'replied'
)
SELECT turn_id FROM ended""".format(
    end="""notice_of = CASE WHEN (%(outcomes)s::text[])[array_position(%(over)s::bigint[], e.turn_id)] IS NOT NULL
      THEN e.outcome END,
    outcome = coalesce((%(outcomes)s::text[])[array_position(%(over)s::bigint[], e.turn_id)], e.outcome),
    state = coalesce(
      coalesce((%(outcomes)s::text[])[array_position(%(over)s::bigint[], e.turn_id)], e.outcome)::json ->> 'state', 'answered')"""
)

_MINE = "q.owner = %(owner)s AND q.queue = ANY(%(queues)s::text[])"
_HEAD = f"(SELECT {{column}} FROM outbox_chunks c WHERE c.queue = q.queue AND c.{LIVE} ORDER BY id LIMIT 1)"
_LOCK = f"SELECT 1 FROM outbox_queues q WHERE {_MINE} ORDER BY queue FOR UPDATE"
_FREE_UNHEARD = f"""
UPDATE outbox_queues SET owner = NULL WHERE queue IN (
  SELECT queue FROM outbox_queues q WHERE q.owner = %(owner)s AND {_HEAD.format(column="id")} <> ALL(%(ids)s::bigint[])
  ORDER BY queue FOR UPDATE SKIP LOCKED)"""
_DROP_EMPTY = f"DELETE FROM outbox_queues q WHERE {_MINE} AND {_HEAD.format(column='id')} IS NULL"
_FREE = f"""
UPDATE outbox_queues q SET owner = NULL, due_ms = {_HEAD.format(column="due_ms")}
WHERE {_MINE} AND {_HEAD.format(column="state")} = 'waiting'"""


async def settle(db: Connection, batch: Sequence[Settlement], *, owner: int) -> list[bool]:
    """Record how sends went, free their queues for the next chunks; True for each that ended its turn."""
    dead = [how for how in batch if how.state == "dead"]
    final = [how for how in batch if how.state != "waiting"]
    parameters = {
        "owner": owner,
        "ids": [how.chunk.id for how in batch],
        "turns": [how.chunk.turn_id for how in batch],
        "queues": [how.chunk.queue for how in batch],
        "states": [how.state for how in batch],
        "attempts": [how.chunk.attempts for how in batch],
        "were_due": [how.chunk.due_ms for how in batch],
        "due": [how.due_ms for how in batch],
        "now": [how.now_ms for how in batch],
        "uncounted": [int(not how.counted) for how in batch],
        "message_ids": [None if how.message_id is None else storable(how.message_id) for how in batch],
        "errors": [None if how.error is None else storable(how.error) for how in batch],
        "buried": [how.chunk.id for how in dead],
        "buried_turns": [how.chunk.turn_id for how in dead],
        "over": [how.chunk.turn_id for how in final],
        "outcomes": [outcome_text(undeliverable(how.error or "")) if how.state == "dead" else None for how in final],
    }
    async with db.transaction():
        await db.execute(_LOCK, parameters)
        settled = await db.execute(_SETTLE, parameters)
        if dead:
            await db.execute(_BURY, parameters)
        ended = await db.execute(END_TURNS, parameters)
        await db.execute(_DROP_EMPTY, parameters)
        await db.execute(_FREE, parameters)
    ours = {id_ for (id_,) in await settled.fetchall()}
    over = {turn_id for (turn_id,) in await ended.fetchall()}
    return [how.chunk.id in ours and how.chunk.turn_id in over for how in batch]
