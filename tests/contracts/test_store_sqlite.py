"""What only the SQLite store promises: one file, one writing process, readers beside it, backups while it runs."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, closing
from pathlib import Path

import pytest

from memory.base import Identity, Load
from memory.errors import SchemaTooNew, StoreUnavailable
from memory.ids import Ids
from memory.key import scope_of
from memory.stores.lock import StoreLock
from memory.stores.sqlite import SqliteStore
from memory.stores.sqlite_file import check_version
from tests.contracts.derived import answered, learned, live, person
from tests.contracts.store import (
    NOW,
    fact,
    item,
    key,
    ledger,
    opened,
    put,
    replied,
    rule,
    said,
    talk,
    texts,
    window,
    wish,
)


def store_at(
    path: Path, *, write_turn: asyncio.Lock | None = None, timeout_s: float = 5, **fields: bool
) -> SqliteStore:
    return SqliteStore(path, ids=Ids(1), write_turn=write_turn or asyncio.Lock(), timeout_s=timeout_s, **fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "clew memory?.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    async with store_at(path) as opened_store:
        yield opened_store


async def test_the_folder_is_made_and_the_file_is_for_its_owner_only(path: Path, store: SqliteStore) -> None:
    """What people said is nobody else's to read on the machine."""
    assert "0o600" == oct(path.stat().st_mode & 0o777)
    assert "0o600" == oct(path.with_name(path.name + "-wal").stat().st_mode & 0o777)


async def test_a_full_store_keeps_the_contract_s_basics(path: Path) -> None:
    """`synchronous` FULL is a setting, not another store."""
    store = SqliteStore(path, ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=5, synchronous="FULL")
    async with store:
        scope = await opened(store)
        await talk(store, scope.id, 1)

        assert ["q1", "a1"] == await window(store, scope.id)


