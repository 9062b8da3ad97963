"""A Telegram whose time stands still until a test moves it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.emulators.telegram.clock import LoopClock
from tests.emulators.telegram.emulator import Telegram, telegram


@pytest.fixture
async def clock() -> LoopClock:
    return LoopClock(scale=0)


@pytest.fixture
async def tg(clock: LoopClock) -> AsyncIterator[Telegram]:
    async with telegram(clock=clock) as tg:
        yield tg
