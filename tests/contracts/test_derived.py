"""The contract of what memory makes of messages, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.derived import FullStore
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.derived import (
    DueContract,
    EndedContract,
    KnownContract,
    RecallContract,
    SettleContract,
    ShownContract,
    SourceContract,
    SummaryContract,
)


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[FullStore]:
    async with column.open() as opened:
        yield opened


class TestDue(DueContract):
    """Turns to learn from."""


class TestSettle(SettleContract):
    """What was learned."""


class TestSource(SourceContract):
    """Edits and deletions."""


class TestSummary(SummaryContract):
    """Summaries."""


class TestRecall(RecallContract):
    """What recall finds."""


class TestEnded(EndedContract):
    """What is no longer so."""


class TestKnown(KnownContract):
    """What a person sees."""


class TestShown(ShownContract):
    """Rows of a prompt."""
