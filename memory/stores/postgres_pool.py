"""A pool of PostgreSQL connections, the schema, and one translation of the driver's errors into memory's.

The only memory file that knows the driver. Every wait is bounded: for a connection, for a statement, for a lock. A server
that was restarted is noticed by the first statement that fails; the dead connections are replaced and it is sent again, so
every statement sent through here is one that may be repeated.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any

import psycopg
from psycopg.types.json import set_json_loads
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg_pool import AsyncConnectionPool

from memory.errors import StoreRefused, StoreUnavailable
from memory.ids import now_ms
from memory.lending import lent, within
from memory.postgres_errors import PASSING
from memory.postgres_locks import Lock
from memory.postgres_migrating import bring_up_to_date, lacking, version
from memory.postgres_sessions import guards
from memory.stores.migrate import MEMORY
from memory.stores.postgres_owner import NAME, OWNERS_AMONG, OWNERS_OF
from memory.stores.postgres_statement import Statement

Row = tuple[Any, ...]  # as the driver hands it out: the raw edge
Connection = psycopg.AsyncConnection[Row]

_NOTHING: Mapping[str, object] = {}


class Refused(StoreUnavailable):
    """The server is there and refuses this statement: a table or right is missing, a row exists, data is damaged.

    `sqlstate` is PostgreSQL's code, `constraint` the rule that was broken, "" where it was none.
    """

    def __init__(self, message: str, *, sqlstate: str, constraint: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.constraint = constraint


class RefusedForGood(Refused, StoreRefused):
    """A refusal that says something of the statement, not of the moment."""


class Database:
    """Runs statements on pooled connections in autocommit: each is its own transaction."""

    def __init__(self, dsn: str, *, pool_size: int, timeout_s: float, read_only: bool = False) -> None:
        """`read_only` leaves the schema as it is, and lets the server refuse every write."""
        self._timeout_s = timeout_s
        self._read_only = read_only
        self._dsn = dsn
        self.role_over_policies: str | None = (
            None  # our role's name, if it is one that row-level security does not hold for
        )
        self._settings: dict[str, Any] = {
            "autocommit": True,
            "prepare_threshold": 0,
            "cursor_factory": psycopg.AsyncRawCursor,
            "client_encoding": "utf8",
            "connect_timeout": max(2, math.ceil(timeout_s)),
            "tcp_user_timeout": math.ceil(timeout_s * 1000),  # a server that vanished without a word
        }
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            dsn,
            kwargs=self._settings,
            configure=self._configure,
            min_size=min(2, pool_size),
            max_size=pool_size,
            timeout=timeout_s,
            reconnect_timeout=timeout_s,
            open=False,
            name="memory",
        )

    async def __aenter__(self) -> Database:
        with _translated():
            # First without the pool: it would hide the reason, and it has no use for a schema it cannot work with.
            async with await psycopg.AsyncConnection.connect(self._dsn, **self._settings) as connection:
                await self._configure(connection)
                async with within(self._timeout_s):
                    self.role_over_policies = await _role_over_policies(connection)
                    applied = await version(connection, MEMORY)
                if self._read_only:
                    await _require_schema(connection, applied)
                else:
                    await _migrate(connection, new=applied is None)
            await self._pool.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.close()

    async def _configure(self, connection: Connection) -> None:
        """Make a new connection the one that the statements are written for."""
        settings = {
            "statement_timeout": f"{math.ceil(self._timeout_s * 1000)}",
            "plan_cache_mode": "force_generic_plan",  # else a long conversation is planned anew at every turn
            "enable_seqscan": "off",  # a plan made on an empty table would stay until the next ANALYZE
            "jit": "off",
            "default_transaction_isolation": "read committed",
            "default_transaction_read_only": "on" if self._read_only else "off",
        }
        async with within(self._timeout_s):
            for name, value in settings.items():
                await connection.execute("SELECT set_config($1, $2, false)", (name, value))
            await connection.execute(guards(self._timeout_s).encode(), prepare=False)
        # One type for all integers: otherwise the size of each value would make it another prepared statement.
        # Of lists, too, whose type would be that of the first one seen on a cursor: [0], and then no greater id fits in.
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.adapters.register_dumper(int, Int8BinaryDumper)  # the last one is preferred
        set_json_loads(_as_it_is, connection)  # msgspec decodes it, straight into structs

    async def fetch(self, statement: Statement, values: Mapping[str, object] = _NOTHING) -> list[Row]:
        """Run a statement and return its rows; raises `Refused` or another `StoreUnavailable`."""
        parameters = [values[name] for name in statement.names]
        with _translated():
            try:
                return await self._fetch(statement.text, parameters)
            except _ConnectionLost:
                # Not `check`: it waits for ever for a connection that is silent.
                await self._pool.drain()
                try:
                    return await self._fetch(statement.text, parameters)
                except _ConnectionLost as exc:
                    raise StoreUnavailable(f"PostgreSQL closed the connection: {exc.__cause__}") from exc

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open a transaction; it is undone when the block raises. Raises as `fetch` does, but tries nothing again."""
        with _translated():
            try:
                async with self._connection() as connection, connection.transaction():
                    yield Transaction(connection)
            except _ConnectionLost as exc:
                raise StoreUnavailable(f"PostgreSQL closed the connection: {exc.__cause__}") from exc

    async def _fetch(self, text: bytes, parameters: Sequence[object]) -> list[Row]:
        async with self._connection() as connection:
            return await _fetched(connection, text, parameters)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        # The server's own statement_timeout comes first, unless the server or the way there hangs.
        async with lent(self._pool, limit_s=self._timeout_s + 1) as connection:
            try:
                yield connection
            except psycopg.OperationalError as exc:
                if connection.closed:
                    raise _ConnectionLost from exc
                raise


