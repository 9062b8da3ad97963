"""Numbered schema changes of the queues: `migrations/DATABASE/NNNN_name.sql`, applied in order, never edited once released.

Counted in a table of their own, `queue_schema`: the memory store's changes in the same database have their own numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from memory.errors import SchemaTooNew

FOLDER = Path(__file__).parent / "migrations"

VERSION_TABLE = "CREATE TABLE IF NOT EXISTS queue_schema (version INTEGER PRIMARY KEY)"
VERSION = "SELECT coalesce(max(version), 0) FROM queue_schema"


def scripts(database: str, *, folder: Path = FOLDER) -> list[str]:
    """Return the SQL of each version of `database`'s schema, the first first. Raises ValueError for a gap in the numbers."""
    found = []
    for number, path in enumerate(sorted((folder / database).glob("*.sql")), start=1):
        if not re.fullmatch(rf"{number:04}_[a-z0-9_]+", path.stem):
            raise ValueError(f"{path.name!r}: expected {number:04}_some_name.sql; number schema changes without gaps")
        found.append(path.read_text(encoding="utf-8"))
    return found


def pending(known: Sequence[str], *, applied: int) -> list[tuple[int, list[str]]]:
    """Return what a schema of version `applied` (0: none) lacks: each version with its statements.

    Raises `memory.errors.SchemaTooNew` for a schema that a newer release wrote.
    """
    if applied > len(known):
        raise SchemaTooNew(
            f"the queue schema has version {applied}, this release knows {len(known)}; start the newer release again, "
            "or restore a backup made before it"
        )
    return [(version, statements(known[version - 1])) for version in range(applied + 1, len(known) + 1)]


def statements(script: str) -> list[str]:
    """Split a script of ours: every statement ends with a semicolon at the end of a line, and no line comment does."""
    return [part for part in (piece.strip() for piece in re.split(r";[ \t]*(?:\n|$)", script)) if part]
