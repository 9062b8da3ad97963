"""The contract of what an admin sees of the queues, on every database."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contracts.looking import CountContract, LookContract
from tests.contracts.queues import URLS, Queues, open_queues


@pytest.fixture(params=URLS)
def url(request: pytest.FixtureRequest) -> str:
    return URLS[request.param](request)


@pytest.fixture
async def queues(url: str) -> AsyncIterator[Queues]:
    async with open_queues(url) as opened:
        yield opened


class TestLook(LookContract):
    """Events as an admin finds them."""


class TestCount(CountContract):
    """Figures of the queues."""
