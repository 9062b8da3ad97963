"""Questions about what was spent: sums by whom or what over days, and who is near a quota. Raises `gateway.errors.StoreBusy`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Literal, NamedTuple

import msgspec

from gateway.admin.database import Database, Row, Value, letters
from gateway.usage.entries import Purpose
from gateway.usage.quotas import Measure
from gateway.usage.rows import SUMS, Amounts, Subject
from gateway.usage.windows import Span, Starts

By = Literal["channel", "room", "person", "agent", "model", "purpose", "day"]
_KEYS: dict[By, tuple[str, ...]] = {
    "channel": ("channel",),
    "room": ("channel", "room"),
    "person": ("person",),
    "agent": ("agent",),
    "model": ("model",),
    "purpose": ("purpose",),
    "day": ("day",),
}
DIMENSIONS = ("day", "channel", "room", "person", "agent", "model", "purpose")
PAGE = 1_000


class Wanted(NamedTuple):
    """Which rows: days from `since` to `until`, both included; `channels` None: all."""

    since: str
    until: str
    channels: frozenset[str] | None


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of one group. `key` as it is grouped by; `money` in millionths, of the calls that have a price."""

    key: tuple[str | int, ...]
    messages: int
    calls: int
    failed: int
    estimated: int
    unpriced: int
    prompt: int
    cached: int
    completion: int
    money: int


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a turn."""

    purpose: Purpose
    at_ms: int
    channel: str
    agent: str
    model: str
    failed: bool
    estimated: bool
    prompt: int
    cached: int
    completion: int
    money: int | None


class UsageReports:
    """Reads only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def summary(self, wanted: Wanted, by: By, *, offset: int, limit: int) -> list[Spent]:
        """Return the groups, the dearest first; days in their order."""
        key = _KEYS[by]
        order = "1" if by == "day" else "money DESC, prompt + completion DESC, messages DESC"
        shown = ", ".join(key)
        sql = f"""SELECT * FROM (SELECT {shown}, {_SUMMED} FROM usage_days WHERE {{where}} GROUP BY {shown}) AS grouped
          ORDER BY {order}, {", ".join(str(place + 1) for place in range(len(key)))} LIMIT :limit OFFSET :offset"""
        rows = await self._rows(sql, wanted, limit=limit, offset=offset)
        return [_spent(row, len(key)) for row in rows]

    async def total(self, wanted: Wanted) -> Spent:
        """Return the sum of all."""
        rows = await self._rows(f"SELECT {_SUMMED} FROM usage_days WHERE {{where}}", wanted)
        return _spent(rows[0], 0)

    async def by_day(self, wanted: Wanted, by: By, groups: Sequence[tuple[str | int, ...]]) -> list[Spent]:
        """Return the sums of these groups, by their keys, on each day on which there was something; `key` begins with the day."""
        if not groups:
            return []
        columns = _KEYS[by]
        shown, key = ", ".join(("day", *columns)), ", ".join(columns)
        names = [[f"{column}_{letters(number)}" for column in columns] for number in range(len(groups))]
        listed = ", ".join(f"({', '.join(f':{name}' for name in row)})" for row in names)
        values = {
            name: value
            for row, group in zip(names, groups, strict=True)
            for name, value in zip(row, group, strict=True)
        }
        sql = f"""SELECT {shown}, {_SUMMED} FROM usage_days WHERE {{where}} AND ({key}) IN (VALUES {listed})
          GROUP BY {shown} ORDER BY {shown}"""
        return [_spent(row, 1 + len(columns)) for row in await self._rows(sql, wanted, **values)]

    async def all(self, wanted: Wanted) -> AsyncIterator[list[Row]]:
        """Yield all rows by day in pages: `DIMENSIONS`, then `SUMS`."""
        shown, last = ", ".join(DIMENSIONS), ", ".join(f":last_{name}" for name in DIMENSIONS)
        after: dict[str, Value] = {}
        while True:
            behind = f" AND ({shown}) > ({last})" if after else ""
            sql = f"""SELECT {shown}, {", ".join(SUMS)} FROM usage_days WHERE {{where}}{behind}
              ORDER BY {shown} LIMIT :limit"""
            rows = await self._rows(sql, wanted, limit=PAGE, **after)
            if not rows:
                return
            yield rows
            after = {f"last_{name}": value for name, value in zip(DIMENSIONS, rows[-1], strict=False)}

    async def of_turn(self, turn_id: int) -> list[Noted]:
        """Return what a turn was counted as, oldest first; nothing for 0, which stands for no turn."""
        if turn_id == 0:
            return []
        columns = Noted.__struct_fields__
        sql = f"SELECT {', '.join(columns)} FROM usage_entries WHERE turn_id = :turn ORDER BY at_ms, id LIMIT :most"
        async with self._database.reading() as db:
            rows = await db.rows(sql, turn=turn_id, most=PAGE)
        return [msgspec.convert(dict(zip(columns, row, strict=True)), Noted, strict=False) for row in rows]

    async def above(
        self, of: Subject, *, measure: Measure, span: Span, at: Starts, least: int, limit: int
    ) -> list[tuple[Subject, Amounts]]:
        """Return who has used up so much or more in the time that began at `at`, the most first. `of` names one, or (name "") all
        of its kind and channel."""
        named = "AND name = :name " if of.name else ""
        sql = f"""SELECT kind, channel, name, messages, tokens, money FROM usage_counts
          WHERE kind = :kind AND channel = :channel {named}AND span = :span AND start = :start AND {measure} >= :least
          ORDER BY {measure} DESC, name LIMIT :limit"""
        values: dict[str, Value] = {"kind": of.kind, "channel": of.channel, "span": span, "start": getattr(at, span)}
        if of.name:
            values["name"] = of.name
        async with self._database.reading() as db:
            rows = await db.rows(sql, **values, least=least, limit=limit)
        return [(Subject(*row[:3]), Amounts(*(int(value) for value in row[3:]))) for row in rows]

    async def _rows(self, sql: str, wanted: Wanted, **values: Value) -> list[Row]:
        where, asked = _where(wanted)
        async with self._database.reading() as db:
            return list(await db.rows(sql.format(where=where), **asked, **values))


_SUMMED = ", ".join(f"CAST(coalesce(sum({name}), 0) AS BIGINT) AS {name}" for name in SUMS)


def _where(wanted: Wanted) -> tuple[str, dict[str, Value]]:
    values: dict[str, Value] = {"since": wanted.since, "until": wanted.until}
    where = "day >= :since AND day <= :until"
    if wanted.channels is not None:
        names = _named(wanted.channels)
        where += f" AND channel IN ({', '.join(f':{name}' for name in names) or 'NULL'})"
        values |= names
    return where, values


def _named(channels: Collection[str]) -> dict[str, Value]:
    """Return the channels by names of parameters."""
    return {f"seen_{letters(number)}": name for number, name in enumerate(sorted(channels))}


def _spent(row: Row, keys: int) -> Spent:
    return Spent(key=tuple(row[:keys]), **dict(zip(SUMS, (int(value) for value in row[keys:]), strict=True)))
