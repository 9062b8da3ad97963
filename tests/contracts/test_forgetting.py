"""The contract of forgetting, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.derived import FullStore
from tests.contracts.columns import COLUMNS
from tests.contracts.forgetting import (
    CorrectContract,
    ForgetAllContract,
    ForgetContract,
    ForgetTurnContract,
    ListingContract,
)


@pytest.fixture(params=COLUMNS)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[FullStore]:
    async with COLUMNS[request.param](request).open() as opened:
        yield opened


class TestForgetting(ForgetContract):
    """Single rows."""


class TestCorrecting(CorrectContract):
    """Other words."""


class TestForgettingTurns(ForgetTurnContract):
    """What was said last."""


class TestForgettingAll(ForgetAllContract):
    """Everything."""


class TestListings(ListingContract):
    """What was shown."""
