"""This release on the next one's schema (`tests/tomorrow.py`): the contracts of every statement of a turn hold there too, so that
machines can be upgraded one by one, and a machine that was not yet may be started again."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from memory.base import Store
from tests.contracts.columns import Column, PostgresColumn, SqliteColumn
from tests.contracts.inbox import AcceptContract
from tests.contracts.outbox import OutboxContract
from tests.contracts.queues import Queues, open_queues
from tests.contracts.store import AppendContract
from tests.contracts.store_changes import EditContract
from tests.contracts.store_load import LoadContract
from tests.contracts.store_scopes import PersonContract
from tests.contracts.subjects import WithdrawContract
from tests.services import Postgres
from tests.tomorrow import migrate_postgres, migrate_sqlite

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_template(postgres_server: Postgres) -> Iterator[str]:
    """The name of a database where a gateway of tomorrow has been."""
    with postgres_server.database() as url:
        migrate_postgres(url)
        yield url.rpartition("/")[2]


@pytest.fixture
def tomorrows_url(postgres_server: Postgres, postgres_template: str) -> Iterator[str]:
    """The URL of a copy of it, of this test's own."""
    name = f"{postgres_template}_{next(_numbers)}"
    with psycopg.connect(postgres_server.url("postgres", admin=True), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} OWNER clew TEMPLATE {postgres_template}".encode())
        yield postgres_server.url(name)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(params=["sqlite", "postgres"])
async def column(request: pytest.FixtureRequest, tmp_path: Path) -> Column:
    if request.param == "postgres":
        return PostgresColumn(request.getfixturevalue("tomorrows_url"))
    made = SqliteColumn(tmp_path)
    async with made.open():
        pass
    migrate_sqlite(made.path)
    return made


@pytest.fixture
async def store(column: Column) -> AsyncIterator[Store]:
    async with column.open() as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("tomorrows_url"))
    path = tmp_path / "queues.db"
    async with open_queues(f"sqlite:///{path}"):
        pass
    migrate_sqlite(path)
    return f"sqlite:///{path}"


@pytest.fixture
async def queues(url: str) -> AsyncIterator[Queues]:
    async with open_queues(url) as opened:
        yield opened


class TestAppend(AppendContract):
    """Appending messages to a scope."""


class TestPerson(PersonContract):
    """Accounts and people."""


class TestLoad(LoadContract):
    """What a turn loads."""


class TestEdit(EditContract):
    """Edits, deletions, versions."""


class TestAccept(AcceptContract):
    """Storing events."""


class TestWithdraw(WithdrawContract):
    """Ending what waits."""


class TestOutbox(OutboxContract):
    """Replies on their way."""
