"""How an instance enters the others' list and leaves it: with a number of its own for the ids it draws, and a clock like theirs.

The number that was given up longest ago is taken first: two machines whose clocks differ must not draw one id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.errors import CannotJoin, StoreBusy
from gateway.inbox.batch import RETRY_AFTER_S
from gateway.inbox.postgres_events import Connection
from gateway.leases import DEPARTED, About
from memory.ids import now_ms
from memory.postgres_locks import Lock

MOST_SKEW_S = 60.0
"""Seconds that a clock may be off when an instance joins: what is due when, and how old something is, go by it."""

_LOCKED = """
SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND classid = %(locks)s::oid AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""

_SILENT = f"SELECT id FROM inbox_instances WHERE id <> %(me)s AND id::oid NOT IN ({_LOCKED})"

_HOLDER = f"""
SELECT id, coalesce(host, '(unknown)'), to_char(joined AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'),
  lease_until < clock_timestamp(), id::oid IN ({_LOCKED})
FROM inbox_instances WHERE number = %(number)s"""

_JOIN = """
INSERT INTO inbox_instances (lease_until, number, release, settings, host)
SELECT clock_timestamp() + make_interval(secs => %(lease_s)s), free.number, %(release)s, %(settings)s, %(host)s FROM (
  SELECT g.number FROM generate_series(0, 1023) AS g (number) LEFT JOIN inbox_numbers u ON u.number = g.number
  WHERE g.number = coalesce(%(number)s::integer, g.number)
    AND NOT EXISTS (SELECT 1 FROM inbox_instances i WHERE i.number = g.number)
  ORDER BY u.left_at NULLS FIRST, g.number LIMIT 1) AS free
RETURNING id, number"""

_COPYING = "SELECT to_regclass('copy_progress') IS NOT NULL"

_LEAVE = """
WITH gone AS (DELETE FROM inbox_instances WHERE {which} RETURNING id, number, release, host, joined),
noted AS (INSERT INTO inbox_departed (id, number, release, host, joined, left_at, lost)
  SELECT id, number, release, host, joined, clock_timestamp(), {lost} FROM gone)
INSERT INTO inbox_numbers (number, left_at) SELECT number, clock_timestamp() FROM gone WHERE number IS NOT NULL
ON CONFLICT (number) DO UPDATE SET left_at = excluded.left_at"""

_BURY = _LEAVE.format(
    which="id <> %(me)s AND (lease_until < clock_timestamp() OR id = ANY(%(dead)s::int[]))", lost="true"
)
_GO = _LEAVE.format(which="id = %(me)s", lost="false")

_FORGET = f"""
DELETE FROM inbox_departed WHERE left_at < (
  SELECT left_at FROM inbox_departed ORDER BY left_at DESC OFFSET {DEPARTED - 1} LIMIT 1)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What an instance enters with. `number` is one that it insists on; None: any. `numbered` hears of the one it got, at each
    joining; `clock_ms` gives milliseconds since 1970."""

    about: About = field(default_factory=lambda: About(release=""))
    number: int | None = None
    numbered: Callable[[int], None] = lambda _number: None
    clock_ms: Callable[[], int] = now_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who has the number that was asked for. `told` is what an admin needs to find it."""

    id: int
    told: str
    expired: bool
    locked: bool


async def join(
    db: Connection, entry: Entry, *, lease_s: float, settings: str | None, buried: int | None
) -> tuple[int, int] | Holder:
    """Enter the list; return id and number, or who has the number that was asked for and may be alive. `buried` is one that was
    silent for two looks. Raises `StoreBusy` where 1,024 run, and where `db copy` has not come to its end."""
    asked = {"number": entry.number, "lease_s": lease_s, "settings": settings}
    asked |= {"release": entry.about.release, "host": entry.about.where}
    async with db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock(%s)", (Lock.JOINING,))
        cursor = await db.execute(_COPYING)
        if await cursor.fetchone() == (True,):
            told = "a copy into this database was begun and has not come to its end"
            raise StoreBusy(f"{told}; run `db copy` again until it says that both are the same", retry_after_s=60)
        if entry.number is not None and (holder := await _holder(db, entry.number)) is not None:
            if not holder.expired and holder.id != buried:
                return holder
            await bury(db, me=0, dead=[holder.id])
        await db.execute(_FORGET)
        cursor = await db.execute(_JOIN, asked)
        rows = await cursor.fetchall()
    if not rows:
        raise StoreBusy("1,024 instances run on this database, which is the most", retry_after_s=RETRY_AFTER_S)
    return rows[0][0], rows[0][1]


async def _holder(db: Connection, number: int) -> Holder | None:
    cursor = await db.execute(_HOLDER, {"number": number, "locks": Lock.INSTANCES})
    found = await cursor.fetchone()
    if found is None:
        return None
    id_, host, joined, expired, locked = found
    return Holder(id=id_, told=f"{host}, since {joined} UTC", expired=expired, locked=locked)


async def silent(db: Connection, *, me: int) -> set[int]:
    """Return the instances whose lock nobody holds: dead, or connecting again."""
    cursor = await db.execute(_SILENT, {"me": me, "locks": Lock.INSTANCES})
    return {id_ for (id_,) in await cursor.fetchall()}


async def bury(db: Connection, *, me: int, dead: list[int]) -> None:
    """Take from the list those, and whose lease is out."""
    await db.execute(_BURY, {"me": me, "dead": dead})


async def leave(db: Connection, *, me: int) -> None:
    """Take ourselves from the list."""
    await db.execute(_GO, {"me": me})


async def skew_s(db: Connection, clock_ms: Callable[[], int]) -> float:
    """Return the seconds by which our clock is ahead of the server's, to half a round trip."""
    asked = clock_ms()
    cursor = await db.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
    ((told,),) = await cursor.fetchall()
    return (asked + clock_ms()) / 2000 - float(told)


def taken(number: int, holder: Holder) -> CannotJoin:
    """Say who has the number."""
    remedy = "give each instance its own, or leave `server.instance` unset"
    return CannotJoin(f"server.instance: {number} is taken by the instance on {holder.told}; {remedy}")


def check_skew(seconds: float) -> None:
    """Raise `CannotJoin` for a clock that is too far off. Pure."""
    if abs(seconds) > MOST_SKEW_S:
        how = "ahead of" if seconds > 0 else "behind"
        told = f"this machine's clock is {abs(seconds):,.0f} s {how} the database's"
        raise CannotJoin(f"{told}, more than {MOST_SKEW_S:g} s; set it by NTP and start again")
