"""Letters that wait for an admin, on PostgreSQL, as `letters` of the queues. Rare, so turn by turn.

Who acts on a turn's letter takes the turn's own advisory lock first, so that admins wait for each other; then locks as in
`postgres_events`: lanes by name, queues by name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from gateway.inbox.base import Chunk, Event, Redirect
from gateway.inbox.dead import RETRIED, ByHand, Letter, Wanted
from gateway.inbox.postgres_events import Connection
from gateway.inbox.postgres_moves import due_again
from gateway.inbox.rows import CHUNK_COLUMNS, EVENT_COLUMNS, letter_of, outcome_text, storable

# Each is bounded by itself: how many letters wait must cost a page nothing.
_DEAD = """(SELECT DISTINCT turn_id FROM inbox_events
  WHERE state = 'dead' AND dealt_ms IS NULL AND turn_id < %(before)s AND (%(channels)s::text[] IS NULL
    OR channel = ANY(%(channels)s::text[])) AND (%(code)s::text IS NULL OR outcome::json ->> 'code' = %(code)s::text)
  ORDER BY turn_id DESC LIMIT %(limit)s)"""
_UNKNOWN = """(SELECT DISTINCT turn_id FROM outbox_chunks c
  WHERE state = 'unknown' AND dealt_ms IS NULL AND part >= 0 AND turn_id < %(before)s AND (%(channels)s::text[] IS NULL
    OR channel = ANY(%(channels)s::text[])) AND %(code)s::text IS NULL
    AND (SELECT e.state IN ('answered', 'failed') FROM inbox_events e WHERE e.id = c.turn_id)
  ORDER BY turn_id DESC LIMIT %(limit)s)"""
_KINDS = {"dead": _DEAD, "unknown": _UNKNOWN, None: f"{_DEAD} UNION {_UNKNOWN}"}
_EVENTS = f"""SELECT {EVENT_COLUMNS}, seq, dealt_ms, reopened, notice_of FROM inbox_events
  WHERE id = ANY(%(turns)s::bigint[]) AND turn_id = id
  UNION ALL SELECT {EVENT_COLUMNS}, seq, dealt_ms, reopened, notice_of FROM inbox_events
  WHERE turn_id = ANY(%(turns)s::bigint[]) AND turn_id <> id ORDER BY seq"""
_CHUNKS = f"SELECT {CHUNK_COLUMNS}, dealt_ms FROM outbox_chunks WHERE turn_id = ANY(%(turns)s::bigint[]) ORDER BY id"

_LOCK_LANE = """INSERT INTO inbox_lanes (lane, since_ms) VALUES (%s, %s)
  ON CONFLICT (lane) DO UPDATE SET since_ms = 0 WHERE false"""
_LOCK_QUEUES = """INSERT INTO outbox_queues (queue, due_ms) SELECT queue, %s FROM unnest(%s::text[]) AS q (queue)
  ORDER BY queue COLLATE "C" ON CONFLICT (queue) DO UPDATE SET due_ms = 0 WHERE false"""
_REOPEN = """UPDATE inbox_events SET state = 'accepted', outcome = CASE kind WHEN 'message' THEN %s::text END, attempts = 1,
  excused = 0, shown = NULL, halt = NULL, notice_of = NULL, reopened = reopened + 1,
  owner = CASE kind WHEN 'control' THEN 0 ELSE owner END
  WHERE id = ANY(%s::bigint[])"""
_REPLIED = """UPDATE inbox_events SET state = 'replied', outcome = CASE state WHEN 'dead' THEN notice_of ELSE outcome END,
  notice_of = NULL, reopened = reopened + 1 WHERE id = ANY(%s::bigint[])"""
_PAST = "UPDATE outbox_chunks SET part = %s, dealt_ms = coalesce(dealt_ms, %s) WHERE turn_id = %s AND id = %s"
_AGAIN = """INSERT INTO outbox_chunks
  (turn_id, channel, queue, address, part, parts, text, state, attempts, put_ms, due_ms, shown)
  SELECT turn_id, channel, %s, %b, %s, parts, text, 'waiting', 0, %s, %s, %s FROM outbox_chunks
  WHERE turn_id = %s AND id = %s"""


class PostgresLetters:
    """Implements `gateway.inbox.dead.DeadLetters`. `reopened` hears of events that wait again."""

    def __init__(
        self,
        connection: Callable[[], AbstractAsyncContextManager[Connection]],
        *,
        reopened: Callable[[Sequence[Event]], None],
    ) -> None:
        self._connection = connection
        self._reopened = reopened

    async def listed(self, wanted: Wanted) -> tuple[Letter, ...]:
        values = {
            "before": 2**63 - 1 if wanted.before_id is None else wanted.before_id,
            "channels": None if wanted.channels is None else sorted(wanted.channels),
            "code": wanted.code,
        }
        ids = f"SELECT turn_id FROM ({_KINDS[wanted.kind]}) AS t ORDER BY turn_id DESC LIMIT %(limit)s"
        found: list[Letter] = []
        async with self._connection() as db, db.transaction():
            while (most := wanted.limit - len(found)) > 0:
                turns = [turn_id for (turn_id,) in await _rows(db, ids, values | {"limit": most})]
                found += await _found(db, turns) if turns else ()
                if len(turns) < most:
                    break
                values["before"] = turns[-1]  # one that is just being taken up again does not end the list
        return tuple(found)

    async def find(self, turn_id: int) -> Letter | None:
        async with self._connection() as db, db.transaction():
            return next(iter(await _found(db, [turn_id])), None)

    async def reopen(self, turn_id: int, *, seen: int, answer: ByHand | None, now_ms: int) -> bool:
        async with self._connection() as db, db.transaction():
            events = await _reopen(db, turn_id, seen=seen, answer=answer, now_ms=now_ms)
        self._reopened(events)
        return bool(events)

    async def send_again(self, turn_id: int, *, seen: int, redirect: Redirect, now_ms: int) -> bool:
        async with self._connection() as db, db.transaction():
            sent = await _send_again(db, turn_id, seen=seen, redirect=redirect, now_ms=now_ms)
        self._reopened(())
        return sent

    async def set_aside(self, turn_id: int, *, seen: int, now_ms: int) -> bool:
        async with self._connection() as db, db.transaction():
            return await _set_aside(db, turn_id, seen=seen, now_ms=now_ms)


async def _found(db: Connection, turns: Sequence[int]) -> list[Letter]:
    events: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    chunks: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in await _rows(db, _EVENTS, {"turns": list(turns)}):
        events[row[1]].append(row)
    for row in await _rows(db, _CHUNKS, {"turns": list(turns)}):
        chunks[row[1]].append(row)
    found = (letter_of(turn_id, events[turn_id], chunks[turn_id]) for turn_id in turns)
    return [letter for letter in found if letter is not None]


async def _locked(db: Connection, turn_id: int) -> Letter | None:
    """Return the turn's letter, that no other admin acts on until the end of the transaction."""
    await db.execute("SELECT pg_advisory_xact_lock(%s)", (turn_id,))
    return next(iter(await _found(db, [turn_id])), None)


