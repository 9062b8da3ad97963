"""An event loop whose clock jumps: an hour of waiting takes no time, and work in threads takes none of the hour."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.SelectSelector):
    """Instead of waiting for a timer, puts the clock forward to it; but waits for threads at work."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.working = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.working and (timeout is None or timeout > 0):
            return super().select(None)
        events = super().select(0)
        if timeout is None and not events:
            raise RuntimeError("everything waits, and nothing is left to happen")
        if timeout is not None and timeout > 0 and not events:
            self.now += timeout
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time()` is virtual: seconds since the start."""

    def __init__(self) -> None:
        self._virtual = _Jumping()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now

    def run_in_executor(self, executor: Executor | None, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        self._virtual.working += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._done)
        return future

    def _done(self, _: object) -> None:
        self._virtual.working -= 1


def in_virtual_time(story: Coroutine[Any, Any, T]) -> T:
    """Run the story to its end on a clock of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story)
