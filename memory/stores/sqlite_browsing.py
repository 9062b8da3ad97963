"""Conversations on SQLite: each look in a thread, on a connection of its own, so that no turn waits for it."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from memory.stores.browse_steps import Looked, Spoken
from memory.stores.browsing import StoredBrowsing
from memory.stores.sqlite_file import Translated, open_beside
from memory.stores.sqlite_steps import run_asks

Result = TypeVar("Result")

_SPOKEN = Spoken(since="last_ms <= :last", order="last_ms DESC")


def sqlite_browsing(path: Path, *, timeout_s: float) -> StoredBrowsing:
    """Return the conversations of a file that is open."""

    def look(step: Looked[Result]) -> Result:
        with Translated(path), closing(open_beside(path, timeout_s=timeout_s)) as db:
            db.execute("BEGIN")
            return run_asks(db, step)

    async def run(step: Looked[Result]) -> Result:
        return await asyncio.to_thread(look, step)

    return StoredBrowsing(_SPOKEN, run=run)
