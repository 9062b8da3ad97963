"""Waiting: how long before the next try of something that failed, for an event no longer than that, and by which clock."""

from __future__ import annotations

import asyncio
import time

LONGEST_WAIT_S = 300.0

# The monotonic clock stands still while a machine sleeps, which is when leases run out.
_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boottime_s() -> float:
    """Return the seconds since this machine was started, those included in which it slept."""
    return time.clock_gettime(_BOOTTIME)


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
        pass
    return event.is_set()  # in the very moment of the timeout it may have come as well
