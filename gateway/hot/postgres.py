"""Counts and shelf in PostgreSQL, for many instances without Redis: UNLOGGED tables, so no disk flush, and empty after a crash.

A small pool of its own: what waits for an answer's place in a long line of other work would not be hot.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from psycopg import AsyncConnection, Error
from psycopg_pool import AsyncConnectionPool

from gateway.errors import StoreBusy
from gateway.hot.base import MINUTE_S
from gateway.hot.process import small
from gateway.inbox.batch import RETRY_AFTER_S, GroupCommit
from gateway.inbox.postgres_events import Connection
from gateway.inbox.postgres_member import how_to_connect
from memory.lending import lent, within
from memory.postgres_sessions import guards

POOL = 3
"""Connections at most; one is kept open."""

# As `counting.at` and `counting.room`; `room` is what there was before the acts, of which as many are counted as it has.
_PASSED = "floor(EXCLUDED.at / %(within)s) - floor(c.at / %(within)s)"
_COUNT = f"CASE WHEN {_PASSED} = 0 THEN c.count ELSE 0 END"
_BEFORE = f"CASE {_PASSED} WHEN 0 THEN c.before WHEN 1 THEN c.count ELSE 0 END"
_SHARE = "(1 - (EXCLUDED.at / %(within)s - floor(EXCLUDED.at / %(within)s)))"
_ROOM = f"GREATEST(0, %(most)s - ({_COUNT}) - ceil(({_BEFORE}) * {_SHARE})::int)"
_TAKE = f"""
INSERT INTO hot_counts AS c (key, at, count, before, room, until)
SELECT %(key)s, m.at, LEAST(%(acts)s, %(most)s), 0, %(most)s, clock_timestamp() + make_interval(secs => 2 * %(within)s)
FROM (SELECT COALESCE(%(now)s, extract(epoch FROM clock_timestamp())::float8) AS at) m
ON CONFLICT (key) DO UPDATE SET
  at = EXCLUDED.at, count = ({_COUNT}) + LEAST(%(acts)s, {_ROOM}), before = {_BEFORE}, room = {_ROOM}, until = EXCLUDED.until
