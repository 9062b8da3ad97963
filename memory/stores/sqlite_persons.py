"""Persons on SQLite: the shared steps (`person_steps.py`) in a store's transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from typing import TypeVar

from memory.stores.person_steps import Dialect, Drop, Step
from memory.stores.persons import StoredPersons
from memory.stores.sqlite_derived import Transactions, drop_fragments
from memory.stores.sqlite_rows import FACTS, MESSAGES, PROFILE, SUMMARIES

Result = TypeVar("Result")

_DIALECT = Dialect(
    message=MESSAGES.select,
    item=PROFILE.select,
    fact=FACTS.select,
    summary=SUMMARIES.select,
    no_steps="NULL",
    lock="",
    touch=None,
)


def sqlite_persons(*, read: Transactions, write: Transactions, settled: Callable[[], Awaitable[None]]) -> StoredPersons:
    """Return the persons of a store that gives these transactions."""

    async def reading(step: Step[Result]) -> Result:
        return await read(lambda db: _run(db, step))

    async def writing(step: Step[Result]) -> Result:
        return await write(lambda db: _run(db, step))

    return StoredPersons(_DIALECT, read=reading, write=writing, settled=settled)


def _run(db: sqlite3.Connection, step: Step[Result]) -> Result:
    try:
        asked = next(step)
        while True:
            if isinstance(asked, Drop):
                drop_fragments(db, asked.fragments)
                asked = step.send([])
            else:
                asked = step.send(db.execute(asked.sql, asked.values).fetchall())
    except StopIteration as done:
        result: Result = done.value
        return result
