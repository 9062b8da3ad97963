"""Numbered schema changes: `migrations/DATABASE/NNNN_name.sql`, applied in order and never edited once released.

The applied ones are rows of the table `memory_schema`. How they are run, and how several starters wait for each other, is
each store's own business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memory.errors import OtherKeys, SchemaTooNew
from memory.key import KEY_VERSION

VERSION_TABLE = """CREATE TABLE IF NOT EXISTS memory_schema (
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_ms BIGINT NOT NULL)"""
"""Understood by every database; `version` is a migration's number, its greatest the schema's version."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema; `sql` may hold several statements."""

    version: int
    name: str
    sql: str


def read_migrations(database: str, *, folder: Path = Path(__file__).parent / "migrations") -> tuple[Migration, ...]:
    """Return the migrations of `database` in order. Raises ValueError when they are not numbered 1, 2, 3, …"""
    found: list[Migration] = []
    for path in sorted((folder / database).glob("*.sql")):
        match = re.fullmatch(r"(\d{4})_([a-z0-9_]+)", path.stem)
        if match is None or int(match[1]) != len(found) + 1:
            raise ValueError(
                f"{path.name!r}: expected {len(found) + 1:04}_some_name.sql; number migrations without gaps"
            )
        found.append(Migration(int(match[1]), match[2], path.read_text(encoding="utf-8")))
    if not found:
        raise ValueError(f"{str(folder / database)!r} holds no migrations")
    return tuple(found)


def pending(known: Sequence[Migration], *, applied: int) -> Sequence[Migration]:
    """Return what is left to apply to a schema of version `applied` (0: an empty database). Raises `SchemaTooNew`."""
    if applied > len(known):
        raise SchemaTooNew(
            f"the memory schema has version {applied}, this release knows {len(known)}; start the newer release again, "
            "or restore a backup made before it"
        )
    return known[applied:]


def check_keys(stored: int) -> None:
    """Raise `OtherKeys` unless the database's keys are in this release's codec; `stored` is the version it names."""
    if stored != KEY_VERSION:
        raise OtherKeys(
            f"the memory's keys have version {stored}, this release writes version {KEY_VERSION} and would find nothing that "
            "was said before; start the release that wrote them, or restore a backup made by this one"
        )
