"""One update after the other: what is stored, what has to come again, and what is given up."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from adapters.errors import Overloaded
from adapters.telegram.receiving import STUCK, NotTaken, Receiver
from tests.unit.telegram.samples import ME, message, update
from tests.unit.telegram.world import FailingIntake

SAID = "my secret 秘密"


def said(number: int) -> dict[str, Any]:
    return update(number, message=message(SAID, message_id=number))


@pytest.fixture
def left() -> list[int]:
    return []


@pytest.fixture
def intake() -> FailingIntake:
    return FailingIntake()


@pytest.fixture
def receiver(intake: FailingIntake, left: list[int]) -> Receiver:
    return Receiver("acme", intake=intake, me=ME, left_behind=lambda: left.append(1))


async def failed(receiver: Receiver, intake: FailingIntake, number: int, fault: Exception) -> NotTaken | None:
    """Return what an update raises that fails in this way."""
    intake.failures = [fault]
    try:
        await receiver.take(said(number))
    except NotTaken as not_taken:
        return not_taken
    return None


async def test_what_fails_for_ever_is_left_behind(
    receiver: Receiver, intake: FailingIntake, left: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """Told by its number, its error's kind and place; never by what somebody said."""
    outcomes = [await failed(receiver, intake, 5, ValueError(SAID)) for _ in range(3)]

    assert [False, False] == [one.held for one in outcomes if one is not None]
    assert [1] == left
    records = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [(5, "ValueError")] * 3 == [(vars(record)["update"], vars(record)["error"]) for record in records]
    assert "world.py:" in vars(records[-1])["at"]
    assert SAID not in " ".join(f"{vars(record)} {record.getMessage()}" for record in records)


@pytest.mark.parametrize("fault", [Overloaded("full", retry_after_s=7), OSError("No space left"), TimeoutError()])
async def test_a_store_that_is_away_costs_nothing(
    receiver: Receiver, intake: FailingIntake, left: list[int], fault: Exception
) -> None:
    """However often: the update is as good as before."""
    for _ in range(20):
        intake.failures = [fault]
        with pytest.raises(Overloaded):
            await receiver.take(said(5))
    await receiver.take(said(5))

    assert [] == left
    assert [SAID] == [event.text for event in intake.messages]


async def test_a_fault_in_all_of_them_throws_nothing_away_and_shows(
    receiver: Receiver, intake: FailingIntake, left: list[int]
) -> None:
    """Three may be lost until it is plain; then they are held, until one gets through."""
    for number in range(6):
        for _ in range(3):
            last = await failed(receiver, intake, number, KeyError("x"))
        assert (number >= 3) == (last is not None and last.held)

    assert 3 == len(left)
    assert STUCK == receiver.problem
    await receiver.take(said(9))
    assert receiver.problem is None


async def test_what_is_nothing_for_us_proves_nothing(receiver: Receiver, intake: FailingIntake) -> None:
    """It is not stored, so it does not tell that storing works."""
    for number in range(4):
        for _ in range(3):
            await failed(receiver, intake, number, KeyError("x"))
    await receiver.take(update(7, poll={}))

    assert STUCK == receiver.problem
