"""The bell of the queues: tells waiters that there may be something to claim or to send.

A number instead of a flag: a waiter names the last change it knows, so none is missed between a look and a wait, and any
number of waiters hear the same bell.
"""

from __future__ import annotations

import asyncio


class Changes:
    """Counts changes and wakes whoever waits for one."""

    def __init__(self, *, poll_s: float) -> None:
        """Waiters look again after `poll_s` seconds at the latest."""
        self._poll_s = poll_s
        self._number = 1  # so that a first wait, after 0, returns at once
        self._bell = asyncio.Event()
        self._fault: BaseException | None = None

    def ring(self) -> None:
        """Count a change and wake all waiters."""
        self._number += 1
        self._bell.set()
        self._bell = asyncio.Event()

    def fail(self, fault: BaseException) -> None:
        """Make every wait, now and later, raise `fault`: nobody may go on beside a dead side task (`engines.md` A.8)."""
        self._fault = fault
        self.ring()

    async def wait(self, after: int) -> int:
        """Return the change number as soon as it is greater than `after`, at the latest after the poll time."""
        if self._number <= after:
            try:
                async with asyncio.timeout(self._poll_s):
                    await self._bell.wait()
            except TimeoutError:
                pass
        if self._fault is not None:
            raise self._fault
        return self._number
