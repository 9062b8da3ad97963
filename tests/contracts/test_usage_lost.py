"""Calls that a crash left uncounted: found in the ledgers, on both databases, once, by whichever instance looks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from config.settings import Settings
from gateway.admin.database import Database
from gateway.usage.catching_up import DAY_MS, HOUR_MS, REACH_MS, SETTLED_MS, CatchingUp
from gateway.usage.rows import UsageRows
from memory.base import Call, Frame
from memory.derived import FullStore
from tests.contracts.admin_database import URLS, open_admin_database
from tests.contracts.columns import COLUMNS
from tests.contracts.store import ledger, opened
from tests.contracts.test_usage import SUMS, Metered, asked
from tests.unit.test_usage import NOON, PRICES, said
from tests.unit.test_usage import UTC as ZONE

SETTINGS = Settings(prices=PRICES)
CALL = Call(agent="helper", model="mini", ms=5, finish="stop", prompt=1000, completion=200, cached=500, id=90)
GROUP = Frame(channel="shop", conversation="客服/9", chat_type="group")


@pytest.fixture(params=URLS)
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    async with open_admin_database(URLS[request.param](request)) as opened:
        yield opened


@pytest.fixture
async def store(request: pytest.FixtureRequest) -> AsyncIterator[FullStore]:
    async with COLUMNS["sqlite"](request).open() as opened:
        yield opened


async def keep(
    store: FullStore, turn_id: int, *, at_ms: int = NOON - 2 * SETTLED_MS, calls: tuple[Call, ...] = (CALL,)
) -> None:
    scope = await opened(store)
    made = ledger(turn_id, scope.id, now_ms=at_ms, person_id=7, frame=GROUP, calls=calls)
    await store.save_ledger(made, fence=1)


def another(id_: int, **fields: Any) -> Call:
    return msgspec.structs.replace(CALL, id=id_, **fields)


def catching_up(database: Database, store: FullStore, settings: Settings = SETTINGS) -> tuple[CatchingUp, Metered]:
    rows = UsageRows(database)
    there = Metered(rows)
    return (
        CatchingUp(rows, store=store, meter=there.meter, settings=lambda: settings, clock_ms=lambda: NOON),
        there,
    )


async def test_a_call_that_was_not_counted_is_found_once(database: Database, store: FullStore) -> None:
    """For the conversation and person of its turn, at the price of now; two that find it at once count it once."""
    await UsageRows(database).write([said(1, at_ms=NOON - 3 * SETTLED_MS)], ZONE)
    await keep(store, 50)
    finders = [catching_up(database, store) for _ in range(2)]

    found = [await one.catch_up() for one, _ in finders]
    for _, there in finders:
        await there.meter.write()
    again = await catching_up(database, store)[0].catch_up()

    assert ([1, 1], 0) == (found, again)
    assert [(1, 1, 1000, 538)] == await asked(
        database, SUMS
    )  # 500 at 0.25, 500 at 0.025, 200 at 2: 537.5, to the even one
    kept = await asked(database, "SELECT turn_id, channel, room, person, agent, model FROM usage_entries WHERE id = 90")
    assert [(50, "shop", "客服", 7, "helper", "mini")] == kept


async def test_what_was_counted_is_not_found(database: Database, store: FullStore) -> None:
    """Nor what is still under way, what was before anything was counted, and what no model answered or told of."""
    rows = UsageRows(database)
    finder, there = catching_up(database, store)
    await keep(store, 1)
    assert 0 == await catching_up(database, store)[0].catch_up()

    noted = msgspec.structs.replace(said(91, at_ms=NOON), purpose="answer", turn_id=51)
    await rows.write([noted], ZONE)
    await keep(store, 51, calls=(another(91),))
    await keep(store, 52, calls=(another(92),), at_ms=NOON - SETTLED_MS + 1)
    await keep(store, 53, calls=(another(93),), at_ms=NOON - REACH_MS - 1)
    await keep(store, 54, calls=(another(0, model=""),))
    await keep(store, 55, calls=(another(95, prompt=None),))

    assert 1 == await finder.catch_up()  # the first one's, which is within reach now
    assert 1 == there.meter.waiting


async def test_each_call_of_a_turn_is_found(database: Database, store: FullStore) -> None:
    """The one that failed, too, which its service charged for, and the fallback's (a ledger keeps both)."""
    await UsageRows(database).write([said(1, at_ms=NOON - 3 * SETTLED_MS)], ZONE)
    await keep(store, 50, calls=(another(90, code="agent_broken"), another(91, agent="other")))
    finder, there = catching_up(database, store)

    assert 2 == await finder.catch_up()
    await there.meter.write()

    kept = await asked(database, "SELECT id, agent, failed FROM usage_entries WHERE purpose = 'answer' ORDER BY id")
    assert [(90, "helper", 1), (91, "other", 0)] == kept


async def test_what_waits_to_be_written_is_not_counted_again(database: Database, store: FullStore) -> None:
    """Where the database was slow for longer than a ledger takes to settle, it counts once: here, and at another instance."""
    await UsageRows(database).write([said(1, at_ms=NOON - 3 * SETTLED_MS)], ZONE)
    await keep(store, 50)
    finder, there = catching_up(database, store)
    other, elsewhere = catching_up(database, store)
    waiting = msgspec.structs.replace(said(90), purpose="answer", turn_id=50, prompt=1000, money=538)
    there.meter.note(waiting)

    assert (0, 1) == (await finder.catch_up(), await other.catch_up())
    for one in (elsewhere, there):
        await one.meter.write()

    assert [(1, 1)] == await asked(database, "SELECT sum(messages), sum(calls) FROM usage_days")


async def test_old_counts_go(database: Database, store: FullStore) -> None:
    """Entries with the ledgers, sums by day after their own days."""
    old = NOON - 401 * 86_400_000
    await UsageRows(database).write([said(1, at_ms=old), said(2, at_ms=NOON - 31 * 86_400_000), said(3)], ZONE)

    assert 23 == await catching_up(database, store)[0].clean()

    assert [(3,)] == await asked(database, "SELECT id FROM usage_entries")
    assert [(2,)] == await asked(database, "SELECT count(*) FROM usage_days")


async def test_so_many_days_are_for_ever(database: Database, store: FullStore) -> None:
    """Days before the calendar begins, or beyond all numbers of a database, delete nothing, and end nothing."""
    for days in (1e7, 1e300):
        kept = Settings.model_validate({"usage": {"days": days}, "retention": {"ledger_days": days}})

        assert 0 == await catching_up(database, store, kept)[0].clean()


async def test_counts_of_a_minute_do_not_pile_up(database: Database, store: FullStore) -> None:
    """Each message makes some, and no quota looks at a minute that is over; the day's and the month's stay for longer."""
    moments = [NOON - 2 * HOUR_MS, NOON - 4 * DAY_MS, NOON - 65 * DAY_MS, NOON]
    await UsageRows(database).write([said(number, at_ms=at_ms) for number, at_ms in enumerate(moments)], ZONE)

    await catching_up(database, store)[0].clean()

    left = await asked(database, "SELECT DISTINCT span, start FROM usage_counts ORDER BY span, start")
    assert [("day", "2026-11-30"), ("minute", "2026-11-30T12:00"), ("month", "2026-09"), ("month", "2026-11")] == left
