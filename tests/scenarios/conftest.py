"""Fixtures of the scenarios: where the gateway stores, and an HTTP session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

HOOK = """
  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}}
"""


@pytest.fixture(params=["sqlite", "postgres", "postgres+redis"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The `storage:` line (and `redis:`, on that column) of a settings file: an empty database of the test's own."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'clew.db'}"
    url: str = request.getfixturevalue("postgres_url")
    if request.param == "postgres":
        return url
    return f"{url}\nredis: {request.getfixturevalue('redis_url')}"


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened
