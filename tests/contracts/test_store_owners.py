"""Row-level security on PostgreSQL: what is known of people is seen by who names them, also where a query forgot its filter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import psycopg
import pytest

from memory.derived import Fragment
from memory.embedding import Embedded, Unembedded
from memory.errors import StoreUnavailable
from memory.ids import Ids
from memory.stores.postgres import PostgresStore
from memory.stores.postgres_derived import PostgresDerived
from memory.stores.postgres_owner import OWNER, owned
from memory.stores.postgres_pool import Database, Refused
from memory.stores.postgres_rows import load_values
from memory.stores.postgres_statement import Statement, statement
from memory.stores.postgres_turn import ALONE
from memory.stores.postgres_vectors import PostgresVectors
from tests.contracts.columns import PostgresColumn
from tests.contracts.derived import answered, learned, live, person
from tests.contracts.store import NOW, fact, item, key, ledger, opened, owner, texts, wish

OWNED = dict.fromkeys(("facts", "profile_items", "fragments", "corpora", "vectors"), "person_id")
TABLES = OWNED | {"terms": "term"}
"""Each with the column that tells whose a row is; here the owner's number is the only term that is kept of them."""


@pytest.fixture
def column(postgres_url: str) -> PostgresColumn:
    return PostgresColumn(postgres_url)


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(postgres_url, ids=Ids(1), pool_size=1, timeout_s=5) as opened_store:
        yield opened_store


@pytest.fixture
async def database(store: PostgresStore, postgres_url: str) -> AsyncIterator[Database]:
    """One connection as the store's own are, for queries that forget their filter."""
    async with Database(postgres_url, pool_size=1, timeout_s=5) as opened_database:
        yield opened_database


async def known(store: PostgresStore, account: str, *, words: str, turn_id: int) -> int:
    """Let something be known of an account's person, in every personal table; return the person."""
    me = await person(store, account)
    scope = await opened(store, user=account, room=f"D{account}")
    turn = await answered(store, scope.id, turn_id, words, person_id=me, key=key(user=account, room=f"D{account}"))
    source = {"source_ids": (turn[0].id,), "scope_id": scope.id, "person_id": me}
    lesson = learned(
        turn,
        person_id=me,
        facts=(fact(0, session_id=turn[0].session_id, value=words, **source),),
        items=(item(0, text=words, value=words, **source),),
        item_terms=(((me, 1),),),
        fragments=(Fragment(scope_id=scope.id, id=turn[0].id, terms=((me, 1),)),),
    )
    assert await store.derived.settle(lesson)
    of = Unembedded(scope_id=scope.id, id=turn[0].id, person_id=me, namespace="shared", text=words, version=1)
    assert 1 == await store.vectors.put("m/2", [Embedded(of=of, vector=b"12345678")])
    return me


def unfiltered(table: str) -> Statement:
    """Return whose the rows are that a query without a filter finds."""
    return statement(f"WITH {OWNER} SELECT (SELECT array_agg({TABLES[table]}) FROM {table} t) FROM me")


