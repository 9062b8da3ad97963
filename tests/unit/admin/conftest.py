"""Fixtures of the admins' parts: each database once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contracts.admin_database import URLS, open_admin_database
from tests.unit.admin.access_world import World, world
from tests.unit.admin.settings_world import House, house_of


@pytest.fixture(params=URLS)
def admin_url(request: pytest.FixtureRequest) -> str:
    """Where the admins' tables are."""
    return URLS[request.param](request)


@pytest.fixture
async def access(admin_url: str) -> AsyncIterator[World]:
    async with world(admin_url) as opened:
        yield opened


@pytest.fixture
async def house(admin_url: str, tmp_path: Path) -> AsyncIterator[House]:
    """A settings file with the admins' database over it."""
    async with open_admin_database(admin_url) as database:
        yield house_of(database, tmp_path)
