"""A pool of one connection, whose last user had named somebody when something went wrong: who comes next and names nobody sees
nothing, and who names themselves sees their own. Whatever went wrong: an error in the statement, a kill, a time-out, a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress

import psycopg
import pytest
import pytest_asyncio

from memory.errors import MemoryFault
from memory.stores.postgres_owner import OWNER
from memory.stores.postgres_pool import Database, Transaction
from memory.stores.postgres_statement import Statement, statement
from tests.attacks.neighbours import Neighbours, neighbours, stored
from tests.contracts.columns import PostgresColumn
from tests.services import Postgres, as_admin, running_postgres

pytestmark = pytest.mark.asyncio(loop_scope="module")

PERSONAL = {"corpora", "facts", "fragments", "profile_items", "terms", "vectors"}
"""The tables behind row-level security; a test below finds them in the catalogue."""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server of these tests' own, as they restart it."""
    with running_postgres() as running:
        yield running


@pytest.fixture(scope="module")
def column(server: Postgres) -> Iterator[PostgresColumn]:
    with server.database() as url:
        yield PostgresColumn(url)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(column: PostgresColumn) -> AsyncIterator[Neighbours]:
    async with neighbours(column) as living:
        yield living


@pytest_asyncio.fixture(loop_scope="module")
async def database(there: Neighbours, column: PostgresColumn) -> AsyncIterator[Database]:
    async with Database(column.url, pool_size=1, timeout_s=5) as opened:
        yield opened


class Attack:
    """Somebody who has named Ann on the one connection when it goes wrong."""

    def __init__(self, database: Database, there: Neighbours, server: Postgres) -> None:
        self.database, self.ann, self.server = database, there.ann.person_id, server
        assert isinstance(there.column, PostgresColumn)
        self.url = as_admin(there.column.url)

    async def fails(self, select: str) -> None:
        """Run a statement that names Ann and then breaks."""
        with pytest.raises(MemoryFault):
            await self.database.fetch(statement(f"WITH {OWNER} {select}"), {"person_id": self.ann})

    async def backend(self, work: Transaction) -> int:
        """Return the connection's process, in a transaction that sees Ann's rows."""
        await work.name(self.ann)
        assert [(True,)] == await work.fetch(statement("SELECT count(*) > 0 FROM facts"))
        ((pid,),) = await work.fetch(statement("SELECT pg_backend_pid()"))
        return int(pid)

    async def while_it_sleeps(self, act: str, pid: int) -> None:
        """Do something to a connection's process as soon as its statement sleeps."""
        asleep = f"SELECT {act}(pid) FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:
            while not await (await connection.execute(asleep.encode(), (pid,))).fetchone():
                await asyncio.sleep(0)


async def error_in_the_statement(attack: Attack) -> None:
    await attack.fails("SELECT 1 / (SELECT count(*) - count(*) FROM facts) FROM me")


async def error_behind_a_write(attack: Attack) -> None:
    """The name and a write in one statement, which a rule refuses."""
    await attack.fails(
        ", gone AS (DELETE FROM facts RETURNING id) INSERT INTO scopes (id) SELECT id FROM gone, me RETURNING id"
    )


async def error_in_a_cte_that_named(attack: Attack) -> None:
    await attack.fails(", bad AS MATERIALIZED (SELECT (person || 'x')::bigint FROM me) SELECT * FROM bad")


async def error_in_a_transaction(attack: Attack) -> None:
    with suppress(MemoryFault, psycopg.Error):
        async with attack.database.transaction() as work:
            await attack.backend(work)
            await work.fetch(statement("SELECT 1 / 0"))


async def exception_of_the_caller(attack: Attack) -> None:
    with suppress(ValueError):
        async with attack.database.transaction() as work:
            await attack.backend(work)
            raise ValueError


async def cancelled_in_a_transaction(attack: Attack) -> None:
    named = asyncio.Event()

    async def hangs() -> None:
        async with attack.database.transaction() as work:
            await attack.backend(work)
            named.set()
            await work.fetch(statement("SELECT pg_sleep(60)"))

    task = asyncio.create_task(hangs())
    await named.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def statement_was_cancelled_by_an_admin(attack: Attack) -> None:
    await _while_it_sleeps(attack, "pg_cancel_backend")


