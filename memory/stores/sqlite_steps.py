"""Runs steps that only ask (`person_steps.Ask`) on an open SQLite connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from typing import TypeVar

from memory.stores.person_steps import Ask, Rows

Result = TypeVar("Result")


def run_asks(db: sqlite3.Connection, step: Generator[Ask, Rows, Result]) -> Result:
    """Return what the step comes to; the caller commits."""
    try:
        asked = next(step)
        while True:
            asked = step.send(db.execute(asked.sql, asked.values).fetchall())
    except StopIteration as done:
        result: Result = done.value
        return result
