"""The clean-up: what has had its time goes, what is pending and what people said stays, and all of it is counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from config.settings import RetentionSettings
from gateway.inbox.base import NewEvent, Outcome
from gateway.inbox.sqlite import SqliteInbox
from gateway.metrics import Metrics
from gateway.retention import BATCH, DAY_MS, MESSAGES, Retention
from memory.ids import Ids
from memory.stores.sqlite import SqliteStore
from tests.contracts.store import ledger, opened, put, replied, rule, said
from tests.scenarios.world import locked

NOW = 1_790_000_000_000


_ages: dict[float, Ids] = {}


def id_of(days: float) -> int:
    """Return a new id that was made so many days ago: age is told by ids."""
    return _ages.setdefault(days, Ids(len(_ages), clock=lambda: NOW - int(days * DAY_MS))).next()


@dataclass
class House:
    """Both stores on one file, and the clean-up over them."""

    path: Path
    store: SqliteStore
    inbox: SqliteInbox
    metrics: Metrics
    retention: Retention
    settings: list[RetentionSettings]

    async def event(self, *, days: float, ended: bool) -> int:
        """Accept an event so many days ago; an ended one was ignored at once."""
        new = NewEvent(
            id=id_of(days), channel="c", kind="message", speaker="a", body=b"", token="t", fingerprint=None,
            now_ms=NOW - int(days * DAY_MS), outcome=Outcome(state="ignored", rule="trigger") if ended else None,
        )  # fmt: skip
        await self.inbox.accept(new, lane=f"lane {new.id}", dedupe_ids=[str(new.id)])
        return new.id

    async def ledger(self, *, days: float) -> int:
        turn = id_of(days)
        scope = await opened(self.store)
        made = ledger(turn, scope.id, now_ms=NOW - int(days * DAY_MS))
        await self.store.save_ledger(made, fence=1)
        return turn


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    path, turn, metrics, settings = tmp_path / "c.db", asyncio.Lock(), Metrics(version="1"), [RetentionSettings()]
    async with (
        SqliteStore(path, ids=Ids(1), write_turn=turn, timeout_s=0.5) as store,
        SqliteInbox(path, write_turn=turn, timeout_s=0.5, lease_s=9, poll_s=0.05, accept_max=10_000) as inbox,
    ):
        retention = Retention(inbox=inbox, store=store, metrics=metrics, settings=lambda: settings[-1])
        yield House(path, store, inbox, metrics, retention, settings)


async def test_what_is_old_goes_and_what_is_pending_stays(house: House) -> None:
    """Thirty days for finished events and ledgers; what still waits is never deleted, however old (openclaw#88005)."""
    old, young = await house.event(days=30.1, ended=True), await house.event(days=29.9, ended=True)
    pending = await house.event(days=400, ended=False)
    ledgers = [await house.ledger(days=days) for days in (30.1, 29.9)]
    deleted = await house.retention.clean(now_ms=NOW)

    assert [None, True, True] == [
        None if event is None else True for event in [await house.inbox.event(id_) for id_ in (old, young, pending)]
    ]
    assert [None, ledgers[1]] == [
        None if found is None else found.turn_id for found in [await house.store.ledger(id_) for id_ in ledgers]
    ]
    assert 1 == deleted["ledger"]
    rendered = house.metrics.render().decode()
    for kind, rows in deleted.items():
        assert f'clew_retention_deleted_total{{kind="{kind}"}} {float(rows)}' in rendered
    assert {"queue": 0, "ledger": 0} == await house.retention.clean(now_ms=NOW), "once is enough"


async def test_what_people_said_stays_for_ever_or_as_long_as_the_settings_say(house: House) -> None:
    """In batches, by whole turns; counted (openclaw#88005)."""
    scope = await opened(house.store)
    for n, days in enumerate([40] * (MESSAGES // 2 + 3) + [3], start=1):
        now, session = NOW - days * DAY_MS, rule(f"s-{days}")
        await put(house.store, scope.id, said(f"q{n}", n), replied("a", n), turn_id=n, now_ms=now, session=session)
    assert "messages" not in await house.retention.clean(now_ms=NOW)

    house.settings.append(RetentionSettings(message_days=30))
    deleted = await house.retention.clean(now_ms=NOW)

    assert MESSAGES + 6 == deleted["messages"] == house.metrics.value("clew_retention_deleted_total", kind="messages")
    assert 2 == (await house.store.size())["messages"]


async def test_sizes_the_oldest_finished_row_and_what_is_to_be_learned_are_told(house: House) -> None:
    """Where clean-ups fail, or nothing is deleted or learned, it shows; who has the job no more tells nothing."""
    for days in (40, 3):
        await house.event(days=days, ended=True)
    scope, turn = await opened(house.store), id_of(5)
    await put(house.store, scope.id, said("q", 1), replied("a", 1), turn_id=turn, ledger=ledger(turn, scope.id))
    await house.retention.look(now_ms=NOW)

    assert 2 == house.metrics.value("clew_table_rows", table="inbox_events")
    assert 40 * DAY_MS / 1000 == house.metrics.value("clew_oldest_finished_seconds")
    assert 1 == house.metrics.value("clew_learning_waiting")
    assert 5 * DAY_MS / 1000 == house.metrics.value("clew_learning_oldest_seconds")
    running = asyncio.create_task(house.retention.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert "clew_table_rows{" not in house.metrics.render().decode()
    assert 0 == house.metrics.value("clew_learning_waiting") == house.metrics.value("clew_learning_oldest_seconds")


async def test_more_than_one_batch(house: House) -> None:
    """All of it goes in one run, in small transactions."""
    for _ in range(BATCH + 5):
        await house.ledger(days=31)

    assert BATCH + 5 == (await house.retention.clean(now_ms=NOW))["ledger"]


async def test_a_changed_interval_counts_at_once(house: House) -> None:
    """An hour's wait that is made shorter by a reload is over as soon as the shorter one is."""
    settings = [RetentionSettings(every_s=3600)]
    retention = Retention(inbox=house.inbox, store=house.store, metrics=house.metrics, settings=lambda: settings[-1])
    async with asyncio.timeout(30):
        running = asyncio.create_task(retention.run())
        first = await house.ledger(days=100_000)
        while await house.store.ledger(first) is not None:
            await asyncio.sleep(0)
        second = await house.ledger(days=100_000)
        retention.rescheduled()
        settings.append(RetentionSettings(every_s=0.05))
        retention.rescheduled()
        while await house.store.ledger(second) is not None:
            await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_an_absent_store_puts_it_off(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """The job outlives a locked database, and cleans up at its next turn."""
    settings = RetentionSettings(every_s=0.05)
    retention = Retention(inbox=house.inbox, store=house.store, metrics=house.metrics, settings=lambda: settings)
    turn = await house.ledger(days=100_000)
    with locked(house.path):
        running = asyncio.create_task(retention.run())
        async with asyncio.timeout(30):
            while "clean-up put off" not in caplog.text:
                await asyncio.sleep(0)
        assert retention.problem is not None
        assert retention.problem.startswith("clean-up put off")
    async with asyncio.timeout(30):
        while await house.store.ledger(turn) is not None:
            await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert retention.problem is None
    assert "clew_retention_deleted_total" in house.metrics.render().decode()


async def test_the_audit_log_is_kept_as_long_as_the_settings_say(house: House) -> None:
    """For ever unless they name a number of days; what went is counted."""
    asked: list[int] = []
    settings = [RetentionSettings()]

    async def expire(before_ms: int) -> int:
        asked.append(before_ms)
        return 3

    retention = Retention(
        inbox=house.inbox, store=house.store, metrics=house.metrics, settings=lambda: settings[-1], expire_acts=expire
    )
    assert {"queue": 0, "ledger": 0} == await retention.clean(now_ms=NOW)
    settings.append(RetentionSettings(audit_days=30))

    assert {"queue": 0, "ledger": 0, "audit": 3} == await retention.clean(now_ms=NOW)
    assert [NOW - 30 * DAY_MS] == asked


@pytest.mark.parametrize("days", [1e300, 1e7])
async def test_so_many_days_are_for_ever(house: House, days: float) -> None:
    """Somebody's word for "keep all": nothing goes, and the gateway goes on."""
    house.settings.append(
        RetentionSettings(queue_days=days, ledger_days=days, dedupe_days=days, audit_days=days, message_days=days)
    )
    event, turn = await house.event(days=400, ended=True), await house.ledger(days=400)

    assert {"queue": 0, "ledger": 0, "messages": 0} == await house.retention.clean(now_ms=NOW)
    assert await house.inbox.event(event) is not None
    assert await house.store.ledger(turn) is not None
