"""This release on the next one's schema (`tests/tomorrow.py`): the contracts of every statement of a turn hold there too, so that
machines can be upgraded one by one, and a machine that was not yet may be started again. Leases, hot state, usage and the admins'
tables have such a database in their own lists."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory.derived import FullStore
from tests.contracts.columns import Column, PostgresColumn, SqliteColumn
from tests.contracts.derived import DueContract, KnownContract, SettleContract, SummaryContract
from tests.contracts.inbox import AcceptContract
from tests.contracts.outbox import OutboxContract
from tests.contracts.queues import Queues, open_queues
from tests.contracts.store import AppendContract
from tests.contracts.store_changes import EditContract
from tests.contracts.store_load import LoadContract
from tests.contracts.store_scopes import PersonContract
from tests.contracts.subjects import WithdrawContract
from tests.tomorrow import migrate_sqlite


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
async def store(column: Column) -> AsyncIterator[FullStore]:
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


class TestDue(DueContract):
    """Turns to learn from."""


class TestSettle(SettleContract):
    """What was learned."""


class TestSummary(SummaryContract):
    """Summaries."""


class TestKnown(KnownContract):
    """What is known of somebody."""
