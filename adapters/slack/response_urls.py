"""Response URLs: where a slash command can be answered though the app is not in the room it was given in.

Each is good for half an hour and whoever has it can write there, so they are remembered here and stored nowhere: after a restart
such a command gets no answer, as it would not without them.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import urlsplit

import aiohttp

from adapters.errors import Throttled, Unknown, Unreachable
from adapters.remembering import remember
from adapters.slack.reading import Fields
from adapters.slack.web import ApiRefused, retry_after_s

LIFE_S = 1800.0
_MOST = 1_000


class ResponseUrls:
    """The newest of a channel's commands, by trigger id. Only URLs under `api_url`'s own host are believed."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        api_url: str,
        proxy: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._host = urlsplit(api_url).hostname or ""
        self._proxy = proxy
        self._clock = clock
        self._known: OrderedDict[str, tuple[str, float]] = OrderedDict()  # the URL, and until when it is good

    def keep(self, trigger: str, url: str) -> None:
        """Remember where a command can be answered."""
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return
        if host == self._host or host.endswith(f".{self._host}"):
            remember(self._known, trigger, (url, self._clock() + LIFE_S), most=_MOST)

    async def answer(self, trigger: str | None, content: Fields) -> bool:
        """Show text and blocks to whoever gave the command, and to nobody else; False: no URL is known (any more).

        Raises `SendFailed`: `ApiRefused` where it is used up, the others as a call of the Web API does."""
        url, until = self._known.get(trigger or "", ("", 0.0))
        if until <= self._clock():
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
