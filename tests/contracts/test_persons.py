"""The contract of persons as a whole, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.derived import FullStore
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.persons import ErasureContract, PersonsContract
from tests.contracts.requests import FindContract, RequestContract


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[FullStore]:
    async with column.open() as opened:
        yield opened


class TestErasure(ErasureContract):
    """The end of a person."""


class TestPersons(PersonsContract):
    """Who there is."""


class TestRequests(RequestContract):
    """What persons ask an admin for."""


class TestFind(FindContract):
    """How a person is found."""
