"""Runs steps that only ask (`person_steps.Ask`) in a transaction of PostgreSQL."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Generator
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

from memory.stores.person_steps import Ask, Rows
from memory.stores.postgres_pool import Transaction
from memory.stores.postgres_statement import Statement, statement

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Done(Generic[Result]):
    result: Result


async def run_asks(transaction: Transaction, step: Generator[Ask, Rows, Result]) -> Result:
    """Return what the step comes to. It works in a thread: it may compare megabytes of what people said, in which nobody else
    would be heard."""
    rows: Rows | None = None
    while True:
        asked = await asyncio.to_thread(_went_on, step, rows)
        if isinstance(asked, _Done):
            return asked.result
        rows = await transaction.fetch(statement_of(asked.sql), asked.values)


def _went_on(step: Generator[Ask, Rows, Result], rows: Rows | None) -> Ask | _Done[Result]:
    try:
        return next(step) if rows is None else step.send(rows)
    except StopIteration as done:
        return _Done(done.value)


@cache
def statement_of(sql: str) -> Statement:
    """Return the statement that is written with parameters `:name`."""
    return statement(re.sub(r":([a-z]+)", r"%(\1)s", sql))
