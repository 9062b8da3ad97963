"""A person's end in the queues on PostgreSQL. Rare, so event by event. Locks as in `postgres_events`: lanes by name, queues by
name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from gateway.inbox.base import Outcome
from gateway.inbox.erasable import Emptied, Mend, Page
from gateway.inbox.postgres_events import Connection
from gateway.inbox.postgres_moves import due_again, locked
from gateway.inbox.rows import EVENT_COLUMNS, FINAL, LIVE, WAITING, event_of, outcome_text, without_reason

_UPTO = """SELECT max(id), count(*) FROM (
  SELECT id FROM inbox_events WHERE channel = %s AND id > %s ORDER BY id LIMIT %s) AS page"""
_SPOKEN = f"""SELECT {EVENT_COLUMNS} FROM inbox_events
  WHERE channel = %s AND id > %s AND id <= %s AND speaker = ANY(%s::bytea[]) ORDER BY id"""
_QUOTING = """SELECT id, body FROM inbox_events
  WHERE channel = %s AND id > %s AND id <= %s AND position(%b::bytea in body) > 0 ORDER BY id FOR UPDATE"""
_FOUND = (
    "SELECT id, turn_id, lane, kind, state FROM inbox_events WHERE id = ANY(%s::bigint[]) AND speaker <> '' ORDER BY id"
)
_LOCK_LANES = "SELECT 1 FROM inbox_lanes WHERE lane = ANY(%s::text[]) ORDER BY lane FOR NO KEY UPDATE"
_END = f"""UPDATE inbox_events SET state = %s, outcome = %s, halt = CASE state WHEN 'running' THEN 'withdrawn' END
  WHERE id = %s AND {WAITING}"""
_NO_REPLY = "INSERT INTO outbox_replies (turn_id, text) VALUES (%s, '') ON CONFLICT DO NOTHING"
_QUEUES = f"SELECT DISTINCT queue FROM outbox_chunks WHERE turn_id = ANY(%s::bigint[]) AND {LIVE}"
# What is marked as being sent from a queue that is nobody's was left so by an instance that is gone.
_GIVE_UP = """UPDATE outbox_chunks c SET state = 'dead', settled_ms = %s WHERE turn_id = %s AND (state = 'waiting' OR
  state = 'sending' AND NOT EXISTS (SELECT 1 FROM outbox_queues q WHERE q.queue = c.queue AND q.owner IS NOT NULL))"""
_SENDING = f"SELECT 1 FROM outbox_chunks WHERE turn_id = %s AND {LIVE} LIMIT 1"
_END_REPLIED = "UPDATE inbox_events SET state = %s, outcome = %s WHERE id = %s AND state = 'replied'"
_SAY_WHY = "UPDATE inbox_events SET outcome = %s WHERE id = %s AND state IN ('ignored', 'observed')"
_REASON = "SELECT outcome FROM inbox_events WHERE id = %s AND state IN ('dead', 'failed') AND outcome IS NOT NULL"
_NO_REASON = "UPDATE inbox_events SET outcome = %s WHERE id = %s"
_EMPTY = f"""UPDATE inbox_events SET body = '', speaker = '', lane = '', subject = NULL, fingerprint = NULL, shown = NULL,
  notice_of = NULL, dealt_ms = coalesce(dealt_ms, %s) WHERE id = %s AND {FINAL}"""
_EMPTY_REPLY = "UPDATE outbox_replies SET text = '' WHERE turn_id = %s AND text <> ''"
_EMPTY_CHUNKS = """UPDATE outbox_chunks SET text = '', address = '', queue = '', message_id = NULL, shown = NULL, error = NULL,
  dealt_ms = coalesce(dealt_ms, %s) WHERE turn_id = %s AND queue <> ''"""


Found = tuple[Any, ...]  # id, turn, lane, kind, state


async def spoken(db: Connection, channel: str, speakers: Collection[str], *, after_id: int, limit: int) -> Page:
    """Do what `Erasable.spoken` promises."""
    upto, count = await _upto(db, channel, after_id, limit)
    names = [speaker.encode("utf-8", "surrogatepass") for speaker in speakers]
    cursor = await db.execute(_SPOKEN, (channel, after_id, upto, names))
    events = tuple(event_of(row) for row in await cursor.fetchall())
    return Page(events=events, next_id=upto if count == limit else None)


async def posted(db: Connection, turn_ids: Sequence[int]) -> list[tuple[int, str]]:
    """Do what `Erasable.posted` promises."""
    find = "SELECT turn_id, message_id FROM outbox_chunks WHERE turn_id = ANY(%s::bigint[]) AND message_id IS NOT NULL"
    cursor = await db.execute(find, (list(turn_ids),))
    return [(turn_id, message_id) for turn_id, message_id in await cursor.fetchall()]


async def erase(db: Connection, event_ids: Sequence[int], outcome: Outcome, *, now_ms: int) -> tuple[Emptied, int]:
    """Do what `Erasable.erase` promises; also return how many of the events had not begun."""
    async with db.transaction():
        found = await _locked_events(db, event_ids)
        queues = await _rows(db, _QUEUES, [turn_id for _, turn_id, *_ in found])
        names = {str(queue) for (queue,) in queues}
        await locked(db, names)
        # An admin may have taken a dead one up again since it was read: that is looked at anew.
        same = set(await _rows(db, f"{_FOUND} FOR UPDATE", [event_id for event_id, *_ in found]))
        busy = tuple(event_id for event_id, *rest in found if (event_id, *rest) not in same)
        found = [row for row in found if row in same]
        emptied = await _erase(db, found, (outcome.state, outcome_text(outcome)), now_ms=now_ms)
        await due_again(db, sorted(names))
    emptied = msgspec.structs.replace(emptied, busy=(*emptied.busy, *busy))
    return emptied, sum(state == "accepted" and kind == "message" for _, _, _, kind, state in found)


async def _locked_events(db: Connection, event_ids: Sequence[int]) -> list[Found]:
    """Return (id, turn, lane, kind, state), whose lanes nobody changes until the end of the transaction."""
    found = await _rows(db, _FOUND, list(event_ids))
    await db.execute(_LOCK_LANES, (sorted({lane for _, _, lane, _, _ in found}, key=str.encode),))
    # A statement of its own: the one above may have waited for whoever has just stored a reply.
    return await _rows(db, _FOUND, list(event_ids))


async def _erase(db: Connection, found: Sequence[Found], end: tuple[str, str | None], *, now_ms: int) -> Emptied:
    ended: list[int] = []
    busy: list[int] = []
    counts = {"inbox_events": 0, "outbox_replies": 0, "outbox_chunks": 0}
    for event_id, turn_id, _, _, state in found:
        if state in ("accepted", "running"):
            await db.execute(_END, (*end, event_id))
            ended.append(event_id)
            if state == "running":
                await db.execute(_NO_REPLY, (turn_id,))
        elif state == "replied":
            await db.execute(_GIVE_UP, (now_ms, turn_id))
            if await (await db.execute(_SENDING, (turn_id,))).fetchone():
                busy.append(event_id)
                continue
            await db.execute(_END_REPLIED, (*end, event_id))
            ended.append(event_id)
        await db.execute(_SAY_WHY, (end[1], event_id))
        for (given,) in await (await db.execute(_REASON, (event_id,))).fetchall():
            if (kept := without_reason(given)) is not None:
                await db.execute(_NO_REASON, (kept, event_id))
        for kind, statement, of in (
            ("inbox_events", _EMPTY, (now_ms, event_id)),
            ("outbox_replies", _EMPTY_REPLY, (turn_id,)),
            ("outbox_chunks", _EMPTY_CHUNKS, (now_ms, turn_id)),
        ):
            counts[kind] += (await db.execute(statement, of)).rowcount
    return Emptied(ended=tuple(ended), busy=tuple(busy), counts=counts)


async def unsay(db: Connection, turn_ids: Sequence[int], *, now_ms: int) -> tuple[int, list[int]]:
    """Do what `Erasable.unsay` promises."""
    emptied, busy = 0, []
    async with db.transaction():
        names = {str(queue) for (queue,) in await _rows(db, _QUEUES, list(turn_ids))}
        await locked(db, names)
        for turn_id in turn_ids:
            await db.execute(_GIVE_UP, (now_ms, turn_id))
            if await (await db.execute(_SENDING, (turn_id,))).fetchone():
                busy.append(turn_id)
            else:
                emptied += (await db.execute(_EMPTY_CHUNKS, (now_ms, turn_id))).rowcount
        await due_again(db, sorted(names))
    return emptied, busy


async def mend(db: Connection, channel: str, mend_: Mend, *, after_id: int, limit: int) -> Page:
    """Do what `Erasable.mend` promises."""
    mended = 0
    async with db.transaction():
        upto, count = await _upto(db, channel, after_id, limit)
        cursor = await db.execute(_QUOTING, (channel, after_id, upto, b'"quote":{'))
        for event_id, body in await cursor.fetchall():
            new = mend_(body)
            if new is not None:
                await db.execute("UPDATE inbox_events SET body = %b WHERE id = %s", (new, event_id))
                mended += 1
    return Page(mended=mended, next_id=upto if count == limit else None)


async def _upto(db: Connection, channel: str, after_id: int, limit: int) -> tuple[int | None, int]:
    row = await (await db.execute(_UPTO, (channel, after_id, limit))).fetchone()
    return row if row is not None else (None, 0)


async def _rows(db: Connection, statement: str, ids: list[int]) -> list[tuple[Any, ...]]:
    return list(await (await db.execute(statement, (ids,))).fetchall())
