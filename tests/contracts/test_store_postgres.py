"""What the memory store on PostgreSQL keeps beyond the contract: restarts, locks, errors, and the cost of a long history."""

from __future__ import annotations

import asyncio
import os
import signal
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest

from memory.base import Identity, Load, Message, NewMessage
from memory.errors import Fenced, StoreUnavailable
from memory.ids import Ids
from memory.key import scope_of
from memory.postgres_fences import RAISE
from memory.stores import postgres_sql as sql
from memory.stores import postgres_turn as turn_sql
from memory.stores.postgres import PostgresStore
from memory.stores.postgres_pool import Refused
from memory.stores.postgres_rows import Draft, load_values
from memory.stores.postgres_statement import Statement, statement
from tests.contracts.columns import PostgresColumn
from tests.contracts.store import (
    NOW,
    fact,
    item,
    key,
    ledger,
    opened,
    owner,
    put,
    replied,
    rule,
    said,
    summary,
    talk,
    texts,
    window,
    wish,
)
from tests.services import Postgres, as_admin, running_postgres, silent_server

ANN = Identity(kind="web", tenant="T1", account="ann")


def store_on(url: str, *, pool_size: int = 4, timeout_s: float = 5) -> PostgresStore:
    return PostgresStore(url, ids=Ids(1), pool_size=pool_size, timeout_s=timeout_s)


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    async with store_on(postgres_url) as opened_store:
        yield opened_store


@pytest.fixture
def column(postgres_url: str) -> PostgresColumn:
    return PostgresColumn(postgres_url)


@pytest.fixture
def own_server() -> Iterator[Postgres]:
    """A server that a test may stop, and that keeps what it has committed."""
    with running_postgres() as server:
        with psycopg.connect(server.url("postgres"), autocommit=True) as admin:
            admin.execute("ALTER ROLE clew SET synchronous_commit = on")
        yield server


class TestFences:
    """Who may write, also where the database has forgotten what it gave."""

    @pytest.mark.parametrize("known", [True, False])
    async def test_after_a_restore_no_turn_of_before_writes(
        self, store: PostgresStore, postgres_url: str, known: bool
    ) -> None:
        """A process that outlived the restore has a fence that its scope has never seen, greater than all that it knows; nor
        may it begin a scope. The next turn, under a fence of after, may write to both."""
        scope = await opened(store)
        if known:
            await put(store, scope.id, said("before", 1), turn_id=1, fence=5)
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute(RAISE, (1000,))
            db.execute(RAISE, (10,))  # never lowered
        with pytest.raises(Fenced, match="fence 900 is older than 1000"):
            await put(store, scope.id, said("late", 2), turn_id=2, fence=900)
        with pytest.raises(Fenced):
            await store.append_and_load(
                scope.id, [said("late", 2)], wish(scope.id), turn_id=2, session=rule(), fence=900
            )
        with pytest.raises(Fenced):
            await store.save_ledger(ledger(1, scope.id), fence=900)
        if known:
            with pytest.raises(Fenced):
                await put(store, scope.id, said("before", 1), replied("late", 1), turn_id=1, fence=900)
        await put(store, scope.id, said("after", 3), turn_id=3, fence=1001)

        assert [*["before"] * known, "after"] == await window(store, scope.id)


