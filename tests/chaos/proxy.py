"""A TCP proxy between a gateway and what it talks to, that does to their connections what networks do.

Bytes that a mode holds back are not lost: they wait here, and arrive when the mode ends, however long who sent them has given
up, as a network's would that sends again; and when they were said is known (`said_ms`). Only a cut loses some. No privileges
are needed; what the kernel itself would notice (`tcp_user_timeout`, keepalives) is not tried, as the proxy's own end of a
connection is always there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Literal, get_args

from memory.ids import now_ms

Mode = Literal["pass", "refuse", "hole", "deaf", "mute", "slow", "cut"]
"""`refuse`: all connections are reset, new ones at once. `hole`: nothing passes, either way; new ones are taken and hear nothing.
`deaf`: what the gateway says does not arrive, what the other says does. `mute`: the gateway is heard, and hears nothing.
`slow`: each piece takes `SLOW_S` to arrive, in order. `cut`: of what the gateway says next on each connection half arrives, then
that is reset; what comes after passes."""

MODES: tuple[Mode, ...] = get_args(Mode)
SLOW_S = 0.15
CONNECT_S = 5.0

Side = Literal["client", "server"]
_HELD: dict[Mode, frozenset[Side]] = {
    "hole": frozenset({"client", "server"}),
    "deaf": frozenset({"client"}),
    "mute": frozenset({"server"}),
}
Address = tuple[str, int]
_Piece = tuple[int, bytes | None]
"""When something was said, and what; None: that no more comes."""


class Proxy:
    """Listens on a port of its own as long as `running`, and passes on to the first of `targets()` that can be reached."""

    def __init__(self, targets: Callable[[], Sequence[Address]]) -> None:
        self._targets = targets
        self._links: set[_Link] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self.mode: Mode = "pass"
        self.port = 0
        self.taken = 0  # connections so far
        self._said: dict[int, int] = {}  # by the port of our end at the server: a machine has 65,535

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Proxy]:
        """Serve until the block ends; then every connection is reset."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _End(_Link(self), "client"), "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.reset()
            for task in self._opening:
                task.cancel()
            await asyncio.gather(*self._opening, return_exceptions=True)
            await asyncio.sleep(0)  # transports close one turn of the loop later

    def set(self, mode: Mode) -> None:
        """Treat all connections so from now on, those that stand too."""
        self.mode = mode
        if mode == "refuse":
            self.reset()
        for link in list(self._links):
            link.arrive("client")
            link.arrive("server")

    def reset(self) -> None:
        """Reset every connection that stands."""
        for link in list(self._links):
            link.abort()

    @property
    def open(self) -> int:
        """How many connections stand."""
        return len(self._links)

    def said_ms(self, port: int) -> int:
        """Return when the client said what the server has heard last on the connection from this port, which is ours."""
        return self._said[port]

    def _began(self, link: _Link) -> None:
        self.taken += 1
        self._links.add(link)
        task = asyncio.create_task(self._connect(link), name="proxy connect")
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _connect(self, link: _Link) -> None:
        loop = asyncio.get_running_loop()
        for host, port in self._targets():
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_S):
                    await loop.create_connection(lambda: _End(link, "server"), host, port)
                return
        link.abort()

    def _ended(self, link: _Link) -> None:
        self._links.discard(link)


class _Link:
    """One connection: the gateway's end, the other's, and what is on its way between them."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._ends: dict[Side, asyncio.Transport] = {}
        self._full: set[Side] = set()  # whose own buffer is full, so that nothing more is read for it
        self._late = {"client": deque[_Piece](), "server": deque[_Piece]()}  # by who said it
        self._ended: set[Side] = set()  # who says no more
        self._over = False

    def connected(self, side: Side, transport: asyncio.Transport) -> None:
        self._ends[side] = transport
        if side == "client":
            transport.pause_reading()  # until there is somebody to tell
            if self._proxy.mode == "refuse":
                transport.abort()
                return
            self._proxy._began(self)
        elif self._over:
            transport.abort()
        else:
            self.look()

    def look(self) -> None:
        """Read from those ends for whose words there is room."""
        if len(self._ends) < 2 or self._over:
            return
        for side, transport in self._ends.items():
            (transport.pause_reading if _other(side) in self._full else transport.resume_reading)()

    def heard(self, side: Side, data: bytes | None) -> None:
        """Pass on what an end has said, now or later; None: it says no more."""
        mode = self._proxy.mode
        if mode == "cut" and side == "client" and data:
            self._pass(side, now_ms(), data[: len(data) // 2])
            self.abort(flush=True)
            return
        self._late[side].append((now_ms(), data))
        if mode == "slow":
            asyncio.get_running_loop().call_later(SLOW_S, self.arrive, side, 1)
        else:
            self.arrive(side)

    def arrive(self, side: Side, most: int | None = None) -> None:
        """Pass on what was late of what an end has said, `most` pieces or all, if it is not held back."""
        late = self._late[side]
        for _ in range(len(late) if most is None else min(most, len(late))):
            if self._over or self._holds(side):
                return
            self._pass(side, *late.popleft())

    def _holds(self, side: Side) -> bool:
        return side in _HELD.get(self._proxy.mode, ())

    def _pass(self, side: Side, said_ms: int, data: bytes | None) -> None:
        to = self._ends[_other(side)]
        if data is None:
            self._ended.add(side)
            if len(self._ended) == 2 or to.is_closing():
                self._close()
                return
            try:
                to.write_eof()
            except OSError:  # reset just now, as we have yet to hear
                self.abort()
        elif not to.is_closing():
            if side == "client":
                self._proxy._said[to.get_extra_info("sockname")[1]] = said_ms
            to.write(data)

    def full(self, side: Side, *, full: bool) -> None:
        (self._full.add if full else self._full.discard)(side)
        self.look()

    def lost(self, side: Side) -> None:
        """An end is gone, and with it the other; where the mode holds back what it said, when that has arrived."""
        if self._over:
            return
        if self._holds(side):
            self._late[side].append((now_ms(), None))
        else:
            self.abort()

    def _close(self) -> None:
        """Both have ended: what is still on its way goes out."""
        self._over = True
        self._proxy._ended(self)
        for transport in self._ends.values():
            transport.close()

    def abort(self, *, flush: bool = False) -> None:
        """Reset both ends; `flush`: what was passed on to the server arrives first."""
        self._over = True
        self._proxy._ended(self)
        for side, transport in self._ends.items():
            (transport.close if flush and side == "server" else transport.abort)()


class _End(asyncio.Protocol):
    """One end of a link."""

    def __init__(self, link: _Link, side: Side) -> None:
        self._link = link
        self._side: Side = side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._link.connected(self._side, transport)

    def data_received(self, data: bytes) -> None:
        self._link.heard(self._side, data)

    def eof_received(self) -> bool:
        self._link.heard(self._side, None)
        return True  # the other direction goes on

    def connection_lost(self, exc: Exception | None) -> None:
        self._link.lost(self._side)

    def pause_writing(self) -> None:
        self._link.full(self._side, full=True)

    def resume_writing(self) -> None:
        self._link.full(self._side, full=False)


def _other(side: Side) -> Side:
    return "server" if side == "client" else "client"