class TestWall:
    """A query without a filter."""

    @pytest.mark.parametrize("table", TABLES)
    async def test_it_finds_only_whom_it_names(self, store: PostgresStore, database: Database, table: str) -> None:
        """C18, C21: of nobody named nothing, of one person that person's rows; again and again on one connection, whose
        prepared statement stays."""
        me = await known(store, "甲", words="鞋码42", turn_id=1)
        you = await known(store, "b", words="size 42 👟", turn_id=2)

        for who in (me, None, you, 0, me, None):
            ((found,),) = await database.fetch(unfiltered(table), {"person_id": who})
            assert ({who} if who else set()) == set(found or ())
            assert [] == await database.fetch(statement(f"SELECT * FROM {table}"))

    @pytest.mark.parametrize("table", TABLES)
    async def test_rows_of_others_are_neither_changed_nor_written(
        self, store: PostgresStore, database: Database, column: PostgresColumn, table: str
    ) -> None:
        me = await known(store, "甲", words="鞋码42", turn_id=1)
        you = await known(store, "b", words="size 42", turn_id=2)
        whole = sorted(await column.sql(f"SELECT {TABLES[table]} FROM {table}"))
        others = f"WHERE {TABLES[table]} <> {me}"

        async with database.transaction() as transaction:
            await transaction.name(me)
            await transaction.fetch(statement(f"UPDATE {table} SET {TABLES[table]} = {me} {others}"))
            await transaction.fetch(statement(f"DELETE FROM {table} {others}"))

        assert whole == sorted(await column.sql(f"SELECT {TABLES[table]} FROM {table}"))
        assert {me, you} == {who for (who,) in whole}

    @pytest.mark.parametrize("table", OWNED)
    async def test_rows_are_not_given_to_others(self, store: PostgresStore, database: Database, table: str) -> None:
        me = await known(store, "甲", words="鞋码42", turn_id=1)
        you = await known(store, "b", words="size 42", turn_id=2)
        given = statement(f"UPDATE {table} SET person_id = {you} WHERE person_id = {me}")

        async with database.transaction() as transaction:
            await transaction.name(me)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await transaction.fetch(given)

    async def test_who_names_nobody_writes_nothing(self, database: Database, column: PostgresColumn) -> None:
        for table in TABLES:
            row = f'json_populate_record(NULL::{table}, \'{{"term": 1, "id": 1, "scope_id": 1, "person_id": 7}}\')'
            (
                (names,),
            ) = await column.sql(f"""SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
              WHERE table_name = '{table}' AND is_generated = 'NEVER'""")
            insert = f"INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE SELECT {names} FROM {row}"
            with pytest.raises(Refused, match="InsufficientPrivilege"):
                await database.fetch(statement(insert))

    async def test_rows_are_read_after_their_owner_is_named(self, store: PostgresStore, database: Database) -> None:
        """Of a statement with several rows, too, joined with anything."""
        me = await known(store, "甲", words="鞋码42", turn_id=1)
        await known(store, "b", words="size 42", turn_id=2)
        forgetful = owned("""SELECT f.value, p.text FROM facts f JOIN profile_items p ON p.value = f.value
          WHERE me.person <> ''""")

        for who, expected in ((me, [("鞋码42", "鞋码42")]), (None, []), (me, [("鞋码42", "鞋码42")])):
            assert expected == await database.fetch(forgetful, {"person_id": who})

    async def test_every_table_with_a_person_is_guarded_or_holds_no_words(self, column: PostgresColumn) -> None:
        """A table that is added later is seen here. The admins' own are read by their rights, and no prompt is made from them."""
        async with column.open():
            tables = await column.sql("""SELECT c.relname::text, c.relrowsecurity AND c.relforcerowsecurity
              FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'person_id'
              WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace""")

        assert set(OWNED) == {name for name, guarded in tables if guarded}
        wordless = {"identities", "listings", "link_codes", "link_tries", "privacy_requests"}
        of_admins = {"called", "takeovers", "takeover_posts"}
        assert {"messages", "observed"} | of_admins | wordless >= {name for name, guarded in tables if not guarded}


class TestPooledConnections:
    """The name of an owner ends with its transaction: nobody gets it with a connection."""

    async def nothing_is_named(self, database: Database) -> None:
        rows = await database.fetch(statement("SELECT coalesce(current_setting('clew.person', true), '')"))
        assert [("",)] == rows

    async def test_after_a_statement_and_a_transaction(self, store: PostgresStore, database: Database) -> None:
        me = await known(store, "u1", words="42", turn_id=1)
        await database.fetch(unfiltered("facts"), {"person_id": me})
        await self.nothing_is_named(database)

        async with database.transaction() as transaction:
            await transaction.name(me)
            assert [(me,)] == await transaction.fetch(statement("SELECT person_id FROM facts"))
        await self.nothing_is_named(database)

    async def test_after_an_error(self, database: Database) -> None:
        broken = statement(f"WITH {OWNER} SELECT 1 / (SELECT count(*) FROM facts) FROM me")
        with pytest.raises(Refused):
            await database.fetch(broken, {"person_id": 7})
        await self.nothing_is_named(database)

        with suppress(ValueError):
            async with database.transaction() as transaction:
                await transaction.name(7)
                raise ValueError
        await self.nothing_is_named(database)

    async def test_after_a_call_that_was_cancelled_or_took_too_long(
        self, store: PostgresStore, postgres_url: str, column: PostgresColumn
    ) -> None:
        async with (
            Database(postgres_url, pool_size=1, timeout_s=0.5) as database,
            await psycopg.AsyncConnection.connect(postgres_url) as blocker,
        ):
            await blocker.execute("LOCK TABLE facts")
            with pytest.raises(StoreUnavailable):
                await database.fetch(unfiltered("facts"), {"person_id": 7})
            await self.nothing_is_named(database)

            waiting = asyncio.create_task(database.fetch(unfiltered("facts"), {"person_id": 7}))
            while [(1,)] != await column.sql("SELECT count(*)::integer FROM pg_locks WHERE NOT granted"):
                await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await self.nothing_is_named(database)


