"""Fixtures of the admins' parts: each database once."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contracts.admin_database import URLS
from tests.unit.admin.access_world import World, world


@pytest.fixture(params=URLS)
def admin_url(request: pytest.FixtureRequest) -> str:
    """Where the admins' tables are."""
    return URLS[request.param](request)


@pytest.fixture
async def access(admin_url: str) -> AsyncIterator[World]:
    async with world(admin_url) as opened:
        yield opened
