"""Retention of what people said, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from memory.derived import FullStore
from memory.stores import purging
from memory.stores.postgres_steps import statement_of
from tests.bench.core import START_MS
from tests.bench.scale.filler import fill
from tests.contracts.columns import COLUMNS, Column, PostgresColumn
from tests.contracts.purging import PurgeMessagesContract
from tests.services import as_admin


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[FullStore]:
    async with column.open() as opened:
        yield opened


class TestPurgeMessages(PurgeMessagesContract):
    """Messages whose time is over."""


def test_what_is_old_is_found_by_indexes(postgres_url: str) -> None:
    """However much is younger: by turns' ids from their old end, and what was overheard by its age."""
    with psycopg.connect(postgres_url) as db:
        for setting in ("plan_cache_mode = force_generic_plan", "enable_seqscan = off"):
            db.execute(f"SET {setting}".encode())
        plans = []
        for name, sql, kinds in (("old", purging.OLD, 3), ("overheard", purging.OVERHEARD, 2)):
            types = ", ".join(["bigint"] * kinds)
            db.execute(f"PREPARE {name} ({types}) AS ".encode() + statement_of(sql).text)
            rows = db.execute(f"EXPLAIN (COSTS OFF) EXECUTE {name} ({', '.join('1' * kinds)})".encode()).fetchall()
            plans.append("\n".join(line for (line,) in rows))

    assert "Scan using messages_turn on messages m" in plans[0]
    assert "Index Cond: (turn_id < $1)" in plans[0]
    assert "using observed_age" in plans[1]
    assert not any("Seq Scan" in plan for plan in plans)


READ = """SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
  FROM pg_stat_user_tables WHERE relname IN ('messages', 'fragments', 'scopes', 'summaries')"""


async def test_what_goes_at_once_costs_what_it_is_however_much_there_is(postgres_url: str) -> None:
    """Of many scopes at once: beside 4,000 messages, a few rows are read for each of the hundred that go (a step of 200 read all
    that there were, so that 40,000 took 12 s)."""
    fill(postgres_url, [], others=4_000)
    before = _read(postgres_url)
    async with PostgresColumn(postgres_url).open() as store:
        assert 100 == await store.purge_messages(before_ms=START_MS + 1, limit=100)

    assert _read(postgres_url) - before <= 20 * 100


def _read(url: str) -> int:
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        return int(db.execute(READ).fetchall()[0][0])
