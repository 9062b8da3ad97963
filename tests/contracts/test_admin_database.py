"""The contract of the admins' databases on both, and what several instances hear of each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from gateway.admin.database import Database
from tests.contracts.admin_database import MAKE, WITH_TOMORROWS, DatabaseContract, open_admin_database


@pytest.fixture(params=WITH_TOMORROWS)
def url(request: pytest.FixtureRequest) -> str:
    return WITH_TOMORROWS[request.param](request)


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    async with open_admin_database(url) as opened:
        async with opened.writing() as db:
            await db.run(MAKE.format(raw="BLOB" if url.startswith("sqlite") else "BYTEA"))
        yield opened


class TestDatabase(DatabaseContract):
    """Transactions and topics."""


async def test_another_instance_hears_a_topic(postgres_url: str) -> None:
    """What one instance tells wakes who waits at another, well within two seconds."""
    async with open_admin_database(postgres_url) as one, open_admin_database(postgres_url) as other:
        waiting = asyncio.create_task(other.changed("settings", 0))
        await asyncio.sleep(0)
        await one.tell("settings")
        async with asyncio.timeout(2):
            heard = await waiting

    assert 1 == heard


async def test_what_was_told_outlives_a_restart(url: str) -> None:
    """A topic's number goes on where it was: who waits for the next one does not wait for an old one again."""
    async with open_admin_database(url) as database:
        await database.tell("settings")
    async with open_admin_database(url) as database:
        await database.tell("settings")
        async with asyncio.timeout(5):
            number = await database.changed("settings", 1)

    assert 2 == number
