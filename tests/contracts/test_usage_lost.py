"""Calls that a crash left uncounted: found in the ledgers, on both databases, once, by whichever instance looks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from config.settings import Settings
from gateway.admin.database import Database
from gateway.usage.catching_up import REACH_MS, SETTLED_MS, CatchingUp
from gateway.usage.rows import UsageRows
from memory.base import Call, Frame, Ledger
from memory.derived import FullStore
from tests.contracts.admin_database import URLS, open_admin_database
from tests.contracts.columns import COLUMNS
from tests.contracts.store import ledger
from tests.contracts.test_usage import SUMS, Metered, asked
from tests.unit.test_usage import NOON, PRICES, said
from tests.unit.test_usage import UTC as ZONE

SETTINGS = Settings(prices=PRICES)
CALL = Call(agent="helper", model="mini", ms=5, finish="stop", prompt=1000, completion=200, cached=500)
GROUP = Frame(channel="shop", conversation="客服/9", chat_type="group")


@pytest.fixture(params=URLS)
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    async with open_admin_database(URLS[request.param](request)) as opened:
        yield opened


@pytest.fixture
async def store(request: pytest.FixtureRequest) -> AsyncIterator[FullStore]:
    async with COLUMNS["sqlite"](request).open() as opened:
        yield opened


def made(
    turn_id: int, *, at_ms: int = NOON - 2 * SETTLED_MS, calls: tuple[Call, ...] = (CALL,), **fields: Any
) -> Ledger:
    return ledger(turn_id, 5, now_ms=at_ms, person_id=7, frame=GROUP, calls=calls, **fields)


def catching_up(database: Database, store: FullStore) -> tuple[CatchingUp, Metered]:
    rows = UsageRows(database)
    there = Metered(rows)
    return (
        CatchingUp(rows, store=store, meter=there.meter, settings=lambda: SETTINGS, clock_ms=lambda: NOON),
        there,
    )


async def test_a_call_that_was_not_counted_is_found_once(database: Database, store: FullStore) -> None:
    """For the conversation and person of its turn, at the price of now; two that find it at once count it once."""
    await UsageRows(database).write([said(1, at_ms=NOON - 3 * SETTLED_MS)], ZONE)
    await store.save_ledger(made(50))
    finders = [catching_up(database, store) for _ in range(2)]

    found = [await one.catch_up() for one, _ in finders]
    for _, there in finders:
        await there.meter.write()
    again = await catching_up(database, store)[0].catch_up()

    assert ([1, 1], 0) == (found, again)
    assert [(1, 1, 1000, 538)] == await asked(
        database, SUMS
    )  # 500 at 0.25, 500 at 0.025, 200 at 2: 537.5, to the even one
    kept = await asked(database, "SELECT turn_id, channel, room, person, agent, model FROM usage_entries WHERE id = 50")
    assert [(50, "shop", "客服", 7, "helper", "mini")] == kept


async def test_what_was_counted_is_not_found(database: Database, store: FullStore) -> None:
    """Nor what is still under way, what was before anything was counted, and what no model answered or told of."""
    rows = UsageRows(database)
    finder, there = catching_up(database, store)
    await store.save_ledger(made(1))
    assert 0 == await catching_up(database, store)[0].catch_up()

    noted = msgspec.structs.replace(said(900, at_ms=NOON), purpose="answer", turn_id=51)
    await rows.write([noted], ZONE)
    await store.save_ledger(made(51))
    await store.save_ledger(made(52, at_ms=NOON - SETTLED_MS + 1))
    await store.save_ledger(made(53, at_ms=NOON - REACH_MS - 1))
    await store.save_ledger(made(54, calls=(msgspec.structs.replace(CALL, model=""),)))
    await store.save_ledger(made(55, calls=(msgspec.structs.replace(CALL, prompt=None),)))

    assert 1 == await finder.catch_up()  # the first one's, which is within reach now
    assert 1 == there.meter.waiting


async def test_old_counts_go(database: Database, store: FullStore) -> None:
    """Entries with the ledgers, sums by day after their own days."""
    old = NOON - 401 * 86_400_000
    await UsageRows(database).write([said(1, at_ms=old), said(2, at_ms=NOON - 31 * 86_400_000), said(3)], ZONE)

    await catching_up(database, store)[0].clean()

    assert [(3,)] == await asked(database, "SELECT id FROM usage_entries")
    assert [(2,)] == await asked(database, "SELECT count(*) FROM usage_days")
