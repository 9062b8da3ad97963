"""What the tests of leases need: work that tells what happens to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gateway.leases import About, Held, Leases

ABOUT = About(release="0.1.0", host="maschine-一", process=42)


class Worker:
    """Work that tells how often it was begun and ended, and ends when told."""

    def __init__(self) -> None:
        self.held: list[Held] = []
        self.ended = 0
        self.elsewhere = 0
        self.enough = asyncio.Event()
        self.fault: Exception | None = None
        self._changed = asyncio.Event()

    @property
    def works(self) -> bool:
        return len(self.held) > self.ended

    async def work(self, held: Held) -> None:
        self.held.append(held)
        self._changed.set()
        try:
            await self.enough.wait()
            self.enough.clear()
            if self.fault is not None:
                raise self.fault
        finally:
            self.ended += 1
            self._changed.set()

    def others_have_it(self) -> None:
        self.elsewhere += 1
        self._changed.set()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until what changes here makes it true."""
        async with asyncio.timeout(30):
            while not true():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def holding(leases: Leases, name: str, worker: Worker, *, slots: int = 1) -> AsyncIterator[asyncio.Task[None]]:
    """Let somebody hold the lease whenever it is there, for the length of the block."""

    async def hold() -> None:
        await leases.hold(name, worker.work, slots=slots, elsewhere=worker.others_have_it)

    task = asyncio.create_task(hold())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})