async def _still(db: Connection, letter: Letter) -> bool:
    """Whether it is the same letter now that the locks are held: its person may have been erased meanwhile."""
    ids = sorted(event.id for event in letter.concerned())
    sql = "SELECT 1 FROM inbox_events WHERE id = ANY(%s::bigint[]) ORDER BY id FOR UPDATE"
    await db.execute(sql, (ids,))
    return letter in await _found(db, [letter.turn_id])


async def _reopen(db: Connection, turn_id: int, *, seen: int, answer: ByHand | None, now_ms: int) -> tuple[Event, ...]:
    """Return the events that wait again; none where it was no such letter."""
    found = await _locked(db, turn_id)
    if found is None or not found.open_to(seen, answer):
        return ()
    events = found.concerned()
    waiting = {event.lane: event.accepted_ms for event in reversed(events) if event.kind == "message"}
    for lane, since_ms in sorted(waiting.items(), key=lambda item: item[0].encode()):
        await db.execute(_LOCK_LANE, (lane, since_ms))
    if not await _still(db, found):
        return ()
    for chunk, part in found.past(found.current()):
        await db.execute(_PAST, (part, now_ms, turn_id, chunk.id))
    await db.execute("DELETE FROM outbox_replies WHERE turn_id = %s", (turn_id,))
    outcome = outcome_text(RETRIED if answer is None else answer.outcome())
    await db.execute(_REOPEN, (outcome, [event.id for event in events]))
    return events


async def _send_again(db: Connection, turn_id: int, *, seen: int, redirect: Redirect, now_ms: int) -> bool:
    found = await _locked(db, turn_id)
    if found is None or found.seen != seen or not found.undelivered():
        return False
    ways = {chunk.id: _way(chunk, redirect) for chunk in found.undelivered()}
    queues = sorted({queue for queue, _, _ in ways.values()})
    await db.execute(_LOCK_QUEUES, (now_ms, queues))
    if not await _still(db, found):
        await due_again(db, queues)
        return False
    for chunk, part in found.past(found.undelivered()):
        queue, address, shown = ways[chunk.id]
        await db.execute(_PAST, (part, now_ms, turn_id, chunk.id))
        # A new chunk, with an id of its own: an older one ahead of what is just being sent would confuse the queue.
        await db.execute(_AGAIN, (queue, address, chunk.index, now_ms, now_ms, shown, turn_id, chunk.id))
    await db.execute(_REPLIED, ([event.id for event in found.concerned()],))
    await due_again(db, queues)
    return True


def _way(chunk: Chunk, redirect: Redirect) -> tuple[str, bytes, str | None]:
    """Return the chunk's queue and address now, and the message that it replaces: none in another room than that one's."""
    target = redirect(chunk.address)
    if target is None:
        return chunk.queue, chunk.address, chunk.shown
    return storable(target.queue), target.address, None


async def _set_aside(db: Connection, turn_id: int, *, seen: int, now_ms: int) -> bool:
    found = await _locked(db, turn_id)
    if found is None or found.seen != seen or not await _still(db, found):
        return False
    ids = [event.id for event in found.concerned()]
    await db.execute("UPDATE inbox_events SET dealt_ms = %s WHERE id = ANY(%s::bigint[])", (now_ms, ids))
    unknown = "turn_id = %s AND state = 'unknown' AND dealt_ms IS NULL"
    await db.execute(f"UPDATE outbox_chunks SET dealt_ms = %s WHERE {unknown}", (now_ms, turn_id))
    return True


async def _rows(db: Connection, sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    return list(await (await db.execute(sql.encode(), values)).fetchall())
