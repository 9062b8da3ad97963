"""Ledgers on PostgreSQL come apart by quarters: made ahead, read where they are, dropped as a whole."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from memory.derived import Learned
from memory.ids import Ids, first_id
from memory.people import Account
from memory.postgres_migrating import bring_up_to_date
from memory.stores import postgres_derived_sql, postgres_sql
from memory.stores.migrate import MEMORY
from memory.stores.postgres import PostgresStore
from memory.stores.postgres_quarters import COUNTED, Quarter, missing
from tests.contracts.columns import PostgresColumn
from tests.contracts.derived import person
from tests.contracts.store import key, ledger, opened, put, replied, rule, said
from tests.residues import in_postgres, left_of
from tests.services import as_admin

DAY = timedelta(days=1)
TODAY = datetime.now(UTC)


def ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def quarter(moment: datetime) -> str:
    return f"{moment.year}q{(moment.month + 2) // 3}"


def begins(year: int, month: int) -> int:
    return first_id(ms(datetime(year, month, 1, tzinfo=UTC)))


def test_this_quarter_and_half_a_year_ahead_should_be_there() -> None:
    """Over the turn of a year, and nothing twice: what covers a quarter, from whenever on, is enough."""
    before = Quarter("ledgers_first", None, begins(2027, 4))
    second, third, fourth, first = (
        Quarter(f"ledgers_{name}", begins(*start), begins(*end))
        for name, start, end in (
            ("2027q2", (2027, 4), (2027, 7)),
            ("2027q3", (2027, 7), (2027, 10)),
            ("2027q4", (2027, 10), (2028, 1)),
            ("2028q1", (2028, 1), (2028, 4)),
        )
    )
    now = ms(datetime(2027, 6, 30, 23, 59, tzinfo=UTC))

    assert [second, third, fourth] == list(missing([], now_ms=now))
    assert [second, third, fourth] == list(missing([before], now_ms=now))
    assert [fourth] == list(missing([second, third], now_ms=now))
    assert [] == list(missing([Quarter("ledgers_first", None, begins(2028, 1))], now_ms=now))
    assert [first] == list(missing([before, second, third, fourth], now_ms=now + 60_000))


def test_a_clock_that_was_years_ahead_keeps_nobody_from_making_what_is_due() -> None:
    """Nor does whoever stands still for years make up for all quarters of them."""
    wrong = [Quarter("ledgers_2061q1", begins(2061, 1), begins(2061, 4))]
    now = ms(datetime(2027, 1, 1, tzinfo=UTC))

    assert ["ledgers_2027q1", "ledgers_2027q2", "ledgers_2027q3"] == [one.name for one in missing(wrong, now_ms=now)]


@pytest.fixture
def column(postgres_url: str) -> PostgresColumn:
    return PostgresColumn(postgres_url)


@pytest.fixture
async def store(column: PostgresColumn) -> AsyncIterator[PostgresStore]:
    async with column.open() as opened_store:
        assert isinstance(opened_store, PostgresStore)
        yield opened_store


async def partitions(column: PostgresColumn) -> list[str]:
    return [
        name
        for (name,) in await column.sql(
            "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            " WHERE i.inhparent = 'ledgers'::regclass AND c.relname <> 'ledgers_rest'"
            " ORDER BY (c.relname <> 'ledgers_first'), c.relname"
        )
    ]


async def keep(store: PostgresStore, column: PostgresColumn, *when: datetime) -> list[int]:
    """Store turns of these moments, with their ledgers, and let them be learned from."""
    scope = await opened(store)
    turns = [Ids(1, clock=lambda moment=moment: ms(moment)).next() for moment in when]  # type: ignore[misc]
    for moment, turn in zip(when, turns, strict=True):
        at, made = {"now_ms": ms(moment), "session": rule(f"s-{turn}")}, ledger(turn, scope.id, now_ms=ms(moment))
        await put(store, scope.id, said("q 问", turn), turn_id=turn, **at)
        await put(store, scope.id, replied("a", turn), turn_id=turn, ledger=made, **at)
    await column.sql("UPDATE ledgers SET due_ms = NULL")
    return turns


async def test_what_is_there_at_first_and_two_quarters_ahead(store: PostgresStore, column: PostgresColumn) -> None:
    """A new database, or one from before, keeps all until the next quarter in one partition; opening makes those that follow."""
    begins = datetime(TODAY.year, (TODAY.month - 1) // 3 * 3 + 1, 1, tzinfo=UTC)
    after = [begins + 93 * DAY * n for n in (1, 2)]

    there = await partitions(column)
    assert "ledgers_first" == there[0]
    assert {f"ledgers_{quarter(moment)}" for moment in after} <= {*there[1:], f"ledgers_{quarter(after[0])}"}
    assert quarter(after[1]) == there[-1].removeprefix("ledgers_")


async def test_the_job_makes_room_for_the_months_to_come(store: PostgresStore, column: PostgresColumn) -> None:
    """Years on, without a restart: the three that are wanted then, once, whoever asks again; turns of then stand there."""
    before, later = await partitions(column), TODAY + 1000 * DAY
    for _ in range(2):
        await store.make_room(now_ms=ms(later))

    assert len(before) + 3 == len(await partitions(column))
    (turn,) = await keep(store, column, later)
    assert [(f"ledgers_{quarter(later)}",)] == await column.sql(
        f"SELECT tableoid::regclass::text FROM ledgers WHERE turn_id = {turn}"
    )


async def test_whole_quarters_go_and_what_is_younger_or_due_stays(store: PostgresStore, column: PostgresColumn) -> None:
    """Its rows are counted with the others; a quarter that holds a ledger made later, of a turn that was opened again, or one
    that nothing was learned from yet, does not go as a whole."""
    moments = [TODAY + n * 92 * DAY for n in (2, 3, 4)]
    for moment in moments:
        await store.make_room(now_ms=ms(moment))
    old, young, again = (
        await keep(store, column, moments[0], moments[0] + timedelta(seconds=1)),
        await keep(store, column, moments[2]),
        await keep(store, column, moments[1]),
    )
    await column.sql(f"UPDATE ledgers SET created_ms = {ms(moments[2])} WHERE turn_id = {again[0]}")
    before = ms(moments[2]) - 1

    assert f"ledgers_{quarter(moments[0])}" in await partitions(column)
    assert [2, 0] == [await store.purge_ledgers(before_ms=before, limit=1) for _ in range(2)]
    there = await partitions(column)
    assert f"ledgers_{quarter(moments[0])}" not in there
    assert {f"ledgers_{quarter(moment)}" for moment in moments[1:]} <= {*there}
    assert [False, False, True, True] == [await store.ledger(turn) is not None for turn in (*old, *young, *again)]

    await column.sql(f"UPDATE ledgers SET created_ms = {before - 9}, due_ms = 1 WHERE turn_id = {again[0]}")
    assert [1, 0] == [await store.purge_ledgers(before_ms=before, limit=5) for _ in range(2)]
    assert f"ledgers_{quarter(moments[1])}" not in await partitions(column)


async def test_a_turn_whose_quarter_is_gone_is_stored_and_goes_in_its_time(
    store: PostgresStore, column: PostgresColumn
) -> None:
    """A dead letter, a year later, that an admin has answered after all; it is learned from, read and deleted like others."""
    later = TODAY + 800 * DAY
    await store.make_room(now_ms=ms(later))
    await store.purge_ledgers(before_ms=ms(later), limit=10)
    assert "ledgers_first" not in await partitions(column)

    (turn,) = await keep(store, column, TODAY)
    kept = await store.ledger(turn)
    assert kept is not None
    assert [(turn, "ledgers_rest")] == await column.sql("SELECT turn_id, tableoid::regclass::text FROM ledgers")
    await store.save_ledger(kept, fence=9)
    due = await store.derived.claim(owner="a", now_ms=ms(later), lease_ms=1000, limit=5)
    assert [turn] == [one.ledger.turn_id for one in due]
    assert await store.derived.settle(Learned(ledger=kept, person_id=None, namespace="", versions=()))
    assert [1, 0] == [await store.purge_ledgers(before_ms=ms(later), limit=10) for _ in range(2)]


async def test_turns_that_come_before_their_quarter_is_made_move_there(
    store: PostgresStore, column: PostgresColumn
) -> None:
    """On the first of a quarter that nobody made ready, for want of a lock or by a clock that is wrong, everybody is answered as
    before. Once it is made they stand in it, and others stay where they are."""
    early, other = TODAY + 800 * DAY, TODAY + 1200 * DAY
    turns = await keep(store, column, early, early + timedelta(seconds=1), other)
    where = "SELECT turn_id, tableoid::regclass::text FROM ledgers ORDER BY turn_id"
    assert [(turn, "ledgers_rest") for turn in turns] == await column.sql(where)

    await store.make_room(now_ms=ms(early))

    own = f"ledgers_{quarter(early)}"
    assert list(zip(turns, (own, own, "ledgers_rest"), strict=True)) == await column.sql(where)
    assert [True] * 3 == [await store.ledger(turn) is not None for turn in turns]


async def test_a_start_goes_on_without_quarters_that_it_may_not_make(
    column: PostgresColumn, caplog: pytest.LogCaptureFixture
) -> None:
    """The owner of the tables took the right to make some away after an upgrade."""
    await column.sql("DROP TABLE " + ", ".join(f"ledgers_{quarter(TODAY + n * 92 * DAY)}" for n in (1, 2)))
    with psycopg.connect(as_admin(column.url), autocommit=True) as admin:
        admin.execute("ALTER SCHEMA public OWNER TO postgres")
        admin.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")

    with caplog.at_level(logging.WARNING):
        async with column.open() as store:
            assert isinstance(store, PostgresStore)
            await keep(store, column, TODAY + 400 * DAY)

    assert ["partitions of the ledgers are still to be made"] == caplog.messages


async def test_a_big_quarter_goes_without_being_counted(store: PostgresStore, column: PostgresColumn) -> None:
    """Of fifty million that would take longer than a connection is lent for, so that nothing would ever go any more."""
    moment = TODAY + 500 * DAY
    await store.make_room(now_ms=ms(moment))
    await column.sql(
        "INSERT INTO ledgers (turn_id, scope_id, created_ms, body)"
        f" SELECT {first_id(ms(moment))} + n, 1, {ms(moment)}, '' FROM generate_series(0, {COUNTED}) n"
    )
    with psycopg.connect(as_admin(column.url), autocommit=True) as admin:
        admin.execute("UPDATE pg_class SET reltuples = 5e7 WHERE relname = %s", (f"ledgers_{quarter(moment)}",))

    assert 50_000_000 == await store.purge_ledgers(before_ms=ms(moment + 100 * DAY), limit=9)
    assert f"ledgers_{quarter(moment)}" not in await partitions(column)


async def test_a_start_goes_on_where_making_a_quarter_takes_too_long(
    column: PostgresColumn, caplog: pytest.LogCaptureFixture
) -> None:
    """As where millions of rows came before it."""
    await column.sql("DROP TABLE " + ", ".join(f"ledgers_{quarter(TODAY + n * 92 * DAY)}" for n in (1, 2)))
    with psycopg.connect(as_admin(column.url), autocommit=True) as admin:
        admin.execute(
            "CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(30); END $$"
        )
        admin.execute("CREATE EVENT TRIGGER slow ON ddl_command_start EXECUTE FUNCTION slow()")

    with caplog.at_level(logging.WARNING):
        async with PostgresStore(column.url, ids=Ids(1), pool_size=2, timeout_s=0.5) as opened_store:
            assert await opened_store.schema_version()

    assert "partitions of the ledgers are still to be made" in caplog.messages


async def test_a_quarter_in_use_is_left_for_the_next_time(
    store: PostgresStore, column: PostgresColumn, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody waits long for a quarter to go, and its rows go one by one meanwhile."""
    moment = TODAY + 200 * DAY
    await store.make_room(now_ms=ms(moment))
    (turn,) = await keep(store, column, moment)
    async with await psycopg.AsyncConnection.connect(as_admin(column.url)) as reader:
        await reader.execute("SELECT count(*) FROM ledgers")
        with caplog.at_level(logging.WARNING):
            assert 1 == await store.purge_ledgers(before_ms=ms(moment + 100 * DAY), limit=9)

    assert await store.ledger(turn) is None
    assert f"ledgers_{quarter(moment)}" in await partitions(column)
    assert "partitions of the ledgers are still to be dropped" in caplog.messages


