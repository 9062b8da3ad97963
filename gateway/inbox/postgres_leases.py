"""Leases on PostgreSQL: a row that names an instance, good for as long as that instance lives.

No renewal of its own: whoever is given up for dead has lost what it held (`postgres_member`). One task takes and releases for
all, so that a caller who is cancelled in between leaves nothing held behind.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NoReturn

from gateway.conditions import Condition, condition_of
from gateway.errors import StoreBusy
from gateway.inbox.postgres_events import Connection
from gateway.inbox.postgres_member import LEASE_BELL, Member
from gateway.leases import Departed, Held, Instance, Work

logger = logging.getLogger(__name__)

GRACE_S = 60.0
"""Seconds that one of several slots is kept on without a word from the database: there one more does no harm, and a server that
is started again must not close every socket. No longer, as nothing can be stored of what comes in."""

_STATES = """
SELECT name, fence, owner IS NULL OR NOT EXISTS (SELECT 1 FROM inbox_instances i WHERE i.id = l.owner), owner
FROM inbox_leases l WHERE name = ANY(%s)"""

# Whoever took it after we looked has raised the fence: the row is judged as it is now, the list of instances as it was then. A
# row that was swept away comes back with a fence greater than all it had: nobody takes it for the one that was looked at.
_TAKE = """
INSERT INTO inbox_leases (name, owner, fence)
SELECT %(name)s, i.id, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM inbox_instances i WHERE i.id = %(me)s
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, fence = inbox_leases.fence + 1 WHERE inbox_leases.fence = %(seen)s
RETURNING fence"""

_RELEASE = "UPDATE inbox_leases SET owner = NULL WHERE name = %s AND owner = %s AND fence = %s"

# What nobody holds; most often because its channel is none any more.
_SWEEP = """
DELETE FROM inbox_leases l WHERE owner IS NULL OR NOT EXISTS (SELECT 1 FROM inbox_instances i WHERE i.id = l.owner)"""

_INSTANCES = """
SELECT id, number, release, settings, host, (extract(epoch FROM joined) * 1000)::bigint,
  extract(epoch FROM lease_until - clock_timestamp())::float8,
  ARRAY(SELECT name FROM inbox_leases l WHERE l.owner = i.id ORDER BY name), id = %s, told
FROM inbox_instances i ORDER BY id"""

_DEPARTED = """
SELECT id, number, release, host, (extract(epoch FROM joined) * 1000)::bigint,
  floor(extract(epoch FROM left_at) * 1000)::bigint, lost
