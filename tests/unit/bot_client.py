"""The real python-telegram-bot client, pointed at the local platform."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from telegram import Bot
from telegram.request import HTTPXRequest

from tests.emulators.telegram.bots import Bot as Account
from tests.emulators.telegram.emulator import Telegram


@asynccontextmanager
async def client(
    tg: Telegram, account: Account | None = None, *, base: str = "/bot", timeout_s: float = 5
) -> AsyncIterator[Bot]:
    """A client of the account (the first one unless given), without the environment's proxies."""

    def request() -> HTTPXRequest:
        return HTTPXRequest(httpx_kwargs={"trust_env": False}, read_timeout=timeout_s)

    token = (account or tg.bot).token
    bot = Bot(
        token,
        base_url=tg.url + base,
        base_file_url=tg.url + "/file/bot",
        request=request(),
        get_updates_request=request(),
    )
    async with bot:
        yield bot
