"""Waits that platforms ask for, told between instances."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from adapters.base import Rate
from gateway.held_back import TOPIC, HeldBack
from gateway.hot.hearing import ProcessBus
from gateway.pacing import Pacing
from memory.ids import now_ms

ROOM = Rate(scope="房", count=5, per_s=60)


def wait_s(pacing: Pacing, channel: str = "c", rate: Rate = ROOM) -> float:
    """How long the next call has to wait."""
    now = asyncio.get_running_loop().time()
    return pacing.turn_at(channel, f"q{now}", (rate,), now=now) - now


@asynccontextmanager
async def following(bus: ProcessBus) -> AsyncIterator[Pacing]:
    """The budgets of another instance, which hears the bus."""
    pacing = Pacing()
    task = asyncio.create_task(HeldBack(pacing, bus, clock=now_ms).follow())
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
        HeldBack(Pacing(), bus, clock=now_ms).tell("c", "房", 30.5)
        await asyncio.sleep(0.01)

        assert 30 < wait_s(others) <= 30.5
        assert 0 == wait_s(others, "другой")
        assert 0 == wait_s(others, rate=Rate(scope="room", count=5, per_s=60))


async def test_a_later_shorter_wait_ends_no_longer_one() -> None:
    bus = ProcessBus()
    async with following(bus) as others:
        for seconds in (30.0, 1.0):
            HeldBack(Pacing(), bus, clock=now_ms).tell("c", "房", seconds)
        await asyncio.sleep(0.01)

        assert 29 < wait_s(others) <= 30


async def test_a_word_of_another_version_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    """Two releases side by side share the bus. Nor does a wait count that is over when it is heard (a process stood still), or
    that no platform asks for."""
    bus = ProcessBus()
    with caplog.at_level(logging.WARNING):
        async with following(bus) as others:
            for word in (b"", b"\x91\xa1c", b'{"channel": "c"}'):
                bus.say(TOPIC, word)
            for until_ms in (0, -1, now_ms() - 1, now_ms() + 4_000_000, 2**63):
                bus.say(TOPIC, msgspec.msgpack.encode(["c", "房", until_ms]))
            HeldBack(Pacing(), bus, clock=now_ms).tell("c", "房", 9)
            await asyncio.sleep(0.01)

            assert 8 < wait_s(others) <= 9
    assert 3 == sum("not understood" in line for line in caplog.messages)