RETURNING room"""

_FREE = f"""
SELECT {_ROOM.replace("EXCLUDED.at", "m.at")} FROM hot_counts c,
  (SELECT COALESCE(%(now)s, extract(epoch FROM clock_timestamp())::float8) AS at) m WHERE c.key = %(key)s"""

_GIVE_BACK = """
UPDATE hot_counts SET count = GREATEST(0, count - 1), before = CASE WHEN count > 0 THEN before ELSE GREATEST(0, before - 1) END
WHERE key = %(key)s"""

_PUT = """
INSERT INTO hot_shelf (key, value, until) VALUES (%(key)s, %(value)s, clock_timestamp() + make_interval(secs => %(life)s))
ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, until = EXCLUDED.until"""

_SESSION = """
SET statement_timeout = {ms};
SET jit = off;
SET synchronous_commit = off;
{guards}"""


class HotPool:
    """The connections; `async with` opens and closes it. The queues have made the tables before."""

    def __init__(self, dsn: str, *, timeout_s: float) -> None:
        """`timeout_s` bounds each use, the wait for a connection included."""
        self._timeout_s = timeout_s
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            dsn,
            connection_class=AsyncConnection,
            kwargs=how_to_connect(timeout_s),
            min_size=1,
            max_size=POOL,
            open=False,
            configure=self._configure,
            timeout=timeout_s,
            reconnect_timeout=timeout_s,
            name="hot",
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[HotPool]:
        """Open the connections, and close them at the end."""
        async with self._pool:
            yield self

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Connection]:
        """Lend a connection. Raises `StoreBusy` for whatever fails with it."""
        try:
            async with lent(self._pool, limit_s=self._timeout_s) as db:
                yield db
        except (Error, OSError, TimeoutError) as exc:
            raise StoreBusy(f"PostgreSQL: {type(exc).__name__}", retry_after_s=RETRY_AFTER_S) from exc

    async def sweep(self) -> None:
        """Delete what is over. Raises `StoreBusy`."""
        async with self.lent() as db:
            for table in ("hot_counts", "hot_shelf"):
                # Never waiting for who holds one of them: it may wait for another that is held here.
                over = f"SELECT key FROM {table} WHERE until < clock_timestamp() FOR UPDATE SKIP LOCKED"
                await db.execute(f"DELETE FROM {table} WHERE key IN ({over})")

    async def _configure(self, db: Connection) -> None:
        async with within(self._timeout_s):
            session = _SESSION.format(ms=round(self._timeout_s * 1000), guards=guards(self._timeout_s))
            await db.execute(session.encode())


@dataclass(frozen=True, slots=True)
class _Act:
    key: bytes
    most: int
    within_s: float


class PostgresLimits:
    """Implements `RateLimits`; `async with` it. Acts that wait together go in one round trip."""

    def __init__(self, pool: HotPool, *, clock: Callable[[], float] | None = None) -> None:
        """`clock` in seconds; None: the server's."""
        self._pool = pool
        self._clock = clock
        self._acts = GroupCommit(self._take_all, name="counts")

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[PostgresLimits]:
        """Take acts, until the end."""
        async with self._acts:
            yield self

    async def take(self, who: str, *, most: int, within_s: float = MINUTE_S) -> bool:
        """See `RateLimits.take`."""
        return await self._acts(_Act(_digest(who), most, within_s))

    async def free(self, who: str, *, most: int, within_s: float = MINUTE_S) -> bool:
        """See `RateLimits.free`."""
        values = {"key": _digest(who), "most": most, "within": within_s, "now": self._now()}
        async with self._pool.lent() as db:
            row = await (await db.execute(_FREE, values)).fetchone()
        return (most if row is None else row[0]) > 0

    async def give_back(self, who: str) -> None:
        """See `RateLimits.give_back`."""
        async with self._pool.lent() as db:
            await db.execute(_GIVE_BACK, {"key": _digest(who)})

    async def reset(self, who: str) -> None:
        """See `RateLimits.reset`."""
        async with self._pool.lent() as db:
            await db.execute("DELETE FROM hot_counts WHERE key = %s", (_digest(who),))

    async def _take_all(self, acts: Sequence[_Act]) -> Sequence[bool]:
        left: dict[_Act, int] = {}
        for act in acts:
            left[act] = left.get(act, 0) + 1
        room: dict[_Act, int] = {}
        # By key, as other instances do: whoever holds one waits for none that comes before it.
        wishes = [self._wish(act, count) for act, count in sorted(left.items(), key=lambda item: item[0].key)]
        async with self._pool.lent() as db, db.cursor() as cursor:
            await cursor.executemany(_TAKE, wishes, returning=True)
            for act in sorted(left, key=lambda act: act.key):
                ((room[act],),) = await cursor.fetchall()
                cursor.nextset()
        passes = []
        for act in acts:
            passes.append(room[act] > 0)
            room[act] -= 1
        return passes

    def _wish(self, act: _Act, acts: int) -> dict[str, object]:
        return {"key": act.key, "acts": acts, "most": act.most, "within": act.within_s, "now": self._now()}

    def _now(self) -> float | None:
        return None if self._clock is None else self._clock()


class PostgresShelf:
    """Implements `Shelf`."""

    def __init__(self, pool: HotPool) -> None:
        self._pool = pool

    async def put(self, key: str, value: bytes, *, life_s: float) -> None:
        """See `Shelf.put`."""
        async with self._pool.lent() as db:
            await db.execute(_PUT, {"key": _digest(key), "value": small(value), "life": life_s})

    async def get(self, key: str) -> bytes | None:
        """See `Shelf.get`."""
        sql = "SELECT value FROM hot_shelf WHERE key = %s AND until > clock_timestamp()"
        async with self._pool.lent() as db:
            row = await (await db.execute(sql, (_digest(key),))).fetchone()
        return None if row is None else bytes(row[0])


def _digest(name: str) -> bytes:
    """Names of people stand in no key: who reads the table learns none."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:16]
