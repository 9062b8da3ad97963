"""Waits that platforms ask for, told between instances."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from adapters.base import Rate
from gateway.held_back import TOPIC, HeldBack
from gateway.hot.hearing import ProcessBus
from gateway.pacing import Pacing

ROOM = Rate(scope="房", count=5, per_s=60)


def wait_s(pacing: Pacing, channel: str = "c", rate: Rate = ROOM) -> float:
    """How long the next call has to wait."""
    now = asyncio.get_running_loop().time()
    return pacing.turn_at(channel, f"q{now}", (rate,), now=now) - now


@asynccontextmanager
async def following(bus: ProcessBus) -> AsyncIterator[Pacing]:
    """The budgets of another instance, which hears the bus."""
    pacing = Pacing()
    task = asyncio.create_task(HeldBack(pacing, bus).follow())
    try:
        await asyncio.sleep(0)
        yield pacing
    finally:
        task.cancel()
        assert [True] == [
            isinstance(ended, asyncio.CancelledError) for ended in await asyncio.gather(task, return_exceptions=True)
        ]


async def test_what_one_was_asked_all_wait() -> None:
    """In the scope that asked and in no other, of no other channel."""
    bus = ProcessBus()
    async with following(bus) as others:
        HeldBack(Pacing(), bus).tell("c", "房", 30.5)
        await asyncio.sleep(0.01)

        assert 30 < wait_s(others) <= 30.5
        assert 0 == wait_s(others, "другой")
        assert 0 == wait_s(others, rate=Rate(scope="room", count=5, per_s=60))


async def test_a_later_shorter_wait_ends_no_longer_one() -> None:
    bus = ProcessBus()
    async with following(bus) as others:
        for seconds in (30.0, 1.0):
            HeldBack(Pacing(), bus).tell("c", "房", seconds)
        await asyncio.sleep(0.01)

        assert 29 < wait_s(others) <= 30


async def test_a_word_of_another_version_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    """Two releases side by side share the bus."""
    bus = ProcessBus()
    with caplog.at_level(logging.WARNING):
        async with following(bus) as others:
            for word in (b"", b"\x91\xa1c", b'{"channel": "c"}'):
                bus.say(TOPIC, word)
            HeldBack(Pacing(), bus).tell("c", "房", 9)
            await asyncio.sleep(0.01)

            assert 8 < wait_s(others) <= 9
    assert 3 == sum("not understood" in line for line in caplog.messages)
