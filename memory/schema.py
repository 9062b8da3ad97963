"""Numbered schema changes: `migrations/DATABASE/NNNN_name.sql`, applied in order and never edited once released. Pure.

There are three series of them in one database (memory's, the queues', the admins'), each counted in a table of its own,
`NAME_schema`. A change's first line says which releases may go on working beside it, so that machines can be upgraded one by
one; how changes are run is `postgres_migrating.py`'s and `sqlite_migrating.py`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory.errors import SchemaTooNew

WORKS_WITH = re.compile(r"-- works with: (\d+)\n")
APART = re.compile(r"-- outside a transaction\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of a schema.

    `sql` may hold several statements. `works_with` is the least version whose release may work on the schema with this
    step in it, from the file's first line, `-- works with: 7`; None: nobody says, so none does. `apart`, from the next line,
    `-- outside a transaction`: its statements are run one by one without one (CREATE INDEX CONCURRENTLY), and all of them again
    after a failure.
    """

    version: int
    name: str
    sql: str
    works_with: int | None = None
    apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A series of changes. `base` makes the table they are counted in, `more` what else stands in its rows but `version` and
    `oldest`, of a migration's name and the moment."""

    name: str
    folder: Path
    base: Sequence[str]
    more: Sequence[str] = ()

    @property
    def table(self) -> str:
        """The table whose rows are the steps applied; its greatest `version` is the schema's."""
        return f"{self.name}_schema"

    @property
    def applied(self) -> str:
        """The query for the schema's version; 0 before the first step."""
        return f"SELECT coalesce(max(version), 0) FROM {self.table}"

    def oldest(self, known: int) -> str:
        """Return the query for the least version that may work on what stands above `known`; NULL where a step is silent."""
        return (
            f"SELECT CASE WHEN count(*) = count(oldest) THEN max(oldest) END FROM {self.table} WHERE version > {known}"
        )

    def row(self, step: Migration, *, now_ms: int) -> Mapping[str, object]:
        """Return the row that says that `step` is applied, by its columns."""
        values = {"version": step.version, "oldest": step.works_with, "name": step.name, "applied_ms": now_ms}
        return {column: values[column] for column in ("version", "oldest", *self.more)}


def read_migrations(folder: Path) -> tuple[Migration, ...]:
    """Return a folder's steps in order. Raises ValueError when they are not numbered 1, 2, 3, …, or say nonsense."""
    found: list[Migration] = []
    for path in sorted(folder.glob("*.sql")):
        match = re.fullmatch(r"(\d{4})_([a-z0-9_]+)", path.stem)
        if match is None or int(match[1]) != len(found) + 1:
            raise ValueError(
                f"{path.name!r}: expected {len(found) + 1:04}_some_name.sql; number migrations without gaps"
            )
        found.append(_read(int(match[1]), match[2], path.read_text(encoding="utf-8")))
    if not found:
        raise ValueError(f"{str(folder)!r} holds no migrations")
    return tuple(found)


def _read(version: int, name: str, sql: str) -> Migration:
    said = WORKS_WITH.match(sql)
    works_with = int(said[1]) if said else None
    if works_with is not None and works_with > version:
        raise ValueError(f"{version:04}_{name}.sql: works with {works_with}: not even this release; name one up to it")
    apart = APART.match(sql, said.end() if said else 0) is not None
    return Migration(version=version, name=name, sql=sql, works_with=works_with, apart=apart)


def pending(
    schema: Schema, known: Sequence[Migration], *, applied: int, oldest: int | None = None
) -> Sequence[Migration]:
    """Return what is left to apply to a schema of version `applied` (0: an empty database).

    Nothing, if a newer release has been here and says by `oldest` that this one may work beside it. Raises `SchemaTooNew`
    otherwise.
    """
    if applied > len(known) and (oldest is None or oldest > len(known)):
        needs = "" if oldest is None else f" and at least {oldest} is needed to work on it"
        raise SchemaTooNew(
            f"the {schema.name} schema has version {applied}, this release knows {len(known)}{needs}; start the newer release "
            "again, or restore a backup made before it"
        )
    return known[applied:]


def statements(script: str) -> list[str]:
    """Split a script of ours: every statement ends with a semicolon at the end of a line, and no line comment does."""
    return [part for part in (piece.strip() for piece in re.split(r";[ \t]*(?:\n|$)", script)) if part]
