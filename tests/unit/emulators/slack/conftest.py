"""A furnished Slack whose time stands still until a test moves it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.emulators.slack.clock import SteppedClock
from tests.unit.emulators.slack.world import World, world


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def here(monkeypatch: pytest.MonkeyPatch, clock: SteppedClock) -> AsyncIterator[World]:
    async with world(monkeypatch, clock=clock) as built:
        yield built
