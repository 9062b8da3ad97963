"""THE STORY of `db copy`: a SQLite file into an empty PostgreSQL database, in batches, each with a note of how far it goes; then
both are read again from the first row to the last, and compared.

It may break off anywhere and be started again. No gateway runs on either meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gateway.copying.counting import Count
from gateway.copying.plan import SEEDED, Step, Unplanned, plan
from gateway.copying.refusals import CannotCopy, Differs
from gateway.copying.source import Source
from gateway.copying.target import Reached, Target
from memory.key import KEY_VERSION

T = TypeVar("T")

BATCH = 5000
"""Rows of one transaction."""

AGAIN = "drop that database, create it anew, and copy again"

Tell = Callable[[int, str], None]
"""Hears how many rows are done, and of which table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What was copied and compared: rows by table; `resumed`: a copy that had broken off was gone on with."""

    rows: Mapping[str, int]
    resumed: bool


def begun(source: Source, target: Target, *, known: Mapping[str, int], make: Callable[[], None]) -> bool:
    """Look whether this file may be copied into this database, and let `make` make its tables where there are none; return
    whether a copy of it was begun there. `known` are this release's schemas, by the table that counts them. Raises `CannotCopy`.
    """
    for table, version in known.items():
        if source.version(table) != version:
            told = f"the file's {table} has version {source.version(table)}, this release's is {version}"
            raise CannotCopy(f"{told}: bring it up to date first, by `db migrate` with its settings")
    if source.key_version() != KEY_VERSION:
        raise CannotCopy(f"the file's keys have version {source.key_version()}, this release's is {KEY_VERSION}")
    whose = target.source()
    if whose is None:
        _require_empty(source, target)
        make()
    elif whose != source.name():
        other = "another file, or of this one before a gateway was started on it once more"
        raise CannotCopy(f"a copy of {other} was begun in this database: {AGAIN}")
    for table, version in known.items():
        if target.version(table) != version:
            told = f"the database's {table} has version {target.version(table)}, this release's is {version}"
            raise CannotCopy(f"{told}: {AGAIN}")
    return whose is not None


def _require_empty(source: Source, target: Target) -> None:
    if filled := target.filled([table.name for table in source.tables()]):
        more = f" and {len(filled) - 3} more tables" if len(filled) > 3 else ""
        raise CannotCopy(
            f"the database is not empty: there are rows in {', '.join(filled[:3])}{more}; copy into a new one"
        )


def copy(
    source: Source, target: Target, *, resumed: bool, tell: Callable[[int, str], Tell], batch: int = BATCH
) -> Copied:
    """Copy what is not copied yet, compare all of it, and let the database be one that gateways may use. `tell` is asked for who
    hears how far it is, with the number of all rows and what is done with them; `batch` is how many rows go in one transaction.

    Raises `CannotCopy`, and `Differs`.
    """
    try:
        steps = plan(source.tables(), target.tables())
    except Unplanned as fault:
        raise CannotCopy(str(fault)) from fault
    rows = {step.table: source.count(step) for step in steps}
    total = sum(rows.values())
    names = [name for step in steps for name in (step.table, _referring(step))]
    reached = target.begin(source.name(), names)
    _copy(source, target, steps, reached, tell(total, "copying"), size=batch)
    target.finish(steps, given=source.given(), runs=source.runs())
    _compare(source, target, steps, tell(2 * total, "comparing"))
    target.end(steps)
    return Copied(rows=rows, resumed=resumed)


def _copy(
    source: Source, target: Target, steps: Sequence[Step], reached: Mapping[str, Reached], tell: Tell, *, size: int
) -> None:
    rows = sum(reached[step.table].rows for step in steps)
    for step in steps:
        after, done = reached[step.table].after, reached[step.table].done
        while not done:
            with target.batch(step.table) as batch:
                if after is None and step.table in SEEDED:
                    batch.clear(step)
                batch.write(step, source.rows(step, after=after, limit=size))
                done = batch.done = batch.rows < size
            after, rows = batch.after, rows + batch.rows
            tell(rows, step.table)
    for step in steps:  # the rows that others of their table refer to stand now
        after, done = reached[_referring(step)].after, reached[_referring(step)].done or not step.later
        while not done:
            with target.batch(_referring(step)) as batch:
                batch.refer(step, source.rows(step, after=after, limit=size, later=True))
                done = batch.done = batch.rows < size
            after = batch.after
    tell(rows, "")


def _referring(step: Step) -> str:
    return f"{step.table} to {step.table}"


def _compare(source: Source, target: Target, steps: Sequence[Step], tell: Tell) -> None:
    done, faults = 0, []

    def counted(rows: Iterable[T], table: str) -> Iterator[T]:
        nonlocal done
        for row in rows:
            yield row
            done += 1
            if done % 1000 == 0:
                tell(done, table)

    for step in steps:
        here = Count().more(counted((row for _, row in source.rows(step)), step.table))
        with target.rows(step) as rows:
            there = Count().more(counted(rows, step.table))
        if here.rows != there.rows:
            faults.append(f"{step.table}: {here.rows:,} rows in the file, {there.rows:,} in the copy")
        elif here != there:
            faults.append(f"{step.table}: {here.rows:,} rows in both, but not the same ones")
    tell(done, "")
    if faults:
        raise Differs(f"the copy is not what the file is: {'; '.join(faults)}; {AGAIN}")
