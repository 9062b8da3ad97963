"""What was spent, on both databases: counted once, summed rightly, kept without the person when they are erased."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import tzinfo
from zoneinfo import ZoneInfo

import msgspec
import pytest

from gateway.admin.database import Database
from gateway.errors import StoreBusy
from gateway.usage.entries import Entry
from gateway.usage.meter import Meter
from gateway.usage.rows import PURGED_AT_ONCE, Amounts, Subject, UsageRows
from gateway.usage.windows import Span, starts
from tests.contracts.admin_database import WITH_TOMORROWS, open_admin_database
from tests.unit.test_usage import NOON, PERSON, PLACE, UTC, called, said

DAY_MS = 86_400_000
CHANNEL, AGENT = Subject("channel", "", "shop"), Subject("agent", "", "helper")
SUMS = "SELECT sum(messages), sum(calls), sum(prompt), sum(money) FROM usage_days"


@pytest.fixture(params=WITH_TOMORROWS)
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    async with open_admin_database(WITH_TOMORROWS[request.param](request)) as opened:
        yield opened


@pytest.fixture
def rows(database: Database) -> UsageRows:
    return UsageRows(database)


async def asked(database: Database, sql: str) -> list[tuple[object, ...]]:
    async with database.reading() as db:
        return [tuple(int(value) if value is not None and not isinstance(value, str) else value for value in row)
                for row in await db.rows(sql)]  # fmt: skip


async def used(rows: UsageRows, subject: Subject) -> dict[Span, Amounts]:
    read = await rows.counted([subject], starts(NOON, UTC))
    return {**read[subject]}


async def test_an_entry_counts_once(rows: UsageRows, database: Database) -> None:
    """However often it is written, alone or in company, by whomever; a message and a call of one id are two."""
    twin = msgspec.structs.replace(called(5, 700), agent="another")

    first = await rows.write([said(5), called(5, 1000), twin], UTC)
    again = await rows.write([said(5), called(6, 1000), called(5, 1000)], UTC)

    assert ({(5, "message"), (5, "answer")}, {(6, "answer")}) == (first, again)
    assert [(1, 2, 2000, 500)] == await asked(database, SUMS)
    assert {
        "minute": Amounts(1, 2000, 500),
        "day": Amounts(1, 2000, 500),
        "month": Amounts(1, 2000, 500),
    } == await used(rows, PERSON)


async def test_sums_are_those_of_the_entries(rows: UsageRows, database: Database) -> None:
    """By day, and for person, room, channel and agent alike, over days, months and more entries than one statement takes."""
    entries = [
        entry
        for number in range(120)
        for entry in (said(number, at_ms=NOON + number * DAY_MS // 4), called(number, number, at_ms=NOON + DAY_MS))
    ]
    await asyncio.gather(*(rows.write(entries[start::3], UTC) for start in range(3)))

    (total,) = await asked(database, "SELECT count(*), sum(prompt), sum(money) FROM usage_entries")
    assert [(120, 120, *total[1:])] == await asked(database, SUMS)
    for subject in (PERSON, PLACE, CHANNEL, AGENT):
        counted = await asked(
            database,
            f"SELECT sum(messages), sum(tokens) FROM usage_counts WHERE kind = '{subject.kind}' AND span = 'month'",
        )
        assert [(120, total[1])] == counted
    assert 4 == (await used(rows, PLACE))["day"].messages + 2  # from noon to midnight two quarters of a day


async def test_what_has_no_price_is_not_free(rows: UsageRows, database: Database) -> None:
    """Its calls are told apart, so that nobody takes the sum for all there was."""
    await rows.write([msgspec.structs.replace(called(1, 10), money=None, estimated=True, failed=True)], UTC)

    told = await asked(database, "SELECT calls, unpriced, estimated, failed, money FROM usage_days")
    assert [(1, 1, 1, 1, 0)] == told


async def test_an_erased_person_leaves_sums(rows: UsageRows, database: Database) -> None:
    """Nobody's number is in any row then, where nobody's row was before and where not; the sums stay what they were."""
    await rows.write([said(1), called(1, 100), msgspec.structs.replace(said(2), person=0)], UTC)
    await rows.write([msgspec.structs.replace(said(3), person=8)], UTC)
    before = await asked(database, SUMS)

    erased = await rows.erase(7)

    assert 2 == erased
    assert before == await asked(database, SUMS)
    for table in ("usage_entries", "usage_days"):
        assert [(0,), (8,)] == await asked(database, f"SELECT DISTINCT person FROM {table} ORDER BY person")
    assert [("8",)] == await asked(database, "SELECT DISTINCT name FROM usage_counts WHERE kind = 'person'")
    assert 0 == await rows.erase(7)


async def test_two_persons_that_are_one_used_up_both(rows: UsageRows, database: Database) -> None:
    """What the one had used up counts for the other from then on, by day and for quotas."""
    await rows.write([said(1), called(2, 100)], UTC)
    await rows.write([msgspec.structs.replace(said(3), person=8)], UTC)
    there = Metered(rows)
    await there.meter.ready([PERSON, Subject("person", "", "8")])

    await there.meter.join(8, 7)
    await there.meter.ready([PERSON])

    assert 2 == there.day().messages
    assert Amounts() == (await used(rows, Subject("person", "", "8"))).get("day", Amounts())
    assert [(7, 2)] == await asked(database, "SELECT person, sum(messages) FROM usage_days GROUP BY person")


async def test_what_waits_is_joined_too(rows: UsageRows, database: Database) -> None:
    """Nothing is written for a person who is no more."""
    there = Metered(rows)
    there.meter.note(msgspec.structs.replace(said(1), person=8))
    there.meter.note(said(2))

    await there.meter.join(8, 7)
    await there.meter.ready([PERSON])
    assert 2 == there.day().messages
    await there.meter.write()

    assert [(7, 2)] == await asked(database, "SELECT person, sum(messages) FROM usage_days GROUP BY person")


async def test_days_that_begin_at_another_time_are_counted_anew(rows: UsageRows) -> None:
    """An admin sets the time zone while the gateway runs: what was counted for the day of before is not the new one's, and what
    comes is counted at once."""
    there = Metered(rows)
    there.zone = ZoneInfo("Asia/Shanghai")
    evening = NOON + 6 * 3_600_000  # the first of December there, the last of November by UTC
    there.meter = there.made(clock_ms=lambda: evening)
    await there.meter.ready([PERSON])
    there.meter.note(said(1, at_ms=evening))
    assert 1 == there.meter.counters.used(PERSON, starts(evening, there.zone))["day"].messages

    there.zone = UTC
    await there.meter.write()
    await there.meter.ready([PERSON])
    there.meter.note(said(2, at_ms=evening))

    assert 2 == there.meter.counters.used(PERSON, starts(evening, UTC))["day"].messages


async def test_a_room_that_moves_takes_along_what_it_used_up(rows: UsageRows, database: Database) -> None:
    """By day and for its quota, into what is there already; told twice, no more. Rooms of that id on other channels stay."""
    other = msgspec.structs.replace(said(9), channel="other", room="-100")
    await rows.write([said(1), called(2, 100), msgspec.structs.replace(said(3), room="-100"), other], UTC)
    before, there = await asked(database, SUMS), Metered(rows)
    await there.meter.ready([PLACE, Subject("room", "shop", "-100")])

    for name in (PLACE.name, PLACE.name, "-100"):
        await there.meter.move_room("shop", name, "-100")
    await there.meter.ready([Subject("room", "shop", "-100")])

    assert Amounts(2, 100, 25) == there.day(Subject("room", "shop", "-100"))
    assert before == await asked(database, SUMS)
    assert [("other", "-100", 1), ("shop", "-100", 2)] == await asked(
        database, "SELECT channel, room, sum(messages) FROM usage_days GROUP BY channel, room ORDER BY channel"
    )
    assert {} == await used(rows, PLACE)


async def test_what_is_old_goes(rows: UsageRows, database: Database) -> None:
    """Each table in its own time."""
    await rows.write([said(1), said(2, at_ms=NOON + 2 * DAY_MS)], UTC)

    await rows.purge(
        entries_before_ms=NOON + DAY_MS, counts_before=starts(NOON + DAY_MS, UTC), days_before="2026-12-02"
    )

    assert [(2,)] == await asked(database, "SELECT id FROM usage_entries")
    assert [("2026-12-02",)] == await asked(database, "SELECT day FROM usage_days")
    left = await asked(database, "SELECT DISTINCT start FROM usage_counts ORDER BY start")
    assert [("2026-12",), ("2026-12-02",), ("2026-12-02T12:00",)] == left


async def test_calls_that_are_counted_are_known(rows: UsageRows) -> None:
    """By their ids, which a message may have, too; and when anything was counted last."""
    assert await rows.last_ms() is None
    await rows.write([said(9), called(2, 5)], UTC)

    assert {2} == await rows.known([2, 9, *range(100, 200)])
    assert NOON == await rows.last_ms()


async def test_much_that_is_old_goes_in_pieces(rows: UsageRows, database: Database) -> None:
    """More than one transaction takes, and nothing that is not old: others write in between."""
    old = [said(number, at_ms=NOON - DAY_MS) for number in range(PURGED_AT_ONCE + 50)]
    for start in range(0, len(old), 300):
        await rows.write(old[start : start + 300], UTC)
    await rows.write([said(5000)], UTC)

    gone = await rows.purge(entries_before_ms=NOON - 1, counts_before=starts(NOON, UTC), days_before="2026-11-30")

    assert [(5000,)] == await asked(database, "SELECT id FROM usage_entries")
    assert PURGED_AT_ONCE + 50 + 1 + 2 * 4 == gone  # the day, and a minute and a day of each of four


async def test_what_several_have_used_up_is_asked_at_once(rows: UsageRows) -> None:
    """Each gets its own, also who is asked for twice and who has used up nothing; nobody asked for, nothing told."""
    other = Subject("person", "", "404")
    await rows.write([said(1), called(2, 100)], UTC)

    read = await rows.counted([PERSON, other, PLACE, CHANNEL, AGENT, PERSON], starts(NOON, UTC))

    spans = dict.fromkeys(("minute", "day", "month"), Amounts(1, 100, 25))
    assert {PERSON: spans, other: {}, PLACE: spans, CHANNEL: spans, AGENT: spans} == read
    assert {} == await rows.counted([], starts(NOON, UTC))


@dataclass
class Metered:
    """A meter on the rows, with what it told."""

    rows: UsageRows
    fresh_s: float | None = None
    most: int = 100
    heard: list[Entry] = field(default_factory=list)
    dropped: int = 0
    zone: tzinfo = UTC

    def __post_init__(self) -> None:
        self.meter = self.made(clock_ms=lambda: NOON)

    def made(self, *, clock_ms: Callable[[], int]) -> Meter:
        return Meter(
            self.rows,
            fresh_s=self.fresh_s,
            zone=lambda: self.zone,
            read_s=lambda: 5,
            counted=self.heard.append,
            dropped=self.drop,
            clock_ms=clock_ms,
            most=self.most,
        )

    def drop(self, count: int) -> None:
        self.dropped += count

    def day(self, subject: Subject = PERSON) -> Amounts:
        return self.meter.counters.used(subject, starts(NOON, UTC))["day"]


async def test_a_meter_counts_at_once_and_writes_soon(rows: UsageRows, database: Database) -> None:
    """What waits counts for those whose quota is asked for, before and after it is written; at the end nothing waits."""
    there = Metered(rows)
    await rows.write([said(1)], UTC)
    there.meter.note(said(2))
    await there.meter.ready([PERSON])
    assert 2 == there.day().messages

    running = asyncio.create_task(there.meter.run())
    there.meter.note(said(3))
    there.meter.note(said(3))
    there.meter.drain()
    async with asyncio.timeout(5):
        await running

    assert (3, 0) == (there.day().messages, there.meter.waiting)
    assert [said(2), said(3)] == there.heard
    assert [(3, 0, 0, 0)] == await asked(database, SUMS)


async def test_what_was_counted_before_a_crash_counts_no_more(rows: UsageRows) -> None:
    """Whoever takes a turn over notes its messages again; once it is written, it is known that they had been."""
    await rows.write([said(1)], UTC)
    there = Metered(rows)
    await there.meter.ready([PERSON])

    there.meter.note(said(1))
    assert 2 == there.day().messages
    await there.meter.write()

    assert 1 == there.day().messages


async def test_two_instances_agree(rows: UsageRows) -> None:
    """What one has written the other knows when what it knew is no longer fresh, with what waits there and what is held."""
    one, other = Metered(rows), Metered(rows, fresh_s=0)
    await other.meter.ready([PERSON])
    other.meter.note(said(1))
    other.meter.counters.hold([PERSON], 1)
    one.meter.note(said(2))
    await one.meter.write()

    await other.meter.ready([PERSON])

    assert 3 == other.day().messages


async def test_a_message_that_another_instance_noted_first_still_counts_where_it_came_in(rows: UsageRows) -> None:
    """Who answers it notes it, too, and may write before; what is known here was read before that. However fresh, it is read
    again, and until then nothing is taken back: three would have become four."""
    one, other = Metered(rows, fresh_s=1000), Metered(rows, fresh_s=1000)
    await one.meter.ready([PERSON])
    for number in (1, 2, 3):
        one.meter.note(said(number))
    other.meter.note(said(2))
    await other.meter.write()

    await one.meter.write()
    before = one.day().messages
    await one.meter.ready([PERSON])

    assert [3, 3] == [before, one.day().messages]


async def test_an_erased_person_is_not_counted_any_more(rows: UsageRows, database: Database) -> None:
    """Neither what waits nor what comes late for them bears their number."""
    there = Metered(rows)
    await there.meter.ready([PERSON])
    there.meter.note(said(1))

    await there.meter.erase(7)
    there.meter.note(called(4, 10))
    await there.meter.write()

    assert [(0,)] == await asked(database, "SELECT DISTINCT person FROM usage_entries")
    assert Amounts() == there.day()


class Away(UsageRows):
    """Rows of a database that is away as long as `away` is set."""

    away = True

    async def write(self, entries, where):  # type: ignore[no-untyped-def]
        if self.away:
            raise StoreBusy("away", retry_after_s=1)
        return await super().write(entries, where)

    async def counted(self, found, at):  # type: ignore[no-untyped-def]
        if self.away:
            raise StoreBusy("away", retry_after_s=1)
        return await super().counted(found, at)


async def test_a_database_that_is_away_keeps_nobody_waiting(database: Database) -> None:
    """Messages go on, by what is counted here; entries wait for it, as many as may, and what is more is told."""
    rows = Away(database)
    there = Metered(rows, most=2)
    await there.meter.ready([PERSON])
    for number in range(3):
        there.meter.note(said(number))
    with pytest.raises(StoreBusy):
        await there.meter.write()
    assert (2, 1) == (there.meter.waiting, there.dropped)

    running = asyncio.create_task(there.meter.run())
    there.meter.drain()
    async with asyncio.timeout(5):
        await running
    assert 2 == there.meter.waiting  # left to the ledgers

    rows.away = False
    await there.meter.write()
    assert [(2, 0, 0, 0)] == await asked(database, SUMS)
