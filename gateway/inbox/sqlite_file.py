"""The queues' connections to the SQLite file: one thread that writes in group commits, one connection that reads.

The reader works on the event loop (a look-up costs 10 to 20 µs, a thread hop several times that); the writer does not, as
every commit waits for the disk (synchronous FULL: what was acknowledged survives a power cut).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

from gateway.errors import LeaseLost, QueueRefused, StoreBusy
from gateway.inbox.batch import RETRY_AFTER_S, GroupCommit
from gateway.inbox.schema import QUEUES
from memory.ids import now_ms
from memory.sqlite_errors import refuses
from memory.sqlite_migrating import bring_up_to_date

T = TypeVar("T")

OLDEST = (3, 37, 0)  # STRICT tables


@dataclass(frozen=True, slots=True)
class _Write:
    """`then` runs on the loop once `work` is committed, whether or not the caller still waits: a client that hung up must
    not leave its stored event unscheduled."""

    work: Callable[[sqlite3.Connection], object]
    then: Callable[[Any], None]


class SqliteFile:
    """An open file; `async with` opens and closes it. `run` is its number of openings, this one included."""

    run: int

    def __init__(self, path: Path, *, write_turn: asyncio.Lock, timeout_s: float) -> None:
        """`write_turn` is held while a batch is written: whoever else writes to the file from this process takes it too.
        `timeout_s` bounds the wait for it, and for the file."""
        self._path = path
        self._write_turn = write_turn
        self._timeout_s = timeout_s
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="queue-writer")
        self._commits: GroupCommit[_Write, object] = GroupCommit(self._commit, name="SQLite queue")
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> SqliteFile:
        if sqlite3.sqlite_version_info < OLDEST:
            raise StoreBusy(
                f"SQLite {sqlite3.sqlite_version} is older than 3.37; install a newer Python", retry_after_s=60
            )
        async with AsyncExitStack() as opened:
            opened.callback(self._thread.shutdown)
            async with self._turn():
                self._writer = await self._in_thread(self._connect)
                opened.callback(self._writer.close)
                self.run = await self._in_thread(self._begin_run)
            self._reader = self._connect()
            opened.callback(self._reader.close)
            self._reader.execute("PRAGMA query_only = ON")
            await opened.enter_async_context(self._commits)
            self._opened = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    @property
    def in_line(self) -> int:
        """Number of writes not yet begun."""
        return len(self._commits)

    def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `query` reads: everything committed before."""
        with _translated():
            return query(self._reader)

    async def look(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """As `read`, for what takes longer: in a thread, on a connection of its own, so that nobody's turn waits for it."""

        def looked() -> T:
            uri = f"{self._path.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True, timeout=self._timeout_s, isolation_level=None)) as db:
                db.execute("BEGIN")
                return query(db)

        with _translated():
            return await asyncio.to_thread(looked)

    async def write(self, work: Callable[[sqlite3.Connection], T], then: Callable[[T], None] = lambda _: None) -> T:
        """Run `work` in the writer's next transaction and, on the loop, `then` with its result; return that when both are
        done. What `work` raises undoes its own writes only."""
        return cast("T", await self._commits(_Write(work, then)))  # the line is shared by all kinds of work

    async def _commit(self, writes: Sequence[_Write]) -> Sequence[object]:
        async with self._turn():
            results = await self._in_thread(self._transaction, writes)
        for write, result in zip(writes, results, strict=True):
            if not isinstance(result, Exception):
                write.then(result)
        return results

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._write_turn.acquire()
        except TimeoutError as exc:
            raise StoreBusy(f"no turn to write within {self._timeout_s:g} s", retry_after_s=RETRY_AFTER_S) from exc
        try:
            yield
        finally:
            self._write_turn.release()

    async def _in_thread(self, work: Callable[..., T], *args: object) -> T:
        with _translated():
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=self._timeout_s, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(
            "PRAGMA secure_delete = ON"
        )  # what is emptied leaves no bytes in the pages' free room; builds differ
        return db

    def _begin_run(self) -> int:
        with _transaction(self._writer) as db:
            bring_up_to_date(db, QUEUES, now_ms=now_ms())
            db.execute("UPDATE queue_run SET run = run + 1")
            (run,) = db.execute("SELECT run FROM queue_run").fetchone()
            return int(run)

    def _transaction(self, writes: Sequence[_Write]) -> list[object]:
        with _transaction(self._writer) as db:
            (run,) = db.execute("SELECT run FROM queue_run").fetchone()
            if run != self.run:
                raise LeaseLost("the file belongs to a gateway started later; this one must stop")
            return [_alone(db, write.work) for write in writes]


def _alone(db: sqlite3.Connection, work: Callable[[sqlite3.Connection], object]) -> object:
    db.execute("SAVEPOINT work")
    try:
        result = work(db)
    except sqlite3.OperationalError:
        raise  # the file, not the work
    except Exception as exc:  # any: its caller gets it, the others' writes stand
        db.execute("ROLLBACK TO work")
        result = ValueError(f"SQLite refuses: {exc}") if isinstance(exc, sqlite3.Error) else exc
    db.execute("RELEASE work")
    return result


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # a full disk has ended it already
            db.execute("ROLLBACK")
        raise


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as exc:
        kind = QueueRefused if refuses(exc) else StoreBusy
        raise kind(f"SQLite: {exc}", retry_after_s=RETRY_AFTER_S) from exc
