"""Conversations on SQLite: each look in a thread, on a connection of its own, so that no turn waits for it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from memory.stores.browse_steps import Looked, Spoken
from memory.stores.browsing import StoredBrowsing
from memory.stores.sqlite_file import Translated, open_beside

Result = TypeVar("Result")

_SPOKEN = Spoken(since="last_ms <= :last", order="last_ms DESC")


def sqlite_browsing(path: Path, *, timeout_s: float) -> StoredBrowsing:
    """Return the conversations of a file that is open."""

    def look(step: Looked[Result]) -> Result:
        with Translated(path), closing(open_beside(path, timeout_s=timeout_s)) as db:
            db.execute("BEGIN")
            return _run(db, step)

    async def run(step: Looked[Result]) -> Result:
        return await asyncio.to_thread(look, step)

    return StoredBrowsing(_SPOKEN, run=run)


def _run(db: sqlite3.Connection, step: Looked[Result]) -> Result:
    try:
        asked = next(step)
        while True:
            asked = step.send(db.execute(asked.sql, asked.values).fetchall())
    except StopIteration as done:
        result: Result = done.value
        return result
