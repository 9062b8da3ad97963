"""Runs steps that only ask (`person_steps.Ask`) in a transaction of PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import cache
from typing import TypeVar

from memory.stores.person_steps import Ask, Rows
from memory.stores.postgres_pool import Transaction
from memory.stores.postgres_statement import Statement, statement

Result = TypeVar("Result")


async def run_asks(transaction: Transaction, step: Generator[Ask, Rows, Result]) -> Result:
    """Return what the step comes to."""
    try:
        asked = next(step)
        while True:
            asked = step.send(await transaction.fetch(statement_of(asked.sql), asked.values))
    except StopIteration as done:
        result: Result = done.value
        return result


@cache
def statement_of(sql: str) -> Statement:
    """Return the statement that is written with parameters `:name`."""
    return statement(re.sub(r":([a-z]+)", r"%(\1)s", sql))
