"""The store contract, on every database (`tests/contracts/columns.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.base import Store
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.store import AppendContract, SessionContract
from tests.contracts.store_answered import AnsweredContract
from tests.contracts.store_changes import EditContract, ObservedContract, RecordContract
from tests.contracts.store_load import BrokenPartContract, LoadContract
from tests.contracts.store_names import NameContract, RoomMoveContract
from tests.contracts.store_scopes import AliasContract, PersonContract, ScopeContract


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[Store]:
    async with column.open() as opened:
        yield opened


class TestAppend(AppendContract):
    """Appending messages to a scope."""


class TestSession(SessionContract):
    """Sessions of a scope."""


class TestScope(ScopeContract):
    """Scopes and isolation."""


class TestAlias(AliasContract):
    """Names of scopes, and changes of agent."""


class TestName(NameContract):
    """Names that come to lead elsewhere."""


class TestRoomMove(RoomMoveContract):
    """Rooms that get another id."""


class TestAnswered(AnsweredContract):
    """Where an agent has answered."""


class TestPerson(PersonContract):
    """Accounts and people."""


class TestLoad(LoadContract):
    """What a turn loads."""


class TestBrokenPart(BrokenPartContract):
    """What stays when a part is broken."""


class TestEdit(EditContract):
    """Edits, deletions, versions."""


class TestObserved(ObservedContract):
    """Background talk."""


class TestRecord(RecordContract):
    """Ledgers, revisions, health."""
