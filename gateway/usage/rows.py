"""What was spent, as rows of the admins' database: entries that count once, and the sums and counts that are kept with them.

Everything about an entry is written in one transaction, so the sums are at every moment those of the entries that were ever
written. Raises `gateway.errors.StoreBusy`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import cache
from typing import Literal, NamedTuple, TypeVar

from gateway.admin.database import Database, Transaction, Value, letters, listed
from gateway.usage.entries import NOBODY, Entry, Purpose
from gateway.usage.windows import SPANS, Span, Starts, starts

T = TypeVar("T")

Kind = Literal["person", "room", "channel", "agent"]
KINDS: tuple[Kind, ...] = ("person", "room", "channel", "agent")

AT_ONCE = 50
"""Rows of one statement."""
PURGED_AT_ONCE = 1_000
"""Rows deleted in one transaction."""


class Subject(NamedTuple):
    """Whom a quota is for. `channel` is "" of persons and agents."""

    kind: Kind
    channel: str
    name: str


class Amounts(NamedTuple):
    """What was used up; `money` in millionths, as far as prices are known."""

    messages: int = 0
    tokens: int = 0
    money: int = 0

    def plus(self, other: Amounts) -> Amounts:
        """Return both together."""
        return Amounts(self.messages + other.messages, self.tokens + other.tokens, self.money + other.money)


def amounts(entry: Entry) -> Amounts:
    """Return what an entry uses up of quotas."""
    return Amounts(entry.messages, entry.tokens, entry.money or 0)


def person_subject(person: int) -> Subject:
    """Return a person as whom a quota is for."""
    return Subject("person", "", str(person))


def subjects(entry: Entry) -> list[Subject]:
    """Return for whom an entry counts. Of private chats no room is counted, nobody is no person, and what is known of a person
    wherever it was said is no channel's."""
    found = [Subject("agent", "", entry.agent)]
    if entry.channel:
        found.append(Subject("channel", "", entry.channel))
    if entry.room:
        found.append(Subject("room", entry.channel, entry.room))
    if entry.person != NOBODY:
        found.append(person_subject(entry.person))
    return found


_ENTRY = (
    "id", "purpose", "turn_id", "at_ms", "channel", "room", "person", "agent", "model",
    "failed", "estimated", "prompt", "cached", "completion", "money",
)  # fmt: skip
_DAY = ("day", "channel", "room", "person", "agent", "model", "purpose")
SUMS = ("messages", "calls", "failed", "estimated", "unpriced", "prompt", "cached", "completion", "money")
"""What is summed by day."""
_COUNT = ("kind", "channel", "name", "span", "start")
_COUNTED = ("messages", "tokens", "money")


def _folding(column: str, where: str) -> str:
    """Return the statement that adds rows by day to those that have `:into` in the column."""
    shown = ", ".join(":into" if name == column else name for name in (*_DAY, *SUMS))
    adding = ", ".join(f"{name} = usage_days.{name} + excluded.{name}" for name in SUMS)
    return f"""INSERT INTO usage_days ({", ".join((*_DAY, *SUMS))}) SELECT {shown} FROM usage_days WHERE {where}
      ON CONFLICT ({", ".join(_DAY)}) DO UPDATE SET {adding}"""


_FOLD_PERSON = _folding("person", "person = :person")
_FOLD_ROOM = _folding("room", "channel = :channel AND room = :name")
_COUNTED_AS = "kind = :kind AND channel = :channel AND name = :name"
_FOLD_COUNTS = f"""INSERT INTO usage_counts (kind, channel, name, span, start, messages, tokens, money)
  SELECT kind, channel, :into, span, start, messages, tokens, money FROM usage_counts WHERE {_COUNTED_AS}
  ON CONFLICT (kind, channel, name, span, start) DO UPDATE SET messages = usage_counts.messages + excluded.messages,
  tokens = usage_counts.tokens + excluded.tokens, money = usage_counts.money + excluded.money"""
_FORGET_COUNTS = f"DELETE FROM usage_counts WHERE {_COUNTED_AS}"


