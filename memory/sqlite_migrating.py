"""Bringing a schema in a SQLite file up to date: for whoever has the connection and its transaction."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator, Sequence

from memory.schema import Migration, Schema, pending, read_migrations

logger = logging.getLogger(__name__)


def version(db: sqlite3.Connection, schema: Schema) -> int:
    """Return the schema's version; 0 is an empty file."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (schema.table,)).fetchone() is None:
        return 0
    return int(db.execute(schema.applied).fetchone()[0])


def lacking(db: sqlite3.Connection, schema: Schema) -> Sequence[Migration]:
    """Return what the file lacks of this release's schema. A newer one is told, if this release may work on it.

    Raises `SchemaTooNew` if it may not.
    """
    known, applied = read_migrations(schema.folder / "sqlite"), version(db, schema)
    oldest = None
    if applied > len(known) and "oldest" in _columns(db, schema):
        oldest = db.execute(schema.oldest(len(known))).fetchone()[0]
    left = pending(schema, known, applied=applied, oldest=oldest)
    if applied > len(known):
        logger.warning("the %s schema is a newer release's; this one works beside it", schema.name)
    return left


def bring_up_to_date(db: sqlite3.Connection, schema: Schema, *, now_ms: int) -> None:
    """Apply what the file lacks, in the transaction that is open. Raises `SchemaTooNew`."""
    if not (steps := lacking(db, schema)):
        return
    for statement in schema.base:
        db.execute(statement)
    if "oldest" not in _columns(db, schema):
        db.execute(f"ALTER TABLE {schema.table} ADD COLUMN oldest INTEGER")
    for step in steps:
        for statement in _statements(step.sql):
            db.execute(statement)
        row = schema.row(step, now_ms=now_ms)
        marks = ", ".join(f":{column}" for column in row)
        db.execute(f"INSERT INTO {schema.table} ({', '.join(row)}) VALUES ({marks})", row)


def _columns(db: sqlite3.Connection, schema: Schema) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (schema.table,))}


def _statements(script: str) -> Iterator[str]:
    """Yield a script's statements: the driver's own `executescript` would commit what came before it."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
