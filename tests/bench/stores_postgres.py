"""The PostgreSQL store, alone and with Redis in front, beside the fewest statements the engine needs (stores.py)."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import psycopg

from memory.ids import Ids
from memory.stores.postgres import PostgresStore
from memory.stores.redis import RedisCache
from tests.bench.stores import OTHERS, REPLY, USER, Opener, Stored, Subject
from tests.services import Postgres, Valkey

Connection = psycopg.AsyncConnection[tuple[object, ...]]
_numbers = itertools.count(1)


class Analyzed(Stored):
    """Our store, with the statistics that a database in use has by itself."""

    def __init__(self, store: PostgresStore | RedisCache, connection: Connection) -> None:
        super().__init__(store, lambda: _bytes(connection))
        self._connection = connection

    async def fill(self, messages: int) -> None:
        await super().fill(messages)
        await self._connection.execute("VACUUM ANALYZE")


class RawPostgres:
    """The limit: narrow tables, one pinned connection, prepared statements, four JSON subselects in one statement."""

    INSERT = b"INSERT INTO m VALUES (1, $1, 'user', $2, 16), (1, $1 + 1, 'assistant', $3, 19)"
    PARTS = b"""SELECT
      (SELECT json_agg(w) FROM (SELECT id, role, text, tokens FROM m WHERE c = 1 ORDER BY id DESC LIMIT 20) w),
      (SELECT json_agg(w) FROM (SELECT text FROM s WHERE c = 1) w),
      (SELECT json_agg(w) FROM (SELECT slot, value FROM f WHERE c = 1) w),
      (SELECT json_agg(w) FROM (SELECT text FROM p WHERE person = 7 ORDER BY id DESC LIMIT 3) w)"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._id = 0

    async def fill(self, messages: int) -> None:
        run = self._connection.execute
        for table in (
            "m (c bigint, id bigint, role text, text text, tokens integer, PRIMARY KEY (c, id))",
            "s (c bigint PRIMARY KEY, text text)",
            "f (c bigint, slot text, value text, PRIMARY KEY (c, slot))",
            "p (person bigint, id bigint, text text, PRIMARY KEY (person, id))",
        ):
            await run(f"CREATE TABLE {table}".encode())
        rows = "SELECT $1::int, n, CASE n % 2 WHEN 0 THEN 'user' ELSE 'assistant' END, $2::text, 16 FROM"
        await run(f"INSERT INTO m {rows} generate_series(1, $3::int) n".encode(), (1, USER, messages))
        others = f"{rows} generate_series(1, 20) n, generate_series(2, $3::int) c".replace("$1::int", "c + $1::int")
        await run(f"INSERT INTO m {others}".encode(), (0, USER, OTHERS + 1))
        await run(b"INSERT INTO s SELECT n, $1 FROM generate_series(1, 200) n", (USER * 4,))
        await run(
            b"INSERT INTO f SELECT c, 'slot' || n, '8821' FROM generate_series(1, 200) c, generate_series(1, 5) n"
        )
        await run(b"INSERT INTO p SELECT 7, n, 'Likes dark colours, no white' FROM generate_series(1, 50) n")
        await run(b"VACUUM ANALYZE")
        self._id = messages

    async def _run(self, text: bytes, values: tuple[object, ...] = ()) -> None:
        cursor = self._connection.cursor(binary=True)
        await cursor.execute(text, values)
        if cursor.pgresult and cursor.pgresult.ntuples:
            for column in await cursor.fetchone() or ():
                assert isinstance(column, bytes)
                msgspec.json.decode(column)

    def _values(self) -> tuple[object, ...]:
        self._id += 2
        return (self._id, USER, REPLY)

    async def append(self, turn: int) -> None:
        await self._run(self.INSERT, self._values())

    async def load(self) -> None:
        await self._run(self.PARTS)

    async def turn(self, turn: int) -> None:
        await self._run(b"WITH added AS (" + self.INSERT + b")" + self.PARTS, self._values())

    async def bytes(self) -> int | None:
        return await _bytes(self._connection)


async def _bytes(connection: Connection) -> int:
    cursor = await connection.execute(
        b"""SELECT sum(pg_relation_size(oid))::bigint FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')"""
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(str(row[0]))


@asynccontextmanager
async def database(server: Postgres) -> AsyncIterator[tuple[str, Connection]]:
    """Open a fresh database: its URL, and a connection to it for raw statements."""
    name = f"bench{next(_numbers)}"
    async with await psycopg.AsyncConnection.connect(server.url("postgres"), autocommit=True) as admin:
        await admin.execute(f"CREATE DATABASE {name}".encode())
        # As servers are in use: with it off, the test servers' choice, a row updated a moment ago is dearer to read.
        await admin.execute(f"ALTER DATABASE {name} SET synchronous_commit = on".encode())
    async with await psycopg.AsyncConnection.connect(
        server.url(name), autocommit=True, prepare_threshold=0, cursor_factory=psycopg.AsyncRawCursor
    ) as connection:
        await connection.execute(b"SET plan_cache_mode = force_generic_plan")
        psycopg.types.json.set_json_loads(lambda json: json, connection)
        yield server.url(name), connection


def subjects(postgres: Postgres, valkey: Valkey) -> dict[str, tuple[str | None, Opener]]:
    """Return the subjects for `stores.measure`, on running servers."""

    @asynccontextmanager
    async def limit(folder: Path) -> AsyncIterator[Subject]:
        async with database(postgres) as (_, connection):
            yield RawPostgres(connection)

    @asynccontextmanager
    async def ours(folder: Path) -> AsyncIterator[Subject]:
        async with (
            database(postgres) as (url, connection),
            PostgresStore(url, ids=Ids(1), pool_size=4, timeout_s=5) as store,
        ):
            yield Analyzed(store, connection)

    @asynccontextmanager
    async def with_redis(folder: Path) -> AsyncIterator[Subject]:
        async with (
            database(postgres) as (url, connection),
            PostgresStore(url, ids=Ids(1), pool_size=4, timeout_s=5) as store,
            RedisCache(store, valkey.url, ttl_s=3600, timeout_s=1) as cache,
        ):
            yield Analyzed(cache, connection)

    return {
        "limit PostgreSQL": (None, limit),
        "PostgreSQL": ("limit PostgreSQL", ours),
        "PostgreSQL + Redis": ("limit PostgreSQL", with_redis),
    }
