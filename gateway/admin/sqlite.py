"""The admins' tables on the SQLite file: one connection that writes, in turn with whoever else does, and two that read.

What writes and what reads at length work in threads of their own: nobody's message waits for them. What is looked up for each
message takes less time than the way to a thread and back, so that is done where it is asked for.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from gateway.admin.database import Row, Transaction, Value, stored
from gateway.admin.schema import ADMINS, TELL, TOPICS
from gateway.admin.topics import Topics
from gateway.errors import StoreBusy
from memory.ids import now_ms
from memory.sqlite_migrating import bring_up_to_date

T = TypeVar("T")

RETRY_AFTER_S = 1.0


class SqliteDatabase:
    """Implements `Database`; `async with` opens and closes it. No other process writes to the file."""

    def __init__(self, path: Path, *, write_turn: asyncio.Lock, timeout_s: float, read_only: bool = False) -> None:
        """`write_turn` is held while a transaction writes: whoever else writes to the file from this process takes it, too.
        `timeout_s` bounds the wait for it, and for the file. `read_only`: beside the gateway that writes, for `reading` alone;
        nothing is migrated, and no topic heard."""
        self._path = path
        self._read_only = read_only
        self._write_turn = write_turn
        self._timeout_s = timeout_s
        self._topics = Topics()
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> SqliteDatabase:
        async with AsyncExitStack() as opened:
            if self._read_only:
                self._reader = await _Side.opened(self._path, timeout_s=self._timeout_s, read_only=True)
                opened.push_async_callback(self._reader.aclose)
                self._looking = _looking(self._path, opened)
                self._opened = opened.pop_all()
                return self
            async with _turn(self._write_turn, self._timeout_s):
                self._writer = await _Side.opened(self._path, timeout_s=self._timeout_s)
                opened.push_async_callback(self._writer.aclose)
                await self._writer.do(_migrate)
            self._reader = await _Side.opened(self._path, timeout_s=self._timeout_s)
            opened.push_async_callback(self._reader.aclose)
            await self._reader.do(lambda db: db.execute("PRAGMA query_only = ON"))
            self._topics.know(await self._reader.do(lambda db: db.execute(TOPICS).fetchall()))
            self._looking = _looking(self._path, opened)
            self._opened = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        async with _turn(self._reader.lock, self._timeout_s), self._reader.transaction("BEGIN") as transaction:
            yield transaction

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Transaction]:
        async with (
            _turn(self._writer.lock, self._timeout_s),
            _turn(self._write_turn, self._timeout_s),
            self._writer.transaction("BEGIN IMMEDIATE") as transaction,
        ):
            yield transaction

    async def look(self, sql: str, **values: Value) -> Sequence[Row]:
        with _translated():
            return self._looking.execute(sql, stored(values)).fetchall()

    async def changed(self, topic: str, after: int) -> int:
        return await self._topics.wait(topic, after)

    async def tell(self, topic: str) -> None:
        async with self.writing() as db:
            await db.run(TELL, topic=topic)
            numbers = await db.rows(TOPICS)
        self._topics.know((str(row[0]), int(row[1])) for row in numbers)


class _Side:
    """A connection and the thread that it works in."""

    def __init__(self, thread: ThreadPoolExecutor) -> None:
        self.lock = asyncio.Lock()
        self._thread = thread
        self._db: sqlite3.Connection

    @classmethod
    async def opened(cls, path: Path, *, timeout_s: float, read_only: bool = False) -> _Side:
        side = cls(ThreadPoolExecutor(max_workers=1, thread_name_prefix="admin"))
        try:
            connect = _connect_to_read if read_only else _connect
            side._db = await side._in_thread(lambda: connect(path, timeout_s))
        except BaseException:
            side._thread.shutdown()
            raise
        return side

    async def aclose(self) -> None:
        await self._in_thread(self._db.close)
        self._thread.shutdown()

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._in_thread(lambda: work(self._db))

    @asynccontextmanager
    async def transaction(self, begin: str) -> AsyncIterator[Transaction]:
        try:
            await self.do(lambda db: db.execute(begin))
            yield _Statements(self)
            await self.do(lambda db: db.execute("COMMIT"))
        except BaseException:
            # In line behind whatever still runs in the thread, also where the caller was cancelled meanwhile.
            await asyncio.shield(self.do(_roll_back))
            raise

    async def _in_thread(self, work: Callable[[], T]) -> T:
        with _translated():
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)


class _Statements:
    def __init__(self, side: _Side) -> None:
        self._side = side

    async def rows(self, sql: str, **values: Value) -> Sequence[Row]:
        return await self._side.do(lambda db: db.execute(sql, stored(values)).fetchall())

    async def run(self, sql: str, **values: Value) -> int:
        return await self._side.do(lambda db: db.execute(sql, stored(values)).rowcount)


def _connect(path: Path, timeout_s: float) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=timeout_s, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA secure_delete = ON")  # what is erased leaves no bytes in the pages' free room; builds differ
    return db


def _connect_to_read(path: Path, timeout_s: float) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=timeout_s, isolation_level=None, check_same_thread=False)


def _looking(path: Path, opened: AsyncExitStack) -> sqlite3.Connection:
    db = _connect_to_read(path, 0)  # the loop waits for nothing; a WAL's readers have nothing to wait for
    opened.callback(db.close)
    return db


def _migrate(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        bring_up_to_date(db, ADMINS, now_ms=now_ms())
        db.execute("COMMIT")
    finally:
        _roll_back(db)


def _roll_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:
        db.execute("ROLLBACK")


@asynccontextmanager
async def _turn(lock: asyncio.Lock, timeout_s: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout_s):
            await lock.acquire()
    except TimeoutError as exc:
        raise StoreBusy(f"no turn at the database within {timeout_s:g} s", retry_after_s=RETRY_AFTER_S) from exc
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError as exc:
        raise ValueError(f"SQLite refuses: {exc}") from exc
    except sqlite3.Error as exc:
        raise StoreBusy(f"SQLite: {exc}", retry_after_s=RETRY_AFTER_S) from exc
