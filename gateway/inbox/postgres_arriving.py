"""What an instance looks at whenever it connects to the others' database: is it the one that it was?

A database that was restored, or copied by the server's own means, gives numbers a second time: an instance of before that still
runs somewhere would find its own among them, and write. So whoever arrives first goes on above all that may have been given, on
any branch of its history, and lets no turn write that has its fence from before.
"""

from __future__ import annotations

import logging

from psycopg import Error, OperationalError

from gateway.inbox.postgres_events import Connection
from memory.postgres_fences import RAISE
from memory.postgres_locks import Lock

logger = logging.getLogger(__name__)

SINCE_MS = 1_767_225_600_000  # 2026-01-01: numbers of instances have 31 bits
FENCES_A_SECOND = 1 << 20
LEAST_S = 86_400
"""Numbers go on from where they would be if each second since `SINCE_MS` had taken so many fences and one instance: no database
gives them faster for long, so what another branch of its history gave is below. Who is above that already goes on by as many as
a day has, which a clock may be behind."""

# The server's own name, the branch of its history (a restore begins one, a failover too), and the database's number, which it
# has anew from a dump. The branch is that of what is being written: the control file tells it only after a checkpoint.
_ORIGIN = """
SELECT concat_ws('/', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
  (SELECT oid FROM pg_database WHERE datname = current_database())) FROM pg_control_system()"""

_MOVE_ON = """
SELECT setval('inbox_fence', greatest(nextval('inbox_fence'), %(seconds)s::bigint * %(fences)s) + %(least)s::bigint * %(fences)s),
  setval(pg_get_serial_sequence('inbox_instances', 'id'),
    greatest(nextval(pg_get_serial_sequence('inbox_instances', 'id')), %(seconds)s) + %(least)s)"""


async def arrive(db: Connection, *, now_ms: int) -> None:
    """Look at the database, and let numbers go on where it is another one; `now_ms` is milliseconds since 1970."""
    origin = await _origin(db)
    if origin is None:
        return
    async with db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock(%s)", (Lock.ARRIVING,))
        cursor = await db.execute("SELECT origin FROM inbox_origin")
        known = await cursor.fetchone()
        if known == (origin,):
            return
        if known is not None:
            await _move_on(db, seconds=(now_ms - SINCE_MS) // 1000)
        await db.execute("DELETE FROM inbox_origin")
        await db.execute("INSERT INTO inbox_origin (origin) VALUES (%s)", (origin,))
    if known is not None:
        logger.warning(
            "the database was restored, or another server has taken over: numbers go on above all given before",
            extra={"was": known[0], "is": origin},
        )


async def _move_on(db: Connection, *, seconds: int) -> None:
    cursor = await db.execute(_MOVE_ON, {"seconds": seconds, "fences": FENCES_A_SECOND, "least": LEAST_S})
    ((fence, _),) = await cursor.fetchall()
    cursor = await db.execute("SELECT to_regclass('meta') IS NOT NULL")
    if await cursor.fetchone() == (True,):  # else there are no scopes either
        await db.execute(RAISE, (fence,))


async def _origin(db: Connection) -> str | None:
    """Return what tells this database's history from others; None: this server does not say."""
    try:
        cursor = await db.execute(_ORIGIN)
        row = await cursor.fetchone()
    except OperationalError:
        raise
    except Error as exc:  # some hosted servers have none of these functions, or give them to nobody
        logger.warning(
            "whether the database was restored can't be told: after a restore, start no gateway before all old ones are gone",
            extra={"reason": type(exc).__name__},
        )
        return None
    return None if row is None else str(row[0])
