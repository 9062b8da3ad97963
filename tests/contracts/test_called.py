"""What it costs to find a person by a name: one stretch of an index, however many persons there are; counted, not timed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from memory.ids import Ids
from memory.stores.postgres import PostgresStore
from memory.stores.postgres_pool import Database
from memory.stores.postgres_statement import statement
from memory.stores.sqlite import SqliteStore
from tests.contracts.columns import Column, PostgresColumn, SqliteColumn
from tests.contracts.persons import a_life

OTHERS = 20_000


async def crowd(column: Column) -> None:
    """Enter very many others, whose names hold 司 and o too."""
    numbers = f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {OTHERS})"
    for part in ("'司' || i", "'o' || i", "'hier ' || i"):
        await column.sql(
            f"INSERT INTO called (channel, part, person_id, name) {numbers} SELECT 'web', {part}, i, 'crowd' FROM n"
        )


async def test_a_name_is_one_stretch_of_the_index_on_sqlite(tmp_path: Path) -> None:
    """By one character that all have, by a whole name, by none of anybody's, and of which names a person has."""
    async with SqliteStore(tmp_path / "clew.db", ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=5) as store:
        me, _ = await a_life(store)
        await crowd(SqliteColumn(tmp_path))
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        store._db.set_progress_handler(count, 1)
        found = [await store.persons.called(name, channels=["web"], limit=50) for name in ("司", "司马相如", "zzz")]
        names = await store.persons.names(me, channels=["web"], limit=10)
        store._db.set_progress_handler(None, 0)

    assert ([50, 1, 0], me) == ([len(persons) for persons in found], found[1][0])
    assert ("Hieronymus", "司马相如") == names
    assert steps < 5_000


async def test_a_name_is_one_stretch_of_the_index_on_postgres(postgres_url: str) -> None:
    """As on SQLite."""
    async with PostgresStore(postgres_url, ids=Ids(1), pool_size=1, timeout_s=5) as store:
        me, _ = await a_life(store)
        column = PostgresColumn(postgres_url)
        await crowd(column)
        await column.sql("VACUUM ANALYZE called")
        for _ in range(6):  # the plan that is kept, too
            await store.persons.called("司", channels=["web"], limit=50)
        async with Database(postgres_url, pool_size=1, timeout_s=5) as database:
            before = await _read(store, database)

            found = [await store.persons.called(name, channels=["web"], limit=50) for name in ("司", "司马相如", "zzz")]
            names = await store.persons.names(me, channels=["web"], limit=10)

            read = await _read(store, database) - before
    assert ([50, 1, 0], me) == ([len(persons) for persons in found], found[1][0])
    assert ("Hieronymus", "司马相如") == names
    assert 0 < read < 1_000


async def _read(store: PostgresStore, database: Database) -> int:
    """Return how many rows of names were read so far, by the table or by an index of it."""
    await store._database.fetch(statement("SELECT pg_stat_force_next_flush()"))
    await store._database.fetch(statement("SELECT 1"))
    count = """SELECT (SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_user_tables WHERE relname = 'called')
      + (SELECT coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes WHERE relname = 'called')"""
    return int((await database.fetch(statement(count)))[0][0])
