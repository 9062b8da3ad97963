"""Whether connections are sessions of our own on the server. Behind a proxy that pools transactions they are not: the lock that
shows that an instance lives would be anybody's, and so would a session's settings."""

from __future__ import annotations

from gateway.inbox.postgres_events import Connection
from memory.errors import NoSessions

REFUSED = (
    "PostgreSQL is reached through a proxy that pools transactions, but instances need sessions of their own there;"
    " connect to the server itself, or let the proxy use session pooling"
)


async def require_sessions(one: Connection, other: Connection) -> None:
    """Raise `NoSessions` unless each connection stays with its own process on the server. Both are idle."""
    mine = {await _process(one), await _process(one)}
    async with other.transaction():  # a pooler hands out what was used last: that is taken from the first one here
        theirs = await _process(other)
        mine.add(await _process(one))
    if len(mine) > 1 or theirs in mine:
        raise NoSessions(REFUSED)


async def _process(db: Connection) -> int:
    cursor = await db.execute("SELECT pg_backend_pid()", prepare=False)
    ((pid,),) = await cursor.fetchall()
    return int(pid)
