"""The queues' contracts on every database (`tests/contracts/queues.py` names them)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contracts.announcing import AnnounceContract, GiveUpContract
from tests.contracts.dead import LetterContract
from tests.contracts.excusing import ExcuseContract
from tests.contracts.halting import HaltContract
from tests.contracts.inbox import AcceptContract, LaneContract
from tests.contracts.moves import LaneMoveContract, RedirectContract
from tests.contracts.outbox import OutboxContract
from tests.contracts.pacing import PacingContract
from tests.contracts.queue_erasing import EraseContract
from tests.contracts.queue_failures import CrashContract, PurgeContract
from tests.contracts.queues import URLS, Queues, open_queues
from tests.contracts.subjects import SiblingContract, SubjectContract, WithdrawContract


@pytest.fixture(params=URLS)
def url(request: pytest.FixtureRequest) -> str:
    return URLS[request.param](request)


@pytest.fixture
async def queues(url: str) -> AsyncIterator[Queues]:
    async with open_queues(url) as opened:
        yield opened


class TestAccept(AcceptContract):
    """Storing events."""


class TestSubjects(SubjectContract):
    """What is said of a message."""


class TestWithdraw(WithdrawContract):
    """Ending what waits."""


class TestHalt(HaltContract):
    """Cutting short what runs."""


class TestExcuse(ExcuseContract):
    """What was not a message's own fault."""


class TestSiblings(SiblingContract):
    """Two tellings of one message."""


class TestLanes(LaneContract):
    """Handing lanes out."""


class TestOutbox(OutboxContract):
    """Replies on their way."""


class TestPacing(PacingContract):
    """What waits for its budget, and what shows a reply while it is made."""


class TestLaneMove(LaneMoveContract):
    """Messages that go to another lane."""


class TestRedirect(RedirectContract):
    """Chunks that go to another room."""


class TestAnnounce(AnnounceContract):
    """What is said once."""


class TestGiveUp(GiveUpContract):
    """Replies to rooms that are gone."""


class TestCrash(CrashContract):
    """Processes that die."""


class TestPurge(PurgeContract):
    """Retention."""


class TestErase(EraseContract):
    """A person's end."""


class TestLetters(LetterContract):
    """What waits for an admin."""
