"""What is left of words, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.derived import FullStore
from tests.contracts.canaries import CanaryContract
from tests.contracts.columns import COLUMNS, Column


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[FullStore]:
    async with column.open() as opened:
        yield opened


class TestCanaries(CanaryContract):
    """Words that were deleted, edited or forgotten."""
