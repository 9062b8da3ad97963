"""What of a SQLite file goes where in PostgreSQL: made from both databases' catalogues and from what is said here. Pure.

A table or column of the same name on both sides is copied. What stands on one side only, or must not be copied, is named here
with its reason; what is neither is a fault, so that nobody who adds a column can forget it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

import msgspec

LEFT_OUT: Mapping[str, str] = {
    "memory_schema": "each database counts its own changes",
    "queue_schema": "each database counts its own changes",
    "admin_schema": "each database counts its own changes",
    "queue_run": "on PostgreSQL fences come from a sequence, which is set behind those of every run",
    "inbox_lanes": "made anew from the messages that wait",
    "inbox_instances": "which gateways run on PostgreSQL",
    "inbox_departed": "which gateways ran on PostgreSQL",
    "inbox_backlog": "gateways on PostgreSQL count for each other",
    "inbox_leases": "what gateways on PostgreSQL hold",
    "inbox_numbers": "the numbers that gateways on PostgreSQL had for their ids",
    "inbox_origin": "by what a database on PostgreSQL knows that it was restored",
    "hot_counts": "limits of the last two minutes",
    "hot_shelf": "values of minutes",
    "learners": "who learns from what at the moment: nobody does",
}
"""Tables that are not copied, each with the reason."""

NOT_COPIED: Mapping[tuple[str, str], str] = {
    ("scopes", "generation"): "counts changes for caches in front of PostgreSQL, which know nothing of these rows yet",
}
"""(table, column) of one side only, each with the reason; the other side has its default."""

INSTEAD: Mapping[tuple[str, str], int | None] = {
    ("inbox_events", "owner"): 0,  # no such instance: what it was to apply is taken up by those that there are
    ("outbox_queues", "owner"): None,  # nobody sends; what was being sent is found as unknown
}
"""What (table, column) holds in the copy, whatever it held."""

SEEDED = frozenset({"meta", "admin_access", "admin_audit_kept"})
"""Tables in which an empty database has rows from the start; the source's stand in their place."""

ADVICE = (
    "copy it: give both databases the column (table) by one name; or say in gateway/copying/plan.py why it is not copied "
    "(LEFT_OUT for a table, NOT_COPIED for a column)"
)