class UsageRows:
    """The tables on one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, entries: Sequence[Entry], where: tzinfo) -> set[tuple[int, Purpose]]:
        """Write entries, and count those that were not written before; return these. Days are those of the zone."""
        unique = list({(entry.id, entry.purpose): entry for entry in reversed(entries)}.values())
        async with self._database.writing() as db:
            fresh = await _insert(db, sorted(unique, key=lambda entry: (entry.id, entry.purpose)))
            new = [entry for entry in unique if (entry.id, entry.purpose) in fresh]
            # In one order, everywhere: two instances must not wait for each other's rows.
            await _add(db, "usage_days", _DAY, SUMS, _days(new, where))
            await _add(db, "usage_counts", _COUNT, _COUNTED, _counts(new, where))
        return fresh

    async def counted(self, found: Sequence[Subject], at: Starts) -> dict[Subject, dict[Span, Amounts]]:
        """Return what each of these has used up in the minute, day and month that have begun at `at`. One question for all:
        messages wait for it."""
        read: dict[Subject, dict[Span, Amounts]] = {subject: {} for subject in found}
        async with self._database.reading() as db:
            for some in _batched(list(read)):
                values = {
                    f"{name}_{letters(n)}": value for n, one in enumerate(some) for name, value in one._asdict().items()
                }
                for place, span, *used in await db.rows(_counting(len(some)), **values, **at._asdict()):
                    read[some[place]][span] = Amounts(*used)
        return read

    async def known(self, ids: Collection[int]) -> set[int]:
        """Return which of these calls for answers are counted already."""
        found: set[int] = set()
        for some in _batched(sorted(ids)):
            names, values = listed(some)
            sql = f"SELECT id FROM usage_entries WHERE purpose = 'answer' AND id IN ({names})"
            async with self._database.reading() as db:
                found |= {row[0] for row in await db.rows(sql, **values)}
        return found

    async def last_ms(self) -> int | None:
        """Return when what was counted last had happened; None: nothing was counted yet."""
        async with self._database.reading() as db:
            ((last,),) = await db.rows("SELECT max(at_ms) FROM usage_entries")
        return None if last is None else int(last)

    async def erase(self, person: int) -> int:
        """Take a person out of all rows; the sums stay, as nobody's. Return how many rows by day were theirs."""
        return await self.move(person, into=NOBODY)

    async def move(self, person: int, *, into: int) -> int:
        """Let all that a person used up be another's, or nobody's. Return how many rows by day that were."""
        if into == person:
            return 0
        counted = person_subject(person)._asdict()
        async with self._database.writing() as db:
            await db.run(_FOLD_PERSON, person=person, into=into)
            days = await db.run("DELETE FROM usage_days WHERE person = :person", person=person)
            await db.run("UPDATE usage_entries SET person = :into WHERE person = :person", person=person, into=into)
            if into != NOBODY:
                await db.run(_FOLD_COUNTS, **counted, into=str(into))
            await db.run(_FORGET_COUNTS, **counted)
        return days

    async def move_room(self, channel: str, room: str, *, into: str) -> None:
        """Let what a room used up be that of the id it has now. Entries stay as they were noted."""
        if into == room:
            return
        counted = Subject("room", channel, room)._asdict()
        async with self._database.writing() as db:
            await db.run(_FOLD_ROOM, channel=channel, name=room, into=into)
            await db.run("DELETE FROM usage_days WHERE channel = :channel AND room = :name", channel=channel, name=room)
            await db.run(_FOLD_COUNTS, **counted, into=into)
            await db.run(_FORGET_COUNTS, **counted)

    async def purge(self, *, entries_before_ms: int, counts_before: Starts, days_before: str) -> int:
        """Delete what has had its time; return how many rows. In small pieces: others write in between."""
        gone = await self._purge("usage_entries", ("id", "purpose"), "at_ms < :at", at=entries_before_ms)
        gone += await self._purge("usage_days", _DAY, "day < :before", before=days_before)
        for span, start in counts_before._asdict().items():
            gone += await self._purge(
                "usage_counts", _COUNT, "span = :of_span AND start < :before", of_span=span, before=start
            )
        return gone

    async def _purge(self, table: str, key: Sequence[str], where: str, **values: Value) -> int:
        shown, gone = ", ".join(key), 0
        sql = f"DELETE FROM {table} WHERE ({shown}) IN (SELECT {shown} FROM {table} WHERE {where} LIMIT :most)"
        while True:
            async with self._database.writing() as db:
                rows = await db.run(sql, **values, most=PURGED_AT_ONCE)
            gone += rows
            if rows < PURGED_AT_ONCE:
                return gone


