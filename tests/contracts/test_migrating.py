"""Schema changes on real databases: several starters, releases side by side, locks that others hold."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from memory import postgres_migrating, sqlite_migrating
from memory.errors import SchemaTooNew
from memory.schema import Schema

LOCK = 0x74657374

Changes = Callable[..., Schema]


@pytest.fixture
def changes(tmp_path: Path) -> Changes:
    """Makes a release: what its series of changes is."""

    def release(*scripts: str) -> Schema:
        folder = tmp_path / f"release{len(scripts)}"
        for database in ("sqlite", "postgres"):
            (folder / database).mkdir(parents=True)
            for n, script in enumerate(scripts, 1):
                (folder / database / f"{n:04}_step.sql").write_text(script, encoding="utf-8")
        return Schema(
            name="test",
            folder=folder,
            base=("CREATE TABLE IF NOT EXISTS test_schema (version INTEGER PRIMARY KEY, name TEXT)",),
            more=("name",),
        )

    return release


ONE = "CREATE TABLE a (b INTEGER);\nINSERT INTO a VALUES (1);\n"
TWO = "-- works with: 1\nALTER TABLE a ADD COLUMN c INTEGER;\n"
THREE = "-- works with: 3\nALTER TABLE a ADD COLUMN d INTEGER;\n"


async def on_postgres(url: str, schema: Schema) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        await postgres_migrating.bring_up_to_date(db, schema, lock=LOCK, now_ms=0)


def on_sqlite(path: Path, schema: Schema) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        sqlite_migrating.bring_up_to_date(db, schema, now_ms=0)


class Place:
    """A database in which releases start; `sql` looks at it."""

    def __init__(self, start: Callable[[Schema], None], db: sqlite3.Connection | psycopg.Connection) -> None:
        self.start = start
        self._db = db

    def sql(self, statement: LiteralString) -> list[tuple[object, ...]]:
        cursor = self._db.execute(statement)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        path = tmp_path / "file.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            yield Place(lambda schema: on_sqlite(path, schema), db)
    else:
        url = request.getfixturevalue("bare_postgres_url")
        with psycopg.connect(url, autocommit=True) as admin:
            yield Place(lambda schema: asyncio.run(on_postgres(url, schema)), admin)


def test_each_step_is_written_down_with_whom_it_works_with(place: Place, changes: Changes) -> None:
    """Applied once, whoever starts again; a step of before the custom says nothing."""
    place.start(changes(ONE))
    newer = changes(ONE, TWO)
    place.start(newer)
    place.start(newer)

    assert [(1, "step", None), (2, "step", 1)] == place.sql(
        "SELECT version, name, oldest FROM test_schema ORDER BY version"
    )
    assert [(1, None)] == place.sql("SELECT b, c FROM a")


def test_a_table_of_before_the_custom_gets_the_column(place: Place, changes: Changes) -> None:
    """The last release counted its steps without it."""
    place.sql("CREATE TABLE test_schema (version INTEGER PRIMARY KEY, name TEXT)")
    place.sql("CREATE TABLE a (b INTEGER)")
    place.sql("INSERT INTO test_schema VALUES (1, 'step')")
    place.start(changes(ONE, TWO))

    assert [(1, None), (2, 1)] == place.sql("SELECT version, oldest FROM test_schema ORDER BY version")


def test_an_old_release_starts_beside_the_next_and_not_beside_the_one_after(
    place: Place, changes: Changes, caplog: pytest.LogCaptureFixture
) -> None:
    """With a warning; and it changes nothing."""
    old, next_, after = changes(ONE), changes(ONE, TWO), changes(ONE, TWO, THREE)
    place.start(next_)
    with caplog.at_level(logging.WARNING):
        place.start(old)

    assert ["the test schema is a newer release's; this one works beside it"] == caplog.messages
    place.start(after)
    for older in (old, next_):
        with pytest.raises(SchemaTooNew, match="the test schema has version 3"):
            place.start(older)
    assert [(3,)] == place.sql("SELECT count(*) FROM test_schema")


def test_what_nobody_vouches_for_is_refused(place: Place, changes: Changes) -> None:
    """A newer step that says nothing, or a newer table that has no room to say it."""
    old = changes(ONE)
    place.start(changes(ONE, TWO, "CREATE TABLE e (f INTEGER);\n"))
    with pytest.raises(SchemaTooNew, match="the test schema has version 3"):
        place.start(old)
    place.sql("ALTER TABLE test_schema DROP COLUMN oldest")
    with pytest.raises(SchemaTooNew, match="the test schema has version 3"):
        place.start(old)


async def test_starters_wait_for_each_other(bare_postgres_url: str, changes: Changes) -> None:
    """Eight instances that start at once change the schema once."""
    newer = changes(ONE, TWO)
    await asyncio.gather(*(on_postgres(bare_postgres_url, newer) for _ in range(8)))

    with psycopg.connect(bare_postgres_url) as db:
        assert [(2,)] == db.execute("SELECT count(*) FROM test_schema").fetchall()
        assert [(1,)] == db.execute("SELECT count(*) FROM a").fetchall()


async def test_an_index_is_made_while_others_write_and_start(bare_postgres_url: str, changes: Changes) -> None:
    """`-- outside a transaction`: CREATE INDEX CONCURRENTLY, which waits for every snapshot, other starters' included."""
    await on_postgres(bare_postgres_url, changes(ONE))
    newer = changes(
        ONE,
        "-- works with: 1\n-- outside a transaction\nDROP INDEX CONCURRENTLY IF EXISTS a_b;\n"
        "CREATE INDEX CONCURRENTLY a_b ON a (b);\n",
    )
    async with await psycopg.AsyncConnection.connect(bare_postgres_url) as writer:
        await writer.execute("INSERT INTO a VALUES (2)")
        starters = [asyncio.ensure_future(on_postgres(bare_postgres_url, newer)) for _ in range(3)]
        async with await psycopg.AsyncConnection.connect(bare_postgres_url, autocommit=True) as other:
            while not await _waits(other, "CREATE INDEX%"):
                await asyncio.sleep(0.01)
            await other.execute("INSERT INTO a VALUES (3)")
        await writer.commit()
        await asyncio.gather(*starters)
        cursor = await writer.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = 'a_b'::regclass")

        assert [(True,)] == await cursor.fetchall()


