"""`db copy`: every row of a SQLite file stands in PostgreSQL, once, or it is said that it doesn't."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gateway.app import schemas
from gateway.copying import source, target
from gateway.copying.copying import Copied, Tell, begun, copy
from gateway.copying.plan import Step, plan
from gateway.copying.refusals import CannotCopy, Differs
from gateway.copying.source import Row, Source
from gateway.copying.target import Target
from gateway.errors import StoreBusy
from gateway.inbox.postgres import PostgresInbox
from tests.copies import ROWS, fill, make
from tests.services import as_admin

SIZE = 4


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with rows in every table."""
    path = tmp_path_factory.mktemp("copied") / "clew.db"
    make(path)
    fill(path)
    return path


@contextmanager
def both(path: Path, url: str) -> Iterator[tuple[Source, Target]]:
    with source.opened(path, timeout_s=10) as here, target.connected(url, timeout_s=10) as there:
        yield here, there


def silent(_total: int, _doing: str) -> Tell:
    return lambda _done, _table: None


def copied(path: Path, url: str, tell: Callable[[int, str], Tell] = silent) -> Copied:
    """Copy, or go on with it."""
    with both(path, url) as (here, there):
        resumed = begun(here, there, known=schemas(), make=lambda: None)
        return copy(here, there, resumed=resumed, tell=tell, batch=SIZE)


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        return db.execute(query.encode()).fetchall()


def test_every_table_and_column_is_in_the_plan(filled: Path, postgres_url: str) -> None:
    """What a schema change adds is copied, or `gateway/copying/plan.py` says why not. If this fails, it says what to do."""
    with both(filled, postgres_url) as (here, there):
        steps = plan(here.tables(), there.tables())

    names = [step.table for step in steps]
    assert {"messages", "ledgers", "terms", "inbox_events", "outbox_chunks", "admin_audit", "vault"} <= {*names}
    assert names.index("scopes") < names.index("sessions")
    assert names.index("fragments") < names.index("vectors")


def test_a_filled_file_arrives_whole(filled: Path, postgres_url: str) -> None:
    """Every table's rows, counted and compared; nothing is left of the copying, and gateways may be started."""
    made = copied(filled, postgres_url)

    assert not made.resumed
    assert {ROWS, 1, 2} == {*made.rows.values()}
    assert [(None,)] == rows(postgres_url, "SELECT to_regclass('copy_progress')")
    first, second = rows(
        postgres_url, "SELECT text, steps::text, quote::text, low_value FROM messages ORDER BY id LIMIT 2"
    )
    assert ("1 naïve 😀 e\u0301", '[{"name": "搜索", "detail": "", "ms": 3}]', True) == (*first[:2], first[3])
    assert '{"name": "李", "text": "a\\"b\\\\", "by_bot": false}' == first[2]
    assert ("2 a\tb\\n\n\\.", "[]", None, False) == second
    assert [([1, 2**62], 2**62), ([], 0)] == rows(
        postgres_url, "SELECT source_ids, last_source FROM facts ORDER BY id LIMIT 2"
    )
    assert [(1, 2), (4, 5)] == rows(postgres_url, "SELECT id, alias_of FROM scopes WHERE alias_of > 0 ORDER BY id")
    assert [(1, 2), (3, 4), (5, 6), (7, 1)] == rows(
        postgres_url, "SELECT id, carry_scope_id FROM scopes WHERE carry_scope_id > 0 ORDER BY id"
    )


def test_lanes_fences_and_numbers_go_on_above_the_file_s(filled: Path, postgres_url: str) -> None:
    """Who takes up a lane here may write to its scope; no number is given twice, not even one whose row is gone."""
    copied(filled, postgres_url)

    assert [("大厅0",), ("大厅1",), ("大厅2",)] == sorted(
        rows(postgres_url, "SELECT lane FROM inbox_lanes WHERE owner IS NULL")
    )
    assert [(True,)] == rows(postgres_url, "SELECT nextval('inbox_fence') > (6::bigint << 32)")
    assert [(0,)] == rows(postgres_url, "SELECT DISTINCT owner FROM inbox_events")
    assert [(None,)] == rows(postgres_url, "SELECT DISTINCT owner FROM outbox_queues")
    numbered = [
        ("vectors", "seq"), ("links", "id"), ("privacy_requests", "id"), ("inbox_events", "seq"), ("outbox_chunks", "id"),
        ("admin_users", "id"), ("admin_sessions", "id"), ("admin_tokens", "id"),
    ]  # fmt: skip
    for table, column in numbered:
        assert [(ROWS + 1,)] == rows(postgres_url, f"SELECT nextval(pg_get_serial_sequence('{table}', '{column}'))"), (
            table
        )
    assert [(42,)] == rows(postgres_url, "SELECT nextval(pg_get_serial_sequence('admin_audit', 'id'))")


