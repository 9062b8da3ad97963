"""The PostgreSQL database that a file is copied to: its catalogue, batches written together with how far they go, its rows.

`copy_progress` stands there from the first row until everything is compared: by it an interrupted copy goes on, and a gateway
that is started meanwhile knows to refuse (`gateway/inbox/postgres_joining.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import psycopg
from psycopg import sql

from gateway.copying.batch import Batch, Row
from gateway.copying.plan import LEFT_OUT, SEEDED, Column, Step, Table
from gateway.copying.refusals import CannotCopy
from memory.postgres_locks import Lock

PAGE = 500
"""Rows fetched at once: a ledger may be large."""

_COLUMNS = """
SELECT c.oid, c.relname, a.attname, format_type(a.atttypid, NULL), a.attnotnull, a.attgenerated <> '', a.attidentity <> '',
  c.relrowsecurity
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
ORDER BY c.relname, a.attnum"""

_REFERENCES = """
SELECT conrelid, attname, confrelid::regclass::text FROM pg_constraint
JOIN LATERAL unnest(conkey) AS k (attnum) ON true JOIN pg_attribute a ON attrelid = conrelid AND a.attnum = k.attnum
WHERE contype = 'f' AND conparentid = 0"""

_PROGRESS = """CREATE TABLE IF NOT EXISTS copy_progress (
  step TEXT PRIMARY KEY, source TEXT NOT NULL, rows BIGINT NOT NULL, after BYTEA, done BOOLEAN NOT NULL)"""

_LANES = """
INSERT INTO inbox_lanes (lane, since_ms) SELECT lane, min(accepted_ms) FROM inbox_events
WHERE state IN ('accepted', 'running') AND kind = 'message' GROUP BY lane"""


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a table is copied: `after` is the last row's key, None before the first."""

    rows: int = 0
    after: Sequence[Any] | None = None
    done: bool = False


