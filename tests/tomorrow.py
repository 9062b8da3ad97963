"""The next release's schema, made up: every table has a column more, and the rows that count the changes allow ours to go on.

What a next release may do to tables that this one works on is in "Upgrading" of `gateway/README.md`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg

from gateway.admin.schema import ADMINS
from gateway.inbox.schema import QUEUES
from memory.schema import Schema, read_migrations
from memory.stores.migrate import MEMORY
from tests.services import as_admin


def migrate_sqlite(path: Path) -> None:
    """Let a gateway of tomorrow have been at the file."""
    with closing(sqlite3.connect(path, timeout=5)) as db, db:
        tables = db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        ).fetchall()
        for (table,) in tables:
            db.execute(f"ALTER TABLE {table} ADD COLUMN tomorrow TEXT")
        for schema in (MEMORY, QUEUES, ADMINS):
            if (schema.table,) in tables:
                db.execute(_count(schema, "sqlite"))


def migrate_postgres(url: str) -> None:
    """Let a gateway of tomorrow have been at the database."""
    with psycopg.connect(as_admin(url)) as db:
        for (table,) in db.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
            " AND NOT relispartition"
        ).fetchall():
            db.execute(f"ALTER TABLE {table} ADD COLUMN tomorrow TEXT".encode())
        for schema in (MEMORY, QUEUES, ADMINS):
            db.execute(_count(schema, "postgres").encode())


def _count(schema: Schema, database: str) -> str:
    known = len(read_migrations(schema.folder / database))
    more = {"name": "'of_tomorrow'", "applied_ms": "0"}
    columns = ("version", "oldest", *schema.more)
    values = (str(known + 1), str(known), *(more[column] for column in schema.more))
    return f"INSERT INTO {schema.table} ({', '.join(columns)}) VALUES ({', '.join(values)})"
