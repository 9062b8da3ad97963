"""Ledgers' partitions on PostgreSQL: one for each quarter of a year, by the turns' ids. What has had its time goes as a whole.

Which there should be is decided here; the store asks, at its start and whenever the retention job runs. What fits none stands in
`ledgers_rest`: a turn of a quarter that is gone already, or that nobody made in time.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from memory.errors import StoreUnavailable
from memory.ids import first_id
from memory.postgres_locks import Lock
from memory.stores.postgres_pool import Database, Transaction
from memory.stores.postgres_statement import statement

logger = logging.getLogger(__name__)

AHEAD = 2
"""How many quarters beyond this one have their partition already."""
COUNTED = 10_000
"""Ledgers of a quarter that are counted when it goes: counting many millions takes longer than a connection is lent for."""

_LOCK = statement(f"SELECT pg_advisory_xact_lock({Lock.QUARTERS:d})")
_BRIEFLY = statement("SET LOCAL lock_timeout = '500ms'")  # whoever comes after a change waits behind it
_LONG = statement("SET LOCAL statement_timeout = 0")
_PARTITIONS = statement("""SELECT c.relname::text, substring(b.bound FROM 'FROM \\(''?(-?\\d+)')::bigint AS first_id,
    substring(b.bound FROM 'TO \\(''?(-?\\d+)')::bigint AS until_id
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, pg_get_expr(c.relpartbound, c.oid) AS b (bound)
  WHERE i.inhparent = 'ledgers'::regclass AND b.bound <> 'DEFAULT' ORDER BY until_id""")
_REST = statement("LOCK TABLE ledgers_rest IN ACCESS EXCLUSIVE MODE")
_ALONE = statement("LOCK TABLE ONLY ledgers IN ACCESS EXCLUSIVE MODE")


@dataclass(frozen=True, slots=True)
class Quarter:
    """A partition, for ids from `first_id` on and before `until_id`; `first_id` None: for all that are smaller."""

    name: str
    first_id: int | None
    until_id: int


def missing(there: Collection[Quarter], *, now_ms: int) -> Iterator[Quarter]:
    """Yield the quarters from `now_ms` on that should have a partition and have none, in their order."""
    today = datetime.fromtimestamp(now_ms / 1000, UTC)
    this = today.year * 4 + (today.month - 1) // 3
    for number in range(this, this + AHEAD + 1):
        begins, ends = _begins(number), _begins(number + 1)
        if not any((one.first_id is None or one.first_id < ends) and begins < one.until_id for one in there):
            yield Quarter(f"ledgers_{number // 4}q{number % 4 + 1}", begins, ends)


def _begins(number: int) -> int:
    begin = datetime(number // 4, number % 4 * 3 + 1, 1, tzinfo=UTC)
    return first_id(round(begin.timestamp() * 1000))


async def make_ahead(database: Database, *, now_ms: int) -> None:
    """Make the partitions that `missing` says; what came too early for them goes there. Where that can't be, for somebody who
    holds a lock too long, it is left for the next time."""
    if not any(missing(await _there(database), now_ms=now_ms)):
        return
    with _left_for_later("partitions of the ledgers are still to be made"):
        await _make_ahead(database, now_ms=now_ms)


async def _make_ahead(database: Database, *, now_ms: int) -> None:
    async with database.transaction() as transaction:
        for setting in (_LONG, _BRIEFLY, _LOCK):
            await transaction.fetch(setting)
        for quarter in missing(await _there(transaction), now_ms=now_ms):
            await _make(transaction, quarter)


async def _make(transaction: Transaction, quarter: Quarter) -> None:
    # Not CREATE TABLE … PARTITION OF: that stops everybody, attaching only whoever looks at the rest.
    await transaction.fetch(statement(f"CREATE TABLE {quarter.name} (LIKE ledgers INCLUDING DEFAULTS)"))
    await transaction.fetch(_REST)
    border = f"FROM ({quarter.first_id}) TO ({quarter.until_id})"
    await transaction.fetch(
        statement(f"""WITH late AS (DELETE FROM ledgers_rest
      WHERE turn_id >= {quarter.first_id} AND turn_id < {quarter.until_id} RETURNING *)
    INSERT INTO {quarter.name} SELECT * FROM late""")
    )
    await transaction.fetch(statement(f"ALTER TABLE ledgers ATTACH PARTITION {quarter.name} FOR VALUES {border}"))


async def drop_old(database: Database, *, before_ms: int) -> int:
    """Drop the partitions all of whose ledgers were made before `before_ms`, and none of which is due; return how many ledgers
    went, of a big one as many as the server reckons. One that is in use is left for the next time."""
    gone = 0
    with _left_for_later("partitions of the ledgers are still to be dropped"):
        for quarter in await _there(database):
            if quarter.until_id <= first_id(before_ms):
                gone += await _drop(database, quarter.name, before_ms=before_ms)
    return gone


async def _drop(database: Database, name: str, *, before_ms: int) -> int:
    kept = statement(f"""SELECT EXISTS (SELECT FROM {name} WHERE created_ms >= %(before_ms)s)
    OR EXISTS (SELECT FROM {name} WHERE due_ms IS NOT NULL)""")
    counted = statement(f"""SELECT CASE WHEN few.n <= {COUNTED} THEN few.n ELSE
      (SELECT greatest(c.reltuples::bigint, few.n) FROM pg_class c WHERE c.oid = '{name}'::regclass) END
    FROM (SELECT count(*) AS n FROM (SELECT FROM {name} LIMIT {COUNTED + 1}) begun) few""")
    async with database.transaction() as transaction:
        for setting in (_LONG, _BRIEFLY, _LOCK):
            await transaction.fetch(setting)
        ((count,),) = await transaction.fetch(counted)  # before anybody waits
        await transaction.fetch(_ALONE)
        ((keep,),) = await transaction.fetch(kept, {"before_ms": before_ms})
        if not keep:
            await transaction.fetch(statement(f"DROP TABLE {name}"))
        return 0 if keep else int(count)


@contextmanager
def _left_for_later(what: str) -> Iterator[None]:
    try:
        yield
    except StoreUnavailable as why:
        # Nothing hangs on it: rows of a quarter that is not there go to the rest, old ones one by one.
        logger.warning(what, extra={"reason": str(why)})


async def _there(where: Database | Transaction) -> list[Quarter]:
    return [Quarter(*row) for row in await where.fetch(_PARTITIONS)]
