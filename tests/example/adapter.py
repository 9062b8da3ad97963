"""The example channel: events in at POST /channels/NAME, replies out over HTTP. The only file of it with a socket."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from adapters.base import Address, Call, Capabilities, Intake, Rate, Receipt
from adapters.bodies import body_of
from adapters.errors import Refused, SendFailed, Throttled, Unknown, Unreachable
from adapters.problems import Problem, unavailable
from tests.example import render
from tests.example.parse import parse
from tests.example.settings import PigeonSettings

HEADER = "Pigeon-Token"


class PigeonAdapter:
    """One bot of the platform's."""

    capabilities = Capabilities()

    def __init__(self, name: str, *, settings: PigeonSettings) -> None:
        self.heartbeat_s = settings.heartbeat_s
        self._name = name
        self._settings = settings
        self._token = settings.token.get_secret_value()
        self._opened: tuple[aiohttp.ClientSession, Intake] | None = None

    @asynccontextmanager
    async def running(self, intake: Intake) -> AsyncIterator[None]:
        timeout = aiohttp.ClientTimeout(total=self._settings.timeout_s)
        headers = {"Authorization": f"Bearer {self._token}"}
        async with aiohttp.ClientSession(self._settings.api_url, timeout=timeout, headers=headers) as session:
            self._opened = (session, intake)
            try:
                yield
            finally:
                self._opened = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Take one event: known to be genuine before it is read, stored before it is acknowledged."""
        if self._opened is None:
            raise unavailable(f"channel {self._name!r} is being opened or closed", retry_after_s=1)
        given = request.headers.get(HEADER, "").encode(errors="replace")
        if not hmac.compare_digest(given, self._token.encode()):
            raise Problem(401, "unauthorised", f"{HEADER} is not this channel's token")
        raw = await body_of(request, limit=self._settings.body_bytes, seconds=self._settings.body_s)
        await self._opened[1].accept(parse(raw, channel=self._name))
        return web.Response()

    def chunks(self, text: str) -> list[str]:
        return render.chunks(text)

    def rates(self, address: Address, call: Call) -> tuple[Rate, ...]:
        return (Rate(scope=self._scope(address), count=5, per_s=1),)

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        body = {"loft": address.room, "text": render.message(chunk)}
        return Receipt(message_id=await self._call("/letters", body, scope=self._scope(address)))

    async def probe(self) -> None:
        await self._call("/me", {})

    async def _call(self, path: str, body: dict[str, str], *, scope: str | None = None) -> str:
        """Return the id that the platform answers with. Raises `SendFailed`: what surely never left this machine is
        `Unreachable`, what may have been heard `Unknown`."""
        if self._opened is None:
            raise Unreachable(f"channel {self._name!r} is being opened or closed")
        try:
            async with self._opened[0].post(path, json=body) as response:
                if response.status == 200:
                    return str((await response.json())["id"])
                raise _refusal(path, response, scope=scope)
        except aiohttp.ClientConnectorError as exc:
            raise Unreachable(f"{path}: the platform can't be reached") from exc
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError) as exc:
            raise Unknown(f"{path}: the answer was lost ({type(exc).__name__})") from exc

    def _scope(self, address: Address) -> str:
        return f"{self._name} {address.room}"


def _refusal(path: str, response: aiohttp.ClientResponse, *, scope: str | None) -> SendFailed:
    """What an answer that is no receipt means."""
    if response.status == 429:
        wait_s = float(response.headers["Retry-After"])
        return Throttled(f"{path}: the platform asks to wait {wait_s:g} s", retry_after_s=wait_s, scope=scope)
    if response.status == 401:
        return Unreachable(f"{path}: the token is wrong; copy it again")  # replies wait for one that works
    if response.status >= 500:
        return Unknown(f"{path}: the platform answered {response.status}")
    return Refused(f"{path}: the platform answered {response.status}")
