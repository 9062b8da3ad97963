"""What an admin sees of the queues on PostgreSQL. Plans are made once, for whatever values (`postgres.py`): so a statement holds
no condition that is not meant, and big tables are looked up, never joined."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from gateway.inbox.base import Event, Outcome
from gateway.inbox.looking import COUNTED, DELIVERIES, EXAMINED, ChannelLoad, Sent, Tallies, Walk, Wanted
from gateway.inbox.postgres_events import Connection
from gateway.inbox.rows import (
    CHUNK_COLUMNS,
    EVENT_COLUMNS,
    LIVE,
    REPLIED,
    WAITING,
    chunk_of,
    event_of,
    outcome_of,
    room_mark,
    rule_marks,
    storable,
    tallied,
)
from memory.ids import first_id

LAST = 1 << 62
"""Greater than every id."""

_EVENTS = f"SELECT {EVENT_COLUMNS} FROM inbox_events"
_SENT = f"SELECT {CHUNK_COLUMNS}, put_ms, settled_ms FROM outbox_chunks"
_IN_LANES = f"""SELECT {EVENT_COLUMNS} FROM unnest(%s::text[]) AS wanted, LATERAL (SELECT * FROM inbox_events e
  WHERE hashtextextended(e.lane, 0) = hashtextextended(wanted COLLATE "C", 0) AND e.lane = wanted AND -e.id < %s AND -e.id > %s
  ORDER BY -e.id LIMIT %s) AS found ORDER BY id DESC LIMIT %s"""
_LOAD = f"""SELECT
  (SELECT accepted_ms FROM inbox_events WHERE channel || '' = %(channel)s ORDER BY -id LIMIT 1),
  (SELECT max(settled_ms) FROM outbox_chunks WHERE state = 'sent' AND turn_id = ANY(ARRAY(
    SELECT turn_id FROM (SELECT turn_id, state FROM inbox_events WHERE channel || '' = %(channel)s ORDER BY -id LIMIT {EXAMINED})
      AS newest WHERE state IN {REPLIED} LIMIT {DELIVERIES}))), w.*, o.*
  FROM (SELECT count(*), min(accepted_ms) FROM inbox_events
    WHERE {WAITING} AND kind = 'message' AND channel = %(channel)s) AS w,
  (SELECT count(*), min(put_ms) FROM outbox_chunks WHERE {LIVE} AND channel = %(channel)s) AS o"""


class PostgresLooking:
    """Implements `gateway.inbox.looking.Looking`."""

    def __init__(self, connection: Callable[[], AbstractAsyncContextManager[Connection]]) -> None:
        self._connection = connection

    async def events(self, wanted: Wanted, *, before_id: int | None, limit: int) -> Walk:
        since = first_id(wanted.since_ms) if wanted.since_ms is not None else 0
        until = min(first_id(wanted.until_ms) if wanted.until_ms is not None else LAST, before_id or LAST)
        where, values, order = _stretch(wanted, since, until)
        passed = f"SELECT id FROM inbox_events WHERE {where} ORDER BY {order} LIMIT {EXAMINED}"
        ((low, count),) = await self._rows(f"SELECT min(id), count(*) FROM ({passed}) AS passed", values)
        if not count:
            return Walk(events=(), next_id=None)
        where, values, order = _stretch(wanted, low, until)
        more, others = _filters(wanted)
        found = await self._events(
            f"{_EVENTS} WHERE {where}{more} ORDER BY {order} LIMIT %s", [*values, *others, limit]
        )
        if len(found) == limit:
            return Walk(events=found, next_id=found[-1].id)
        return Walk(events=found, next_id=low if count == EXAMINED else None)

    async def by_id(self, ids: Sequence[int]) -> tuple[Event, ...]:
        return await self._events(f"{_EVENTS} WHERE id = ANY(%s::bigint[]) ORDER BY id DESC", [list(ids)])

    async def of_turns(self, turn_ids: Sequence[int]) -> tuple[Event, ...]:
        joined = "SELECT id FROM inbox_events WHERE turn_id = ANY(%s::bigint[]) AND turn_id <> id"
        sql = f"{_EVENTS} WHERE id = ANY(%s::bigint[] || ARRAY({joined}))"
        found = await self._events(sql, [list(turn_ids), list(turn_ids)])
        return tuple(sorted(found, key=lambda event: event.id))

    async def in_lanes(self, lanes: Sequence[str], *, after_id: int, before_id: int, limit: int) -> tuple[Event, ...]:
        found = await self._events(_IN_LANES, [list(lanes), -after_id, -before_id, limit, limit])
        return tuple(reversed(found))

    async def about(self, subject: bytes) -> tuple[Event, ...]:
        sql = f"{_EVENTS} WHERE subject = %b AND subject IS NOT NULL ORDER BY -id LIMIT 50"
        return await self._events(sql, [subject])

    async def receipted(self, message_id: str, *, queue: str) -> tuple[Sent, ...]:
        sql = f"{_SENT} WHERE message_id = %s AND (queue = %s OR starts_with(queue, %s)) ORDER BY id DESC LIMIT 20"
        return await self._sent(sql, [storable(message_id), queue, f"{queue}/"])

    async def chunks(self, turn_ids: Sequence[int]) -> tuple[Sent, ...]:
        return await self._sent(f"{_SENT} WHERE turn_id = ANY(%s::bigint[]) ORDER BY turn_id, part", [list(turn_ids)])

    async def replies(self, turn_ids: Sequence[int]) -> dict[int, str]:
        sql = "SELECT turn_id, text FROM outbox_replies WHERE turn_id = ANY(%s::bigint[])"
        return dict(await self._rows(sql, [list(turn_ids)]))

    async def untold(self, event_id: int) -> Outcome | None:
        rows = await self._rows("SELECT notice_of FROM inbox_events WHERE id = %s", [event_id])
        return outcome_of(rows[0][0]) if rows else None

    async def tallies(self, *, since_ms: int, channels: Sequence[str] | None) -> Tallies:
        rows = await self._rows(
            "SELECT channel, accepted_ms - accepted_ms %% 3600000, state,"
            " coalesce(outcome::json ->> 'rule', outcome::json ->> 'code', ''), count(*), min(accepted_ms)"
            " FROM (SELECT channel, accepted_ms, state, outcome FROM inbox_events WHERE id >= %s"
            f" ORDER BY id DESC LIMIT {COUNTED}) AS passed GROUP BY 1, 2, 3, 4 ORDER BY 2, 1, 3, 4",
            [first_id(since_ms)],
        )
        return tallied(rows, channels=channels)

    async def load(self, channels: Sequence[str]) -> tuple[ChannelLoad, ...]:
        loads = []
        async with self._in_order() as db:
            for channel in channels:
                cursor = await db.execute(_LOAD, {"channel": channel})
                ((last_event, last_delivery, waiting, oldest, outbox, outbox_oldest),) = await cursor.fetchall()
                loads.append(
                    ChannelLoad(
                        channel=channel,
                        last_event_ms=last_event,
                        last_delivery_ms=last_delivery,
                        waiting=waiting,
                        oldest_waiting_ms=oldest,
                        outbox_waiting=outbox,
                        outbox_oldest_ms=outbox_oldest,
                    )
                )
        return tuple(loads)

    async def _events(self, sql: str, values: Sequence[Any]) -> tuple[Event, ...]:
        return tuple(event_of(row) for row in await self._rows(sql, values))

    async def _sent(self, sql: str, values: Sequence[Any]) -> tuple[Sent, ...]:
        rows = await self._rows(sql, values)
        return tuple(Sent(chunk=chunk_of(row), put_ms=row[-2], settled_ms=row[-1]) for row in rows)

    async def _rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        async with self._in_order() as db:
            return await (await db.execute(sql.encode(), values)).fetchall()

    @asynccontextmanager
    async def _in_order(self) -> AsyncIterator[Connection]:
        """Lend a connection whose statements walk indexes in their order and stop at their limit: with statistics that know of
        few rows it would look cheaper to collect all of them, and to sort them."""
        async with self._connection() as db, db.transaction():
            await db.execute("SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
            yield db


def _stretch(wanted: Wanted, since: int, until: int) -> tuple[str, list[Any], str]:
    """Return the condition that an index answers (one channel, or all; ids from `since` on and before `until`) and the order in
    which it has the newest first."""
    if wanted.channels is not None and len(wanted.channels) == 1:
        return "channel || '' = %s AND -id <= %s AND -id > %s", [wanted.channels[0], -since, -until], "-id"
    return "id >= %s AND id < %s", [since, until], "id DESC"


def _filters(wanted: Wanted) -> tuple[str, list[Any]]:
    sql, values = "", list[Any]()
    if wanted.channels is not None and len(wanted.channels) != 1:
        sql += " AND channel = ANY(%s::text[])"
        values.append(list(wanted.channels))
    if wanted.states:
        sql += " AND state = ANY(%s::text[])"
        values.append(list(wanted.states))
    if wanted.speaker is not None:
        sql += " AND speaker = %b"
        values.append(wanted.speaker.encode("utf-8", "surrogatepass"))
    if wanted.room is not None:
        sql += " AND position(%b::bytea in body) > 0"
        values.append(room_mark(wanted.room))
    if wanted.rule is not None:
        rule, code = rule_marks(wanted.rule)
        sql += (
            " AND CASE WHEN outcome IS NULL THEN position(%b::bytea in body) > 0"
            " ELSE position(%s::text in outcome) + position(%s::text in outcome) > 0"
            " OR state = 'answered' AND position(%b::bytea in body) > 0 END"
        )
        values += [rule.encode(), rule, code, rule.encode()]
    return sql, values
