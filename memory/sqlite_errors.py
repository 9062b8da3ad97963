"""SQLite's errors that say something about the statement. For the stores and the queues, whose connections are their own."""

from __future__ import annotations

import sqlite3

_REFUSALS = frozenset(
    {
        sqlite3.SQLITE_ERROR,  # no such table, among others
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_TOOBIG,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_MISUSE,
        sqlite3.SQLITE_RANGE,
        sqlite3.SQLITE_NOTADB,
    }
)


def refuses(error: sqlite3.Error) -> bool:
    """Whether the file is there and won't have the statement, so that trying again mostly changes nothing; False: it is busy,
    full, out of reach."""
    code: int | None = getattr(error, "sqlite_errorcode", None)  # none of an error that is the driver's own
    return code is not None and code & 0xFF in _REFUSALS
