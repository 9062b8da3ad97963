"""An event loop whose clock jumps: an hour of waiting takes no time, and work in threads takes none of the hour.

Also where both ends of a connection are in this loop: while bytes are on their way the clock stands still.
"""

from __future__ import annotations

import asyncio
import selectors
import socket
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar, cast

T = TypeVar("T")

PATIENCE_S = 5.0
"""Real seconds that nothing may happen in, with no timer to jump to."""

LOST_S = 0.2
"""Real seconds after which bytes on their way are taken for lost: whoever was to read them has closed."""


class _Jumping(selectors.SelectSelector):
    """Instead of waiting for a timer, puts the clock forward to it; but waits for threads at work, and for bytes on their way."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.working = 0
        self.on_their_way = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if self.working:
            return super().select(None)
        if self.on_their_way > 0:
            events = super().select(LOST_S)
            if events:
                return events
            self.on_their_way = 0
        if timeout is None:
            events = super().select(PATIENCE_S)
            if not events:
                raise RuntimeError("everything waits, and nothing is left to happen")
            return events
        self.now += timeout
        return events


class _Counted(socket.socket):
    """Tells the loop what goes in and what comes out."""

    __slots__ = ()

    def send(self, *args: Any) -> int:
        sent = super().send(*args)
        _way(sent)
        return sent

    def recv(self, *args: Any) -> bytes:
        data = super().recv(*args)
        _way(-len(data))
        return data

    def recv_into(self, *args: Any) -> int:
        received = super().recv_into(*args)
        _way(-received)
        return received


def _way(more: int) -> None:
    jumping = cast("VirtualLoop", asyncio.get_running_loop()).jumping
    jumping.on_their_way = max(0, jumping.on_their_way + more)


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time()` is virtual: seconds since the start."""

    def __init__(self) -> None:
        self.jumping = _Jumping()
        super().__init__(self.jumping)

    def time(self) -> float:
        return self.jumping.now

    def run_in_executor(self, executor: Executor | None, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        self.jumping.working += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._done)
        return future

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        self.jumping.working += 1
        try:
            await super().sock_connect(sock, address)
        finally:
            self.jumping.working -= 1

    def _make_socket_transport(self, sock: socket.socket, *args: Any, **more: Any) -> Any:
        sock.__class__ = _Counted  # the layouts are the same; the loop makes its sockets itself
        return super()._make_socket_transport(sock, *args, **more)  # type: ignore[misc]

    def _done(self, _: object) -> None:
        self.jumping.working -= 1


def in_virtual_time(story: Coroutine[Any, Any, T]) -> T:
    """Run the story to its end on a clock of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story)
