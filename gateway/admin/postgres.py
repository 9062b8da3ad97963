"""The admins' tables on PostgreSQL, for any number of instances: a small pool, and one connection that listens for topics."""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import cache
from types import TracebackType
from typing import Any

import psycopg
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg_pool import AsyncConnectionPool

from gateway.admin.database import Row, Transaction, Value, stored
from gateway.admin.schema import ADMINS, TELL, TOPICS
from gateway.admin.topics import Topics
from gateway.errors import StoreBusy
from memory.ids import now_ms
from memory.lending import lent, within
from memory.postgres_locks import Lock
from memory.postgres_migrating import bring_up_to_date
from memory.postgres_sessions import guards

logger = logging.getLogger(__name__)

Connection = psycopg.AsyncConnection[Row]

BELL = "clew_admin"
LOOK_S = 1.0
"""Seconds between two looks at the topics when no signal comes: one may be lost with its connection."""
RETRY_AFTER_S = 1.0

_PARAMETER = re.compile(r":([a-z_]+)")


class PostgresDatabase:
    """Implements `Database`; `async with` opens and closes it."""

    def __init__(self, dsn: str, *, pool_size: int, timeout_s: float, read_only: bool = False) -> None:
        """`timeout_s` bounds a transaction, and the wait for a connection. `read_only`: for `reading` alone; nothing is migrated,
        and no topic heard."""
        self._dsn = dsn
        self._read_only = read_only
        self._timeout_s = timeout_s
        self._settings: dict[str, Any] = {
            "autocommit": True,
            "connect_timeout": max(2, math.ceil(timeout_s)),
            "tcp_user_timeout": math.ceil(timeout_s * 1000),  # a server that vanished without a word
        }
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            dsn,
            kwargs=self._settings,
            configure=self._configure,
            min_size=1,
            max_size=pool_size,
            timeout=timeout_s,
            reconnect_timeout=timeout_s,
            open=False,
            name="admin",
        )
        self._topics = Topics()
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> PostgresDatabase:
        async with AsyncExitStack() as opened:
            with _translated():
                await opened.enter_async_context(self._pool)
                await self._pool.wait(self._timeout_s)
                if self._read_only:
                    self._opened = opened.pop_all()
                    return self
                async with await psycopg.AsyncConnection.connect(self._dsn, **self._settings) as db:
                    await bring_up_to_date(db, ADMINS, lock=Lock.ADMIN_SCHEMA, now_ms=now_ms())
                async with lent(self._pool, limit_s=self._timeout_s) as db:
                    await self._look(db)
            listening = asyncio.create_task(self._listen(), name="admin-listener")
            opened.push_async_callback(self._stop, listening)
            self._opened = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        async with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as transaction:
            yield transaction

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Transaction]:
        async with self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED") as transaction:
            yield transaction

    async def look(self, sql: str, **values: Value) -> Sequence[Row]:
        with _translated():
            async with lent(self._pool, limit_s=self._timeout_s) as db:
                return await _Statements(db).rows(sql, **values)

    async def changed(self, topic: str, after: int) -> int:
        return await self._topics.wait(topic, after)

    async def tell(self, topic: str) -> None:
        async with self.writing() as db:
            await db.run(TELL, topic=topic)
        async with self.reading() as db:
            numbers = await db.rows(TOPICS)
        self._topics.know((str(row[0]), int(row[1])) for row in numbers)
        with _translated():
            async with lent(self._pool, limit_s=self._timeout_s) as connection:
                await connection.execute("SELECT pg_notify(%s, '')", (BELL,))

    @asynccontextmanager
    async def _transaction(self, begin: str) -> AsyncIterator[Transaction]:
        with _translated():
            async with lent(self._pool, limit_s=self._timeout_s) as db:
                await db.execute(begin)
                try:
                    yield _Statements(db)
                    await db.execute("COMMIT")
                finally:
                    if not db.closed and db.info.transaction_status.name != "IDLE":
                        await db.execute("ROLLBACK")

    async def _configure(self, db: Connection) -> None:
        async with within(self._timeout_s):
            ms = math.ceil(self._timeout_s * 1000)
            for name, value in (("statement_timeout", f"{ms}"), ("synchronous_commit", "on")):
                await db.execute("SELECT set_config(%s, %s, false)", (name, value))
            await db.execute(guards(self._timeout_s).encode(), prepare=False)
        # One type for all integers: else a small one makes sums of the driver's smallest type overflow.
        db.adapters.register_dumper(int, Int8Dumper)
        db.adapters.register_dumper(int, Int8BinaryDumper)

    async def _look(self, db: Connection) -> None:
        cursor = await db.execute(TOPICS)
        self._topics.know((str(row[0]), int(row[1])) for row in await cursor.fetchall())

    async def _listen(self) -> None:
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(self._dsn, **self._settings) as db:
                    await db.execute(guards(self._timeout_s).encode())
                    await db.execute(f"LISTEN {BELL}")
                    while True:
                        async with within(self._timeout_s):
                            await self._look(db)
                        async for _ in db.notifies(timeout=LOOK_S, stop_after=1):
                            pass
            except (psycopg.OperationalError, OSError, TimeoutError):
                logger.warning("admins' topics are not heard", exc_info=True)
                await asyncio.sleep(LOOK_S)  # nothing tells when a server is back

    async def _stop(self, task: asyncio.Task[None]) -> None:
        while not task.done():
            task.cancel()
            # Again, if need be: the driver does not promise that a cancellation arrives (psycopg/psycopg#1345).
            await asyncio.wait([task], timeout=self._timeout_s)


class _Statements:
    def __init__(self, db: Connection) -> None:
        self._db = db

    async def rows(self, sql: str, **values: Value) -> Sequence[Row]:
        cursor = await self._executed(sql, values)
        return await cursor.fetchall() if cursor.description is not None else ()

    async def run(self, sql: str, **values: Value) -> int:
        return (await self._executed(sql, values)).rowcount

    async def _executed(self, sql: str, values: dict[str, Value]) -> psycopg.AsyncRawCursor[Row]:
        numbered, names = _for_server(sql)
        held = stored(values)
        return await psycopg.AsyncRawCursor(self._db).execute(numbered, [held[name] for name in names])


@cache  # not by the driver: it reads a statement of many rows anew each time
def _for_server(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the statement as the server takes it, and the names in the order of its numbers."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(sql)))
    numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
    return _PARAMETER.sub(lambda match: numbers[match[1]], sql).encode(), names


@contextmanager
def _translated() -> Iterator[None]:
    # Never the driver's own words: they quote what was to be written.
    try:
        yield
    except psycopg.IntegrityError as exc:
        raise ValueError(f"PostgreSQL refuses: {type(exc).__name__} {exc.diag.constraint_name or ''}".strip()) from exc
    except (psycopg.Error, OSError, TimeoutError) as exc:
        raise StoreBusy(f"PostgreSQL: {type(exc).__name__}", retry_after_s=RETRY_AFTER_S) from exc
