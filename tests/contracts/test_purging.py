"""Retention of what people said, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from memory.derived import FullStore
from memory.stores import purging
from memory.stores.postgres_steps import statement_of
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.purging import PurgeMessagesContract


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