class Interrupted(Exception):
    """What a test breaks a copy off with."""


class Breaking(Source):
    """Gives out the rows of one batch, and breaks off in the middle of the next."""

    batches = 0

    def rows(self, step: Step, **more: Any) -> Iterator[tuple[Row, list[Any]]]:
        self.batches += "limit" in more
        for number, row in enumerate(super().rows(step, **more), start=1):
            if self.batches == 2 and number == 3:
                raise Interrupted
            yield row
        if self.batches == 2:
            raise Interrupted


def test_broken_off_at_each_batch_it_goes_on(filled: Path, postgres_url: str) -> None:
    """Each run gets one batch further and dies in the middle of the next: at the end all of it is there, once."""
    runs = 0
    while True:
        runs += 1
        try:
            with closing(sqlite3.connect(filled)) as db, target.connected(postgres_url, timeout_s=10) as there:
                here = Breaking(db)
                resumed = begun(here, there, known=schemas(), make=lambda: None)
                made = copy(here, there, resumed=resumed, tell=silent, batch=SIZE if runs % 2 else ROWS + 1)
        except Interrupted:
            continue
        break

    assert made.resumed
    assert 50 < runs
    assert {ROWS, 1, 2} == {*made.rows.values()}


@pytest.mark.parametrize("batch", [1, 60])
def test_a_killed_copy_goes_on(filled: Path, postgres_url: str, batch: int) -> None:
    """By SIGKILL: the server undoes what was under way, and the next run takes up what stands."""
    pid = os.fork()
    if not pid:
        left = batch

        def killed(_done: int, _table: str) -> None:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            copied(filled, postgres_url, lambda _total, _doing: killed)
        finally:
            os._exit(1)
    assert -signal.SIGKILL == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    before = rows(postgres_url, "SELECT sum(rows) FROM copy_progress")
    made = copied(filled, postgres_url)

    assert before > [(0,)]
    assert made.resumed
    assert {ROWS, 1, 2} == {*made.rows.values()}


def stopped(path: Path, url: str) -> None:
    """Copy all of it, and break off where the comparing begins."""

    def telling(_total: int, doing: str) -> Tell:
        if doing == "comparing":
            raise Interrupted
        return lambda _done, _table: None

    with pytest.raises(Interrupted):
        copied(path, url, telling)


CHANGES = (
    "UPDATE messages SET text = overlay(text placing '退' from 1) WHERE id = 3",
    "UPDATE vectors SET vector = set_byte(vector, 0, 9) WHERE id = 5",
    "UPDATE scopes SET alias_of = NULL WHERE id = 4",
    "UPDATE facts SET source_ids = '{7}' WHERE id = 1",
    "DELETE FROM terms WHERE term = 2",
)


def test_a_flipped_byte_is_found(filled: Path, postgres_url: str) -> None:
    """Both are read anew before anybody may use the copy, and which tables differ is said, not what stands in them."""
    stopped(filled, postgres_url)
    with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
        for change in CHANGES:
            db.execute(change.encode())
    with pytest.raises(Differs) as differs:
        copied(filled, postgres_url)

    told = str(differs.value)
    for table in ("messages", "vectors", "scopes", "facts"):
        assert f"{table}: 7 rows in both, but not the same ones" in told
    assert "terms: 7 rows in the file, 6 in the copy" in told
    assert "退" not in told
    assert [(True,)] == rows(postgres_url, "SELECT to_regclass('copy_progress') IS NOT NULL")


def test_a_database_with_rows_is_refused(filled: Path, postgres_url: str) -> None:
    """Nothing is written over: whose rows they are, nobody asks. The rows of everybody count, whoever may see them."""
    with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
        db.execute("INSERT INTO corpora VALUES (1, 'n', 1, 1, 1)")
    with pytest.raises(CannotCopy, match="not empty: there are rows in corpora; copy into a new one"):
        copied(filled, postgres_url)


def test_a_copy_of_another_file_is_refused(filled: Path, postgres_url: str, tmp_path: Path) -> None:
    """And one of the same file, if a gateway was started on it after the copy had broken off."""
    stopped(filled, postgres_url)
    later = changed(filled, tmp_path / "clew.db", "UPDATE queue_run SET run = run + 1")
    with pytest.raises(CannotCopy, match="before a gateway was started on it once more"):
        copied(later, postgres_url)


def test_a_live_gateway_s_database_is_refused(filled: Path, postgres_url: str) -> None:
    """Even if it is empty."""
    with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
        db.execute("INSERT INTO inbox_instances (lease_until) VALUES (clock_timestamp() + interval '1 minute')")
    with pytest.raises(CannotCopy, match="a gateway runs on the database"):
        copied(filled, postgres_url)

    assert [(None,)] == rows(postgres_url, "SELECT to_regclass('copy_progress')")


