"""Conversations on PostgreSQL: each look is a transaction."""

from __future__ import annotations

import re
from functools import cache
from typing import TypeVar

from memory.stores.browse_steps import Looked, Spoken
from memory.stores.browsing import StoredBrowsing
from memory.stores.postgres_pool import Database
from memory.stores.postgres_statement import Statement, statement

Result = TypeVar("Result")

# Sorted within the hour only: the index holds no more (migration 11 says why).
_SPOKEN = Spoken(since="last_hour <= :last / 3600000", order="last_hour DESC, last_ms DESC")


def postgres_browsing(database: Database) -> StoredBrowsing:
    """Return the conversations of a database."""

    async def run(step: Looked[Result]) -> Result:
        async with database.transaction() as transaction:
            try:
                asked = next(step)
                while True:
                    asked = step.send(await transaction.fetch(_statement(asked.sql), asked.values))
            except StopIteration as done:
                result: Result = done.value
                return result

    return StoredBrowsing(_SPOKEN, run=run)


@cache
def _statement(sql: str) -> Statement:
    return statement(re.sub(r":([a-z]+)", r"%(\1)s", sql))