@pytest.mark.parametrize("size", [200, 3000])
async def test_the_work_of_a_turn_does_not_grow_with_history(store: SqliteStore, size: int) -> None:
    """Counted in SQLite's own steps, which no busy machine changes: goal M4 of engines.md B.1."""
    scope = await opened(store)
    many = [message for n in range(size // 2) for message in (said(f"q{n}", n), replied(f"a{n}", n))]
    await put(store, scope.id, *many, turn_id=1)
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    store._db.set_progress_handler(count, 1)
    await store.append_and_load(
        scope.id,
        [said("now", 9, platform_message_id="m")],
        wish(scope.id, page=20, person_id=7),
        turn_id=9,
        session=rule(),
        fence=1,
    )
    await put(store, scope.id, replied("reply", 9), turn_id=9)
    await store.turn_messages(wish(scope.id).owner, 9)
    turn_steps, steps = steps, 0
    await store.edit(scope.id, "m", by=key(), text="mended", tokens=1, low_value=False, now_ms=NOW)
    await store.delete(scope.id, "m", by=key(), now_ms=NOW)
    change_steps, steps = steps, 0
    other = await store.open_scope(scope_of(key(agent="other"), mode="conversation"), now_ms=NOW, agent_change="carry")
    carried = (await store.load(wish(other.id))).carried
    store._db.set_progress_handler(None, 0)

    assert 20 == len(carried)
    assert turn_steps < 4000
    assert change_steps < 2000
    assert steps < 4000


@pytest.mark.parametrize("size", [50, 3000])
async def test_the_work_of_recall_does_not_grow_where_little_may_be_shown(store: SqliteStore, size: int) -> None:
    """In a group, and for another namespace, whatever the person has said elsewhere in the question's words (M4)."""
    scope, me = await opened(store), await person(store)
    group = await opened(store, room="g", chat_type="group")
    rows = [(scope.id, n, me, "shared", "private", "s", n, 1, b"") for n in range(1, size)]
    columns = "scope_id, id, person_id, namespace, chat_type, session_id, position, length, terms"
    store._db.executemany(f"INSERT INTO fragments ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    store._db.executemany("INSERT INTO terms VALUES (7, ?, ?, 1)", [(n, scope.id) for n in range(1, size)])
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    store._db.set_progress_handler(count, 1)
    found = [
        (await store.load(wish(scope_id, person_id=me, terms=(7,), hits=4, **place))).hits
        for scope_id, place in (
            (group.id, {"chat_type": "group"}), (scope.id, {"namespace": "hr"}), (scope.id, {}),
        )
    ]  # fmt: skip
    store._db.set_progress_handler(None, 0)

    assert [0, 0, 4] == [len(hits) for hits in found]
    assert steps < 4000


@pytest.mark.parametrize("size", [50, 3000])
async def test_the_work_of_learning_does_not_grow_with_what_was_known(store: SqliteStore, size: int) -> None:
    """Of a person and a room that have a history: reading what there is to learn from, writing it, taking it back (M4)."""
    scope, me = await opened(store), await person(store)
    past = {"scope_id": scope.id, "person_id": me, "status": "superseded"}
    await store.put_facts([fact(n, session_id="s-0", source_ids=(n,), slot=f"{n}", **past) for n in range(1, size)])
    await store.put_profile([item(n, source_ids=(n,), slot=f"{n}", **past) for n in range(1, size)])
    await put(store, scope.id, *(said(f"{n}", n) for n in range(size)), turn_id=7, session=rule("s-0"))
    await store.end_session(scope.id, now_ms=NOW)
    turn = await answered(store, scope.id, 1, person_id=me)
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    store._db.set_progress_handler(count, 1)
    read = await store.derived.material(ledger(1, scope.id, person_id=me), namespace="shared")
    new = item(0, person_id=me, scope_id=scope.id, source_ids=(turn[0].id,))
    assert await store.derived.settle(learned(turn, person_id=me, material=read, items=(new,), item_terms=((),)))
    covered = await store.derived.covered(scope.id, "s-1")
    assert turn == await store.derived.stretch(scope.id, "s-1", after_id=0, limit=9)
    learned_steps, steps = steps, 0
    await store.edit(scope.id, "m1", by=key(), text="mended", tokens=1, low_value=False, now_ms=NOW)
    store._db.set_progress_handler(None, 0)

    assert ([], []) == await live(store, me)
    assert 1 == covered.turns
    assert learned_steps < 2500
    assert steps < 2500


class TestOneWriter:
    """One process writes; the others wait, or are told."""

    def test_a_second_gateway_is_told_who_uses_the_file(self, tmp_path: Path) -> None:
        with (
            StoreLock(tmp_path / "clew.db"),
            pytest.raises(StoreUnavailable, match=rf"another gateway \(process {os.getpid()}\) is using .*clew\.db"),
            StoreLock(tmp_path / "clew.db"),
        ):
            pass

        with StoreLock(tmp_path / "new folder" / "clew.db"), StoreLock(tmp_path / "clew.db"):
            pass

    def test_a_killed_gateway_leaves_no_lock(self, tmp_path: Path) -> None:
        """The operating system gives it back (openclaw/openclaw#96374's kind: a lane blocked by a dead process)."""
        holder = _child("with StoreLock(path): print('held', flush=True); sys.stdin.read()", tmp_path / "clew.db")
        assert holder.stdout is not None
        assert b"held\n" == holder.stdout.readline()
        with pytest.raises(StoreUnavailable, match=f"process {holder.pid}"), StoreLock(tmp_path / "clew.db"):
            pass

        holder.kill()
        holder.communicate()

        with StoreLock(tmp_path / "clew.db"):
            pass

    def test_a_lock_needs_a_folder_that_can_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()

        with pytest.raises(StoreUnavailable, match="check the folder"), StoreLock(tmp_path / "file" / "clew.db"):
            pass

    async def test_writes_wait_for_their_turn_and_give_up_in_time(self, path: Path) -> None:
        """The queues' writer holds the same lock; a stuck one costs an error, not the loop."""
        write_turn = asyncio.Lock()
        async with store_at(path, write_turn=write_turn, timeout_s=0.02) as store:
            scope = await opened(store)
            await write_turn.acquire()
            with pytest.raises(StoreUnavailable, match=r"busy for 0\.02 s"):
                await talk(store, scope.id, 1)
            assert [] == await window(store, scope.id)
            write_turn.release()

            await talk(store, scope.id, 1)

            assert ["q1", "a1"] == await window(store, scope.id)

    async def test_a_foreign_writer_costs_an_error_and_nothing_more(self, path: Path) -> None:
        """ "database is locked" is `StoreUnavailable`, and the next call works (mem0ai/mem0#7196)."""
        async with store_at(path, timeout_s=0.02) as store:
            scope = await opened(store)
            foreign = sqlite3.connect(path, isolation_level=None)
            foreign.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="locked"):
                await store.ping()
            assert [] == await window(store, scope.id)
            foreign.close()

            await store.ping()

    async def test_a_failed_write_leaves_nothing_behind(self, path: Path, store: SqliteStore) -> None:
        """The message and its ledger stand or fall together, also when the disk objects half-way."""
        scope = await opened(store)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("ALTER TABLE ledgers RENAME TO gone")

        with pytest.raises(StoreUnavailable, match="no such table"):
            await put(store, scope.id, said("q", 1), turn_id=1, ledger=ledger(1, scope.id))

        assert [] == await window(store, scope.id)
        other.execute("ALTER TABLE gone RENAME TO ledgers")
        other.close()
        await put(store, scope.id, said("q", 1), turn_id=1, ledger=ledger(1, scope.id))
        assert ["q"] == await window(store, scope.id)

    def test_starting_several_processes_at_once_makes_one_schema(self, tmp_path: Path) -> None:
        """Real processes on an empty folder: all come up."""
        starters = [_child("asyncio.run(start(path)); print('up')", tmp_path / "clew.db") for _ in range(4)]

        answers = [starter.communicate(timeout=60) for starter in starters]

        assert [(b"up\n", b"")] * 4 == answers

    async def test_a_killed_process_loses_no_turn_it_was_told_of_and_tears_none(self, tmp_path: Path) -> None:
        """SIGKILL between statements: whole turns only, with their ledgers, and all that were acknowledged."""
        path = tmp_path / "clew.db"
        writer = _child("asyncio.run(write(path))", path)
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(50)]
        writer.send_signal(signal.SIGKILL)
        rest, _ = writer.communicate()
        told += [int(line) for line in rest.splitlines() if line.isdigit()]

        async with store_at(path) as store:
            scope = await opened(store)
            rows = (await store.load(wish(scope.id, page=100_000))).window
            ledgers = [await store.ledger(row.turn_id) for row in rows]

        turns = [row.turn_id for row in rows]
        assert set(told[:-1]) <= set(turns)  # the last line may be torn
        assert all(2 == turns.count(turn) for turn in set(turns))
        assert all(ledgers)


PRELUDE = """
import asyncio, sys
from pathlib import Path
from memory.ids import Ids
from memory.stores.lock import StoreLock
from memory.stores.sqlite import SqliteStore
from tests.contracts.store import ledger, opened, put, replied, said

path = Path(sys.argv[1])

async def start(path):
    async with SqliteStore(path, ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=30) as store:
        await opened(store)

async def write(path):
    async with SqliteStore(path, ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=30) as store:
        scope = await opened(store)
        for n in range(1, 100_000):
            await put(store, scope.id, said("q", n), replied("a", n), turn_id=n, ledger=ledger(n, scope.id))
            print(n, flush=True)

"""


def _child(script: str, path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + script, str(path)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


class TestReader:
    """Reading verbs beside a live gateway."""

    async def test_a_reader_sees_what_the_gateway_writes(self, path: Path, store: SqliteStore) -> None:
        scope = await opened(store)
        async with store_at(path, read_only=True) as reader:
            await talk(store, scope.id, 1)

            assert ["q1", "a1"] == await window(reader, scope.id)
            assert scope.id == (await opened(reader)).id

    async def test_a_reader_cannot_write(self, path: Path, store: SqliteStore) -> None:
        scope = await opened(store)
        async with store_at(path, read_only=True) as reader:
            with pytest.raises(StoreUnavailable, match="readonly"):
                await talk(reader, scope.id, 1)
            with pytest.raises(StoreUnavailable, match="readonly"):
                await reader.person(Identity(kind="web", tenant="", account="a"), now_ms=NOW)

    async def test_the_log_is_cut_when_nobody_reads_from_it(
        self, path: Path, store: SqliteStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Whoever exports something must neither be cut off nor hold up writers: what was deleted stays there, which is said."""
        scope = await opened(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM scopes").fetchall()
            await talk(store, scope.id, 1)
            await store.wipe()
            assert ["could not be emptied" in record.message for record in caplog.records] == [True]
            assert 0 < path.with_name(path.name + "-wal").stat().st_size

        await store.wipe()

        assert 0 == path.with_name(path.name + "-wal").stat().st_size
        assert ["q1", "a1"] == await window(store, scope.id)

    async def test_a_reader_needs_a_file(self, path: Path) -> None:
        with pytest.raises(StoreUnavailable, match="there is no storage at"):
            async with store_at(path, read_only=True):
                pass

        assert not path.exists()

    async def test_a_reader_refuses_an_older_and_a_newer_schema(self, tmp_path: Path) -> None:
        path = tmp_path / "clew.db"
        other = sqlite3.connect(path, isolation_level=None)
        with pytest.raises(StoreUnavailable, match="older schema 0"):
            async with store_at(path, read_only=True):
                pass
        other.execute("CREATE TABLE memory_schema (version INTEGER PRIMARY KEY, name TEXT, applied_ms INTEGER)")
        other.execute("INSERT INTO memory_schema VALUES (9999, 'x', 0)")
        other.close()

        with pytest.raises(SchemaTooNew):
            async with store_at(path, read_only=True):
                pass


class TestFile:
    """Opening, closing, looking at the file."""

    def test_an_old_sqlite_is_refused_clearly(self) -> None:
        """STRICT tables came with 3.37."""
        check_version((3, 37, 0))

        with pytest.raises(StoreUnavailable, match=r"SQLite 3\.36\.9 is too old, 3\.37\.0 is needed"):
            check_version((3, 36, 9))

    async def test_a_file_that_is_no_database_is_refused(self, path: Path) -> None:
        path.parent.mkdir()
        path.write_bytes(b"not a database, certainly not " * 100)

        for read_only in (False, True):
            with pytest.raises(StoreUnavailable, match="not a database"):
                async with store_at(path, read_only=read_only):
                    pass

    async def test_a_folder_that_cannot_be_made_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()

        with pytest.raises(StoreUnavailable, match="check the folder"):
            async with store_at(tmp_path / "file" / "clew.db"):
                pass

    async def test_a_closed_store_says_so(self, path: Path) -> None:
        store = store_at(path)
        with pytest.raises(StoreUnavailable, match="is closed"):
            await store.ping()
        async with store:
            await store.ping()
        with pytest.raises(StoreUnavailable, match="is closed"):
            await store.load(Load(owner=wish(1).owner, now_ms=NOW))

    async def test_a_deleted_text_leaves_no_bytes_in_the_file(self, path: Path, store: SqliteStore) -> None:
        """Gone is gone, also from the pages that nobody uses any more."""
        scope = await opened(store)
        await put(store, scope.id, said("geheimes Wort " * 500, 1, platform_message_id="m"), turn_id=1)
        await store.delete(scope.id, "m", by=key(), now_ms=NOW)
        other = sqlite3.connect(path)
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        other.close()

        left = b"".join(file.read_bytes() for file in path.parent.iterdir())

        assert b"geheimes" not in left

    async def test_status_tells_schema_and_sizes(self, store: SqliteStore) -> None:
        scope = await opened(store)
        await talk(store, scope.id, 2)

        size = await store.size()

        assert 1 <= await store.schema_version()
        assert (1, 1, 4, 0) == (size["scopes"], size["sessions"], size["messages"], size["ledgers"])
        assert 4096 <= size["bytes"]


class TestBackup:
    """A copy of one moment, while others go on writing; and back again."""

    async def test_a_backup_is_one_moment_and_can_be_started_from(self, path: Path, store: SqliteStore) -> None:
        """Restore is: put the file in place."""
        scope = await opened(store)
        await put(store, scope.id, *[said("x" * 2000, n) for n in range(2000)], turn_id=1)
        backup = path.with_name("backup.db")

        async with aclosing(store.backup(str(backup))) as steps:
            remaining = []
            async for left in steps:
                assert not backup.exists()
                remaining.append(left)
                await talk(store, scope.id, 1, first=10_000 + len(remaining))

        assert len(remaining) > 2
        assert sorted(remaining, reverse=True) == remaining
        assert 0 == remaining[-1]
        async with store_at(backup) as restored:
            assert scope.id == (await opened(restored)).id
            assert ["x" * 2000] * 2000 == await window(restored, scope.id, page=5000)
            await talk(restored, scope.id, 1)
        assert len(await window(store, scope.id, page=5000)) > 2000

    async def test_a_backup_overwrites_nothing(self, path: Path, store: SqliteStore) -> None:
        backup = path.with_name("backup.db")
        backup.write_text("mine")

        with pytest.raises(FileExistsError, match="choose another name"):
            async for _ in store.backup(str(backup)):
                pass

        assert "mine" == backup.read_text()

    async def test_a_backup_given_up_leaves_nothing(self, path: Path, store: SqliteStore) -> None:
        scope = await opened(store)
        await put(store, scope.id, *[said("x" * 2000, n) for n in range(2000)], turn_id=1)

        async with aclosing(store.backup(str(path.with_name("backup.db")))) as steps:
            await anext(steps)

        assert [] == sorted(path.parent.glob("backup.db*"))
        await store.ping()

    async def test_a_backup_that_cannot_be_written_is_told(self, path: Path, store: SqliteStore) -> None:
        with pytest.raises(StoreUnavailable, match="unable to open"):
            async for _ in store.backup(str(path.parent / "nowhere" / "backup.db")):
                pass

    async def test_a_reader_can_back_up_beside_the_gateway(self, path: Path, store: SqliteStore) -> None:
        scope = await opened(store)
        await talk(store, scope.id, 1)
        backup = path.with_name("backup.db")

        async with store_at(path, read_only=True) as reader:
            async for _ in reader.backup(str(backup)):
                pass

        async with store_at(backup, read_only=True) as restored:
            assert ["q1", "a1"] == texts((await restored.load(wish(scope.id))).window)
