"""Socket Mode: events over a socket that we hold open, each acknowledged once it is stored.

Not the SDK's client: that one tries a used ticket again after a failed handshake, sleeps instead of waiting, and owns tasks
nobody ends (platform-facts 1.1). Here each connection has a new URL; a socket whose other end is gone is found by its silence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import aiohttp

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
    """Holds a connection for the channel `name` as long as `run` runs. `dispatch` answers a payload as over HTTP: a 5xx leaves
    the envelope unacknowledged, so that Slack sends it again."""

    def __init__(
        self,
        name: str,
        *,
        open_url: Callable[[], Awaitable[str]],
        dispatch: Dispatch,
        session: aiohttp.ClientSession,
        settings: SlackSettings,
    ) -> None:
        self._name = name
        self._open_url = open_url
        self._dispatch = dispatch
        self._session = session
        self._settings = settings
        self._greeted = asyncio.Event()
        self._greetings = 0
        self._switched_off = False
        self.problem: str | None = "not connected yet"
        """Why no events come in now; None: they do."""

    async def connected(self) -> None:
        """Return once Slack has greeted us for the first time."""
        await self._greeted.wait()

    async def run(self) -> None:
        """Stay connected until cancelled. Raises `AdapterFault` when Slack says that the app has no Socket Mode."""
        failures = 0
        while not self._switched_off:
            before, wait_s = self._greetings, 0.0
            try:
                await self._connection()
                self.problem = "connecting again"
            except (AdapterFault, aiohttp.ClientError, TimeoutError, OSError) as exc:
                self.problem = (
                    str(exc) if isinstance(exc, AdapterFault) else f"the socket broke off ({type(exc).__name__})"
                )
                logger.warning("socket lost", extra={"channel": self._name, "reason": self.problem})
                wait_s = exc.retry_after_s if isinstance(exc, Throttled) else 0.0
            failures = 0 if self._greetings > before else failures + 1
            if failures:
                growing_s = min(_FIRST_WAIT_S * 2 ** min(failures - 1, 20), self._settings.reconnect_s)
                await asyncio.sleep(max(growing_s, wait_s))
        raise AdapterFault("Socket Mode is switched off for this app; switch it on in its settings, or use mode: http")

    async def _connection(self) -> None:
        """Live through one connection, which has a URL of its own: each is good for one handshake."""
        settings = self._settings
        async with asyncio.timeout(settings.timeout_s):
            socket = await self._session.ws_connect(
                await self._open_url(), heartbeat=settings.ping_s, max_msg_size=_LARGEST_FRAME, proxy=settings.proxy
            )
        async with socket, asyncio.TaskGroup() as tasks:  # what was read is kept before the socket closes
            hands = asyncio.Semaphore(_AT_ONCE)
            async for frame in socket:
                envelope = _envelope(frame)
                if string(envelope, "envelope_id"):
                    await hands.acquire()
                    tasks.create_task(self._keep(socket, envelope)).add_done_callback(lambda _: hands.release())
                elif envelope.get("type") == "hello":
                    self._greetings, self.problem = self._greetings + 1, None
                    self._greeted.set()
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


def _envelope(frame: aiohttp.WSMessage) -> Fields:
    if frame.type is not aiohttp.WSMsgType.TEXT:
        return {}
    try:
        return decoded(frame.data)
    except Problem:
        return {}
