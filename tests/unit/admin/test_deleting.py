"""Settings whose change deletes something for good: which they are, and that nobody makes one without having said so."""

from __future__ import annotations

from typing import Any

import pytest

from config.settings import Settings
from gateway.admin.acts.settings import Deleted
from gateway.admin.deleting import Deleting, Unconfirmed, confirmed, shortened
from gateway.admin.planning import Steps
from gateway.retention import DAY_MS
from tests.contracts.browsing import spoken
from tests.contracts.columns import COLUMNS, SqliteColumn
from tests.contracts.queues import open_queues
from tests.contracts.store import NOW
from tests.unit.admin.settings_world import House, set_

RETENTION: Steps = ("retention",)


def settings(**retention: Any) -> Settings:
    return Settings.model_validate({"retention": {"audit_days": None} | retention})


@pytest.mark.parametrize(
    ("old", "new", "touched", "gone"),
    [
        ({}, {"message_days": 90}, "message_days", {"messages": 90}),
        ({"message_days": 90}, {"message_days": 30.5}, "message_days", {"messages": 30.5}),
        ({"message_days": 30}, {"message_days": 90}, "message_days", {}),
        ({"message_days": 30}, {}, "message_days", {}),
        ({}, {"ledger_days": 7}, "ledger_days", {"ledgers": 7}),
        ({}, {"queue_days": 8}, "queue_days", {"queue": 8}),
        ({"dedupe_days": 40}, {"dedupe_days": 7}, "dedupe_days", {"queue": 30}),
        ({"dedupe_days": 40}, {"dedupe_days": 40, "queue_days": 3}, "queue_days", {}),
        ({"dedupe_days": 20}, {"dedupe_days": 7}, "dedupe_days", {}),
        ({}, {"every_s": 60}, "every_s", {}),
    ],
)
def test_what_is_kept_for_less_time(
    old: dict[str, float], new: dict[str, float], touched: str, gone: dict[str, float]
) -> None:
    """A row of the queue stays for as long as the ids by which it is known."""
    found = shortened(settings(**old), settings(**new), [(*RETENTION, touched)])

    assert gone == {what: days for _, what, days in found}


def test_a_section_taken_back_as_a_whole_is_one_of_its_settings() -> None:
    """As by the way back to an older revision."""
    assert [("retention", "message_days"), ("retention", "ledger_days")] == [
        path for path, _, _ in shortened(settings(), settings(message_days=9, ledger_days=9), [RETENTION])
    ]


def test_what_the_file_says_anew_is_not_the_console_s_to_ask_about() -> None:
    """Whoever changes a prompt meanwhile is not asked about it."""
    assert [] == list(shortened(settings(), settings(message_days=9), [("agents", "default", "system")]))


def test_what_was_spent_goes_too() -> None:
    """By day, and for good."""
    old, new = (Settings.model_validate({"usage": {"days": days}}) for days in (400, 62))

    assert [(("usage", "days"), "usage", 62)] == list(shortened(old, new, [("usage", "days")]))


def test_it_has_to_be_said_that_it_is_meant() -> None:
    """Each setting is named once, with what to do."""
    gone = [Deleted(path="retention.message_days", what="messages", before_ms=1)]
    with pytest.raises(Unconfirmed, match=r"retention\.message_days: deletes for good") as refused:
        confirmed(gone, delete=False)
    confirmed(gone, delete=True)
    confirmed([], delete=False)

    assert ["retention.message_days"] == [one.path for one in refused.value.problems]


async def test_how_much_goes_is_told(house: House, request: pytest.FixtureRequest) -> None:
    """Messages are counted, of the queue it is told how old its oldest row is, and of the rest from when on it is kept."""
    column = COLUMNS["sqlite"](request)
    assert isinstance(column, SqliteColumn)
    async with column.open() as store, open_queues(f"sqlite:///{column.path}") as queues:
        await spoken(store, "早安", at_ms=NOW - 9 * DAY_MS, turn_id=1)
        plan = await house.plan(
            set_("retention.message_days", 8), set_("retention.queue_days", 8), set_("retention.ledger_days", 8),
            set_("usage.days", 62),
        )  # fmt: skip
        told = await Deleting(browsing=store.browsing, inbox=queues, clock=lambda: NOW).of(plan)

    eight = NOW - 8 * DAY_MS
    assert (
        Deleted(path="retention.message_days", what="messages", before_ms=eight, count=2, oldest_ms=NOW - 9 * DAY_MS),
        Deleted(path="retention.queue_days", what="queue", before_ms=eight),
        Deleted(path="retention.ledger_days", what="ledgers", before_ms=eight),
        Deleted(path="usage.days", what="usage", before_ms=NOW - 62 * DAY_MS),
    ) == told