async def test_a_turn_s_ledger_is_read_from_its_quarter_alone(store: PostgresStore, column: PostgresColumn) -> None:
    """Also by a plan that was made once for all turns; what a turn is not found by is found by an index of each quarter."""
    for step in range(1, 7):
        await store.make_room(now_ms=ms(TODAY + step * 92 * DAY))
    there = len(await partitions(column))
    assert there >= 8

    async with await psycopg.AsyncConnection.connect(column.url, autocommit=True) as db:
        for setting in ("plan_cache_mode = force_generic_plan", "enable_seqscan = off"):
            await db.execute(f"SET {setting}".encode())

        async def plan(statement: postgres_sql.Statement, kinds: str, values: str) -> str:
            await db.execute(f"PREPARE p ({kinds}) AS ".encode() + statement.text)
            rows = await (await db.execute(f"EXPLAIN (COSTS OFF) EXECUTE p ({values})".encode())).fetchall()
            await db.execute("DEALLOCATE p")
            return "\n".join(line for (line,) in rows)

        by_turn = await plan(postgres_sql.LEDGER, "bigint", str(first_id(ms(TODAY))))
        put_off = await plan(postgres_derived_sql.PUT_OFF, "bigint, bigint", f"1, {first_id(ms(TODAY))}")
        by_age = await plan(postgres_sql.LEDGERS, "bigint, bigint, bigint", "1, 1, 10")

    assert f"Subplans Removed: {there}" in by_turn
    assert f"Subplans Removed: {there}" in put_off
    assert "Seq Scan" not in by_turn + put_off + by_age


