"""What every database of the admins' tables promises (`gateway/admin/database.py`), and how tests open one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from gateway.admin.database import Database
from gateway.admin.postgres import PostgresDatabase
from gateway.admin.sqlite import SqliteDatabase

URLS: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "sqlite": lambda request: f"sqlite:///{request.getfixturevalue('tmp_path') / 'admin.db'}",
    "postgres": lambda request: request.getfixturevalue("postgres_url"),
}
"""One line per database: where a test's own empty one is."""
WITH_TOMORROWS = URLS | {"postgres of tomorrow": lambda request: request.getfixturevalue("tomorrows_url")}
"""The same, and one where the next release has been already."""


def open_admin_database(url: str, *, timeout_s: float = 5) -> AbstractAsyncContextManager[Database]:
    """Open the admins' tables on `sqlite:///PATH` or `postgresql://…`."""
    if url.startswith("sqlite:///"):
        return SqliteDatabase(Path(url.removeprefix("sqlite:///")), write_turn=asyncio.Lock(), timeout_s=timeout_s)
    return PostgresDatabase(url, pool_size=4, timeout_s=timeout_s)


MAKE = "CREATE TABLE IF NOT EXISTS made (name TEXT PRIMARY KEY, number BIGINT, raw {raw}, part DOUBLE PRECISION)"
PUT = "INSERT INTO made (name, number) VALUES (:name, :number)"
ALL = "SELECT name, number FROM made ORDER BY name"


class DatabaseContract:
    """Transactions and topics."""

    async def test_values_come_back_as_they_were(self, database: Database) -> None:
        """Numbers of 63 bits, parts, texts of any script and bytes are kept; what no database can hold in a text becomes
        U+FFFD; None stays None."""
        values = {"name": "订单 👩‍👩‍👧 100% :x", "number": 2**62, "raw": b"\x00\xff", "part": 0.25}
        async with database.writing() as db:
            count = await db.run(
                "INSERT INTO made (name, number, raw, part) VALUES (:name, :number, :raw, :part)", **values
            )
            await db.run(PUT, name="a\x00b\ud800", number=None)

        async with database.reading() as db:
            rows = await db.rows("SELECT name, number, raw, part FROM made WHERE number IS NOT NULL")
            odd = await db.rows("SELECT name, number FROM made WHERE number IS NULL AND name LIKE 'a%'")

        assert 1 == count
        assert [tuple(values.values())] == [(name, number, bytes(raw), part) for name, number, raw, part in rows]
        assert [("a\ufffdb\ufffd", None)] == [tuple(row) for row in odd]

    async def test_a_broken_transaction_leaves_nothing(self, database: Database) -> None:
        """An exception in the middle undoes all of it, and the next one finds the database in order."""

        async def breaks() -> None:
            async with database.writing() as db:
                await db.run(PUT, name="one", number=1)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            await breaks()
        async with database.writing() as db:
            await db.run(PUT, name="two", number=2)

        async with database.reading() as db:
            assert [("two", 2)] == [tuple(row) for row in await db.rows(ALL)]

    async def test_a_cancelled_transaction_leaves_nothing(self, database: Database) -> None:
        """A caller that goes away in the middle takes its writes with it, and holds nobody up."""
        begun = asyncio.Event()

        async def half() -> None:
            async with database.writing() as db:
                await db.run(PUT, name="one", number=1)
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(half())
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with database.writing() as db:
            await db.run(PUT, name="two", number=2)

        async with database.reading() as db:
            assert [("two", 2)] == [tuple(row) for row in await db.rows(ALL)]

    async def test_a_look_waits_for_nobody(self, database: Database) -> None:
        """What is looked up for a message is there while others read and write; it sees what is committed, and nothing else."""
        async with database.writing() as db:
            await db.run(PUT, name="订单", number=1)

        async with database.reading() as one, database.writing() as other:
            await one.rows(ALL)
            await other.run(PUT, name="two", number=2)
            seen = await database.look(f"{ALL} LIMIT :most", most=9)

        assert [("订单", 1)] == [tuple(row) for row in seen]
        assert {("订单", 1), ("two", 2)} == {tuple(row) for row in await database.look(ALL)}

    @pytest.mark.parametrize("verb", ["reading", "writing"])
    async def test_a_caller_cancelled_at_any_moment_leaves_nothing(self, database: Database, verb: str) -> None:
        """Wherever it was, also while its transaction was just beginning: the next one finds the database in order."""
        transaction = {"reading": database.reading, "writing": database.writing}[verb]

        async def looks() -> None:
            async with transaction() as db:
                await db.rows(ALL)

        for moment in range(40):
            task = asyncio.create_task(looks())
            for _ in range(moment):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await looks()

    async def test_what_a_constraint_refuses_is_told_apart(self, database: Database) -> None:
        """A second row of one name is the caller's fault: no trouble of the database's, and nobody's words are in the error."""
        async with database.writing() as db:
            await db.run(PUT, name="secret words", number=1)

        with pytest.raises(ValueError, match="refuses") as caught:
            async with database.writing() as db:
                await db.run(PUT, name="secret words", number=2)

        assert "secret words" not in str(caught.value)

    async def test_writers_do_not_lose_each_others_changes(self, database: Database) -> None:
        """Twenty that add one at once make twenty."""
        async with database.writing() as db:
            await db.run(PUT, name="sum", number=0)

        async def add() -> None:
            async with database.writing() as db:
                await db.run("UPDATE made SET number = number + 1 WHERE name = :name", name="sum")

        await asyncio.gather(*(add() for _ in range(20)))

        async with database.reading() as db:
            assert [("sum", 20)] == [tuple(row) for row in await db.rows(ALL)]

    async def test_a_topic_is_heard(self, database: Database) -> None:
        """Every waiter hears that a topic's number has grown, also one that comes late; others' topics wake nobody."""
        waiting = [asyncio.create_task(database.changed("settings", 0)) for _ in range(3)]
        other = asyncio.create_task(database.changed("other", 0))
        await asyncio.sleep(0)
        await database.tell("settings")
        async with asyncio.timeout(5):
            heard = await asyncio.gather(*waiting)
            late = await database.changed("settings", 0)

        assert [1, 1, 1, 1] == [*heard, late]
        assert not other.done()
        other.cancel()
