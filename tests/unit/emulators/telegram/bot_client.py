"""The real python-telegram-bot client, pointed at the local platform; and a call without any client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from telegram import Bot
from telegram.request import HTTPXRequest

from tests.emulators.telegram.bots import Bot as Account
from tests.emulators.telegram.emulator import Telegram


@asynccontextmanager
async def client(tg: Telegram, account: Account | None = None, *, base: str = "/bot") -> AsyncIterator[Bot]:
    """A client of the account (the first one unless given), without the environment's proxies."""
    token = (account or tg.bot).token
    bot = Bot(
        token,
        base_url=tg.url + base,
        base_file_url=tg.url + "/file/bot",
        request=HTTPXRequest(httpx_kwargs={"trust_env": False}),
        get_updates_request=HTTPXRequest(httpx_kwargs={"trust_env": False}),
    )
    async with bot:
        yield bot


async def post(tg: Telegram, method: str, *, token: str | None = None, **kwargs: Any) -> tuple[int, Any]:
    """Call without any client library; returns the status and the answer's JSON."""
    url = f"{tg.url}/bot{token or tg.bot.token}/{method}"
    async with aiohttp.ClientSession(trust_env=False) as session, session.post(url, **kwargs) as response:
        return response.status, await response.json()