async def backend_was_terminated(attack: Attack) -> None:
    await _while_it_sleeps(attack, "pg_terminate_backend")


async def statement_took_too_long(attack: Attack) -> None:
    with suppress(MemoryFault):
        async with attack.database.transaction() as work:
            await attack.backend(work)
            await work.fetch(statement("SELECT set_config('statement_timeout', '20', true)"))
            await work.fetch(statement("SELECT pg_sleep(60)"))


async def session_was_idle_in_its_transaction_for_too_long(attack: Attack) -> None:
    """The server closes it; who holds the transaction learns so at the next word."""
    with suppress(MemoryFault):
        async with attack.database.transaction() as work:
            pid = await attack.backend(work)
            await work.fetch(statement("SELECT set_config('idle_in_transaction_session_timeout', '20', true)"))
            async with await psycopg.AsyncConnection.connect(attack.url, autocommit=True) as connection:
                while await (
                    await connection.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,))
                ).fetchone():
                    await asyncio.sleep(0)
            await work.fetch(statement("SELECT 1"))


async def server_restarted(attack: Attack) -> None:
    with suppress(MemoryFault):
        async with attack.database.transaction() as work:
            await attack.backend(work)
            await asyncio.to_thread(attack.server.stop)
            await asyncio.to_thread(attack.server.start)
            await work.fetch(statement("SELECT 1"))


async def server_restarted_in_between(attack: Attack) -> None:
    async with attack.database.transaction() as work:
        await attack.backend(work)
    await asyncio.to_thread(attack.server.stop)
    await asyncio.to_thread(attack.server.start)


async def _while_it_sleeps(attack: Attack, act: str) -> None:
    with suppress(MemoryFault):
        async with attack.database.transaction() as work:
            beside = asyncio.create_task(attack.while_it_sleeps(act, await attack.backend(work)))
            try:
                await work.fetch(statement("SELECT pg_sleep(60)"))
            finally:
                await beside


ATTACKS: tuple[Callable[[Attack], Awaitable[None]], ...] = (
    error_in_the_statement, error_behind_a_write, error_in_a_cte_that_named, error_in_a_transaction,
    exception_of_the_caller, cancelled_in_a_transaction, statement_was_cancelled_by_an_admin, backend_was_terminated,
    statement_took_too_long, session_was_idle_in_its_transaction_for_too_long, server_restarted,
    server_restarted_in_between,
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.__name__)
async def test_who_comes_next_sees_nothing(
    there: Neighbours, database: Database, server: Postgres, attack: Callable[[Attack], Awaitable[None]]
) -> None:
    """On the same pool of one: no name, no row of any personal table, though the superuser sees Ann's in each; and Mallory's own
    are Mallory's."""
    await attack(Attack(database, there, server))

    assert [("",)] == await database.fetch(statement("SELECT coalesce(current_setting('clew.person', true), '')"))
    for table in PERSONAL:
        assert [] == await database.fetch(statement(f"SELECT * FROM {table}")), table
        mine = await database.fetch(_unfiltered(table), {"person_id": there.me.person_id})
        assert [] == there.leaks(mine)
    assert PERSONAL - {"terms"} <= {table for table, _ in there.hers()}, "it is all still there"
    assert stored(there.column)["terms"]


async def test_the_guarded_tables_are_those_that_are_tried(there: Neighbours) -> None:
    """As the catalogue tells. Partitions for themselves: a policy of their parent's does not hold for who names them."""
    guarded = await there.column.sql(
        "SELECT relname::text FROM pg_class WHERE relrowsecurity AND relforcerowsecurity AND NOT relispartition"
    )

    assert PERSONAL == {name for (name,) in guarded}
    assert [] == await there.column.sql(
        """SELECT c.relname::text FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid JOIN pg_class p ON p.oid = i.inhparent
          WHERE p.relrowsecurity AND NOT (c.relrowsecurity AND c.relforcerowsecurity)"""
    )


def _unfiltered(table: str) -> Statement:
    return statement(f"WITH {OWNER} SELECT (SELECT json_agg(t)::text FROM {table} t) FROM me")
