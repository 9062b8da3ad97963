"""Socket Mode: events over a socket that we hold open, each acknowledged once it is stored.

Not the SDK's client: that one tries a used ticket again after a failed handshake, sleeps instead of waiting, and owns tasks
nobody ends (platform-facts 1.1). Here each connection has a new URL; a socket whose other end is gone is found by its silence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import aiohttp

from adapters.base import Pulling
from adapters.errors import AdapterFault, Throttled
from adapters.problems import Problem
from adapters.slack.bolt import Dispatch
from adapters.slack.front import decoded
from adapters.slack.reading import Fields, string
from config.channels.slack import SlackSettings

logger = logging.getLogger(__name__)

_AT_ONCE = 100  # envelopes being stored at once; the next is read when one is done
_LARGEST_FRAME = 16 * 1024 * 1024
_FIRST_WAIT_S = 0.5


class Socket:
    """Holds a connection for the channel `name` as long as `run` runs and `pulling` allows. `dispatch` answers a
    payload as over HTTP: a 5xx leaves the envelope unacknowledged, so that Slack sends it again."""

    def __init__(
        self,
        name: str,
        *,
        open_url: Callable[[], Awaitable[str]],
        dispatch: Dispatch,
        session: aiohttp.ClientSession,
        settings: SlackSettings,
        pulling: Pulling,
        greeted: Callable[[], None],
    ) -> None:
        """`greeted` is called at each greeting of Slack's."""
        self._name = name
        self._open_url = open_url
        self._dispatch = dispatch
        self._session = session
        self._settings = settings
        self._pulling = pulling
        self._greeted = greeted
        self._greeted_at: float | None = None  # the present connection, by the loop's clock
        self._switched_off = False
        self.problem: str | None = "not connected yet"
        """Why no events come in now; None: they do."""

    async def run(self) -> None:
        """Stay connected until cancelled, or until another one is to. Raises `AdapterFault` when Slack says that the
        app has no Socket Mode."""
        failures = 0
        while not self._switched_off:
            if not self._pulling.mine():
                return
            self._greeted_at, asked_s = None, 0.0
            try:
                await self._connection()
                self.problem = "connecting again"
            except (AdapterFault, aiohttp.ClientError, TimeoutError, OSError) as exc:
                self.problem = self._lost(exc)
                logger.warning("socket lost", extra={"channel": self._name, "reason": self.problem})
                asked_s = exc.retry_after_s if isinstance(exc, Throttled) else 0.0
            failures = 0 if self._lived_s() >= self._settings.steady_s else failures + 1
            if failures:
                self._pulling.failed(failures)
                await asyncio.sleep(max(wait_s(failures, longest_s=self._settings.reconnect_s), asked_s))
        raise AdapterFault("Socket Mode is switched off for this app; switch it on in its settings, or use mode: http")

    def _lived_s(self) -> float:
        """Return the seconds since Slack greeted the present connection, 0 if it never did."""
        return asyncio.get_running_loop().time() - self._greeted_at if self._greeted_at is not None else 0.0

    def _lost(self, exc: Exception) -> str:
        if isinstance(exc, AdapterFault):
            return str(exc)
        if isinstance(exc, TimeoutError) and self._greeted_at is None:
            return f"no greeting within {self._settings.timeout_s:g} s"
        return f"the socket broke off ({type(exc).__name__})"

    async def _connection(self) -> None:
        """Live through one connection, which has a URL of its own: each is good for one handshake. Raises TimeoutError when
        Slack has not greeted us in time."""
        async with asyncio.timeout(self._settings.timeout_s) as until_greeted:
            socket = await self._session.ws_connect(
                await self._open_url(),
                heartbeat=self._settings.ping_s,
                max_msg_size=_LARGEST_FRAME,
                proxy=self._settings.proxy,
            )
            self.problem = "not greeted yet"
            async with socket, asyncio.TaskGroup() as tasks:  # what was read is kept before the socket closes
                await self._read(socket, tasks, until_greeted)

    async def _read(
        self, socket: aiohttp.ClientWebSocketResponse, tasks: asyncio.TaskGroup, until_greeted: asyncio.Timeout
    ) -> None:
        hands = asyncio.Semaphore(_AT_ONCE)
        async for frame in socket:
            envelope = _envelope(frame)
            if string(envelope, "envelope_id"):
                await hands.acquire()
                tasks.create_task(self._keep(socket, envelope)).add_done_callback(lambda _: hands.release())
            elif envelope.get("type") == "hello":
                until_greeted.reschedule(None)
                self._greeted_at, self.problem = asyncio.get_running_loop().time(), None
                self._greeted()
            elif envelope.get("type") == "disconnect":
                self._switched_off = envelope.get("reason") == "link_disabled"
                return  # Slack is about to close it

    async def _keep(self, socket: aiohttp.ClientWebSocketResponse, envelope: Fields) -> None:
        payload = envelope.get("payload")
        status = (await self._dispatch(payload if isinstance(payload, dict) else {})).status
        if status >= 500:
            return  # not stored: it comes again
        if status >= 400:
            # It will not be better the next time.
            logger.warning("envelope is malformed", extra={"channel": self._name})
        try:
            await socket.send_json({"envelope_id": string(envelope, "envelope_id")})
        except (aiohttp.ClientError, OSError):
            logger.info("acknowledgement not sent; the envelope comes again", extra={"channel": self._name})


def wait_s(failures: int, *, longest_s: float) -> float:
    """Return the seconds before the next try after so many failures in a row: 0, 0.5, 1, 2, 4 … `longest_s`."""
    return min(_FIRST_WAIT_S * 2 ** min(failures - 1, 20), longest_s) if failures else 0.0


def _envelope(frame: aiohttp.WSMessage) -> Fields:
    if frame.type is not aiohttp.WSMsgType.TEXT:
        return {}
    try:
        return decoded(frame.data)
    except Problem:
        return {}
