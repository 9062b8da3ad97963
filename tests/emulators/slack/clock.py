"""The platform's clock: as fast as the world's, faster, or moved by the test.

Everything the emulator waits for or measures (acknowledgements, retries, rate limits, streams, the `ts` of messages) goes by it.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Seconds since 1970 that pass as the test wants them to."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` of this clock have passed."""
        ...


class ScaledClock:
    """The world's clock, `scale` times as fast: with 60, a simulated hour takes a minute."""

    def __init__(self, scale: float = 1.0, *, now: Callable[[], float] = time.time) -> None:
        self.scale = scale
        self._now = now
        self._start = now()

    def now(self) -> float:
        return self._start + (self._now() - self._start) * self.scale

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds) / self.scale)


class SteppedClock:
    """Stands still until the test says `await clock.advance(seconds)`."""

    def __init__(self, start: float = 1_790_000_000.0) -> None:
        self._at = start
        self._number = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._slept = asyncio.Event()

    def now(self) -> float:
        return self._at

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            return
        awake = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._at + seconds, next(self._number), awake))
        self._slept.set()
        await awake

    async def asleep(self, count: int = 1, timeout_s: float = 10.0) -> None:
        """Return once `count` wait for this clock; TimeoutError after `timeout_s` real seconds."""
        async with asyncio.timeout(timeout_s):
            while sum(not awake.done() for _, _, awake in self._sleepers) < count:
                self._slept.clear()
                await self._slept.wait()

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass, waking who sleeps in order of time; who sleeps again meanwhile is woken again."""
        until = self._at + seconds
        while self._sleepers and self._sleepers[0][0] <= until:
            due, _, awake = heapq.heappop(self._sleepers)
            self._at = due
            if not awake.done():
                awake.set_result(None)
                for _ in range(5):  # what wakes up may go to sleep again within this step
                    await asyncio.sleep(0)
        self._at = until


async def within(clock: Clock, seconds: float, work: asyncio.Future[T]) -> T:
    """Return the work's result, or raise TimeoutError after `seconds` of the clock; the work goes on all the same."""
    timer: asyncio.Future[Any] = asyncio.ensure_future(clock.sleep(seconds))
    both: set[asyncio.Future[Any]] = {work, timer}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()
    if not work.done():
        raise TimeoutError
    return await work


def owned(tasks: set[asyncio.Future[T]], work: Awaitable[T], *, name: str) -> asyncio.Future[T]:
    """Start the work; `tasks` holds it until it ends."""
    task = asyncio.ensure_future(work)
    if isinstance(task, asyncio.Task):
        task.set_name(name)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task
