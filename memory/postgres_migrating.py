"""Bringing a schema on PostgreSQL up to date while other instances work on it, and while others start.

A change waits for the locks it needs only briefly: whoever comes after it would wait behind it, so one long reader would stop
everybody. It then lets go and tries again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.errors import DeadlockDetected, LockNotAvailable

from memory.postgres_sessions import UNGUARDED
from memory.schema import Migration, Schema, pending, read_migrations, statements

logger = logging.getLogger(__name__)

Connection = psycopg.AsyncConnection[Any]  # of whatever rows: ours are read here

LOCK_S = 2.0
"""How long a change waits for a lock, and everybody who comes after it with it."""
REST_S = 1.0
"""Between two tries: time for those who waited behind the change."""
TRIES = 100
LOOK_S = 0.1
"""Between two looks whether another starter is done."""


async def version(db: Connection, schema: Schema) -> int | None:
    """Return the schema's version; None where there is none yet."""
    if await _value(db, f"SELECT to_regclass('{schema.table}') IS NOT NULL") is not True:
        return None
    return int(await _value(db, schema.applied))


async def lacking(db: Connection, schema: Schema) -> Sequence[Migration]:
    """Return what the database lacks of this release's schema. A newer one is told, if this release may work on it.

    Raises `SchemaTooNew` if it may not.
    """
    known, applied = read_migrations(schema.folder / "postgres"), await version(db, schema) or 0
    oldest = None
    if applied > len(known) and await _value(db, _HAS_OLDEST.format(table=schema.table)):
        oldest = await _value(db, schema.oldest(len(known)))
    left = pending(schema, known, applied=applied, oldest=oldest)
    if applied > len(known):
        logger.warning("the %s schema is a newer release's; this one works beside it", schema.name)
    return left


async def bring_up_to_date(db: Connection, schema: Schema, *, lock: int, now_ms: int) -> None:
    """Apply what the database lacks, however long that takes, each step in a transaction of its own.

    `db` is an autocommit connection that serves nothing else. Several starters wait for each other by the advisory lock `lock`.
    Raises `SchemaTooNew`, and the driver's errors.
    """
    if not await lacking(db, schema):
        return
    await _execute(db, UNGUARDED)
    async with _alone(db, lock):
        await _again(db, _base(schema))
        for step in await lacking(db, schema):
            insert = _insert(schema, step, now_ms=now_ms)
            if step.apart:
                await _again(db, [*statements(step.sql), insert], apart=True)
            else:
                await _again(db, [step.sql, insert])


@asynccontextmanager
async def _alone(db: Connection, lock: int) -> AsyncIterator[None]:
    # Looking, not waiting: who waits in a statement holds a snapshot, and CREATE INDEX CONCURRENTLY waits for that to go.
    while not await _value(db, f"SELECT pg_try_advisory_lock({lock:d})"):  # noqa: ASYNC110  # nothing tells
        await asyncio.sleep(LOOK_S)
    try:
        yield
    finally:
        if not db.closed:  # else the server has let go of it
            await db.execute(f"SELECT pg_advisory_unlock({lock:d})".encode())


async def _again(db: Connection, script: Sequence[str], *, apart: bool = False) -> None:
    for left in reversed(range(TRIES)):
        try:
            if apart:
                await _run_apart(db, script)
            else:
                await _run(db, script)
        except (LockNotAvailable, DeadlockDetected):
            if not left:
                raise
            logger.warning("a change of the schema waits for somebody's lock; it is tried again")
            await asyncio.sleep(REST_S)
        else:
            return


async def _run(db: Connection, script: Sequence[str]) -> None:
    async with db.transaction():
        for setting in (_BRIEFLY, _NO_END, _EVERYBODY):
            await _execute(db, setting)
        for sql in script:
            await _execute(db, sql)


async def _run_apart(db: Connection, script: Sequence[str]) -> None:
    await _execute(db, _NO_END.replace("SET LOCAL", "SET"))
    try:
        for sql in script:
            if "CONCURRENTLY" in sql:
                # It waits for everybody at work and stops nobody; beginning again would be making it anew.
                logger.info("an index is being changed; whoever is at work is waited for")
                await _execute(db, "SET lock_timeout = 0")
            else:
                await _execute(db, _BRIEFLY.replace("SET LOCAL", "SET"))
            await _execute(db, sql)
    finally:
        if not db.closed:
            await _execute(db, "RESET lock_timeout")
            await _execute(db, "RESET statement_timeout")


_BRIEFLY = f"SET LOCAL lock_timeout = {round(LOCK_S * 1000)}"
_NO_END = "SET LOCAL statement_timeout = 0"  # a change of a big table takes what it takes
_EVERYBODY = "SELECT set_config('clew.person', '*', true)"  # personal rows are everybody's here

_HAS_OLDEST = """SELECT EXISTS (SELECT FROM pg_attribute
  WHERE attrelid = '{table}'::regclass AND attname = 'oldest' AND NOT attisdropped)"""


def _base(schema: Schema) -> list[str]:
    return [*schema.base, f"ALTER TABLE {schema.table} ADD COLUMN IF NOT EXISTS oldest INTEGER"]


def _insert(schema: Schema, step: Migration, *, now_ms: int) -> str:
    row = schema.row(step, now_ms=now_ms)
    values = ", ".join(
        "NULL" if value is None else f"'{value}'" for value in row.values()
    )  # numbers and names of files
    return f"INSERT INTO {schema.table} ({', '.join(row)}) VALUES ({values})"


async def _execute(db: Connection, sql: str) -> None:
    await db.execute(sql.encode(), prepare=False)


async def _value(db: Connection, query: str) -> Any:
    cursor = await db.execute(query.encode(), prepare=False)
    ((value,),) = await cursor.fetchall()
    return value
