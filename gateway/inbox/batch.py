"""Group commit: concurrent calls wait in one line, and all that wait go into the next transaction (or look-up) together.

One batch at a time, so the order of calls is the order of effects; while one commits, the next gathers. This is what lets a
single disk flush or round trip serve a thousand callers (`engines.md` A.3).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Generic, TypeVar

from gateway.errors import StoreBusy

Job = TypeVar("Job")
Result = TypeVar("Result")

RETRY_AFTER_S = 2.0
"""What callers are told to wait when the queue can't take more."""


class GroupCommit(Generic[Job, Result]):
    """Runs jobs in batches. `async with` it; leaving waits for what was handed in.

    `run` gets jobs in call order and returns a result or an exception for each. When it raises, all its jobs fail with that
    if it is `StoreBusy` (the database is away); anything else may be one job's fault, so each is run again alone.
    """

    def __init__(
        self, run: Callable[[Sequence[Job]], Awaitable[Sequence[Result | Exception]]], *, name: str, most: int = 500
    ) -> None:
        """At most `most` jobs go into one batch."""
        self._run = run
        self._name = name
        self._most = most
        self._line: deque[tuple[Job, asyncio.Future[Result]]] = deque()
        self._arrived = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._line)

    async def __aenter__(self) -> GroupCommit[Job, Result]:
        self._task = asyncio.create_task(self._work(), name=f"group commit: {self._name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._closing = True
        self._arrived.set()
        if self._task is not None:
            await self._task

    async def __call__(self, job: Job) -> Result:
        """Return the job's result once its batch is committed. A caller cancelled before its batch began takes no effect."""
        if self._closing or self._task is None:
            raise StoreBusy(f"{self._name}: the queue is closed", retry_after_s=RETRY_AFTER_S)
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._line.append((job, future))
        self._arrived.set()
        return await future

    async def _work(self) -> None:
        while True:
            batch = self._take()
            if batch:
                await self._commit(batch)
            elif self._closing:
                return
            else:
                self._arrived.clear()
                await self._arrived.wait()

    def _take(self) -> list[tuple[Job, asyncio.Future[Result]]]:
        batch: list[tuple[Job, asyncio.Future[Result]]] = []
        while self._line and len(batch) < self._most:
            job, future = self._line.popleft()
            if not future.done():
                batch.append((job, future))
        return batch

    async def _commit(self, batch: list[tuple[Job, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._run([job for job, _ in batch])
        except Exception as exc:
            if len(batch) == 1 or isinstance(exc, StoreBusy):
                for _, future in batch:
                    _settle(future, exc)
                return
            for one in batch:
                await self._commit([one])
            return
        for (_, future), result in zip(batch, results, strict=True):
            _settle(future, result)


def _settle(future: asyncio.Future[Result], result: Result | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