class TestFailure:
    """A server that stops, comes back, refuses or is not there."""

    @pytest.mark.parametrize("made", ["scopes", "identities"])
    async def test_what_was_made_and_lost_at_once_is_the_stores_failure(
        self, store: PostgresStore, postgres_url: str, made: str
    ) -> None:
        """A server that does not wait for its disk ends between the two statements: the turn is tried again, and no try of its
        own is lost. A trigger that keeps no row stands for that."""
        with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
            db.execute("CREATE FUNCTION lost() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
            db.execute(f"CREATE TRIGGER lost BEFORE INSERT ON {made} FOR EACH ROW EXECUTE FUNCTION lost()".encode())

            with pytest.raises(StoreUnavailable, match="lost what was just made"):
                await (opened(store) if made == "scopes" else store.person(ANN, now_ms=NOW))
            db.execute(f"DROP TRIGGER lost ON {made}".encode())

        assert await (opened(store) if made == "scopes" else store.person(ANN, now_ms=NOW))

    async def test_a_restarted_server_is_used_again_at_once(self, own_server: Postgres) -> None:
        """Every pooled connection is dead after a restart; the first call after it succeeds all the same."""
        async with store_on(own_server.url("postgres")) as store:
            scope = await opened(store)
            await asyncio.gather(*(put(store, scope.id, said(f"m{n}", n), turn_id=n) for n in range(8)))
            own_server.stop()
            own_server.start()

            stored = await asyncio.gather(
                *(put(store, scope.id, said(f"n{n}", 10 + n), turn_id=10 + n) for n in range(8))
            )

            assert 8 == len(stored)
            assert 16 == len(await window(store, scope.id))

    async def test_traffic_survives_a_restart_exactly_once(self, own_server: Postgres) -> None:
        """Turns that run while the server stops are repeated by their caller: nothing is lost, doubled or reordered."""
        async with store_on(own_server.url("postgres")) as store:
            scopes = [await opened(store, room=f"r{n}") for n in range(4)]
            halfway = asyncio.Event()

            async def converse(scope_id: int) -> None:
                for turn_id in range(1, 41):
                    if turn_id == 10:
                        halfway.set()
                    for message in (said(f"q{turn_id}", turn_id), replied(f"a{turn_id}", turn_id)):
                        await _until_stored(store, scope_id, message, turn_id=turn_id)

            async def restart() -> None:
                await halfway.wait()
                await asyncio.to_thread(own_server.stop)
                await asyncio.to_thread(own_server.start)

            async with asyncio.TaskGroup() as group:
                group.create_task(restart())
                for scope in scopes:
                    group.create_task(converse(scope.id))

            spoken = [text for n in range(1, 41) for text in (f"q{n}", f"a{n}")]
            for scope in scopes:
                assert spoken == await window(store, scope.id, page=100)

    async def test_a_stopped_server_is_told_in_time(self, own_server: Postgres) -> None:
        """Without a server a call ends with StoreUnavailable after the time that the settings give it."""
        async with store_on(own_server.url("postgres"), timeout_s=0.5) as store:
            scope = await opened(store)
            own_server.stop()

            async with asyncio.timeout(10):
                with pytest.raises(StoreUnavailable):
                    await put(store, scope.id, said("hello", 1), turn_id=1)

    async def test_a_server_that_falls_silent_is_not_waited_for(
        self, postgres_url: str, column: PostgresColumn
    ) -> None:
        """Connections that are open and answer nothing cost the time limit; afterwards the store works on."""
        async with store_on(postgres_url, pool_size=2, timeout_s=0.5) as store:
            scope = await opened(store)
            silent = await column.sql(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            for (pid,) in silent:
                os.kill(pid, signal.SIGSTOP)
            try:
                async with asyncio.timeout(20):
                    with pytest.raises(StoreUnavailable):
                        await put(store, scope.id, said("lost", 1), turn_id=1)
            finally:
                for (pid,) in silent:
                    os.kill(pid, signal.SIGCONT)

            await _until_stored(store, scope.id, said("goes on", 2), turn_id=2)

            assert "goes on" == (await window(store, scope.id))[-1]

    async def test_a_lost_connection_is_replaced_beside_a_silent_one(
        self, postgres_url: str, column: PostgresColumn
    ) -> None:
        """Whoever meets a dead connection is given a new one; nobody asks the idle ones first how they are."""
        async with store_on(postgres_url, pool_size=2, timeout_s=5) as store:
            scope = await opened(store)
            await asyncio.gather(*(put(store, scope.id, said(f"m{n}", n), turn_id=n) for n in range(2)))
            for n in (2, 3):  # one after the other, by the one connection and the other
                await put(store, scope.id, said(f"m{n}", n), turn_id=n)
            # The pool hands out what has rested longest.
            (next_one,), (other,) = await column.sql(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND backend_type = 'client backend' ORDER BY state_change"
            )
            os.kill(other, signal.SIGSTOP)
            try:
                await column.sql(f"SELECT pg_terminate_backend({next_one})")
                call = asyncio.create_task(put(store, scope.id, said("goes on", 9), turn_id=9))
                await asyncio.wait([call], timeout=4)
                assert call.done()
            finally:
                os.kill(other, signal.SIGCONT)
            assert ["goes on"] == [message.text for message in await call]

    async def test_a_server_that_never_says_a_word_is_told_at_the_start(self) -> None:
        """Whatever takes the connection and does not speak is given up in time."""
        with silent_server() as port, pytest.raises(StoreUnavailable):
            async with asyncio.timeout(30), store_on(f"postgresql://clew@127.0.0.1:{port}/clew", timeout_s=0.5):
                pass

    async def test_a_reader_changes_nothing(self, bare_postgres_url: str) -> None:
        """A store opened for reading makes no schema, and the server refuses its writes."""
        reader = PostgresStore(bare_postgres_url, ids=Ids(2), pool_size=2, timeout_s=5, read_only=True)
        with pytest.raises(StoreUnavailable, match="no memory yet"):
            async with reader:
                pass
        async with store_on(bare_postgres_url) as store:
            scope = await opened(store)
            await put(store, scope.id, said("hello", 1), turn_id=1)

        async with PostgresStore(bare_postgres_url, ids=Ids(2), pool_size=2, timeout_s=5, read_only=True) as reader:
            with pytest.raises(StoreUnavailable, match="ReadOnly"):
                await put(reader, scope.id, said("again", 2), turn_id=2)
            assert ["hello"] == await window(reader, scope.id)

    async def test_a_reader_wants_the_schema_of_its_release(self, postgres_url: str, column: PostgresColumn) -> None:
        """A store opened for reading does not guess at an older schema."""
        async with store_on(postgres_url):
            await column.sql("DELETE FROM memory_schema")

        with pytest.raises(StoreUnavailable, match="older schema 0"):
            async with PostgresStore(postgres_url, ids=Ids(2), pool_size=2, timeout_s=5, read_only=True):
                pass

    async def test_opening_says_what_is_wrong(self, postgres_server: Postgres) -> None:
        """Who mistypes the database's name reads that name."""
        with pytest.raises(StoreUnavailable, match="nowhere"):
            async with store_on(postgres_server.url("nowhere")):
                pass

    async def test_a_database_in_another_encoding_is_refused(self, postgres_server: Postgres) -> None:
        """A database that cannot hold every script is refused at start and not at the first Chinese message."""
        name = f"latin_{os.getpid()}"
        async with await psycopg.AsyncConnection.connect(postgres_server.url("postgres"), autocommit=True) as admin:
            await admin.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0".encode())

            with pytest.raises(StoreUnavailable, match="UTF8"):
                async with store_on(postgres_server.url(name)):
                    pass

            await admin.execute(f"DROP DATABASE {name}".encode())

    async def test_a_lock_is_waited_for_in_bounds_and_leaves_the_connections_clean(
        self, postgres_url: str, column: PostgresColumn
    ) -> None:
        """More calls than connections wait behind a lock: each ends in time, and the next ones find working connections."""
        async with store_on(postgres_url, pool_size=2, timeout_s=0.3) as store:
            scope = await opened(store)
            async with await psycopg.AsyncConnection.connect(postgres_url) as blocker:
                await blocker.execute("SELECT 1 FROM scopes FOR UPDATE")
                calls = [put(store, scope.id, said("waits", n), turn_id=n) for n in range(8)]
                ended = await asyncio.gather(*calls, return_exceptions=True)
            assert [StoreUnavailable] * 8 == [type(error) for error in ended]

            await asyncio.gather(*(put(store, scope.id, said(f"m{n}", n), turn_id=n) for n in range(8)))

            assert {f"m{n}" for n in range(8)} == set(await window(store, scope.id))

    async def test_a_cancelled_call_leaves_the_connection_clean(self, postgres_url: str) -> None:
        """A turn that is stopped in the middle of a statement takes nobody else's connection with it."""
        async with store_on(postgres_url, pool_size=2) as store:
            scope = await opened(store)
            async with await psycopg.AsyncConnection.connect(postgres_url) as blocker:
                await blocker.execute("SELECT 1 FROM scopes FOR UPDATE")
                calls = [asyncio.ensure_future(put(store, scope.id, said("stopped", n), turn_id=n)) for n in range(2)]
                while not await _waiting_for_locks(postgres_url, 2):
                    pass
                for call in calls:
                    call.cancel()
                ended = await asyncio.gather(*calls, return_exceptions=True)
            assert [asyncio.CancelledError] * 2 == [type(error) for error in ended]

            await put(store, scope.id, said("goes on", 9), turn_id=9)

            assert ["goes on"] == await window(store, scope.id)

    async def test_an_error_never_quotes_what_was_said(self, column: PostgresColumn, store: PostgresStore) -> None:
        """PostgreSQL's own words hold the whole row; ours hold its code and the rule that was broken."""
        scope = await opened(store)
        secret = "said to " + "nobody"
        await column.sql(f"ALTER TABLE messages ADD CONSTRAINT polite CHECK (text <> '{secret}')")

        with pytest.raises(Refused, match="23514, polite") as refused:
            await put(store, scope.id, said(secret, 1), turn_id=1)

        assert secret not in "".join(traceback.format_exception(refused.value))
        assert isinstance(refused.value, StoreUnavailable)


class TestConcurrency:
    """Several writers of one scope at the same moment."""

    async def test_the_same_append_many_times_at_once_is_stored_once(self, postgres_url: str) -> None:
        """Two instances that both believe to own a turn store its message once, and both get it."""
        async with store_on(postgres_url) as one, store_on(postgres_url) as two:
            scope = await opened(one)
            stores = (one, two) * 5

            stored = await asyncio.gather(
                *(put(store, scope.id, said("once", 1), said("twice", 2), turn_id=1) for store in stores)
            )

            assert 1 == len(set(stored))
            assert ["once", "twice"] == await window(one, scope.id)

    async def test_a_turn_beside_an_edit_reads_one_moment(self, postgres_url: str) -> None:
        """A window read while an edit commits carries the generation that belongs to its text."""
        async with store_on(postgres_url) as store:
            scope = await opened(store)
            await put(store, scope.id, said("v0", 1, platform_message_id="p"), turn_id=1)

            async def edits() -> None:
                for n in range(1, 30):
                    await store.edit(scope.id, "p", by=key(), text=f"v{n}", tokens=1, low_value=False, now_ms=NOW + n)

            async def turns() -> list[tuple[int | None, str]]:
                seen = []
                for n in range(30):
                    loaded = await store.append_and_load(
                        scope.id,
                        [said("x", 100 + n)],
                        wish(scope.id, page=100),
                        turn_id=100 + n,
                        session=rule(),
                        fence=1,
                    )
                    seen.append((loaded.generation, loaded.window[0].text))
                return seen

            seen, _ = await asyncio.gather(turns(), edits())

            assert all(text == f"v{generation}" for generation, text in seen)


class TestSchema:
    """Tables that change while statements on them are prepared."""

    async def test_a_new_column_disturbs_no_running_instance(
        self, column: PostgresColumn, store: PostgresStore
    ) -> None:
        """A newer release may add columns while this one runs on."""
        scope = await opened(store)
        await talk(store, scope.id, 1)
        await store.put_summary(summary(1, scope.id))
        await store.load(wish(scope.id))
        for table in ("messages", "summaries", "facts", "profile_items", "observed", "scopes"):
            await column.sql(f"ALTER TABLE {table} ADD COLUMN later text NOT NULL DEFAULT 'x'")

        await talk(store, scope.id, 1, first=2)
        loaded = await store.load(wish(scope.id))

        assert (["q1", "a1", "q2", "a2"], ()) == (texts(loaded.window), loaded.failed)
        assert summary(1, scope.id) == loaded.summary

    async def test_a_part_that_cannot_be_read_as_what_it_is_fails_alone(
        self, column: PostgresColumn, store: PostgresStore
    ) -> None:
        """A column of another type is a broken part like a missing one (A31, F1)."""
        scope = await opened(store)
        await talk(store, scope.id, 1)
        await store.put_summary(summary(1, scope.id))
        await column.sql("ALTER TABLE summaries ALTER COLUMN tokens TYPE text USING 'many'")

        loaded = await store.load(wish(scope.id))

        assert (["q1", "a1"], None, ("summary",)) == (texts(loaded.window), loaded.summary, loaded.failed)

    async def test_people_survive_the_loss_of_all_scopes(self, column: PostgresColumn, store: PostgresStore) -> None:
        """Without the table of scopes a load still gives what belongs to the person alone."""
        scope = await opened(store)
        await store.put_profile([item(1), item(2, pinned=True)])
        await column.sql("ALTER TABLE scopes RENAME TO gone")

        loaded = await store.load(wish(scope.id, person_id=7))

        assert ((item(2, pinned=True),), (item(1),)) == (loaded.pinned, loaded.profile)
        assert {"window", "observed", "summary", "facts", "unlearned", "hits"} == set(loaded.failed)

    async def test_status_tells_version_and_size(self, store: PostgresStore) -> None:
        """`db status` reads the schema's version and the number of rows."""
        scope = await opened(store)
        await talk(store, scope.id, 2)

        size = await store.size()

        assert 1 <= await store.schema_version()
        assert (1, 1, 4) == (size["scopes"], size["sessions"], size["messages"])
        assert size["bytes"] > 0


class TestCost:
    """What a turn reads does not grow with its conversation (M4)."""

    async def test_no_statement_of_a_turn_walks_the_history(self, column: PostgresColumn, store: PostgresStore) -> None:
        """In a conversation of four thousand messages every statement touches a few pages of each table."""
        scope = await opened(store)
        for first in range(0, 2000, 200):
            many = [message for n in range(first, first + 200) for message in (said("q", n), replied("a", n))]
            await put(store, scope.id, *many, turn_id=-1 - first)
        await store.put_facts([fact(n, scope.id) for n in range(1, 6)])
        names = scope_of(key(agent="other"), mode="conversation")
        carrying = await store.open_scope(names, now_ms=NOW, agent_change="carry")
        await column.sql("VACUUM ANALYZE")
        owned = owner(scope.id, person_id=7)
        draft = Draft([said("next", 9000)], ids=Ids(2), scope_id=scope.id, turn_id=9000, now_ms=NOW)
        values = load_values(Load(owner=owned, now_ms=NOW)) | draft.values(rule(), fence=1)
        values |= {
            "limit": 40,
            "before_id": 2**62,
            "platform_message_id": "p",
            "room": "C1",
            "user": "U1",
            "text": "t",
            "tokens": 1,
            "low_value": False,
        }

        async with await psycopg.AsyncConnection.connect(
            column.url, cursor_factory=psycopg.AsyncRawCursor
        ) as connection:
            await connection.execute("SET plan_cache_mode = force_generic_plan")
            for name in ("LOAD", "APPEND", "APPEND_AND_LOAD", "REPEAT"):
                assert await pages(connection, getattr(turn_sql, name), values) < 80, name
            assert await pages(connection, turn_sql.LOAD, values | {"scope_id": carrying.id}) < 80
            for name in ("OF_TURN", "OLDER", "PLACE", "EDIT", "DELETE", "END_SESSION"):
                assert await pages(connection, getattr(sql, name), values) < 80, name


def test_parameters_are_numbered_by_their_first_use() -> None:
    """A parameter that is used twice is sent once."""
    assert Statement(b"SELECT $1, $2, $1", ("b", "a")) == statement("SELECT %(b)s, %(a)s, %(b)s")


async def _until_stored(store: PostgresStore, scope_id: int, message: NewMessage, *, turn_id: int) -> Message:
    """Append as a lane would: again and again, until the store is there."""
    while True:
        try:
            return (await put(store, scope_id, message, turn_id=turn_id, session=rule(f"s-{scope_id}")))[0]
        except Refused:
            raise
        except StoreUnavailable:
            continue


async def _waiting_for_locks(url: str, backends: int) -> bool:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        cursor = await connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return await cursor.fetchone() == (backends,)


async def pages(connection: psycopg.AsyncConnection[tuple[Any, ...]], tested: Statement, values: dict[str, Any]) -> int:
    """Return how many pages the statement touches, index and table together; nothing of it stays."""
    await connection.execute(b"PREPARE tested AS " + tested.text)
    parameters = ", ".join(_literal(values[name]) for name in tested.names)
    explain = f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE tested({parameters})"
    cursor = await connection.execute(explain.encode())
    row = await cursor.fetchone()
    await connection.rollback()
    await connection.execute("DEALLOCATE ALL")
    assert row is not None
    plan = row[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, list):
        return f"'{{{', '.join(map(str, value))}}}'"
    return str(value).lower()
