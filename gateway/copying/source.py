"""The SQLite file that is copied: its catalogue, its rows in the order of their keys, and what tells it from other files."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from gateway.copying.plan import Column, Step, Table
from gateway.copying.refusals import CannotCopy

Row = tuple[Any, ...]  # as the driver hands it out: the raw edge


class Source:
    """An open file, as it was at one moment."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def tables(self) -> list[Table]:
        """Return the catalogue."""
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
        return [self._table(name) for (name,) in self._db.execute(names).fetchall()]

    def _table(self, name: str) -> Table:
        found = self._db.execute(
            'SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(?)', (name,)
        ).fetchall()
        key = sorted((place, column) for column, _, _, place, _ in found if place)
        columns = (
            Column(name=column, type=type_, required=bool(required or place), generated=hidden != 0)
            for column, type_, required, place, hidden in found
        )
        return Table(name=name, columns=tuple(columns), key=tuple(column for _, column in key) or ("rowid",))

    def version(self, table: str) -> int:
        """Return how far a schema counted in `table` is; 0: there is none."""
        if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            return 0
        return int(self._db.execute(f"SELECT coalesce(max(version), 0) FROM {table}").fetchone()[0])

    def name(self) -> str:
        """Return what no other file is called, nor this one once a gateway was started on it again."""
        made = self._db.execute("SELECT version, applied_ms FROM memory_schema ORDER BY version").fetchall()
        return blake2b(f"{made}{self.runs()}".encode(), digest_size=16).hexdigest()

    def key_version(self) -> int:
        """Return the codec that keys are written in."""
        return int(self._db.execute("SELECT value FROM meta WHERE name = 'key_version'").fetchone()[0])

    def runs(self) -> int:
        """Return how many gateways were started on the file; the fences of each are below its number plus one, times 2^32."""
        return int(self._db.execute("SELECT run FROM queue_run").fetchone()[0])

    def given(self) -> dict[str, int]:
        """Return the greatest number ever given to a row, by table, where that is remembered."""
        return dict(self._db.execute("SELECT name, seq FROM sqlite_sequence").fetchall())

    def count(self, step: Step) -> int:
        """Return how many rows a table has."""
        return int(self._db.execute(f"SELECT count(*) FROM {_quoted(step.table)}").fetchone()[0])

    def rows(
        self, step: Step, *, after: Sequence[Any] | None = None, limit: int = -1, later: bool = False
    ) -> Iterator[tuple[Row, list[Any]]]:
        """Give (key, row as it stands in the copy) of the rows behind the key `after`, in order, `limit` at most. `later`: only
        of those that refer to others of the table."""
        key, columns = ", ".join(map(_quoted, step.key)), ", ".join(map(_quoted, step.columns))
        place = len(step.key)
        where = [f"({key}) > ({', '.join('?' * place)})"] if after is not None else []
        if later:
            where.append(f"({' OR '.join(f'{_quoted(name)} IS NOT NULL' for name in step.later)})")
        query = f"SELECT {key}, {columns} FROM {_quoted(step.table)}"
        query += f" WHERE {' AND '.join(where)}" if where else ""
        try:
            for row in self._db.execute(f"{query} ORDER BY {key} LIMIT {limit}", tuple(after or ())):
                yield row[:place], _converted(step, row[:place], row[place:])
        except sqlite3.OperationalError as exc:
            if "UTF-8" not in str(exc):
                raise
            raise CannotCopy(f"{step.table} has a text that is not UTF-8") from None  # the driver quotes it


def _converted(step: Step, key: Row, row: Row) -> list[Any]:
    try:
        return step.convert(row)
    except (ValueError, TypeError, struct.error, msgspec.MsgspecError) as exc:
        where = ", ".join(f"{name} = {value}" for name, value in zip(step.key, key, strict=True) if type(value) is int)
        raise CannotCopy(
            f"{step.table} has a damaged row, where {where or 'no number tells'}: {type(exc).__name__}"
        ) from None


@contextmanager
def opened(path: Path, *, timeout_s: float) -> Iterator[Source]:
    """Open the file to read. Who holds its lock knows that nobody writes."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=timeout_s, isolation_level=None)) as db:
            db.execute("BEGIN")
            yield Source(db)
    except sqlite3.Error as exc:
        raise CannotCopy(f"SQLite file {str(path)!r}: {exc}") from exc


def _quoted(name: str) -> str:
    return f'"{name}"'