async def test_a_gateway_that_froze_does_not_go_on(filled: Path, postgres_url: str) -> None:
    """Its lease is out, so a copy may begin; when it wakes up, it joins anew, and is refused."""
    async with PostgresInbox(postgres_url, pool_size=2, timeout_s=10, lease_s=10, poll_s=0.1, accept_max=10) as frozen:
        with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
            db.execute("UPDATE inbox_instances SET lease_until = clock_timestamp() - interval '1 minute'")
        stopped(filled, postgres_url)  # holds up the event loop meanwhile
        seen = 0
        with pytest.raises(StoreBusy, match="run `db copy` again"):  # noqa: PT012  # at one of its looks
            async with asyncio.timeout(30):
                while True:
                    seen = await frozen.changed(seen)


def test_two_copies_at_once_are_refused(filled: Path, postgres_url: str) -> None:
    """The second one, while the first is at work."""
    with both(filled, postgres_url), pytest.raises(CannotCopy, match="another copy"), both(filled, postgres_url):
        pass


@pytest.mark.parametrize("table", ["memory_schema", "queue_schema", "admin_schema"])
def test_another_release_s_schema_is_refused(filled: Path, postgres_url: str, table: str) -> None:
    """On either side: what a column means is a release's own."""
    newer = schemas() | {table: 99}
    told = f"the file's {table} has version [0-9]+, this release's is 99"
    with both(filled, postgres_url) as (here, there), pytest.raises(CannotCopy, match=told):
        begun(here, there, known=newer, make=lambda: None)
    with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
        db.execute(f"DROP TABLE {table}".encode())
    with pytest.raises(CannotCopy, match=f"the database's {table} has version 0, this release's is [0-9]+"):
        copied(filled, postgres_url)


def test_a_server_that_is_away_is_told(filled: Path) -> None:
    """In the driver's words: they name the address, and no password."""
    with pytest.raises(CannotCopy, match="PostgreSQL: connection failed") as refused:
        copied(filled, "postgresql://clew:geheim@127.0.0.1:1/none")

    assert "geheim" not in str(refused.value)


@pytest.mark.parametrize("address", ["clew:geheim@[::1/none", "clew:%geheim@127.0.0.1/none"])
def test_an_address_that_can_t_be_read_is_not_repeated(filled: Path, address: str) -> None:
    """The driver quotes it, and the password with it."""
    with pytest.raises(CannotCopy, match="--to can't be read: write postgresql://") as refused:
        copied(filled, f"postgresql://{address}")

    assert "geheim" not in "".join(traceback.format_exception(refused.value))


def test_a_copy_that_another_release_began_is_refused(filled: Path, postgres_url: str) -> None:
    """What it has made so far is that release's."""
    stopped(filled, postgres_url)
    with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
        db.execute("DELETE FROM queue_schema WHERE version > 1")
    with pytest.raises(CannotCopy, match="the database's queue_schema has version 1, this release's is"):
        copied(filled, postgres_url)


def test_a_file_that_is_none_is_refused(tmp_path: Path, postgres_url: str) -> None:
    """It says which, and what SQLite says of it."""
    path = tmp_path / "clew.db"
    path.write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(CannotCopy, match=r"clew\.db': file is not a database"):
        copied(path, postgres_url)


def test_other_keys_are_refused(filled: Path, postgres_url: str, tmp_path: Path) -> None:
    """What was said under them would not be found."""
    path = changed(filled, tmp_path / "clew.db", "UPDATE meta SET value = 7 WHERE name = 'key_version'")
    with pytest.raises(CannotCopy, match="keys have version 7, this release's is"):
        copied(path, postgres_url)


def test_a_nul_becomes_what_postgres_can_hold(filled: Path, postgres_url: str, tmp_path: Path) -> None:
    """As where text is stored there at once: U+FFFD. What was said is copied; one character does not stop it."""
    path = changed(filled, tmp_path / "clew.db", "UPDATE messages SET text = 'a' || char(0) || '好' WHERE id = 1")
    copied(path, postgres_url)

    assert [("a\ufffd好",)] == rows(postgres_url, "SELECT text FROM messages WHERE id = 1")


def changed(filled: Path, path: Path, *changes: str) -> Path:
    """Return a copy of the file, changed by these statements."""
    with closing(sqlite3.connect(filled)) as db, closing(sqlite3.connect(path)) as other:
        db.backup(other)
        for change in changes:
            other.execute(change)
        other.commit()
    return path


