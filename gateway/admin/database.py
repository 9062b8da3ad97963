"""The admins' own rows beside queues and memory in the same database: users, sessions, tokens, audit, settings revisions,
secrets, take-overs, usage. SQL that SQLite and PostgreSQL both read, written once; this is what runs it.

Of what happens per message only `look` is quick enough; else there are the queues and the memory store. Every implementation
passes `tests/contracts/admin_database.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from gateway.inbox.rows import storable

Value = int | float | str | bytes | None
Row = tuple[Any, ...]


class Transaction(Protocol):
    """Statements that are one. Parameters are written `:name`, and a colon stands nowhere else; what both databases
    understand is the same: BIGINT/INTEGER, TEXT, BYTEA/BLOB, DOUBLE PRECISION/REAL, `ON CONFLICT`, `RETURNING`, CTEs."""

    async def rows(self, sql: str, **values: Value) -> Sequence[Row]:
        """Run a statement and return its rows."""
        ...

    async def run(self, sql: str, **values: Value) -> int:
        """Run a statement and return how many rows it changed."""
        ...


class Database(Protocol):
    """The admins' tables. Trouble surfaces as `gateway.errors.StoreBusy`; what a constraint refuses as ValueError."""

    def reading(self) -> AbstractAsyncContextManager[Transaction]:
        """Read at one moment. Nothing is awaited inside but the statements."""
        ...

    def writing(self) -> AbstractAsyncContextManager[Transaction]:
        """Write in one transaction: committed, and on the disk, at the end; undone by an exception. On SQLite one writer at
        a time, on PostgreSQL rows are locked as they are written (read committed). Nothing is awaited inside but the
        statements."""
        ...

    async def look(self, sql: str, **values: Value) -> Sequence[Row]:
        """Return the rows of one statement that an index answers at once, as it is for each message: it waits for no other
        reading, however long that is."""
        ...

    async def changed(self, topic: str, after: int) -> int:
        """Return the topic's number as soon as it is greater than `after` (0 at first), on whatever instance that came
        about; within a second. Any number of callers."""
        ...

    async def tell(self, topic: str) -> None:
        """Add one to the topic's number: all instances hear."""
        ...


def listed(items: Sequence[Value]) -> tuple[str, dict[str, Value]]:
    """Return what stands within `IN (…)` for these values, and the values by name; of no values, what nothing is in."""
    names = [f"item_{letters(number)}" for number in range(len(items))]
    return ", ".join(f":{name}" for name in names) or "NULL", dict(zip(names, items, strict=True))


def letters(number: int) -> str:
    """Return a number in letters: names of parameters have no digits."""
    return str(number).translate(str.maketrans("0123456789", "abcdefghij"))


def stored(values: dict[str, Value]) -> dict[str, Value]:
    """Return the values as both databases can hold them: what no text may have in it becomes U+FFFD."""
    return {name: storable(value) if isinstance(value, str) else value for name, value in values.items()}
