"""What an instance looks at before it joins the others: that the database is whole, and that it is the one it was.

A database that was restored, or copied by the server's own means, gives numbers a second time: an instance of before that still
runs somewhere would find its own among them, and write. So whoever arrives first goes on far above all that may have been given.
"""

from __future__ import annotations

import logging

from psycopg import Error, OperationalError

from gateway.errors import StoreBusy
from gateway.inbox.postgres_events import Connection
from memory.postgres_locks import Lock

logger = logging.getLogger(__name__)

FENCES = 1 << 40
INSTANCES = 1_000_000
"""How much further fences and instances' numbers go on: more than were given since any backup that anybody restores."""

_COPYING = "SELECT to_regclass('copy_progress') IS NOT NULL"

# The server's own name, the branch of its history (a restore begins one, a failover too), and the database's number, which it
# has anew from a dump. The branch is that of what is being written: the control file tells it only after a checkpoint.
_ORIGIN = """
SELECT concat_ws('/', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
  (SELECT oid FROM pg_database WHERE datname = current_database())) FROM pg_control_system()"""

_MOVE_ON = """
SELECT setval('inbox_fence', nextval('inbox_fence') + %s),
  setval(pg_get_serial_sequence('inbox_instances', 'id'), nextval(pg_get_serial_sequence('inbox_instances', 'id')) + %s)"""


async def arrive(db: Connection) -> None:
    """Look at the database. Raises `StoreBusy` for one that `db copy` has not finished."""
    cursor = await db.execute(_COPYING)
    if await cursor.fetchone() == (True,):
        told = "a copy into this database was begun and has not come to its end"
        raise StoreBusy(f"{told}; run `db copy` again until it says that both are the same", retry_after_s=60)
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
            await db.execute(_MOVE_ON, (FENCES, INSTANCES))
        await db.execute("DELETE FROM inbox_origin")
        await db.execute("INSERT INTO inbox_origin (origin) VALUES (%s)", (origin,))
    if known is not None:
        logger.warning(
            "the database was restored, or another server has taken over: numbers go on above all given before",
            extra={"was": known[0], "is": origin},
        )


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