def test_an_escaped_nul_becomes_what_postgres_can_read(filled: Path, postgres_url: str, tmp_path: Path) -> None:
    """JSON takes such escapes in, and refuses whoever looks into it then: an edit of the quoted message, for good."""
    name, text = r"\\u0000 \ud83d\ude00 \u00e9", r"a\u0000好\uDC00b\ud83d"
    quote = f'{{"name": "{name}", "text": "{text}", "by_bot": false}}'
    path = changed(filled, tmp_path / "clew.db", f"UPDATE messages SET quote = '{quote}' WHERE id = 1")
    copied(path, postgres_url)

    assert [(r"\u0000 😀 é", "a\ufffd好\ufffdb\ufffd")] == rows(
        postgres_url, "SELECT quote::jsonb ->> 'name', quote::jsonb ->> 'text' FROM messages WHERE id = 1"
    )


EXTREMES = (
    "UPDATE messages SET thinking_s = 5e-324 WHERE id = 1",
    "UPDATE messages SET thinking_s = -1.7976931348623157e308 WHERE id = 2",
    "UPDATE messages SET thinking_s = 0.1 + 0.2 WHERE id = 3",
    "UPDATE messages SET thinking_s = 9e999, created_ms = 9223372036854775807, tokens = 2147483647 WHERE id = 4",
    "UPDATE facts SET source_ids = '[-9223372036854775808, 9223372036854775807]' WHERE id = 1",
    "UPDATE facts SET source_ids = '[]' WHERE id = 2",
    "UPDATE fragments SET terms = x'' WHERE id = 1",
    "UPDATE vectors SET vector = x'' WHERE id = 1",
)


def test_extremes_arrive_as_they_are(filled: Path, postgres_url: str, tmp_path: Path) -> None:
    """The least and the greatest numbers, fractions to the last bit, and what is empty and not NULL."""
    copied(changed(filled, tmp_path / "clew.db", *EXTREMES), postgres_url)

    assert [(5e-324,), (-1.7976931348623157e308,), (0.1 + 0.2,), (float("inf"),)] == rows(
        postgres_url, "SELECT thinking_s FROM messages ORDER BY id LIMIT 4"
    )
    assert [(2**63 - 1, 2**31 - 1)] == rows(postgres_url, "SELECT created_ms, tokens FROM messages WHERE id = 4")
    assert [([-(2**63), 2**63 - 1],), ([],)] == rows(postgres_url, "SELECT source_ids FROM facts ORDER BY id LIMIT 2")
    assert [([],)] == rows(postgres_url, "SELECT terms FROM fragments WHERE id = 1")
    assert [(b"",)] == rows(postgres_url, "SELECT vector FROM vectors WHERE id = 1")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            "UPDATE fragments SET terms = x'67656865696d' WHERE id = 1",
            "fragments has a damaged row, where scope_id = 1, id = 1",
        ),
        (
            "UPDATE messages SET text = CAST(x'ff67656865696d' AS TEXT) WHERE id = 1",
            "messages has a text that is not UTF-8",
        ),
        ("UPDATE messages SET tokens = 5000000000 WHERE id = 1", "PostgreSQL refuses rows of messages"),
    ],
)
def test_which_table_is_damaged_is_told(
    change: str, told: str, filled: Path, postgres_url: str, tmp_path: Path
) -> None:
    """And where, if that is a number; not what stands there."""
    with pytest.raises(CannotCopy) as refused:
        copied(changed(filled, tmp_path / "clew.db", change), postgres_url)

    assert told in str(refused.value)
    assert "geheim" not in "".join(traceback.format_exception(refused.value))


def test_a_batch_takes_its_time(filled: Path, postgres_url: str) -> None:
    """A server that is slow with many rows is not too slow: else each try would end at the same one."""
    with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
        db.execute("""CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN PERFORM pg_sleep(2.5); RETURN NULL; END $$""")
        db.execute("CREATE TRIGGER slow BEFORE INSERT ON heartbeat FOR EACH STATEMENT EXECUTE FUNCTION slow()")
    with source.opened(filled, timeout_s=10) as here, target.connected(postgres_url, timeout_s=2) as there:
        resumed = begun(here, there, known=schemas(), make=lambda: None)
        made = copy(here, there, resumed=resumed, tell=silent)

    assert 1 == made.rows["heartbeat"]


def test_what_the_server_refuses_is_told(filled: Path, postgres_url: str) -> None:
    """In words, without what was being written."""
    with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
        db.execute("ALTER TABLE messages ADD CONSTRAINT short CHECK (length(text) < 3)")
    with pytest.raises(CannotCopy, match="PostgreSQL refuses") as refused:
        copied(filled, postgres_url)

    assert "CheckViolation (23514, short)" in str(refused.value)
    assert "naïve" not in str(refused.value)
