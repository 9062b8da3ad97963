"""Answers what was spent, within what the asker may see.

Who sees some channels only is told of these. Persons are numbers; whose they are is told to who may know people.
"""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import date, timedelta

from config.loader import Configuration
from gateway.admin.acts.people import IdentityTold
from gateway.admin.acts.usage import (
    EXPORT,
    SERIES,
    SUMMARY,
    TURN,
    CountedLine,
    ExportAsked,
    SeriesAsked,
    SeriesLine,
    SeriesTold,
    SpentAsked,
    SpentLine,
    SpentTold,
    TurnAsked,
    TurnTold,
)
from gateway.admin.operations import Acting, FieldProblem, Handlers, Invalid, Missing, Stream
from gateway.admin.persons_known import PersonsKnown
from gateway.admin.seen import cursor, mark
from gateway.usage.entries import MICRO, NOBODY, money_text
from gateway.usage.reports import DIMENSIONS, By, Spent, UsageReports, Wanted
from gateway.usage.rows import SUMS
from gateway.usage.windows import starts, zone
from memory.base import Identity
from memory.people import Persons

MOST_DAYS = 400
"""Days of a series: more can't be told apart, and would take long to read."""


class UsageActs:
    """Does the acts."""

    def __init__(
        self,
        *,
        reports: UsageReports,
        configuration: Callable[[], Configuration],
        persons: Persons,
        clock: Callable[[], int],
    ) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._reports = reports
        self._configuration = configuration
        self._persons = persons
        self._known = PersonsKnown(persons, configuration=configuration)
        self._clock = clock

    def handlers(self) -> Handlers:
        return {
            SUMMARY: self.summary,
            SERIES: self.series,
            EXPORT: self.export,
            TURN: self.turn,
        }

    async def summary(self, acting: Acting, asked: SpentAsked) -> SpentTold:
        """Return the groups' sums, the dearest first, with the sum of all."""
        wanted = self._wanted(acting, asked.since, asked.until, asked.channel)
        (offset,) = mark(asked.after, 1) or (0,)
        found = await self._reports.summary(wanted, asked.by, offset=offset, limit=asked.limit + 1)
        named = acting if acting.may("people", asked.channel) else None
        lines = [await self._line(one, asked.by, named) for one in found[: asked.limit]]
        return SpentTold(
            currency=self._currency,
            since=wanted.since,
            until=wanted.until,
            lines=tuple(lines),
            total=_line("", None, None, await self._reports.total(wanted)),
            next=cursor(offset + asked.limit) if len(found) > asked.limit else None,
        )

    async def series(self, acting: Acting, asked: SeriesAsked) -> SeriesTold:
        """Return the figures of the groups that spent most, and of all others together."""
        wanted = self._wanted(acting, asked.since, asked.until, asked.channel)
        days = _days(wanted)
        top = await self._reports.summary(wanted, asked.by, offset=0, limit=asked.top)
        figures = {(one.key, day): 0 for one in top for day in days}
        others = dict.fromkeys(days, 0)
        for one in await self._reports.summary(wanted, "day", offset=0, limit=MOST_DAYS):
            others[str(one.key[0])] = _measure(one, asked.measure)
        for one in await self._reports.by_day(wanted, asked.by, [group.key for group in top]):
            day, figure = str(one.key[0]), _measure(one, asked.measure)
            figures[one.key[1:], day] = figure
            others[day] -= figure
        scale = MICRO if asked.measure == "money" else 1
        lines = []
        for one in top:
            key, channel = _named(one, asked.by)
            lines.append(
                SeriesLine(key=key, channel=channel, values=tuple(figures[one.key, day] / scale for day in days))
            )
        # Not below nought, where entries are written between two questions.
        lines.append(SeriesLine(key=None, values=tuple(max(0, others[day]) / scale for day in days)))
        if not any(lines[-1].values):
            lines.pop()
        return SeriesTold(currency=self._currency, days=tuple(days), series=tuple(lines))

    async def export(self, acting: Acting, asked: ExportAsked) -> Stream:
        """Return everything by day as CSV. Persons' numbers are in it for who may know people."""
        wanted = self._wanted(acting, asked.since, asked.until, asked.channel)
        acting.note(since=wanted.since, until=wanted.until)
        pieces = self._csv(wanted, persons=acting.may("people", asked.channel))
        return Stream(pieces=pieces, media="text/csv", filename=f"usage-{wanted.since}-{wanted.until}.csv")

    async def turn(self, acting: Acting, asked: TurnAsked) -> TurnTold:
        """Return what a turn was counted as."""
        noted = await self._reports.of_turn(int(asked.turn))
        seen = acting.channels()
        if not noted or (seen is not None and noted[0].channel not in seen):
            raise Missing(f"nothing is counted of a turn {asked.turn!r}; it may be too old, or no model was asked")
        acting.require(noted[0].channel)
        priced = [one.money for one in noted if one.money is not None]
        lines = tuple(
            CountedLine(
                purpose=one.purpose,
                at_ms=one.at_ms,
                agent=one.agent,
                model=one.model,
                failed=one.failed,
                estimated=one.estimated,
                prompt_tokens=one.prompt,
                cached_tokens=one.cached,
                completion_tokens=one.completion,
                money=None if one.money is None else money_text(one.money),
            )
            for one in noted
        )
        return TurnTold(currency=self._currency, lines=lines, money=money_text(sum(priced)) if priced else None)

    async def _line(self, one: Spent, by: By, named: Acting | None) -> SpentLine:
        key, channel = _named(one, by)
        name = await self._accounts(int(key), named) if by == "person" and named is not None and key else None
        return _line(key, channel, name, one)

    async def _accounts(self, person_id: int, acting: Acting) -> str | None:
        """Return the accounts of a person that the actor may know of; None: there are none."""
        person = await self._persons.find(person_id)
        if person is None:
            return None
        told: Sequence[Identity | IdentityTold] = person.identities
        if acting.channels("people") is not None:
            line = await self._known.line(acting, person, right="people")
            told = () if line is None else line.identities
        return ", ".join(f"{one.kind} {one.account}" for one in told) or None

    async def _csv(self, wanted: Wanted, *, persons: bool) -> AsyncIterator[bytes]:
        yield _written([(*DIMENSIONS, *SUMS[:-1], "money")])
        person = DIMENSIONS.index("person")
        async for page in self._reports.all(wanted):
            rows = []
            for row in page:
                cells = [_cell(value) for value in row]
                cells[person] = str(row[person]) if persons and row[person] != NOBODY else ""
                rows.append((*cells[:-1], money_text(int(row[-1]))))
            yield _written(rows)

    def _wanted(self, acting: Acting, since: str | None, until: str | None, channel: str | None) -> Wanted:
        channels = acting.channels()
        if channel is not None:
            acting.require(channel)
            channels = frozenset({channel})
        today = starts(self._clock(), zone(self._configuration().settings.usage.time_zone)).day
        last = _day("until", until or today)
        first = _day("since", since or f"{last.isoformat()[:7]}-01")
        if not timedelta(0) <= last - first < timedelta(days=MOST_DAYS):
            problem = f"is not within {MOST_DAYS} days before {last.isoformat()!r}"
            raise _invalid("since", first.isoformat(), problem, "give a day before `until`, and not long before")
        return Wanted(first.isoformat(), last.isoformat(), channels)

    @property
    def _currency(self) -> str:
        return self._configuration().settings.prices.currency