class Transaction:
    """A transaction's statements, in their order."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def fetch(self, statement: Statement, values: Mapping[str, object] = _NOTHING) -> list[Row]:
        """Run a statement and return its rows."""
        return await _fetched(self._connection, statement.text, [values[name] for name in statement.names])

    async def name(self, *persons: int) -> None:
        """Let the statements that follow see these persons' rows in the personal tables, and nobody else's."""
        await self.fetch(NAME, {"owners": list(persons)})

    async def name_owners(self, scope_id: int, ids: Sequence[int] | None = None) -> None:
        """Name all persons of whom something came from these messages of the scope; None: from any."""
        of = {"scope_id": scope_id, "ids": None if ids is None else list(ids), "first_id": min(ids or [0])}
        ((owners,),) = await self.fetch(OWNERS_OF, of)
        await self.name(*(owners or ()))

    async def name_owners_among(self, fragments: Sequence[tuple[int, int]]) -> None:
        """Name all persons whom these fragments (scope_id, id) are of."""
        ((owners,),) = await self.fetch(OWNERS_AMONG, columns(fragments))
        await self.name(*(owners or ()))


def columns(fragments: Sequence[tuple[int, int]]) -> Mapping[str, object]:
    """Return the parameters `scope_ids` and `ids` for what is named by (scope_id, id)."""
    return {"scope_ids": [scope_id for scope_id, _ in fragments], "ids": [id_ for _, id_ in fragments]}


async def _fetched(connection: Connection, text: bytes, parameters: Sequence[object]) -> list[Row]:
    cursor = connection.cursor(binary=True)
    await cursor.execute(text, parameters)
    # Not `cursor.description`: it builds an object for each column, which costs as much as the decoding.
    return await cursor.fetchall() if cursor.pgresult and cursor.pgresult.ntuples else []


def _as_it_is(json: str | bytes) -> str | bytes:
    return json


class _ConnectionLost(Exception):
    """The connection broke under a statement; whether that was done is unknown."""


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except TimeoutError as exc:
        raise StoreUnavailable("PostgreSQL did not answer in time") from exc
    except psycopg.Error as exc:
        state = exc.sqlstate
        if state is None or state.startswith(("08", "57")):
            raise StoreUnavailable(f"PostgreSQL: {exc}") from exc
        # Not the driver's own words, and no cause either: they quote the row, and rows are what people said.
        place = exc.diag.constraint_name or exc.diag.table_name or exc.diag.column_name or "no object named"
        kind = Refused if state[:2] in PASSING else RefusedForGood
        raise kind(
            f"PostgreSQL refuses: {type(exc).__name__} ({state}, {place})",
            sqlstate=state,
            constraint=exc.diag.constraint_name or "",
        ) from None


async def _role_over_policies(connection: Connection) -> str | None:
    query = "SELECT current_user::text FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"
    row = await (await connection.execute(query)).fetchone()
    return row[0] if row else None


async def _require_schema(connection: Connection, applied: int | None) -> None:
    """Raise `StoreUnavailable` where the schema is missing or older, `SchemaTooNew` where it is too new."""
    if applied is None:
        raise StoreUnavailable("the database holds no memory yet; start the gateway once, or check the address")
    if await lacking(connection, MEMORY):
        raise StoreUnavailable(f"the database has the older schema {applied}; migrate it first")


async def _migrate(connection: Connection, *, new: bool) -> None:
    """Bring the schema to this release's version, however long that takes. Raises `SchemaTooNew`."""
    encoding = await (await connection.execute("SHOW server_encoding")).fetchone()
    if new and encoding != ("UTF8",):
        raise StoreUnavailable(f"the database's encoding is {encoding!r}; create it with ENCODING 'UTF8'")
    await bring_up_to_date(connection, MEMORY, lock=Lock.MEMORY_SCHEMA, now_ms=now_ms())