async def test_an_index_is_made_once_however_long_somebody_is_at_work(
    bare_postgres_url: str, changes: Changes, caplog: pytest.LogCaptureFixture
) -> None:
    """It stops nobody while it waits for them (a dump, an erasure); letting go and beginning again would build it anew each time,
    and never get to an end."""
    await on_postgres(bare_postgres_url, changes(ONE))
    newer = changes(
        ONE,
        "-- works with: 1\n-- outside a transaction\nDROP INDEX CONCURRENTLY IF EXISTS a_b;\n"
        "CREATE INDEX CONCURRENTLY a_b ON a (b);\n",
    )
    async with await psycopg.AsyncConnection.connect(bare_postgres_url) as worker:
        await worker.execute("INSERT INTO a VALUES (2)")
        starter = asyncio.ensure_future(on_postgres(bare_postgres_url, newer))
        async with await psycopg.AsyncConnection.connect(bare_postgres_url, autocommit=True) as other:
            async with asyncio.timeout(20):
                while not await _has_waited(other, "CREATE INDEX%", seconds=postgres_migrating.LOCK_S + 0.2):
                    assert not caplog.messages
                    await asyncio.sleep(0.05)
        await worker.commit()
        await starter

    assert [] == caplog.messages


async def test_a_change_does_not_stop_those_behind_it(bare_postgres_url: str, changes: Changes) -> None:
    """A change that waits for a long reader lets others pass between its tries, and is made when the reader is gone."""
    await on_postgres(bare_postgres_url, changes(ONE))
    async with await psycopg.AsyncConnection.connect(bare_postgres_url) as reader:
        await reader.execute("SELECT * FROM a")
        starter = asyncio.ensure_future(on_postgres(bare_postgres_url, changes(ONE, TWO)))
        async with await psycopg.AsyncConnection.connect(bare_postgres_url, autocommit=True) as other:
            while not await _waits(other, "%ALTER TABLE a%"):
                await asyncio.sleep(0.01)
            async with asyncio.timeout(20):
                await other.execute("SELECT * FROM a")  # stands behind the change, and gets through when that lets go

        assert not starter.done()
        await reader.commit()
        await starter
    with psycopg.connect(bare_postgres_url) as db:
        assert [(1, None)] == db.execute("SELECT b, c FROM a").fetchall()


async def _waits(db: psycopg.AsyncConnection[tuple[object, ...]], query: str) -> bool:
    cursor = await db.execute(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s AND pid <> pg_backend_pid()",
        (query,),
    )
    return bool(await cursor.fetchall())


async def _has_waited(db: psycopg.AsyncConnection[tuple[object, ...]], query: str, *, seconds: float) -> bool:
    cursor = await db.execute(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s AND pid <> pg_backend_pid()"
        " AND clock_timestamp() - query_start > make_interval(secs => %s)",
        (query, seconds),
    )
    return bool(await cursor.fetchall())
