"""The contract of fragments' vectors, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.derived import FullStore
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.vectors import MissingContract, PutContract, ReadContract


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[FullStore]:
    async with column.open() as opened:
        yield opened


class TestMissing(MissingContract):
    """What is to be embedded."""


class TestPut(PutContract):
    """What is stored."""


class TestRead(ReadContract):
    """What is read."""
