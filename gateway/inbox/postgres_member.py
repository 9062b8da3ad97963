"""What an instance does to be one of many on the same queues: show that it lives, hear the others, take over from the dead.

Two signs of life. The lease on its row, renewed at every look: a process that hangs lets it run out. The advisory lock on its
listening connection: the server drops it as soon as a killed process's socket closes, which takes two looks to notice instead
of a whole lease (two, so that a reconnecting instance is not buried). Either sign missing gives its lanes away; should it live
after all, the fences keep it from writing.

Needs a session of its own on the server, so no transaction-pooling proxy between.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, TypeVar

import msgspec
from psycopg import AsyncConnection, InternalError, OperationalError
from psycopg_pool import AsyncConnectionPool

from gateway.conditions import Condition, told
from gateway.inbox import postgres_joining as joining
from gateway.inbox.changes import Changes
from gateway.inbox.postgres_arriving import arrive
from gateway.inbox.postgres_events import Connection
from gateway.inbox.postgres_joining import Entry
from gateway.waits import boottime_s
from memory.lending import lent, within
from memory.postgres_locks import Lock
from memory.postgres_sessions import guards

logger = logging.getLogger(__name__)

Step = TypeVar("Step")

BELL = "clew_queue"
LEASE_BELL = "clew_leases"

AWAY = (OperationalError, InternalError, OSError, TimeoutError)
"""What is raised where the database is away; by InternalError, among others, a server that must not write, as a standby."""

PLAIN_ROUND_TRIP_S = 1.0
"""Seconds that an answer may take and still tell how late it is on the other side."""

# Lanes and queues are passed over while somebody writes to them; the next look gets them.
_FREE_LANES = """
UPDATE inbox_lanes SET owner = NULL WHERE lane IN (
  SELECT lane FROM inbox_lanes l WHERE owner IS NOT NULL AND (lease_until < clock_timestamp()
    OR NOT EXISTS (SELECT 1 FROM inbox_instances i WHERE i.id = l.owner))
  ORDER BY lane FOR UPDATE SKIP LOCKED)"""

_FREE_QUEUES = """
UPDATE outbox_queues SET owner = NULL WHERE queue IN (
  SELECT queue FROM outbox_queues q WHERE owner IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM inbox_instances i WHERE i.id = q.owner)
  ORDER BY queue FOR UPDATE SKIP LOCKED)"""

# Counted anew by whoever finds the count that all share older than half a look; nobody waits for who is just counting.
_BACKLOG = """
WITH old AS (
  SELECT FROM inbox_backlog WHERE counted < clock_timestamp() - %(age_s)s * interval '1 s' FOR UPDATE SKIP LOCKED
), counted AS (
  INSERT INTO inbox_backlog AS b (one, waiting, counted)
  SELECT true, (SELECT count(*) FROM inbox_events WHERE state = 'accepted' AND kind = 'message'), clock_timestamp()
  WHERE EXISTS (SELECT FROM old) OR NOT EXISTS (SELECT FROM inbox_backlog)
  ON CONFLICT (one) DO UPDATE SET waiting = excluded.waiting, counted = excluded.counted
  RETURNING waiting
)
SELECT coalesce((SELECT waiting FROM counted), (SELECT waiting FROM inbox_backlog), 0),
  (SELECT count(*) FROM inbox_instances)"""


class Member:
    """This instance among the others; `async with` joins and leaves. `id` changes if the others gave it up for dead."""

    id: int

    def __init__(
        self,
        dsn: str,
        *,
        pool: AsyncConnectionPool[Connection],
        changes: Changes,
        lease_s: float,
        poll_s: float,
        timeout_s: float,
        entry: Entry | None = None,
        clock_s: Callable[[], float] = boottime_s,
    ) -> None:
        """`entry` is what it enters the list with (None: nothing to tell). `changes` is rung for what others did; `poll_s` is
        the time between two looks at them; `clock_s` runs on while the machine sleeps."""
        self._dsn = dsn
        self._pool = pool
        self._changes = changes
        self._lease_s = lease_s
        self._poll_s = poll_s
        self._timeout_s = min(timeout_s, lease_s / 3)
        self._entry = entry or Entry()
        self._clock_s = clock_s
        self.settings: str | None = None
        """The revision of the settings in force here, told to the others at the next look."""
        self.condition: Callable[[], Condition] = Condition
        """How this instance is, told to the others at each look."""
        self.skew_s = 0.0
        """Seconds by which this machine's clock is ahead of the server's."""
        self.live = 1
        """How many instances there are, as of the last look."""
        self._valid_until = -math.inf
        self._locked = False
        self._silent: set[int] = set()
        self.alone = True
        """Whether nobody else is there, as far as known."""
        self._news = asyncio.Event()
        self.looked = Changes(poll_s=poll_s)
        """Rung at each look at the others, and whenever this instance may have lost its place among them."""
        self._tasks: list[asyncio.Task[None]] = []
        self.backlog = 0
        """Messages not yet started, on all instances: as counted at the last look, kept up with by who knows better."""

    async def __aenter__(self) -> Member:
        self._listener = listener = await self._connect()
        try:
            async with within(self._timeout_s):
                self.skew_s = await joining.skew_s(listener, self._entry.clock_ms)
            joining.check_skew(self.skew_s)
            await self._join(listener)
        except BaseException:
            await listener.close()
            raise
        self._tasks = [
            asyncio.create_task(self._live(listener), name="queue-listener"),
            asyncio.create_task(self._ring_others(), name="queue-bell"),
        ]
        for task in self._tasks:
            task.add_done_callback(self._ended)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._stop()
        await self._listener.close()  # of a task that was stopped before its first step
        try:
            async with lent(self._pool, limit_s=self._timeout_s) as db:
                await joining.leave(db, me=self.id)
                await db.execute(_FREE_LANES)
                await db.execute(_FREE_QUEUES)
                await db.execute("SELECT pg_notify(%s, ''), pg_notify(%s, '')", (BELL, LEASE_BELL))
        except AWAY:
            logger.warning("left without a word; others take over when the lease ends", exc_info=True)

    def valid(self, *, grace_s: float = 0) -> bool:
        """Whether nobody can have taken over from this instance yet: its lease can't have run out, by this machine's clock.

        Pure. False also for one that was given up for dead, or is cut off from the database. What the lease guards may be
        done in the same step of the event loop as the question, and not later. `grace_s` is added where one more does no
        harm."""
        return self._clock_s() < self._valid_until + grace_s

    def tell(self) -> None:
        """Let the other instances know of a change, soon; many calls make one message."""
        self._news.set()

    async def _stop(self) -> None:
        left = set(self._tasks)
        while left:
            for task in left:
                task.cancel()
            # Again, if need be: neither the driver nor its pool promises that a cancellation arrives (psycopg/psycopg#1345).
            _, left = await asyncio.wait(left, timeout=self._timeout_s)

    async def _connect(self) -> Connection:
        async with within(self._timeout_s):
            db = await AsyncConnection.connect(self._dsn, **how_to_connect(self._timeout_s))
            try:
                await db.execute(guards(self._timeout_s).encode())
                await db.execute(f"LISTEN {BELL}")
                await db.execute(f"LISTEN {LEASE_BELL}")
                await arrive(
                    db, now_ms=self._entry.clock_ms()
                )  # at each connection: another server may have taken over
            except BaseException:
                await db.close()
                raise
        self._locked = False
        return db

    async def _join(self, db: Connection) -> None:
        buried: int | None = None
        while True:
            asked = self._clock_s()
            async with within(self._timeout_s):
                entered = await joining.join(
                    db, self._entry, lease_s=self._lease_s, settings=self.settings, buried=buried
                )
            if isinstance(entered, tuple):
                break
            if entered.locked or entered.id == buried:
                raise joining.taken(self._entry.number or 0, entered)
            buried = entered.id  # a process that died a moment ago, perhaps the one whose place we take
            await asyncio.sleep(self._poll_s)
        self.id, number = entered
        self._valid_until = asked + self._lease_s
        self._locked = False
        self._entry.numbered(number)
        await self._look(db, joining_now=True)
        async with within(self._timeout_s):
            await db.execute("SELECT pg_notify(%s, %s)", (BELL, str(self.id)))

    async def _live(self, db: Connection) -> None:
        while True:
            try:
                async with db:
                    await self._listen(db)
            except AWAY:
                logger.warning("lost the database", exc_info=True)
            # Our lock is gone with the connection: whoever looked just now sees it missing again `poll_s` later.
            self._valid_until = min(self._valid_until, self._clock_s() + self._poll_s)
            self.looked.ring()
            db = await self._reconnect()

    async def _listen(self, db: Connection) -> None:
        while True:
            async for note in db.notifies(timeout=self._poll_s):
                if note.payload == str(self.id):
                    continue
                self.alone = False
                (self._changes if note.channel == BELL else self.looked).ring()
            await self._look(db)
            self.looked.ring()

    async def _reconnect(self) -> Connection:
        while True:
            try:
                db = await self._connect()
            except AWAY:
                await asyncio.sleep(self._poll_s)  # nothing tells when a server is back
            else:
                # What ended our connection has its others, too. Not `check`: it asks each in turn, waits for ever for one that
                # is silent, and swallows the cancellation that would end that.
                await self._pool.drain()
                self._changes.ring()
                return db

    async def _look(self, db: Connection, *, joining_now: bool = False) -> None:
        async with within(self._timeout_s):
            there = await self._renew(db)
        if not there:
            logger.warning("given up for dead; joining anew", extra={"instance": self.id})
            self._valid_until = -math.inf
            await self._join(db)
            return
        if not self._locked:
            lock = db.execute("SELECT pg_try_advisory_lock(%s, %s)", (Lock.INSTANCES, self.id))
            ((self._locked,),) = await (await self._step(db, lock)).fetchall()
        silent = await self._step(db, joining.silent(db, me=self.id))
        await self._step(db, joining.bury(db, me=self.id, dead=list(silent & self._silent)))
        self._silent = silent
        lanes = await self._step(db, db.execute(_FREE_LANES))
        queues = await self._step(db, db.execute(_FREE_QUEUES))
        if lanes.rowcount or queues.rowcount:
            self._changes.ring()
        counted = db.execute(_BACKLOG, {"age_s": 0 if joining_now else self._poll_s / 2})
        cursor = await self._step(db, counted)
        ((self.backlog, self.live),) = await cursor.fetchall()
        self.alone = self.live == 1

    async def _step(self, db: Connection, work: Awaitable[Step]) -> Step:
        """Do one step of a look. Each has its own time, and our lease does not wait for the last: who hangs up on a slow database
        is given up for dead, and gives it more to do."""
        async with within(self._timeout_s):
            done = await work
        if self._clock_s() > self._valid_until - 2 / 3 * self._lease_s:
            async with within(self._timeout_s):
                await self._renew(db)  # the next look sees whether we are still there
        return done

    async def _renew(self, db: Connection) -> bool:
        """Return whether we are still in the list."""
        asked, asked_ms = self._clock_s(), self._entry.clock_ms()
        cursor = await db.execute(
            "UPDATE inbox_instances SET lease_until = clock_timestamp() + make_interval(secs => %s), settings = %s,"
            " told = %s WHERE id = %s RETURNING extract(epoch FROM clock_timestamp())::float8",
            (self._lease_s, self.settings, self._told(), self.id),
        )
        renewed = await cursor.fetchone()
        if renewed is None:
            return False
        self._valid_until = asked + self._lease_s
        if self._clock_s() - asked < PLAIN_ROUND_TRIP_S:
            self.skew_s = (asked_ms + self._entry.clock_ms()) / 2000 - float(renewed[0])
        return True

    def _told(self) -> str:
        return told(msgspec.structs.replace(self.condition(), lease_s=self._lease_s, skew_s=round(self.skew_s, 3)))

    async def _ring_others(self) -> None:
        # Never inside the transaction that stores: a NOTIFY there serialises all commits (`engines.md` A.8, 1).
        while True:
            await self._news.wait()
            self._news.clear()
            if self.alone:
                continue
            try:
                async with lent(self._pool, limit_s=self._timeout_s) as db:
                    await db.execute("SELECT pg_notify(%s, %s)", (BELL, str(self.id)))
            except AWAY:
                logger.debug("the others were not told; they look for themselves", exc_info=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            self._changes.fail(fault)
            self.looked.fail(fault)


def how_to_connect(timeout_s: float) -> dict[str, Any]:
    """Return what the driver is told for each connection of the queues; `Any` as it takes values of many types."""
    return {
        "autocommit": True,
        "connect_timeout": max(2, math.ceil(timeout_s)),
        "tcp_user_timeout": math.ceil(timeout_s * 1000),  # a server that vanished without a word
    }
