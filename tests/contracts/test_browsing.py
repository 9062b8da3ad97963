"""The contract of looking through conversations, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.derived import FullStore
from tests.contracts.browsing import LearningContract, PageContract, SearchContract, TalksContract
from tests.contracts.columns import COLUMNS, Column


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[FullStore]:
    async with column.open() as opened:
        yield opened


class TestTalks(TalksContract):
    """Which conversations there are."""


class TestPage(PageContract):
    """A conversation as it went."""


class TestLearning(LearningContract):
    """What is still to be learned."""


class TestSearch(SearchContract):
    """Finding what was said."""
