"""Races for what is known of a person, and ledgers that can't be read, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.derived import FullStore
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.derived_races import RacesContract, UnreadableContract


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[FullStore]:
    async with column.open() as opened:
        yield opened


class TestRaces(RacesContract):
    """Several write what is known of one person."""


class TestUnreadable(UnreadableContract):
    """A ledger that can't be read."""
