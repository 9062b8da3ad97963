"""Sends on PostgreSQL whose rows were written by what was given up here: taken, or told of, later than anybody waited for."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from gateway.inbox import postgres_outbox as outbox
from gateway.inbox.base import Chunk
from gateway.inbox.postgres import PostgresInbox
from gateway.inbox.rows import Settlement
from tests.contracts.queues import NOW_MS, Queues, answered, due_when_free, open_queues

LATER_MS = NOW_MS + 60_000


async def number(queues: Queues) -> int:
    """Return by which number the instance is known."""
    assert isinstance(queues, PostgresInbox)
    (one,) = await queues.leases.instances()
    return one.id


async def late_take(url: str, *, owner: int) -> list[Chunk]:
    """Take what is due as an instance does whose own call was given up before the server heard it."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        return await outbox.take_due(db, now_ms=NOW_MS, limit=5, owner=owner, not_before=lambda _: 0, elsewhere=())


async def test_a_chunk_that_was_taken_unheard_is_not_stuck(postgres_url: str) -> None:
    """The server did what nobody heard the answer to: nobody sends the chunk, and its room would be dumb as long as this
    instance lives. It is handed out as one whose end nobody saw, and what stands behind it follows."""
    async with open_queues(postgres_url, lease_s=1, poll_s=0.1) as queues:
        await answered(queues, "lane", queue="room", chunks=("one", "two"))
        assert ["one"] == [chunk.text for chunk in await late_take(postgres_url, owner=await number(queues))]
        assert [] == await queues.due(now_ms=NOW_MS, limit=5)

        found = await due_when_free(queues)
        assert ("one", "unknown", 1) == (found.text, found.state, found.attempts)
        await queues.unknown(found, error="nobody saw", now_ms=NOW_MS)
        (second,) = await queues.due(now_ms=NOW_MS, limit=5)
        assert ("two", "sending") == (second.text, second.state)


async def test_what_is_being_sent_is_handed_out_once(postgres_url: str) -> None:
    """However long the platform takes, and however often others are asked for."""
    async with open_queues(postgres_url, lease_s=0.2, poll_s=0.1) as queues:
        await answered(queues, "lane", queue="room")
        await answered(queues, "other", queue="大厅")
        chunks = await queues.due(now_ms=NOW_MS, limit=5)
        assert 2 == len(chunks)
        for _ in range(10):
            assert [] == await queues.due(now_ms=NOW_MS, limit=5)
            await asyncio.sleep(0.05)
        assert [True, True] == [await queues.sent(chunk, message_id="m", now_ms=NOW_MS) for chunk in chunks]


@pytest.mark.parametrize("counted", [True, False])
async def test_a_receipt_that_comes_late_is_of_its_own_attempt(counted: bool, postgres_url: str) -> None:
    """ "Put back", said of the first attempt and given up, said again, and heard by the server when the second is under way:
    believed, the chunk would go out a third time beside it, without a label."""
    async with open_queues(postgres_url) as queues:
        await answered(queues, "lane", queue="room")
        (first,) = await queues.due(now_ms=NOW_MS, limit=1)
        put_back = Settlement(chunk=first, state="waiting", due_ms=NOW_MS + 1, error="busy", counted=counted)
        await queues.retry(first, due_ms=NOW_MS + 1, error="busy", counted=counted)
        (second,) = await queues.due(now_ms=LATER_MS, limit=1)
        assert "sending" == second.state

        async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as db:
            assert [False] == await outbox.settle(db, [put_back], owner=await number(queues))
        assert [] == await queues.due(now_ms=LATER_MS, limit=1)
        assert await queues.sent(second, message_id="m", now_ms=LATER_MS)
