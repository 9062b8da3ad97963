"""Conversations on PostgreSQL: each look is a transaction."""

from __future__ import annotations

from typing import TypeVar

from memory.stores.browse_steps import Looked, Spoken
from memory.stores.browsing import StoredBrowsing
from memory.stores.postgres_pool import Database
from memory.stores.postgres_steps import run_asks

Result = TypeVar("Result")

# Sorted within the hour only: the index holds no more (migration 11 says why).
_SPOKEN = Spoken(since="last_hour <= :last / 3600000", order="last_hour DESC, last_ms DESC")


def postgres_browsing(database: Database) -> StoredBrowsing:
    """Return the conversations of a database."""

    async def run(step: Looked[Result]) -> Result:
        async with database.transaction() as transaction:
            return await run_asks(transaction, step)

    return StoredBrowsing(_SPOKEN, run=run)
