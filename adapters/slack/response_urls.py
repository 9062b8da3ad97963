"""Response URLs: where a slash command can be answered though the app is not in the room it was given in.

Each is good for half an hour, and whoever has it can write there: so it is left for other instances sealed with the bot's token,
on a shelf that forgets. Where it is lost such a command gets no answer, as it would not without.
"""

from __future__ import annotations

from typing import Final, Protocol
from urllib.parse import urlsplit

import aiohttp

from adapters.errors import Throttled, Unknown, Unreachable
from adapters.sealing import seal, unseal
from adapters.slack.reading import Fields
from adapters.slack.web import ApiRefused, retry_after_s

LIFE_S: Final = 1800.0


class Shelf(Protocol):
    """Where values lie for a while for whichever instance comes for them; gone is a normal answer."""

    async def put(self, key: str, value: bytes, *, life_s: float) -> None: ...

    async def get(self, key: str) -> bytes | None: ...


class ResponseUrls:
    """Those of a channel's commands, by trigger id. Only URLs under `api_url`'s own host are believed."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        channel: str,
        shelf: Shelf,
        secret: str,
        api_url: str,
        proxy: str | None = None,
    ) -> None:
        """`secret` seals what lies on the shelf: the bot's token."""
        self._session = session
        self._channel = channel
        self._shelf = shelf
        self._secret = secret
        self._host = urlsplit(api_url).hostname or ""
        self._proxy = proxy

    async def keep(self, trigger: str, url: str) -> None:
        """Remember where a command can be answered."""
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return
        if host == self._host or host.endswith(f".{self._host}"):
            name = self._named(trigger)
            await self._shelf.put(name, seal(name, url, secret=self._secret), life_s=LIFE_S)

    async def answer(self, trigger: str | None, content: Fields) -> bool:
        """Show text and blocks to whoever gave the command, and to nobody else; False: no URL is known (any more).

        Raises `SendFailed`: `ApiRefused` where it is used up, the others as a call of the Web API does."""
        url = await self._url(trigger) if trigger is not None else None
        if url is None:
            return False
        body = {name: content[name] for name in ("text", "blocks") if name in content}
        try:
            async with self._session.post(
                url, json={"response_type": "ephemeral", **body}, proxy=self._proxy, allow_redirects=False
            ) as answer:
                status, headers = answer.status, answer.headers
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as exc:
            raise Unreachable(f"response_url: Slack can't be reached ({type(exc).__name__})") from None
        except (aiohttp.ClientError, TimeoutError) as exc:
            raise Unknown(f"response_url: the answer was lost ({type(exc).__name__})") from None  # it may hold the URL
        if status == 429:
            wait_s = retry_after_s(headers)
            raise Throttled(f"response_url: Slack asks to wait {wait_s:g} s", retry_after_s=wait_s)
        if status >= 500:
            raise Unknown(f"response_url: Slack answered {status}")
        if status != 200:
            raise ApiRefused(f"response_url: Slack answered {status}", code="response_url")
        return True

    async def _url(self, trigger: str) -> str | None:
        name = self._named(trigger)
        sealed = await self._shelf.get(name)
        return None if sealed is None else unseal(name, sealed, secret=self._secret)

    def _named(self, trigger: str) -> str:
        return f"response_url {self._channel} {trigger}"
