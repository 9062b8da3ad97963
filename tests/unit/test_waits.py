"""Waiting for an event, no longer than so long."""

from __future__ import annotations

import asyncio
import time

from gateway.waits import happens


async def test_what_comes_in_the_moment_of_the_timeout_has_come() -> None:
    """Both in one step of a busy loop, the timeout first: who is told that it has not come would wait for it for ever."""
    event, loop = asyncio.Event(), asyncio.get_running_loop()
    waiting = loop.create_task(happens(event, within_s=0.001))
    await asyncio.sleep(0)  # its timer runs
    loop.call_later(0.001, event.set)
    time.sleep(0.01)  # the loop is busy: when it looks again, both are due

    assert await waiting


async def test_it_comes_or_it_does_not() -> None:
    """In time, before, or not at all."""
    event = asyncio.Event()
    assert not await happens(event, within_s=0)
    asyncio.get_running_loop().call_soon(event.set)
    assert await happens(event, within_s=20)
    assert await happens(event, within_s=20)
