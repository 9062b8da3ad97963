"""The databases that the store contract runs on. A new one joins `COLUMNS` by one line."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pytest

from memory.derived import FullStore
from memory.ids import Ids
from memory.stores.postgres import PostgresStore
from memory.stores.redis import RedisCache
from memory.stores.sqlite import SqliteStore
from tests.services import as_admin


class Column(Protocol):
    """One empty database of a test's own."""

    def open(self, *, ids: Ids | None = None) -> AbstractAsyncContextManager[FullStore]:
        """Open a store on the database, migrated; called again, another one beside it, as a second instance would be."""
        ...

    async def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement past the stores (to break a table, to look at rows) and return its rows, committed."""
        ...


class SqliteColumn:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "clew.db"
        self.write_turn = asyncio.Lock()

    def open(self, *, ids: Ids | None = None) -> AbstractAsyncContextManager[FullStore]:
        return SqliteStore(self.path, ids=ids or Ids(1), write_turn=self.write_turn, timeout_s=5)

    async def sql(self, statement: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=5)
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()


def _sqlite(request: pytest.FixtureRequest) -> Column:
    return SqliteColumn(request.getfixturevalue("tmp_path"))


class PostgresColumn:
    def __init__(self, url: str) -> None:
        self.url = url

    def open(self, *, ids: Ids | None = None) -> AbstractAsyncContextManager[FullStore]:
        return PostgresStore(self.url, ids=ids or Ids(1), pool_size=4, timeout_s=5)

    async def sql(self, statement: str) -> list[tuple[Any, ...]]:
        async with await psycopg.AsyncConnection.connect(as_admin(self.url), autocommit=True) as connection:
            cursor = await connection.execute(statement.encode())
            return await cursor.fetchall() if cursor.description else []


class RedisColumn(PostgresColumn):
    """PostgreSQL with Redis in front."""

    def __init__(self, url: str, redis_url: str) -> None:
        super().__init__(url)
        self.redis_url = redis_url

    @asynccontextmanager
    async def open(self, *, ids: Ids | None = None) -> AsyncIterator[FullStore]:
        async with (
            super().open(ids=ids) as store,
            RedisCache(store, self.redis_url, ttl_s=60, timeout_s=5, worth=0) as cache,
        ):
            yield cache


def _postgres(request: pytest.FixtureRequest) -> Column:
    return PostgresColumn(request.getfixturevalue("postgres_url"))


def _redis(request: pytest.FixtureRequest) -> Column:
    return RedisColumn(request.getfixturevalue("postgres_url"), request.getfixturevalue("redis_url"))


COLUMNS: dict[str, Callable[[pytest.FixtureRequest], Column]] = {
    "sqlite": _sqlite,
    "postgres": _postgres,
    "postgres+redis": _redis,
}
