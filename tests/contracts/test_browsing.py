"""The contract of looking through conversations, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.browsing import Wanted
from memory.derived import FullStore
from tests.contracts.browsing import (
    AgeContract,
    LearningContract,
    PageContract,
    SearchContract,
    TalksContract,
    filled,
    spoken,
)
from tests.contracts.columns import COLUMNS, Column, PostgresColumn
from tests.contracts.store import NOW, opened


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[FullStore]:
    async with column.open() as opened:
        yield opened


class TestTalks(TalksContract):
    """Which conversations there are."""


class TestPage(PageContract):
    """A conversation as it went."""


class TestLearning(LearningContract):
    """What is still to be learned."""


class TestAge(AgeContract):
    """What retention would take."""


class TestSearch(SearchContract):
    """Finding what was said."""


async def test_no_look_reads_the_history_of_others_on_postgres(postgres_url: str) -> None:
    """Beside 40,000 lines and 2,000 conversations of another channel, with stale statistics."""
    column = PostgresColumn(postgres_url)
    async with column.open() as store:
        mine = await spoken(store, "hi", at_ms=NOW, turn_id=1, channel="mine", person_id=5)
        busy = await opened(store, channel="busy")
        await looks(store, mine.id)
    await filled(column, busy.id, 40_000)
    await column.sql(
        'INSERT INTO scopes (id, last_ms, created_ms, "user", channel, conversation, chat_type, agent)'
        f" SELECT n, {NOW}, 1, 'u', 'busy', 'room' || n, 'private', 'helper' FROM generate_series(1, 2000) AS n"
    )
    before = await _reads(column)
    async with column.open() as store:
        await looks(store, mine.id)
    read = {table: rows - before[table] for table, rows in (await _reads(column)).items()}

    assert read["messages"] < 200, read
    assert read["scopes"] < 200, read


async def looks(store: FullStore, talk_id: int) -> None:
    browsing, mine = store.browsing, Wanted(channels=("mine",))
    await browsing.talks(mine, after=None, limit=9)
    await browsing.talks(Wanted(channels=("mine",), room="r1"), after=None, limit=9)
    await browsing.talks(Wanted(person_id=5), after=None, limit=9)
    await browsing.talk(talk_id)
    await browsing.names(talk_id)
    await browsing.page(talk_id, limit=9)
    await browsing.search(["hi"], mine, after=None, limit=9)
    await browsing.unlearned(1)


async def _reads(column: PostgresColumn) -> dict[str, int]:
    """Rows read so far by scans and by indexes, per table; every other session has ended and so has told its counts."""
    rows = await column.sql(
        "SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables"
        " WHERE relname IN ('messages', 'scopes')"
    )
    return dict(rows)