FROM inbox_departed WHERE left_at >= to_timestamp(%s / 1000.0) ORDER BY left_at DESC, id DESC"""


@dataclass(eq=False, slots=True)
class _Lease:
    """Implements `Held`. `over` is set when others can have it."""

    name: str
    owner: int
    fence: int
    member: Member
    grace_s: float
    given_up: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def valid(self) -> bool:
        return not self.given_up and self.member.id == self.owner and self.member.valid(grace_s=self.grace_s)


@dataclass(eq=False, slots=True)
class _Wish:
    """One of these names is wanted."""

    names: Sequence[str]
    elsewhere: Callable[[], None]
    granted: asyncio.Future[_Lease]
    told: bool = False


class PostgresLeases:
    """Implements `Leases`. `async with` it, inside the membership."""

    def __init__(
        self, connection: Callable[[], AbstractAsyncContextManager[Connection]], member: Member, *, rest_s: float
    ) -> None:
        """`rest_s` is how long others have to take what was given up here."""
        self._connection = connection
        self._member = member
        self._rest_s = rest_s
        self._held: dict[str, _Lease] = {}
        self._leaving: dict[str, _Lease] = {}  # not held any more, but nobody else can know that yet
        self._wishes: list[_Wish] = []
        self._over: set[str] = set()  # kinds that are not taken any more
        self._swept = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> PostgresLeases:
        self._task = asyncio.create_task(self._run(), name="leases")
        self._task.add_done_callback(self._ended)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    # --- what callers see

    async def hold(
        self, name: str, work: Work, *, slots: int = 1, elsewhere: Callable[[], None] = lambda: None
    ) -> NoReturn:
        names = [name] if slots == 1 else [f"{name}/{slot}" for slot in range(slots)]
        while True:
            lease = await self._granted(names, elsewhere)
            try:
                await _run_until(_done(work, lease), self._lost(lease))
            finally:
                self._let_go(lease)
            await asyncio.sleep(self._rest_s)

    async def give_up(self, kinds: Collection[str]) -> None:
        if self._member.alone:
            return
        self._over |= set(kinds)
        ours = [lease for lease in [*self._held.values(), *self._leaving.values()] if _kind(lease.name) in self._over]
        for lease in ours:
            lease.given_up = True
        self._member.looked.ring()
        for lease in ours:
            await lease.over.wait()

    async def instances(self) -> Sequence[Instance]:
        async with self._connection() as db:
            cursor = await db.execute(_INSTANCES, (self._member.id,))
            rows = await cursor.fetchall()
        return [
            Instance(
                id=id_,
                number=number,
                release=release,
                settings=settings,
                host=host,
                joined_ms=joined_ms,
                left_s=left_s,
                leases=tuple(leases),
                here=here,
                condition=condition_of(told),
            )
            for id_, number, release, settings, host, joined_ms, left_s, leases, here, told in rows
        ]

    async def departed(self, *, since_ms: int) -> Sequence[Departed]:
        async with self._connection() as db:
            cursor = await db.execute(_DEPARTED, (since_ms,))
            rows = await cursor.fetchall()
        return [
            Departed(id=id_, number=number, release=release, host=host, joined_ms=joined_ms, left_ms=left_ms, lost=lost)
            for id_, number, release, host, joined_ms, left_ms, lost in rows
        ]

    @property
    def live(self) -> int:
        return self._member.live

    @property
    def skew_s(self) -> float:
        return self._member.skew_s

    def tell(self, settings: str) -> None:
        self._member.settings = settings

    def describe(self, condition: Callable[[], Condition]) -> None:
        self._member.condition = condition

    # --- between the callers and the one task

    async def _granted(self, names: Sequence[str], elsewhere: Callable[[], None]) -> _Lease:
        wish = _Wish(names, elsewhere, asyncio.get_running_loop().create_future())
        self._wishes.append(wish)
        self._member.looked.ring()
        try:
            return await wish.granted
        except asyncio.CancelledError:
            if wish.granted.done() and not wish.granted.cancelled() and wish.granted.exception() is None:
                self._let_go(wish.granted.result())
            raise
        finally:
            if wish in self._wishes:
                self._wishes.remove(wish)

    def _let_go(self, lease: _Lease) -> None:
        del self._held[lease.name]
        self._leaving[lease.name] = lease
        self._member.looked.ring()

    async def _lost(self, lease: _Lease) -> None:
        seen = 0
        while lease.valid():
            seen = await self._member.looked.wait(seen)

    # --- the one task

    async def _run(self) -> None:
        seen = 0
        while True:
            seen = await self._member.looked.wait(seen)
            try:
                await self._step()
            except StoreBusy:
                logger.debug("leases wait for the database", exc_info=True)

    async def _step(self) -> None:
        wishes = [wish for wish in self._wishes if _kind(wish.names[0]) not in self._over]
        if not wishes and not self._leaving:
            return
        async with self._connection() as db:
            if not self._swept:  # once a start
                await db.execute(_SWEEP)
                self._swept = True
            if wishes:
                await self._take(db, wishes)
            released = await self._release(db)
            if released and not self._member.alone:
                await db.execute("SELECT pg_notify(%s, %s)", (LEASE_BELL, str(self._member.id)))

    async def _take(self, db: Connection, wishes: Sequence[_Wish]) -> None:
        cursor = await db.execute(_STATES, ([name for wish in wishes for name in wish.names],))
        me = self._member.id
        states = {name: (fence, free, owner == me) for name, fence, free, owner in await cursor.fetchall()}
        for wish in wishes:
            # What is ours and nobody's here first: it would be nobody's at all.
            open_ = [(not ours, name, fence) for name, (fence, free, ours) in states.items() if free or ours]
            open_ += [(True, name, 0) for name in wish.names if name not in states]
            for _, name, seen in sorted(one for one in open_ if one[1] in wish.names and one[1] not in self._held):
                cursor = await db.execute(_TAKE, {"name": name, "me": me, "seen": seen})
                if (row := await cursor.fetchone()) is not None:
                    self._grant(wish, _Lease(name, me, row[0], self._member, GRACE_S if len(wish.names) > 1 else 0))
                    break
            else:
                if not wish.told:
                    wish.told = True
                    wish.elsewhere()

    def _grant(self, wish: _Wish, lease: _Lease) -> None:
        if (left := self._leaving.pop(lease.name, None)) is not None:
            left.over.set()
        self._held[lease.name] = lease
        if wish.granted.cancelled():
            self._let_go(lease)
        else:
            self._wishes.remove(wish)
            wish.granted.set_result(lease)

    async def _release(self, db: Connection) -> bool:
        leaving = list(self._leaving.values())
        for lease in leaving:
            await db.execute(_RELEASE, (lease.name, lease.owner, lease.fence))
            if self._leaving.get(lease.name) is lease:
                del self._leaving[lease.name]
            lease.over.set()
        return bool(leaving)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._member.looked.fail(fault)


async def _run_until(working: Coroutine[Any, Any, None], lost: Coroutine[Any, Any, None]) -> None:
    """Run the work; cancel it as soon as `lost` returns. Returns when it has ended, raises what it raised."""
    tasks = [asyncio.create_task(working, name="under a lease"), asyncio.create_task(lost, name="watching a lease")]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()


async def _done(work: Work, lease: Held) -> None:
    await work(lease)


def _kind(name: str) -> str:
    return name.partition(":")[0]
