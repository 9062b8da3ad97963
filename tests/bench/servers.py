"""PostgreSQL servers for figures: one that tells how many statements it ran and what they wrote, syncing to disk or not."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.services import FAST, Postgres

COUNTING = "-c shared_preload_libraries=pg_stat_statements -c pg_stat_statements.max=10000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a database did: statements that clients sent (BEGIN and COMMIT count), and bytes of the server's log."""

    statements: int
    wal_bytes: int


@contextmanager
def counting_postgres(*, durable: bool = False, sessions: int = 200) -> Iterator[Postgres]:
    """Run a server that counts. `durable`: a commit is on the disk when it returns, as in production; else as in tests."""
    options = "-c synchronous_commit=on" if durable else FAST
    folder = Path(tempfile.mkdtemp(prefix="clew-pg-"))
    server = Postgres(folder, options=f"{options} {COUNTING} -c max_connections={sessions}")
    try:
        server.start()
        with psycopg.connect(server.url("postgres", admin=True), autocommit=True) as db:
            db.execute("CREATE EXTENSION pg_stat_statements")
        yield server
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def work_of(server: Postgres, url: str) -> Work:
    """Return what the database has done so far, and how far the whole server's log is."""
    with psycopg.connect(server.url("postgres", admin=True), autocommit=True) as db:
        calls = """SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE toplevel
          AND dbid = (SELECT oid FROM pg_database WHERE datname = %s)"""
        (statements,) = db.execute(calls, (url.split()[0].rpartition("/")[2],)).fetchall()[0]
        (wal,) = db.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchall()[0]
    return Work(statements=int(statements), wal_bytes=int(wal))


def calls_of(server: Postgres, url: str) -> dict[str, int]:
    """Return how often each statement ran in the database, by its text."""
    with psycopg.connect(server.url("postgres", admin=True), autocommit=True) as db:
        found = db.execute(
            """SELECT query, sum(calls)::bigint FROM pg_stat_statements WHERE toplevel
              AND dbid = (SELECT oid FROM pg_database WHERE datname = %s) GROUP BY query""",
            (url.rpartition("/")[2],),
        ).fetchall()
    return {str(query): int(calls) for query, calls in found}
