"""The contract of what an admin sees of the queues, on every database."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gateway.inbox.looking import EXAMINED, Wanted
from gateway.inbox.sqlite_looking import SqliteLooking
from tests.contracts.looking import CountContract, LookContract, filled
from tests.contracts.queues import NOW_MS, URLS, Queues, accept, open_queues
from tests.services import as_admin


@pytest.fixture(params=URLS)
def url(request: pytest.FixtureRequest) -> str:
    return URLS[request.param](request)


@pytest.fixture
async def queues(url: str) -> AsyncIterator[Queues]:
    async with open_queues(url) as opened:
        yield opened


class TestLook(LookContract):
    """Events as an admin finds them."""


class TestCount(CountContract):
    """Figures of the queues."""


async def test_no_look_reads_more_than_it_may_on_postgres(postgres_url: str) -> None:
    """Beside 60,000 finished events of others, with stale statistics: of the wanted ones a few, of a walk what it may pass."""
    async with open_queues(postgres_url) as queues:
        await _looks(queues)  # plans are made, and kept, while the tables are empty
    await execute(
        postgres_url,
        """
        INSERT INTO inbox_events (id, turn_id, lane, channel, kind, speaker, body, token, state, attempts, accepted_ms, owner,
          subject)
        SELECT n, n, 'old' || n % 50, 'busy', 'message', '', '', '', 'answered', 1, 0, 0, decode(md5(n::text), 'hex')
          FROM generate_series(1, 60000) n;
        INSERT INTO outbox_replies SELECT n, '' FROM generate_series(1, 60000) n;
        INSERT INTO outbox_chunks (turn_id, channel, queue, address, part, parts, text, state, attempts, put_ms, due_ms,
          message_id)
        SELECT n, 'busy', 'old' || n % 50, '', 0, 1, '', 'sent', 1, 0, 0, 'P' || n FROM generate_series(1, 60000) n""",
    )
    before = await _reads(postgres_url)
    async with open_queues(postgres_url) as queues:
        await _looks(queues)
    after = await _reads(postgres_url)

    read = {table: rows - before[table] for table, rows in after.items()}
    assert read["inbox_events"] < 3 * EXAMINED, read
    assert read["outbox_chunks"] < 1_000, read
    assert read["outbox_replies"] < 100, read


async def test_no_look_costs_more_beside_a_long_history_on_sqlite(tmp_path: Path) -> None:
    """What the database works through for each look, beside 5,000 events and beside 25,000."""
    costs = []
    for events in (5_000, 25_000):
        path = tmp_path / f"{events}.db"
        async with open_queues(f"sqlite:///{path}") as queues:
            await filled(queues, f"sqlite:///{path}", events)
            costs.append(await _steps(path))

    assert costs[0].keys() == costs[1].keys()
    assert [] == [name for name, steps in costs[1].items() if steps > 1.2 * costs[0][name] + 50], costs


async def _steps(path: Path) -> dict[str, int]:
    """Return how many hundreds of its steps SQLite takes for each look."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    async def look(query: Any) -> Any:
        with closing(sqlite3.connect(path)) as db:
            db.set_progress_handler(count, 100)
            return query(db)

    looking, found = SqliteLooking(look), {}
    looks = {
        "newest": looking.events(Wanted(), before_id=None, limit=9),
        "state": looking.events(Wanted(states=("dead",)), before_id=None, limit=9),
        "rule": looking.events(Wanted(channels=("acme",), rule="bot"), before_id=None, limit=9),
        "room": looking.events(Wanted(channels=("acme", "other"), room="r"), before_id=None, limit=9),
        "speaker": looking.events(Wanted(speaker="nobody"), before_id=None, limit=9),
        "turns": looking.of_turns([1]),
        "lanes": looking.in_lanes(["none"], after_id=0, before_id=1 << 62, limit=9),
        "about": looking.about(b"none"),
        "receipted": looking.receipted("none", queue="acme:C1"),
        "load": looking.load(["acme"]),
    }
    for name, asked in looks.items():
        taken = 0
        await asked
        found[name] = taken
    return found


async def _looks(queues: Any) -> None:
    looking, event = queues.looking, await accept(queues, "lane", subject="m")
    await looking.events(Wanted(states=("dead",)), before_id=None, limit=9)
    await looking.events(Wanted(channels=("acme",), rule="bot"), before_id=None, limit=9)
    await looking.by_id([event.id])
    await looking.of_turns([event.id])
    await looking.in_lanes(["lane"], after_id=0, before_id=1 << 62, limit=9)
    await looking.about(event.subject)
    await looking.receipted("none", queue="acme:C1")
    await looking.chunks([event.id])
    await looking.replies([event.id])
    await looking.tallies(since_ms=NOW_MS - 1000, channels=["acme"])
    await looking.load(["acme"])


async def _reads(url: str) -> dict[str, int]:
    """Rows read so far by scans and by indexes, per table; every other session has ended and so has told its counts."""
    rows = await execute(
        url,
        "SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables"
        " WHERE relname IN ('inbox_events', 'outbox_chunks', 'outbox_replies')",
    )
    return dict(rows)


async def execute(url: str, statements: str) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(as_admin(url), autocommit=True) as connection:
        cursor = await connection.execute(statements.encode())
        return await cursor.fetchall() if cursor.description else []
