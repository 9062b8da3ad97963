"""Ledgers' partitions on PostgreSQL: one for each quarter of a year, by the turns' ids. What has had its time goes as a whole.

Which there should be is decided here; the store asks, at its start and whenever the retention job runs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from memory.ids import first_id, made_ms
from memory.postgres_locks import Lock
from memory.stores.postgres_pool import Database, Refused, Transaction
from memory.stores.postgres_statement import statement

logger = logging.getLogger(__name__)

AHEAD = 2
"""How many quarters beyond this one have their partition already. Without one a turn could not be stored."""

_LOCK = statement(f"SELECT pg_advisory_xact_lock({Lock.QUARTERS:d})")
_BRIEFLY = statement("SET LOCAL lock_timeout = '500ms'")  # whoever comes after a change waits behind it
_LONG = statement("SET LOCAL statement_timeout = 0")
_PARTITIONS = statement("""SELECT c.relname::text,
    substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \\(''?(\\d+)')::bigint AS until_id
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'ledgers'::regclass ORDER BY until_id""")
_ALONE = statement("LOCK TABLE ONLY ledgers IN ACCESS EXCLUSIVE MODE")
_LOCK_NOT_AVAILABLE = "55P03"


@dataclass(frozen=True, slots=True)
class Quarter:
    """A partition to make, for ids from `first_id` on and before `until_id`."""

    name: str
    first_id: int
    until_id: int


def missing(until_id: int, *, now_ms: int) -> Iterator[Quarter]:
    """Yield the quarters that should have a partition at `now_ms` and begin at `until_id` or later, where the last one ends."""
    wanted = datetime.fromtimestamp(now_ms / 1000, UTC)
    last = wanted.year * 4 + (wanted.month - 1) // 3 + AHEAD
    start = datetime.fromtimestamp(made_ms(until_id) / 1000, UTC)
    for number in range(start.year * 4 + (start.month - 1) // 3, last + 1):
        name = f"ledgers_{number // 4}q{number % 4 + 1}"
        yield Quarter(name, _begins(number), _begins(number + 1))


def _begins(number: int) -> int:
    begin = datetime(number // 4, number % 4 * 3 + 1, 1, tzinfo=UTC)
    return first_id(round(begin.timestamp() * 1000))


async def make_ahead(database: Database, *, now_ms: int) -> None:
    """Make the partitions that `missing` says. Where somebody holds a lock too long that is left for the next time."""
    if not any(missing(await _until(database), now_ms=now_ms)):
        return
    with _left_for_later("partitions of the ledgers are still to be made"):
        await _make_ahead(database, now_ms=now_ms)


async def _make_ahead(database: Database, *, now_ms: int) -> None:
    async with database.transaction() as transaction:
        await transaction.fetch(_BRIEFLY)
        await transaction.fetch(_LOCK)
        for quarter in missing(await _until(transaction), now_ms=now_ms):
            # Not CREATE TABLE … PARTITION OF: that stops everybody, attaching does not.
            await transaction.fetch(statement(f"CREATE TABLE {quarter.name} (LIKE ledgers INCLUDING DEFAULTS)"))
            await transaction.fetch(
                statement(
                    f"ALTER TABLE ledgers ATTACH PARTITION {quarter.name} "
                    f"FOR VALUES FROM ({quarter.first_id}) TO ({quarter.until_id})"
                )
            )


async def drop_old(database: Database, *, before_ms: int) -> int:
    """Drop the partitions all of whose ledgers were made before `before_ms`, and none of which is due; return how many ledgers
    went. One that is in use is left for the next time."""
    gone = 0
    with _left_for_later("partitions of the ledgers are still to be dropped"):
        for name, until_id in await database.fetch(_PARTITIONS):
            if until_id <= first_id(before_ms):
                gone += await _drop(database, name, before_ms=before_ms)
    return gone


async def _drop(database: Database, name: str, *, before_ms: int) -> int:
    kept = statement(f"""SELECT EXISTS (SELECT FROM {name} WHERE created_ms >= %(before_ms)s)
    OR EXISTS (SELECT FROM {name} WHERE due_ms IS NOT NULL)""")
    async with database.transaction() as transaction:
        for setting in (_LONG, _BRIEFLY, _LOCK):
            await transaction.fetch(setting)
        ((count,),) = await transaction.fetch(statement(f"SELECT count(*) FROM {name}"))  # before anybody waits
        await transaction.fetch(_ALONE)
        ((keep,),) = await transaction.fetch(kept, {"before_ms": before_ms})
        if not keep:
            await transaction.fetch(statement(f"DROP TABLE {name}"))
        return 0 if keep else int(count)


@contextmanager
def _left_for_later(what: str) -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        if refused.sqlstate != _LOCK_NOT_AVAILABLE:
            raise
        logger.warning(what)


async def _until(where: Database | Transaction) -> int:
    partitions: Sequence[tuple[str, int]] = await where.fetch(_PARTITIONS)
    return max((until_id for _, until_id in partitions), default=0)
