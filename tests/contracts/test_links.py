"""The contract of links, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.derived import FullStore
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.links import AdminLinkContract, CodeContract, LinkContract


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[FullStore]:
    async with column.open() as opened:
        yield opened


class TestCodes(CodeContract):
    """One-time codes."""


class TestLinks(LinkContract):
    """Joined and taken apart."""


class TestAdminLinks(AdminLinkContract):
    """Joined and taken apart by an admin."""