async def test_a_database_of_the_release_before_keeps_its_ledgers(bare_postgres_url: str, tmp_path: Path) -> None:
    """With a border that the conversion found half done, and a turn of a clock that was ahead by decades; what was due is due,
    what was old can go."""
    (tmp_path / "postgres").mkdir()
    for path in sorted((MEMORY.folder / "postgres").glob("*.sql"))[:14]:
        (tmp_path / "postgres" / path.name).write_bytes(path.read_bytes())
    async with await psycopg.AsyncConnection.connect(bare_postgres_url, autocommit=True) as db:
        await bring_up_to_date(db, replace(MEMORY, folder=tmp_path), lock=1, now_ms=0)
        for turns in ("generate_series(1, 1000)", f"CAST({2**62} AS bigint)"):
            await db.execute(
                "INSERT INTO ledgers (turn_id, scope_id, created_ms, due_ms, body)"
                f" SELECT n, 1, least(n, 2000), nullif(n, 7), '{{}}' FROM {turns} n".encode()
            )
        await db.execute("ALTER TABLE ledgers ADD CONSTRAINT ledgers_border CHECK (turn_id < 5) NOT VALID")  # cut off
    async with PostgresColumn(bare_postgres_url).open() as store:
        purged = [await store.purge_ledgers(before_ms=501, limit=300) for _ in range(3)]
    left = "SELECT count(*), count(due_ms), min(turn_id), max(turn_id) FROM ledgers_first"

    assert [300, 200, 0] == purged
    assert [(501, 501, 501, 2**62)] == await PostgresColumn(bare_postgres_url).sql(left)


