"""Waiting: how long before the next try of something that failed, and for an event no longer than that."""

from __future__ import annotations

import asyncio

LONGEST_WAIT_S = 300.0


def retry_wait_s(attempt: int, *, first_s: float) -> float:
    """Return the seconds to wait after the given failed attempt (1 for the first): doubling, at most five minutes.

    With `first_s` 1: 1, 2, 4, 8, ... 256, 300, 300.
    """
    return min(first_s * 2.0 ** min(attempt - 1, 30), LONGEST_WAIT_S)


async def happens(event: asyncio.Event, *, within_s: float) -> bool:
    """Wait for the event, so many seconds at most; return whether it has come."""
    try:
        async with asyncio.timeout(within_s):
            await event.wait()
    except TimeoutError:
        return False
    return True