def _line(key: str, channel: str | None, name: str | None, one: Spent) -> SpentLine:
    priced = one.calls > one.unpriced
    return SpentLine(
        key=key,
        channel=channel,
        name=name,
        messages=one.messages,
        calls=one.calls,
        failed=one.failed,
        estimated=one.estimated,
        unpriced=one.unpriced,
        prompt_tokens=one.prompt,
        cached_tokens=one.cached,
        completion_tokens=one.completion,
        money=money_text(one.money) if priced or not one.calls else None,
    )


def _named(one: Spent, by: By) -> tuple[str, str | None]:
    """Return a group's key as text, and a room's channel."""
    if by == "room":
        return str(one.key[1]), str(one.key[0])
    return ("" if by == "person" and one.key[0] == NOBODY else str(one.key[0])), None


def _measure(one: Spent, measure: str) -> int:
    if measure == "money":
        return one.money
    return one.messages if measure == "messages" else one.prompt + one.completion


def _days(wanted: Wanted) -> list[str]:
    first, last = date.fromisoformat(wanted.since), date.fromisoformat(wanted.until)
    return [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]


def _day(field: str, text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        raise _invalid(field, text, "is no day", "write it as 2026-11-30") from None
    if not 1970 < found.year < 9999:
        raise _invalid(field, text, "is a day of which nothing can be known", "give one of these years")
    return found


def _invalid(field: str, value: str, problem: str, remedy: str) -> Invalid:
    told = FieldProblem(path=field, value=value, problem=problem, remedy=remedy)
    return Invalid(f"{field}: {value!r} {problem}; {remedy}", problems=(told,))


def _cell(value: object) -> str:
    """Return a value as a cell that no spreadsheet takes for a formula: a room's id is whatever its platform says."""
    text = str(value)
    formula = isinstance(value, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r") and not text[1:].isdigit()
    return f"'{text}" if formula else text


def _written(rows: Sequence[Sequence[object]]) -> bytes:
    into = io.StringIO()
    csv.writer(into, lineterminator="\n").writerows(rows)
    return into.getvalue().encode()
