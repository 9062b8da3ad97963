"""Socket Mode: tickets that are good once, sockets of which a random one gets each event, envelopes that must be acknowledged."""

from __future__ import annotations

import asyncio
import json
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from aiohttp import WSMsgType, web

from tests.emulators.slack.faults import ApiError
from tests.emulators.slack.push import Delivery

if TYPE_CHECKING:
    from tests.emulators.slack.apps import App
    from tests.emulators.slack.server import Slack

Json = dict[str, Any]
MOST = 10

reached: ContextVar[str] = ContextVar("reached")
"""Where the caller of this moment has reached the platform: its socket is to go the same way, through whatever is between."""

Reason = Literal["warning", "refresh_requested", "too_many_websockets", "link_disabled"]


@dataclass(slots=True, kw_only=True, eq=False)
class Socket:
    """One connection of the app."""

    ws: web.WebSocketResponse
    transport: asyncio.Transport
    deaf: bool = False
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def disconnect(self, reason: Reason = "refresh_requested") -> None:
        """Announce the end, as Slack does; all but a `warning` close the socket too."""
        await self.ws.send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-1"}})
        if reason != "warning":
            await self.ws.close()

    def half_close(self) -> None:
        """Be dead without saying so: nothing is read any more, no ping answered, nothing sent, and the connection stays."""
        self.deaf = True
        self.transport.pause_reading()

    def cut(self) -> None:
        """End the connection without a close frame."""
        self.transport.abort()


@dataclass(slots=True, kw_only=True, eq=False)
class Sockets:
    """An app's connections. The next `refuse` handshakes are refused; of those that are let in, the next `mute` are never
    greeted, and the next `drop` are cut once they are. `heartbeat_s`: Slack pings so often (real seconds)."""

    slack: Slack
    app: App
    refuse: int = 0
    mute: int = 0
    drop: int = 0
    heartbeat_s: float | None = None
    handshakes: list[tuple[str, bool]] = field(default_factory=list)  # the ticket, and whether it was let in
    acks: list[Json] = field(default_factory=list)
    open: list[Socket] = field(default_factory=list)
    _tickets: set[str] = field(default_factory=set)
    _waiting: dict[str, tuple[asyncio.Future[Json], Delivery]] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def ticket(self) -> str:
        """Return a URL that lets one connection in."""
        if not self.app.socket_mode:
            raise ApiError("socket_mode_disabled")
        ticket = self.slack.ids.uuid()
        self._tickets.add(ticket)
        return f"{reached.get(self.slack.url).replace('http', 'ws', 1)}/link/?ticket={ticket}&app_id={self.app.id}"

    async def connected(self, count: int = 1, timeout_s: float = 10.0) -> list[Socket]:
        """Return the open sockets, oldest first, once there are so many; AssertionError after `timeout_s` real seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                while len(self.open) != count:
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{len(self.open)} sockets are open, not {count}, after {timeout_s} s") from None
        return list(self.open)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection to its end."""
        ticket = request.query.get("ticket", "")
        let_in = ticket in self._tickets and self.refuse == 0 and self.app.socket_mode
        self.handshakes.append((ticket, let_in))
        self.refuse = max(0, self.refuse - 1)
        if not let_in:
            return web.Response(status=408, text="the ticket is used up or this host is leaving")
        self._tickets.discard(ticket)
        ws = web.WebSocketResponse(heartbeat=self.heartbeat_s)
        await ws.prepare(request)
        assert isinstance(request.transport, asyncio.Transport)
        socket = Socket(ws=ws, transport=request.transport)
        if self.mute > 0:
            self.mute -= 1
        else:
            await self._hello(socket)
        if self.drop > 0:
            self.drop -= 1
            await ws.close()
            return ws
        if len(self.open) >= MOST:
            await socket.disconnect("too_many_websockets")
            return ws
        self._set(socket, there=True)
        try:
            async for frame in ws:
                if frame.type is WSMsgType.TEXT:
                    self._acked(json.loads(frame.data))
        finally:
            self._set(socket, there=False)
            socket.closed.set()
        return ws

    async def deliver(self, delivery: Delivery) -> None:
        """Send the envelope over a random socket and wait for its acknowledgement."""
        usable = [socket for socket in self.open if not socket.ws.closed]
        if not usable:
            delivery.failed = "connection_failed"
            return
        socket = usable[self.slack.ids.below(len(usable))]
        delivery.envelope_id = self.slack.ids.uuid()
        envelope: Json = {
            "envelope_id": delivery.envelope_id,
            "payload": delivery.payload,
            "type": delivery.kind,
            "accepts_response_payload": delivery.kind != "events_api",
        }
        if delivery.kind == "events_api":
            envelope |= {"retry_attempt": delivery.attempt, "retry_reason": delivery.reason or ""}
        acked: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[delivery.envelope_id] = (acked, delivery)
        try:
            if not socket.deaf:
                await socket.ws.send_json(envelope)
            answer = await acked
        except ConnectionError:
            delivery.failed = delivery.failed or "connection_failed"
            return
        finally:
            self._waiting.pop(delivery.envelope_id, None)
        delivery.status, delivery.body = 200, json.dumps(answer.get("payload", "")).encode()
        delivery.acked_after_s = self.slack.clock.now() - delivery.sent_at

    async def turn_off(self) -> None:
        """Switch Socket Mode off: no more tickets, and every socket is told so."""
        self.app.socket_mode = False
        for socket in list(self.open):
            await socket.disconnect("link_disabled")

    async def close(self) -> None:
        for socket in list(self.open):
            socket.cut()

    async def _hello(self, socket: Socket) -> None:
        await socket.ws.send_json(
            {
                "type": "hello",
                "num_connections": len(self.open) + 1,
                "debug_info": {
                    "host": "applink-1",
                    "build_number": 1,
                    "approximate_connection_time": 18060,
                },
                "connection_info": {"app_id": self.app.id},
            }
        )

    def _acked(self, frame: Json) -> None:
        self.acks.append(frame)
        acked, _ = self._waiting.get(frame.get("envelope_id", ""), (None, None))
        if acked is not None and not acked.done():
            acked.set_result(frame)

    def _set(self, socket: Socket, *, there: bool) -> None:
        if there:
            self.open.append(socket)
        else:
            self.open.remove(socket)
        self._changed.set()
        self._changed = asyncio.Event()