class Unplanned(Exception):
    """The databases differ by something that nobody has said a word about; `faults` are sentences."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as its database's catalogue describes it. `numbered`: PostgreSQL numbers it by itself."""

    name: str
    type: str
    required: bool = False
    generated: bool = False
    numbered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as its database's catalogue describes it.

    `key` is what its rows are read by, in order; `refers` names (column, table) of foreign keys; `guarded`: its rows are shown
    to whoever names their owner.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    refers: frozenset[tuple[str, str]] = frozenset()
    guarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One table to copy. `types` are the columns' on PostgreSQL; `later` are those that refer to rows of the same table, and
    are written when all of its rows stand."""

    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    types: tuple[str, ...]
    later: tuple[str, ...]
    numbered: tuple[str, ...]
    guarded: bool
    convert: Callable[[Sequence[Any]], list[Any]]
    """Returns a row of the file as it stands in the copy."""


def plan(source: Sequence[Table], target: Sequence[Table]) -> tuple[Step, ...]:
    """Return the tables to copy, none before one that it refers to. Raises `Unplanned`."""
    here, there = _by_name(source), _by_name(target)
    faults = [
        f"table {name!r} stands on {'SQLite' if name in here else 'PostgreSQL'} only: {ADVICE}"
        for name in sorted(here.keys() ^ there.keys())
    ]
    steps = {}
    for name in sorted(here.keys() & there.keys()):
        found, step = _step(here[name], there[name])
        faults += found
        if step is not None:
            steps[name] = step
    if faults:
        raise Unplanned(faults)
    order = TopologicalSorter({name: {to for _, to in there[name].refers if to != name} for name in steps})
    return tuple(steps[name] for name in order.static_order())


def _by_name(tables: Sequence[Table]) -> dict[str, Table]:
    return {table.name: table for table in tables if table.name not in LEFT_OUT}


def _step(here: Table, there: Table) -> tuple[list[str], Step | None]:
    mine, theirs = _written(here), _written(there)
    faults = [
        f"column {column!r} of {here.name!r} stands on {'SQLite' if column in mine else 'PostgreSQL'} only: {ADVICE}"
        for column in sorted(mine.keys() ^ theirs.keys())
        if (here.name, column) not in NOT_COPIED
    ]
    names = tuple(column for column in mine if column in theirs)
    conversions = {}
    for place, name in enumerate(names):
        fault, conversion = _conversion(here.name, mine[name], theirs[name])
        if fault:
            faults.append(fault)
        elif conversion is not None:
            conversions[place] = conversion
    if faults:
        return faults, None
    return [], Step(
        table=here.name,
        key=here.key,
        columns=names,
        types=tuple(theirs[name].type for name in names),
        later=tuple(sorted(column for column, to in there.refers if to == here.name)),
        numbered=tuple(name for name in names if theirs[name].numbered),
        guarded=there.guarded,
        convert=_converting(conversions),
    )


def _written(table: Table) -> dict[str, Column]:
    return {column.name: column for column in table.columns if not column.generated}


Conversion = Callable[[Any], Any]


def _conversion(table: str, here: Column, there: Column) -> tuple[str | None, Conversion | None]:
    """Return (fault, how a value becomes that of the copy); None: it stays as it is."""
    if (table, here.name) in INSTEAD:
        constant = INSTEAD[table, here.name]
        return None, lambda _: constant
    bare = " not null" if there.required and not here.required else ""
    kind = (here.type.upper(), there.type + bare)
    if kind not in _CONVERSIONS:
        fault = f"column {here.name!r} of {table!r} is {kind[0]} on SQLite and {kind[1]} on PostgreSQL"
        return f"{fault}: make both alike, or say in gateway/copying/plan.py how the one becomes the other", None
    return None, _CONVERSIONS[kind]


def _text(value: str | None) -> str | None:
    return value.replace("\0", "\ufffd") if value is not None and "\0" in value else value  # PostgreSQL refuses NUL


# What stands behind a backslash in JSON: the first group is half a letter or none, which PostgreSQL takes in but not out again.
_ESCAPE = re.compile(r"\\(u0000|u[dD][89a-fA-F]..)(?:(?<=u[dD][89abAB]..)(\\u[dD][c-fC-F]..))?|\\.", re.DOTALL)


def _json(value: str | None) -> str | None:
    return value if value is None or "\\u" not in value else _ESCAPE.sub(_escape, value)


def _escape(found: re.Match[str]) -> str:
    return "\\ufffd" if found[1] and not found[2] else found[0]


def _truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _listed_text(value: str | None) -> list[int]:
    return [] if value is None else msgspec.json.decode(value, type=list[int])


def _listed_bytes(value: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(value) // 8}q", value))


def _listed_json(value: str | None) -> str | None:
    return "[]" if value is None else _json(value)


_CONVERSIONS: Mapping[tuple[str, str], Conversion | None] = {
    ("INTEGER", "smallint"): None,
    ("INTEGER", "integer"): None,
    ("INTEGER", "bigint"): None,
    ("BIGINT", "bigint"): None,
    ("INTEGER", "boolean"): _truth,
    ("REAL", "double precision"): None,
    ("TEXT", "text"): _text,
    ("TEXT", "json"): _json,
    ("TEXT", "json not null"): _listed_json,
    ("TEXT", "bigint[] not null"): _listed_text,
    ("BLOB", "bigint[]"): _listed_bytes,
    ("BLOB", "bytea"): None,
}
"""By a column's types; `not null`: what PostgreSQL has no NULL for, and SQLite has."""


def _converting(conversions: Mapping[int, Conversion]) -> Callable[[Sequence[Any]], list[Any]]:
    each = tuple(conversions.items())

    def convert(row: Sequence[Any]) -> list[Any]:
        values = list(row)
        for place, conversion in each:
            values[place] = conversion(values[place])
        return values

    return convert
