"""From a run that is over to its evidence: the database's rows, what the platforms show, what the model was asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import psycopg

from adapters.base import Address, MessageEvent
from gateway.routing import decode
from tests.chaos.evidence import FINAL, Call, Chunk, Evidence, Row, tokens
from tests.chaos.people import Way, spot
from tests.services import as_admin

UNSEEN = "showing ends"

_OPEN = f"""
SELECT (SELECT count(*) FROM inbox_events WHERE state NOT IN ({", ".join(f"'{state}'" for state in sorted(FINAL))})),
       (SELECT count(*) FROM outbox_chunks WHERE state IN ('waiting', 'sending')),
       (SELECT coalesce(max(due_ms), 0) FROM outbox_chunks WHERE state = 'waiting'),
       (SELECT coalesce(sum(attempts), 0) FROM inbox_events), (SELECT coalesce(sum(attempts), 0) FROM outbox_chunks)"""


_STORED = """
SELECT turn_id, min(floor(extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000))
FROM messages WHERE role = 'assistant' GROUP BY turn_id"""
"""When each answer was there for others to see: one that was on its way while its sender was cut off arrives later than made."""


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """What is not over: messages, pieces of replies, and when the last of these is due; and a number that grows with whatever is
    tried."""

    events: int
    chunks: int
    due_ms: int
    tries: int


async def still_open(url: str) -> Open:
    """Raises `psycopg.OperationalError` while the database is away."""
    async with await psycopg.AsyncConnection.connect(as_admin(url), connect_timeout=5) as db:
        cursor = await db.execute(_OPEN)
        ((events, chunks, due_ms, begun, sent),) = await cursor.fetchall()
    return Open(events=events, chunks=chunks, due_ms=due_ms, tries=int(begun) + int(sent))


async def evidence(url: str, ways: Mapping[str, Way], calls: Sequence[Call], logs: Iterable[str]) -> Evidence:
    """Return all that the run left behind. `logs` are the gateways' lines."""
    async with await psycopg.AsyncConnection.connect(as_admin(url), connect_timeout=5) as db:
        events = await (
            await db.execute("SELECT id, seq, turn_id, lane, state, outcome, attempts, body FROM inbox_events")
        ).fetchall()
        chunks = await (
            await db.execute(
                "SELECT turn_id, state, text, message_id, address, attempts, channel FROM outbox_chunks ORDER BY id"
            )
        ).fetchall()
        stored = await (await db.execute(_STORED)).fetchall()
    said = [one for way in ways.values() for one in await way.said()]
    return Evidence(
        said={one.token: one for one in said},
        rows=[row for found in events if (row := _row(*found)) is not None],
        chunks=[_chunk(*found, ways=ways) for found in chunks],
        posts=[post for way in ways.values() for post in await way.posts()],
        calls=list(calls),
        stored={turn: int(stored_ms) for turn, stored_ms in stored},
        unseen=frozenset(turn for line in logs if (turn := _unseen(line)) is not None),
    )


def _unseen(line: str) -> int | None:
    """Return the turn of which the line says that what was to show it may stand somewhere; None: it says something else."""
    if UNSEEN not in line:
        return None
    told = msgspec.json.decode(line)
    return int(told["turn"]) if told.get("event") == UNSEEN and told.get("call") == "send" else None


def _row(
    id_: int, seq: int, turn: int, lane: str, state: str, outcome: str | None, attempts: int, body: bytes
) -> Row | None:
    """Return the row of a message; None for what is none (somebody joins)."""
    event = decode(bytes(body)).event
    found = tokens(event.text) if isinstance(event, MessageEvent) else []
    if not found:
        return None
    told: dict[str, Any] = msgspec.json.decode(outcome) if outcome else {}
    why = told.get("rule") or told.get("code") or ""
    return Row(id=id_, seq=seq, turn=turn, lane=lane, token=found[0], state=state, why=why, attempts=attempts)


def _chunk(
    turn: int, state: str, text: str, message: str | None, address: bytes, attempts: int, channel: str,
    *, ways: Mapping[str, Way],
) -> Chunk:  # fmt: skip
    where = msgspec.msgpack.decode(bytes(address), type=Address)
    return Chunk(
        turn=turn, state=state, text=text, message=message, place=spot(channel, where.room, where.thread),
        attempts=attempts, askable=ways[channel].askable, looked=ways[channel].asked_about(where.room),
    )  # fmt: skip
