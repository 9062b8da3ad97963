"""What an admin sees of the queues on SQLite. Runs on a connection of its own, in a thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

from gateway.inbox.base import Event, Outcome
from gateway.inbox.looking import COUNTED, DELIVERIES, EXAMINED, ChannelLoad, Sent, Tallies, Walk, Wanted
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
    tallied,
)
from memory.ids import first_id

T = TypeVar("T")

_EVENTS = f"SELECT {EVENT_COLUMNS} FROM inbox_events"
_SENT = f"SELECT {CHUNK_COLUMNS}, put_ms, settled_ms FROM outbox_chunks"
_LAST_EVENT = "SELECT max(id), accepted_ms FROM inbox_events WHERE channel = ?"
_LAST_DELIVERY = f"""SELECT max(c.settled_ms) FROM outbox_chunks c WHERE c.state = 'sent' AND c.turn_id IN
  (SELECT turn_id FROM (SELECT id, turn_id, state FROM inbox_events WHERE channel = ? ORDER BY id DESC LIMIT {EXAMINED})
   WHERE state IN {REPLIED} ORDER BY id DESC LIMIT {DELIVERIES})"""
# By name, or a planner without statistics takes the channel's index, and with it all that the channel ever had.
_WAITING = f"""SELECT count(*), min(accepted_ms) FROM inbox_events INDEXED BY inbox_waiting
  WHERE {WAITING} AND kind = 'message' AND channel = ?"""
_OUTBOX = f"SELECT count(*), min(put_ms) FROM outbox_chunks WHERE {LIVE} AND channel = ?"


class Look(Protocol):
    """Runs a query past the loop and returns what it read."""

    def __call__(self, query: Callable[[sqlite3.Connection], T]) -> Awaitable[T]: ...


class SqliteLooking:
    """Implements `gateway.inbox.looking.Looking`."""

    def __init__(self, look: Look) -> None:
        self._look = look

    async def events(self, wanted: Wanted, *, before_id: int | None, limit: int) -> Walk:
        return await self._look(lambda db: _walk(db, wanted, before_id=before_id, limit=limit))

    async def by_id(self, ids: Sequence[int]) -> tuple[Event, ...]:
        sql = f"{_EVENTS} WHERE id IN ({_marks(ids)}) ORDER BY id DESC"
        return await self._look(lambda db: _events(db, sql, ids))

    async def of_turns(self, turn_ids: Sequence[int]) -> tuple[Event, ...]:
        marks = _marks(turn_ids)
        joined = f"SELECT id FROM inbox_events WHERE turn_id IN ({marks}) AND turn_id <> id"
        sql = f"{_EVENTS} WHERE id IN ({marks}) OR id IN ({joined}) ORDER BY id"
        return await self._look(lambda db: _events(db, sql, [*turn_ids, *turn_ids]))

    async def in_lanes(self, lanes: Sequence[str], *, after_id: int, before_id: int, limit: int) -> tuple[Event, ...]:
        sql = f"{_EVENTS} WHERE lane || '' = ? AND id > ? AND id < ? ORDER BY id DESC LIMIT ?"

        def look(db: sqlite3.Connection) -> tuple[Event, ...]:
            found = [event for lane in lanes for event in _events(db, sql, (lane, after_id, before_id, limit))]
            return tuple(sorted(found, key=lambda event: event.id)[-limit:])

        return await self._look(look)

    async def about(self, subject: bytes) -> tuple[Event, ...]:
        sql = f"{_EVENTS} WHERE subject = ? AND subject IS NOT NULL ORDER BY id DESC LIMIT 50"
        return await self._look(lambda db: _events(db, sql, (subject,)))

    async def receipted(self, message_id: str, *, queue: str) -> tuple[Sent, ...]:
        sql = f"{_SENT} WHERE message_id = ? AND (queue = ? OR substr(queue, 1, ?) = ?) ORDER BY id DESC LIMIT 20"
        return await self._look(lambda db: _sent(db, sql, (message_id, queue, len(queue) + 1, f"{queue}/")))

    async def chunks(self, turn_ids: Sequence[int]) -> tuple[Sent, ...]:
        sql = f"{_SENT} WHERE turn_id IN ({_marks(turn_ids)}) ORDER BY turn_id, part"
        return await self._look(lambda db: _sent(db, sql, turn_ids))

    async def replies(self, turn_ids: Sequence[int]) -> dict[int, str]:
        sql = f"SELECT turn_id, text FROM outbox_replies WHERE turn_id IN ({_marks(turn_ids)})"
        return await self._look(lambda db: dict(db.execute(sql, turn_ids).fetchall()))

    async def untold(self, event_id: int) -> Outcome | None:
        sql = "SELECT notice_of FROM inbox_events WHERE id = ?"
        rows = await self._look(lambda db: db.execute(sql, (event_id,)).fetchall())
        return outcome_of(rows[0][0]) if rows else None

    async def tallies(self, *, since_ms: int, channels: Sequence[str] | None) -> Tallies:
        return await self._look(lambda db: _tallies(db, since_ms=since_ms, channels=channels))

    async def load(self, channels: Sequence[str]) -> tuple[ChannelLoad, ...]:
        return await self._look(lambda db: tuple(_load(db, channel) for channel in channels))


def _walk(db: sqlite3.Connection, wanted: Wanted, *, before_id: int | None, limit: int) -> Walk:
    since = first_id(wanted.since_ms) if wanted.since_ms is not None else 0
    until = min((first_id(wanted.until_ms) if wanted.until_ms is not None else 1 << 62), before_id or 1 << 62)
    conditions, values = _stretch(wanted, since, until)
    passed = f"SELECT id FROM inbox_events WHERE {conditions} ORDER BY id DESC LIMIT {EXAMINED}"
    low, count = db.execute(f"SELECT min(id), count(*) FROM ({passed})", values).fetchone()
    if not count:
        return Walk(events=(), next_id=None)
    # One bound on either side: of two SQLite may take the one that ends nowhere.
    conditions, values = _stretch(wanted, low, until)
    more, others = _filters(wanted)
    sql = f"{_EVENTS} WHERE {conditions}{more} ORDER BY id DESC LIMIT ?"
    found = _events(db, sql, (*values, *others, limit))
    if len(found) == limit:
        return Walk(events=found, next_id=found[-1].id)
    return Walk(events=found, next_id=low if count == EXAMINED else None)


def _stretch(wanted: Wanted, since: int, until: int) -> tuple[str, list[Any]]:
    """Return what an index answers: one channel, and ids from `since` on and before `until`."""
    if wanted.channels is not None and len(wanted.channels) == 1:
        return "channel = ? AND id >= ? AND id < ?", [wanted.channels[0], since, until]
    return "id >= ? AND id < ?", [since, until]


def _filters(wanted: Wanted) -> tuple[str, list[Any]]:
    sql, values = "", list[Any]()
    if wanted.channels is not None and len(wanted.channels) != 1:
        sql += f" AND channel IN ({_marks(wanted.channels)})"
        values += wanted.channels
    if wanted.states:
        sql += f" AND state IN ({_marks(wanted.states)})"
        values += wanted.states
    if wanted.speaker is not None:
        sql += " AND speaker = ?"
        values.append(wanted.speaker.encode("utf-8", "surrogatepass"))
    if wanted.room is not None:
        sql += " AND instr(body, CAST(? AS BLOB)) > 0"
        values.append(room_mark(wanted.room))
    if wanted.rule is not None:
        rule, code = rule_marks(wanted.rule)
        sql += (
            " AND CASE WHEN outcome IS NULL THEN instr(body, CAST(? AS BLOB))"
            " ELSE instr(outcome, ?) + instr(outcome, ?) + (state = 'answered' AND instr(body, CAST(? AS BLOB))) END"
        )
        values += [rule, rule, code, rule]
    return sql, values


def _tallies(db: sqlite3.Connection, *, since_ms: int, channels: Sequence[str] | None) -> Tallies:
    rows = db.execute(
        "SELECT channel, accepted_ms - accepted_ms % 3600000, state,"
        " coalesce(json_extract(outcome, '$.rule'), json_extract(outcome, '$.code'), ''), count(*), min(accepted_ms)"
        " FROM (SELECT channel, accepted_ms, state, outcome FROM inbox_events WHERE id >= ?"
        f" ORDER BY id DESC LIMIT {COUNTED}) GROUP BY 1, 2, 3, 4 ORDER BY 2, 1, 3, 4",
        (first_id(since_ms),),
    ).fetchall()
    return tallied(rows, channels=channels)


def _load(db: sqlite3.Connection, channel: str) -> ChannelLoad:
    _, last_event_ms = db.execute(_LAST_EVENT, (channel,)).fetchone()
    (last_delivery_ms,) = db.execute(_LAST_DELIVERY, (channel,)).fetchone()
    waiting, oldest_waiting_ms = db.execute(_WAITING, (channel,)).fetchone()
    outbox_waiting, outbox_oldest_ms = db.execute(_OUTBOX, (channel,)).fetchone()
    return ChannelLoad(
        channel=channel,
        last_event_ms=last_event_ms,
        last_delivery_ms=last_delivery_ms,
        waiting=waiting,
        oldest_waiting_ms=oldest_waiting_ms,
        outbox_waiting=outbox_waiting,
        outbox_oldest_ms=outbox_oldest_ms,
    )


def _events(db: sqlite3.Connection, sql: str, values: Sequence[Any]) -> tuple[Event, ...]:
    return tuple(event_of(row) for row in db.execute(sql, values).fetchall())


def _sent(db: sqlite3.Connection, sql: str, values: Sequence[Any]) -> tuple[Sent, ...]:
    rows = db.execute(sql, values).fetchall()
    return tuple(Sent(chunk=chunk_of(row), put_ms=row[-2], settled_ms=row[-1]) for row in rows)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" for _ in values)