class TestStore:
    """The store's own work behind the wall, beyond the contract, which all runs behind it."""

    async def test_a_turn_reads_its_person_s_rows_in_one_statement(self, store: PostgresStore) -> None:
        """M5: on one connection, whose last user was another person."""
        me = await known(store, "u1", words="mine", turn_id=1)
        you = await known(store, "u2", words="yours", turn_id=2)
        scope = await opened(store, user="u1", room="Du1")

        for who, expected in ((me, ["mine"]), (you, ["yours"]), (None, []), (me, ["mine"])):
            loaded = await store.load(wish(scope.id, person_id=who))
            assert expected == [row.text for row in loaded.profile]
            assert () == loaded.failed

    async def test_an_edit_takes_along_what_others_rows_have_of_it(
        self, store: PostgresStore, column: PostgresColumn
    ) -> None:
        """Whoever they belong to by now: persons are joined and parted, and a deletion has to reach all."""
        me = await known(store, "u1", words="mine", turn_id=1)
        heir = await person(store, "u9")
        for table in ("facts", "profile_items"):
            await column.sql(f"UPDATE {table} SET person_id = {heir} WHERE person_id = {me}")
        assert (["mine"], ["order=mine"]) == await live(store, heir)
        scope = await opened(store, user="u1", room="Du1")

        assert await store.delete(scope.id, "m1", by=key(user="u1", room="Du1"), now_ms=NOW)

        assert [] == await column.sql("SELECT 1 FROM facts UNION ALL SELECT 1 FROM profile_items")
        assert [] == await column.sql(f"SELECT 1 FROM fragments WHERE person_id = {me} AND scope_id <> 0")

    async def test_numbers_are_of_everybody_s_rows(self, store: PostgresStore) -> None:
        await known(store, "u1", words="mine", turn_id=1)
        await known(store, "u2", words="yours", turn_id=2)

        size = await store.size()

        assert (2, 2) == (size["facts"], size["profile_items"])

    async def test_what_has_no_vector_is_found_of_everybody(self, store: PostgresStore) -> None:
        """With its words; nobody is named any more afterwards."""
        me = await known(store, "u1", words="mine", turn_id=1)
        you = await known(store, "u2", words="yours", turn_id=2)

        missing = await store.vectors.missing("other/2", limit=10, owner="a", now_ms=NOW, lease_ms=1000)

        assert missing is not None
        assert [(me, "mine")] * 2 + [(you, "yours")] * 2 == sorted((one.person_id, one.text) for one in missing)

    async def test_neighbours_are_found_without_reading_a_long_session(
        self, store: PostgresStore, database: Database, column: PostgresColumn
    ) -> None:
        """Security comes before what is no plain comparison, so that must not be what the index is searched by (M4)."""
        me = await known(store, "u1", words="mine", turn_id=1)
        ((scope_id, id_),) = await column.sql("SELECT scope_id, id FROM fragments WHERE scope_id <> 0")
        await column.sql(f"""INSERT INTO fragments (scope_id, id, person_id, namespace, chat_type, session_id, "position",
            length, terms) SELECT scope_id, id + n, person_id, namespace, chat_type, session_id, "position" + n, 1, terms
          FROM fragments, generate_series(1, 5000) n WHERE id = {id_}""")
        await column.sql(f"""INSERT INTO messages SELECT more.* FROM messages m, generate_series(1, 5000) n,
            jsonb_populate_record(m, jsonb_build_object('id', m.id + n, 'turn_id', m.turn_id + n)) more
          WHERE m.id = {id_}""")
        await column.sql("VACUUM ANALYZE")
        derived, mine = PostgresDerived(database, ids=Ids(2)), owner(scope_id, person_id=me)
        before = await _read(database)

        found = await derived.fragments(mine, [(scope_id, id_ + 2500)])

        assert [id_ + 2498, id_ + 2499, id_ + 2500, id_ + 2501, id_ + 2502] == sorted(row.id for row in found)
        assert (1 + 5) + 5 <= await _read(database) - before < 30

    async def test_learning_reads_no_more_than_there_is_to_write(
        self, store: PostgresStore, database: Database, column: PostgresColumn
    ) -> None:
        """However much was known of the person and in the room: reading, writing, and taking back (M4)."""
        scope, me = await opened(store), await person(store)
        past = f"{me}, {scope.id}, 'superseded', array[n], 'slot ' || n FROM generate_series(1, 5000) n"
        await column.sql(f"""INSERT INTO facts (id, person_id, scope_id, status, source_ids, slot, created_ms, expires_ms,
          session_id, speaker_name, value) SELECT n, {past.replace(" FROM", ", 1, 1, 's-' || n % 9, '', '' FROM")}""")
        await column.sql(f"""INSERT INTO profile_items (id, person_id, scope_id, status, source_ids, slot, valid_from_ms, pinned,
          namespace, kind, text, chat_type)
          SELECT n, {past.replace(" FROM", ", 1, false, 'shared', 'fact', '', 'private' FROM")}""")
        turn = await answered(store, scope.id, 1, person_id=me)
        derived = PostgresDerived(database, ids=Ids(1))
        before = await _read(database, "facts", "profile_items")

        read = await derived.material(ledger(1, scope.id, person_id=me), namespace="shared")
        new = item(0, person_id=me, scope_id=scope.id, source_ids=(turn[0].id,))
        assert await derived.settle(learned(turn, person_id=me, material=read, items=(new,), item_terms=((),)))
        learning = await _read(database, "facts", "profile_items")
        async with database.transaction() as transaction:  # as an edit begins
            await transaction.name_owners(scope.id, [turn[0].id])

        assert (["item 0"], []) == await live(store, me)
        assert learning - before < 20
        assert 0 < await _read(database, "facts", "profile_items") - learning < 20

    async def test_a_group_is_recalled_for_without_reading_all_private_talk(
        self, store: PostgresStore, database: Database, column: PostgresColumn
    ) -> None:
        """A bounded number of the person's is looked at, wherever it was said (M4)."""
        me = await known(store, "u1", words="mine", turn_id=1)
        group = await opened(store, user="u1", room="g", chat_type="group")
        await column.sql(f"""INSERT INTO fragments (scope_id, id, person_id, namespace, chat_type, session_id, "position",
            length, terms) SELECT 9, n, {me}, 'shared', 'private', 's', n, 1, '{{}}' FROM generate_series(1, 5000) n""")
        await column.sql(
            "INSERT INTO terms (term, id, scope_id, times) SELECT 7, n, 9, 1 FROM generate_series(1, 5000) n"
        )
        await column.sql("VACUUM ANALYZE")
        values = load_values(wish(group.id, person_id=me, chat_type="group", terms=(7,), hits=4))
        before = await _read(database, "fragments", "terms")

        rows = await database.fetch(ALONE["hits"], values)

        assert [(None,)] == rows
        assert await _read(database, "fragments", "terms") - before < 100

    async def test_vectors_are_read_without_reading_those_of_others(
        self, store: PostgresStore, database: Database, column: PostgresColumn
    ) -> None:
        """Those of everybody stand in one order, among each other; one's newest are read and nothing else (M4)."""
        me = await known(store, "u1", words="mine", turn_id=1)
        who = f"CASE n % 4 WHEN 0 THEN {me} ELSE 1000 + n % 4 END"
        await column.sql(f"""INSERT INTO fragments (scope_id, id, person_id, namespace, chat_type, session_id, "position",
            length, terms) SELECT 9, n, {who}, 'shared', 'private', 's', n, 1, '{{}}' FROM generate_series(1, 5000) n""")
        await column.sql(f"""INSERT INTO vectors (scope_id, id, person_id, namespace, chat_type, model, vector)
          SELECT 9, n, {who}, 'shared', 'private', 'small/512', decode(repeat('00', 2048), 'hex')
          FROM generate_series(1, 5000) n""")
        # The plan is a table's that has stood for a while: a server that has just started may not let go of older snapshots yet.
        while not (await column.sql("SELECT relallvisible FROM pg_class WHERE relname = 'vectors'"))[0][0]:
            await column.sql("VACUUM ANALYZE")
        before = await _read(database, "vectors")

        found = await PostgresVectors(database).read(me, "shared", "small/512", after=0, first=0, limit=600)

        assert (1250, [*range(2604, 5001, 4)]) == (found.total, [row.id for row in found.rows])
        assert 600 <= await _read(database, "vectors") - before <= 1250 + 600 + 600

    async def test_parts_alone_are_behind_the_wall_too(self, store: PostgresStore, column: PostgresColumn) -> None:
        """Where one part cannot be read, the others are read one by one."""
        me = await known(store, "u1", words="mine", turn_id=1)
        scope = await opened(store, user="u1", room="Du1")
        await column.sql("ALTER TABLE summaries RENAME TO gone")

        loaded = await store.load(wish(scope.id, person_id=me))

        assert (["mine"], ["mine"], ("summary",)) == (
            [row.text for row in loaded.profile],
            [row.value for row in loaded.facts],
            loaded.failed,
        )
        assert ["mine", "reply to mine"] == texts(loaded.window)


async def _read(database: Database, *tables: str) -> int:
    """Return how many rows of these tables (messages and fragments) were read so far, on this connection too."""
    await database.fetch(statement("SELECT pg_stat_force_next_flush()"))
    names = ", ".join(f"'{name}'" for name in tables or ("fragments", "messages"))
    count = f"""SELECT sum(idx_tup_fetch + seq_tup_read)::bigint FROM pg_stat_user_tables WHERE relname IN ({names})"""
    return int((await database.fetch(statement(count)))[0][0])
