"""The contract of links, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.derived import FullStore
from tests.contracts.columns import COLUMNS
from tests.contracts.links import CodeContract, LinkContract


@pytest.fixture(params=COLUMNS)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[FullStore]:
    async with COLUMNS[request.param](request).open() as opened:
        yield opened


class TestCodes(CodeContract):
    """One-time codes."""


class TestLinks(LinkContract):
    """Joined and taken apart."""
