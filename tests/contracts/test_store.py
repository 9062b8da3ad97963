"""The store contract, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.base import Store
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.store import AppendContract, SessionContract


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[Store]:
    async with column.open() as opened:
        yield opened


class TestAppend(AppendContract):
    """Appending messages to a scope."""


class TestSession(SessionContract):
    """Sessions of a scope."""