class Target:
    """A connected database. Its statements may take `timeout_s` each; where one takes what it takes, that is said."""

    def __init__(self, db: psycopg.Connection[Row]) -> None:
        self._db = db

    def tables(self) -> list[Table]:
        """Return the catalogue."""
        refers: dict[int, set[tuple[str, str]]] = {}
        for oid, column, to in self._db.execute(_REFERENCES):
            refers.setdefault(oid, set()).add((column, to))
        tables: dict[int, tuple[str, bool, list[Column]]] = {}
        for oid, table, name, type_, required, generated, numbered, guarded in self._db.execute(_COLUMNS):
            column = Column(name=name, type=type_, required=required, generated=generated, numbered=numbered)
            tables.setdefault(oid, (table, guarded, []))[2].append(column)
        return [
            Table(name=name, columns=tuple(columns), refers=frozenset(refers.get(oid, ())), guarded=guarded)
            for oid, (name, guarded, columns) in tables.items()
            if name != "copy_progress"
        ]

    def version(self, table: str) -> int:
        """Return how far a schema counted in `table` is; 0: there is none."""
        if not self._is_there(table):
            return 0
        return int(self._one(sql.SQL("SELECT coalesce(max(version), 0) FROM {}").format(sql.Identifier(table))))

    def filled(self, names: Sequence[str]) -> list[str]:
        """Return those of the tables that have rows which an empty database has not."""
        with self._db.transaction():
            self._name_everybody()
            return [
                name
                for name in names
                if name not in SEEDED | LEFT_OUT.keys()
                and self._is_there(name)
                and self._one(sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.Identifier(name)))
            ]

    def source(self) -> str | None:
        """Return the name of the file of which a copy was begun; None: none was."""
        if not self._is_there("copy_progress"):
            return None
        row = self._db.execute("SELECT source FROM copy_progress LIMIT 1").fetchone()
        return None if row is None else str(row[0])

    def begin(self, source: str, steps: Sequence[str]) -> dict[str, Reached]:
        """Note that a copy of this file begins; return how far each step is. From here on no gateway joins. Raises `CannotCopy`
        if one runs on the database."""
        with self._db.transaction(), self._db.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (Lock.JOINING,))
            if cursor.execute("SELECT 1 FROM inbox_instances WHERE lease_until > clock_timestamp()").fetchone():
                raise CannotCopy(
                    "a gateway runs on the database that is copied to; stop it, and give the copy one of its own"
                )
            cursor.execute("DELETE FROM inbox_instances")  # who froze joins anew when it wakes up, and is refused
            cursor.execute(_PROGRESS)
            cursor.executemany(
                "INSERT INTO copy_progress (step, source, rows, done) VALUES (%s, %s, 0, false) ON CONFLICT DO NOTHING",
                [(step, source) for step in steps],
            )
            cursor.execute("SELECT step, rows, after, done FROM copy_progress")
            return {
                step: Reached(rows, None if after is None else msgspec.msgpack.decode(after), done)
                for step, rows, after, done in cursor
            }

    @contextmanager
    def batch(self, name: str) -> Iterator[Batch]:
        """Write rows together with how far they go, or nothing at all. Takes what it takes."""
        with _translated(f" rows of {name}"), self._db.transaction():
            self._db.execute("SET LOCAL statement_timeout = 0")
            self._name_everybody()
            batch = Batch(self._db)
            yield batch
            after = None if batch.after is None else msgspec.msgpack.encode(batch.after)
            self._db.execute(
                "UPDATE copy_progress SET rows = rows + %s, after = coalesce(%s, after), done = %s WHERE step = %s",
                (batch.rows, after, batch.done, name),
            )

    def finish(self, steps: Sequence[Step], *, given: Mapping[str, int], runs: int) -> None:
        """Make what is not copied but follows from it, and let every number that is given from now on be greater than those
        given so far. Takes what it takes; may be repeated."""
        with self._db.transaction():
            self._db.execute("SET LOCAL statement_timeout = 0")
            self._name_everybody()
            self._db.execute("DELETE FROM inbox_lanes")
            self._db.execute(_LANES)
            for step in steps:
                for column in step.numbered:
                    self._continue(step.table, column, given.get(step.table, 0))
            # SQLite's fences are far above those that the sequence would give: who is below them could write nothing.
            self._db.execute(
                "SELECT setval('inbox_fence', greatest(last_value, %s, (SELECT max(fence) FROM scopes))) FROM inbox_fence",
                ((runs + 1) << 32,),
            )

    def _continue(self, table: str, column: str, given: int) -> None:
        query = sql.SQL(
            "SELECT setval(pg_get_serial_sequence({name}, {text}), greatest(last, %s, 1), greatest(last, %s) > 0)"
            " FROM (SELECT coalesce(max({column}), 0) AS last FROM {table}) AS found"
        ).format(
            name=sql.Literal(table),
            text=sql.Literal(column),
            column=sql.Identifier(column),
            table=sql.Identifier(table),
        )
        self._db.execute(query, (given, given))

    @contextmanager
    def rows(self, step: Step) -> Iterator[Iterator[Row]]:
        """Give the rows of a table, in no order. Takes what it takes."""
        columns = sql.SQL(", ").join(
            sql.SQL("{}::text" if type_ == "json" else "{}").format(sql.Identifier(name))
            for name, type_ in zip(step.columns, step.types, strict=True)
        )
        with self._db.transaction():
            self._db.execute("SET LOCAL statement_timeout = 0")
            self._name_everybody()
            with self._db.cursor(name="rows", binary=True) as cursor:
                cursor.itersize = PAGE
                cursor.execute(sql.SQL("SELECT {} FROM {}").format(columns, sql.Identifier(step.table)))
                yield cursor

    def end(self, steps: Sequence[Step]) -> None:
        """Forget that this is a copy: gateways may be started. Takes what it takes."""
        self._db.execute("SET statement_timeout = 0")
        self._db.execute(sql.SQL("ANALYZE {}").format(sql.SQL(", ").join(sql.Identifier(step.table) for step in steps)))
        self._db.execute("DROP TABLE copy_progress")

    def _name_everybody(self) -> None:
        self._db.execute("SELECT set_config('clew.person', '*', true)")

    def _is_there(self, table: str) -> bool:
        return bool(self._one(sql.SQL("SELECT to_regclass({}) IS NOT NULL").format(sql.Literal(table))))

    def _one(self, query: sql.Composed | sql.SQL) -> Any:
        ((value,),) = self._db.execute(query).fetchall()
        return value


@contextmanager
def connected(dsn: str, *, timeout_s: float) -> Iterator[Target]:
    """Connect; `timeout_s` bounds each statement, and the way there."""
    options: dict[str, Any] = {  # as the driver takes them: of many types
        "connect_timeout": max(2, math.ceil(timeout_s)),
        "tcp_user_timeout": math.ceil(timeout_s * 1000),
    }
    with _translated(), psycopg.connect(dsn, autocommit=True, client_encoding="utf8", **options) as db:
        ms = str(math.ceil(timeout_s * 1000))
        for name in ("statement_timeout", "lock_timeout"):
            db.execute("SELECT set_config(%s, %s, false)", (name, ms))
        if not db.execute("SELECT pg_try_advisory_lock(%s)", (Lock.COPY,)).fetchone() == (True,):
            raise CannotCopy("another copy into this database is at work")
        yield Target(db)


@contextmanager
def _translated(what: str = "") -> Iterator[None]:
    try:
        yield
    except psycopg.Error as exc:
        if exc.sqlstate is None and isinstance(exc, psycopg.ProgrammingError):  # it quotes the password
            how = "write postgresql://USER:PASSWORD@HOST/DATABASE, what is special in the password as %XX"
            raise CannotCopy(f"the address of --to can't be read: {how}") from None
        if exc.sqlstate is None:
            raise CannotCopy(f"PostgreSQL: {exc}") from exc
        # Not the driver's own words, and no cause either: they quote the row, and rows are what people said.
        place = exc.diag.constraint_name or exc.diag.table_name or "no object named"
        raise CannotCopy(f"PostgreSQL refuses{what}: {type(exc).__name__} ({exc.sqlstate}, {place})") from None