async def _insert(db: Transaction, entries: Sequence[Entry]) -> set[tuple[int, Purpose]]:
    found: set[tuple[int, Purpose]] = set()
    for some in _batched(entries):
        sql, names = _inserting("usage_entries", _ENTRY, len(some))
        values = [_value(getattr(entry, column)) for entry in some for column in _ENTRY]
        written = await db.rows(
            f"{sql} ON CONFLICT DO NOTHING RETURNING id, purpose", **dict(zip(names, values, strict=True))
        )
        found |= {(row[0], row[1]) for row in written}
    return found


async def _add(
    db: Transaction, table: str, key: Sequence[str], sums: Sequence[str], found: Mapping[tuple[Value, ...], list[int]]
) -> None:
    adding = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in sums)
    for some in _batched(sorted(found.items())):
        sql, names = _inserting(table, (*key, *sums), len(some))
        values = [value for of, added in some for value in (*of, *added)]
        await db.run(
            f"{sql} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {adding}", **dict(zip(names, values, strict=True))
        )


def _days(entries: Iterable[Entry], where: tzinfo) -> dict[tuple[Value, ...], list[int]]:
    found: dict[tuple[Value, ...], list[int]] = {}
    for entry in entries:
        purpose = "answer" if entry.purpose == "message" else entry.purpose
        day = starts(entry.at_ms, where).day
        key = (day, entry.channel, entry.room, entry.person, entry.agent, entry.model, purpose)
        _sum(found, key, [int(getattr(entry, name) or 0) for name in SUMS])
    return found


def _counts(entries: Iterable[Entry], where: tzinfo) -> dict[tuple[Value, ...], list[int]]:
    found: dict[tuple[Value, ...], list[int]] = {}
    for entry in entries:
        added, times = [*amounts(entry)], list(zip(SPANS, starts(entry.at_ms, where), strict=True))
        for subject in subjects(entry):
            for span, start in times:
                _sum(found, (*subject, span, start), added)
    return found


def _sum(into: dict[tuple[Value, ...], list[int]], key: tuple[Value, ...], added: list[int]) -> None:
    before = into.get(key)
    into[key] = added if before is None else [old + more for old, more in zip(before, added, strict=True)]


@cache  # there are as many of them as rows of one statement
def _inserting(table: str, columns: tuple[str, ...], rows: int) -> tuple[str, list[str]]:
    """Return the statement that inserts so many rows, and the names of its values, row by row."""
    names = [[f"{column}_{letters(number)}" for column in columns] for number in range(rows)]
    lines = ", ".join(f"({', '.join(f':{name}' for name in row)})" for row in names)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {lines}", [name for row in names for name in row]


@cache  # there are as many of them as subjects of one question
def _counting(subjects: int) -> str:
    """Return the question what so many subjects have used up, each found by its whole key: a channel has a row for each minute.
    No start of a minute is one of a day or month, so they need not be paired, which SQLite would not look up by."""
    one = f"""SELECT {{n}} AS place, span, {", ".join(_COUNTED)} FROM usage_counts
      WHERE kind = :kind_{{at}} AND channel = :channel_{{at}} AND name = :name_{{at}}
      AND span IN ('minute', 'day', 'month') AND start IN (:minute, :day, :month)"""
    return " UNION ALL ".join(one.format(n=n, at=letters(n)) for n in range(subjects))


def _value(value: Value | bool) -> Value:
    return int(value) if isinstance(value, bool) else value


def _batched(items: Sequence[T]) -> Iterable[Sequence[T]]:
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]
