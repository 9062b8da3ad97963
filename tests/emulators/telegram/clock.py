"""The emulator's time: real, scaled, or standing still until a test moves it; and a bell for those who wait for a change.

Everything the platform times (retention, long polls, retries, flood waits) is in the seconds of this clock. Only the
patience of a test (`Bell.until`) is in real seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Any clock with these two verbs will do, another emulator's too."""

    def now(self) -> float:
        """Return seconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class LoopClock:
    """`scale` seconds pass here in one second of the event loop; 0: time stands still but for `advance`."""

    def __init__(self, *, scale: float = 1.0, start: float | None = None) -> None:
        self._scale = scale
        self._start = time.time() if start is None else start
        self._began: float | None = None
        self._moved = asyncio.Event()

    def now(self) -> float:
        """Return seconds since 1970, by the loop's own clock, so that a loop with virtual time moves it too."""
        loop_now = asyncio.get_running_loop().time()
        if self._began is None:
            self._began = loop_now
        return self._start + (loop_now - self._began) * self._scale

    def advance(self, seconds: float) -> None:
        """Let that many seconds pass at once; whoever sleeps that long wakes."""
        self._start += seconds
        self._moved.set()
        self._moved = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        due = self.now() + seconds
        while (left := due - self.now()) > 0:
            try:
                async with asyncio.timeout(left / self._scale if self._scale else None):
                    await self._moved.wait()
            except TimeoutError:
                continue


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return what the work gives; raises `TimeoutError` after `seconds` of the clock, the work cancelled."""
    due = clock.now() + seconds  # from now, however late the alarm gets to run

    async def until_due() -> None:
        await clock.sleep(due - clock.now())

    worker = asyncio.ensure_future(work)
    alarm = asyncio.ensure_future(until_due())
    try:
        await asyncio.wait({worker, alarm}, return_when=asyncio.FIRST_COMPLETED)
        if worker.done():
            return worker.result()
        raise TimeoutError
    finally:
        for task in (worker, alarm):
            task.cancel()
        await asyncio.gather(worker, alarm, return_exceptions=True)


class Bell:
    """Rung at every change; who waits looks again."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()
        self._rung = asyncio.Event()

    async def until(self, look: Callable[[], T | None], *, timeout_s: float | None = None) -> T:
        """Return the first thing `look` finds, anything that is true; raises `TimeoutError` after real seconds."""
        async with asyncio.timeout(timeout_s):
            while not (found := look()):
                await self._rung.wait()
            return found
