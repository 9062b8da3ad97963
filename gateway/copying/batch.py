"""Rows of one table on their way into PostgreSQL, within a transaction that somebody else opens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg import sql

from gateway.copying.plan import Step

Row = tuple[Any, ...]  # as the driver hands it out: the raw edge


class Batch:
    """Rows on their way; `rows`, `after` and `done` are what is noted of them."""

    def __init__(self, db: psycopg.Connection[Row]) -> None:
        self._db = db
        self.rows = 0
        self.after: Sequence[Any] | None = None
        self.done = False

    def clear(self, step: Step) -> None:
        """Take away what stands in a table since it was made."""
        self._db.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(step.table)))

    def write(self, step: Step, rows: Iterator[tuple[Row, list[Any]]]) -> None:
        """Write rows, those columns empty that refer to rows of the same table."""
        places = [place for place, name in enumerate(step.columns) if name in step.later]
        names = sql.SQL(", ").join(map(sql.Identifier, step.columns))
        table = into = sql.Identifier(step.table)
        if step.guarded:  # COPY would go past the policies, so the server refuses it there
            into = sql.Identifier(f"copied_{step.table}")
            self._db.execute(sql.SQL("CREATE TEMP TABLE {} (LIKE {}) ON COMMIT DROP").format(into, table))
        with self._db.cursor() as cursor, cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(into, names)) as copy:
            for key, row in rows:
                for place in places:
                    row[place] = None
                copy.write_row(row)
                self.after = key
                self.rows += 1
        if step.guarded:
            self._db.execute(
                sql.SQL("INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE SELECT {names} FROM {into}").format(
                    table=table, names=names, into=into
                )
            )

    def refer(self, step: Step, rows: Iterator[tuple[Row, list[Any]]]) -> None:
        """Fill those columns of rows that stand."""
        places = [step.columns.index(name) for name in step.later]
        query = sql.SQL("UPDATE {} SET {} WHERE {}").format(
            sql.Identifier(step.table),
            sql.SQL(", ").join(sql.SQL("{} = %s").format(sql.Identifier(name)) for name in step.later),
            sql.SQL(" AND ").join(sql.SQL("{} = %s").format(sql.Identifier(name)) for name in step.key),
        )
        values = []
        for key, row in rows:
            values.append((*(row[place] for place in places), *key))
            self.after = key
            self.rows += 1
        with self._db.cursor() as cursor:
            cursor.executemany(query, values)