async def test_an_erasure_finds_a_person_s_turns_on_both_sides_of_a_border(
    store: PostgresStore, column: PostgresColumn
) -> None:
    """B46: nothing of theirs stays in a quarter that nobody thought of, nor anything of what they said."""
    me, account = await person(store, "hippo"), Account(key(user="hippo").columns()[0], "web")
    scope = await opened(store, user="hippo")
    await store.make_room(now_ms=ms(TODAY + 184 * DAY))
    for moment in (TODAY, TODAY + 92 * DAY, TODAY + 184 * DAY):
        turn = Ids(1, clock=lambda moment=moment: ms(moment)).next()  # type: ignore[misc]
        at, mine = {"now_ms": ms(moment), "session": rule(f"s-{turn}")}, key(user="hippo")
        await put(store, scope.id, said("琥珀色河马", turn, key=mine, person_id=me), turn_id=turn, **at)
        made = ledger(turn, scope.id, person_id=me)
        await put(store, scope.id, replied("Seegurke🥒", turn, key=mine, person_id=me), turn_id=turn, ledger=made, **at)
    assert [(3, 3)] == await column.sql("SELECT count(*), count(DISTINCT tableoid) FROM ledgers")

    erased = await store.persons.erase(me, accounts=[account], posted=[], now_ms=ms(TODAY))
    await store.persons.unlink(me)

    assert 3 == erased.counts["ledgers"]
    assert [(0,)] == await column.sql("SELECT count(*) FROM ledgers")
    assert [] == left_of(("琥珀色河马", "Seegurke🥒", "hippo"), in_postgres(column.url))
