"""The admins' tables are read beside the gateway that writes them, and nothing is made where there are none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from gateway.admin.database import Database
from gateway.admin.postgres import PostgresDatabase
from gateway.admin.sqlite import SqliteDatabase
from gateway.errors import StoreBusy
from tests.contracts.admin_database import URLS, open_admin_database


def reading(url: str) -> AbstractAsyncContextManager[Database]:
    if url.startswith("sqlite:///"):
        path = Path(url.removeprefix("sqlite:///"))
        return SqliteDatabase(path, write_turn=asyncio.Lock(), timeout_s=5, read_only=True)
    return PostgresDatabase(url, pool_size=1, timeout_s=5, read_only=True)


@pytest.fixture(params=URLS.values(), ids=URLS)
def url(request: pytest.FixtureRequest) -> str:
    make: Callable[[pytest.FixtureRequest], str] = request.param
    return make(request)


async def test_what_is_written_is_read_beside(url: str) -> None:
    """While it is open to write."""
    async with open_admin_database(url) as database, reading(url) as beside:
        async with database.writing() as db:
            await db.run("INSERT INTO admin_topics (topic, number) VALUES (:topic, :number)", topic="t", number=3)
        async with beside.reading() as db:
            rows = await db.rows("SELECT number FROM admin_topics WHERE topic = :topic", topic="t")

    assert [(3,)] == [tuple(row) for row in rows]


async def test_nothing_is_made_to_read(tmp_path: Path) -> None:
    """No file appears where there is none."""
    with pytest.raises(StoreBusy):
        async with reading(f"sqlite:///{tmp_path / 'none.db'}"):
            pytest.fail("opened")

    assert [] == list(tmp_path.iterdir())
