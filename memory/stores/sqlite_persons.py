"""Persons, what they forget and how they are joined, on SQLite: shared steps (`person_steps.py`) in a store's transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from typing import TypeVar

from memory.stores.forgetting import StoredForgetting
from memory.stores.links import StoredLinks
from memory.stores.person_steps import Dialect, Drop, Name, Put, Step
from memory.stores.persons import Run, StoredPersons
from memory.stores.purging import StoredPurging
from memory.stores.sqlite_derived import Transactions, add_fragment, drop_fragments
from memory.stores.sqlite_rows import FACTS, MESSAGES, OVERHEARD, PROFILE, SUMMARIES

Result = TypeVar("Result")

_DIALECT = Dialect(
    message=MESSAGES.select,
    overheard=OVERHEARD.select,
    item=PROFILE.select,
    fact=FACTS.select,
    summary=SUMMARIES.select,
    no_steps="NULL",
    no_ids="NULL",
    among="IN (SELECT value FROM json_each(:ids))",
    pairs="(SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:pairs))",
    stretches="""(SELECT json_extract(value, '$[0]') AS scope_id, json_extract(value, '$[1]') AS session_id,
      json_extract(value, '$[2]') AS first_id FROM json_each(:stretches))""",
    lock="",
    touch=None,
    barrier=None,
)


def sqlite_persons(*, read: Transactions, write: Transactions, settled: Callable[[], Awaitable[None]]) -> StoredPersons:
    """Return the persons of a store that gives these transactions."""
    return StoredPersons(_DIALECT, read=_runner(read), write=_runner(write), settled=settled)


def sqlite_forgetting(*, read: Transactions, write: Transactions) -> StoredForgetting:
    """Return what people forget of a store that gives these transactions."""
    return StoredForgetting(_DIALECT, read=_runner(read), write=_runner(write))


def sqlite_links(*, write: Transactions) -> StoredLinks:
    """Return the links of a store that gives these transactions."""
    return StoredLinks(_DIALECT, write=_runner(write))


def sqlite_purging(*, write: Transactions) -> StoredPurging:
    """Return what goes of a store when its time is over."""
    return StoredPurging(_DIALECT, write=_runner(write))


def _runner(transactions: Transactions) -> Run:
    async def run(step: Step[Result]) -> Result:
        return await transactions(lambda db: _run(db, step))

    return run


def _run(db: sqlite3.Connection, step: Step[Result]) -> Result:
    try:
        asked = next(step)
        while True:
            if isinstance(asked, Drop):
                drop_fragments(db, asked.fragments)
                asked = step.send([])
            elif isinstance(asked, Put):
                place = (asked.chat_type, asked.session_id, asked.position)
                add_fragment(db, asked.fragment, asked.person_id, asked.namespace, place)
                asked = step.send([])
            elif isinstance(asked, Name):
                asked = step.send([])
            else:
                asked = step.send(db.execute(asked.sql, asked.values).fetchall())
    except StopIteration as done:
        result: Result = done.value
        return result
