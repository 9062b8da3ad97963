"""A Telegram bot as a channel: opened and closed, updates in by polling or a webhook, replies handed on.

What an update says is `parse`'s question, what becomes of a reply `posting`'s, what a failed call means `web`'s.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlencode

from aiohttp import web
from telegram import Bot
from telegram.request import HTTPXRequest

from adapters.base import Address, Call, Capabilities, Intake, Pulling, Rate, Receipt
from adapters.errors import AdapterFault, SendFailed, Unreachable
from adapters.problems import Problem, unavailable
from adapters.refusals import Refusals
from adapters.telegram import posting, render
from adapters.telegram.commands import Menu, register
from adapters.telegram.front import verified, webhook_url
from adapters.telegram.links import located
from adapters.telegram.looking import Lookout
from adapters.telegram.parse import USED
from adapters.telegram.polling import Poller
from adapters.telegram.posting import Posting
from adapters.telegram.reading import Fields
from adapters.telegram.receiving import Receiver
from adapters.telegram.web import clients, translated
from config.channels.telegram import TelegramSettings

logger = logging.getLogger(__name__)

_OPENING_S = 1.0


class TelegramAdapter:
    """One Telegram channel: one bot. `running` raises `AdapterFault` when the token is not good or the webhook is refused.

    `public_url` is where Telegram reaches this gateway (`mode: webhook`), `menu` what each command does; `left_behind` is called
    for each update that is given up.
    """

    sign_every_s = 4.0  # Telegram takes the sign away after five seconds

    def __init__(
        self,
        name: str,
        *,
        settings: TelegramSettings,
        public_url: str | None = None,
        menu: Menu | None = None,
        left_behind: Callable[[], None] = lambda: None,
    ) -> None:
        polling = settings.mode == "polling"
        # Two pollers of one bot take each other's updates and are both told 409.
        self.capabilities = Capabilities(exclusive=polling, pullers=1 if polling else 0)
        self.heartbeat_s = settings.heartbeat_s
        self.show_every_s = settings.show_every_s if settings.stream else None
        self.shown_s: float | None = 30.0  # a draft (platform-facts 2.9)
        self._name = name
        self._settings = settings
        self._secret = settings.secret_token.get_secret_value().encode() if settings.secret_token else b""
        self._public_url = public_url
        self._menu = menu or {}
        self._bot: Bot | None = None
        self._polling: HTTPXRequest | None = None
        self._posting: Posting | None = None
        self._left_behind = left_behind
        self._receiver: Receiver | None = None  # None: not open, or not yet
        self._poller: Poller | None = None
        self._lookout: Lookout | None = None
        self._refusals = Refusals(name, event="update refused", logger=logger)

    @asynccontextmanager
    async def running(self, intake: Intake) -> AsyncIterator[None]:
        async with clients(self._settings) as (bot, polling):
            lookout = self._lookout_for(bot)
            me = await lookout.identity()
            self._bot, self._posting = bot, Posting(self._name, bot, settings=self._settings, clock=time.monotonic)
            self._lookout, self._polling = lookout, polling
            self._receiver = receiver = Receiver(self._name, intake=intake, me=me, left_behind=self._left_behind)
            try:
                if self._settings.mode == "webhook":
                    await lookout.called()
                async with asyncio.TaskGroup() as tasks:
                    working = [
                        tasks.create_task(lookout.run(receiver.known_as), name=f"lookout {self._name}"),
                        tasks.create_task(self._tell_commands(bot), name=f"menu {self._name}"),
                    ]
                    try:
                        yield
                    finally:
                        for task in working:
                            task.cancel()
            finally:
                self._bot = self._posting = self._receiver = self._polling = self._lookout = None

    async def pull(self, intake: Intake, pulling: Pulling) -> None:
        """See `adapters.base.Pulls`; what is fetched goes to the intake that `running` was given."""
        if self._bot is None or self._polling is None:
            raise AdapterFault(f"channel {self._name!r} is not open")
        with translated("deleteWebhook"):
            await self._bot.delete_webhook(drop_pending_updates=False)  # else people lose what they said meanwhile
        self._poller = self._poller_for(self._bot, self._polling, pulling)
        pulling.begun()
        try:
            await self._poller.run()
        finally:
            self._poller = None

    def _lookout_for(self, bot: Bot) -> Lookout:
        settings, url = self._settings, None
        if settings.mode == "webhook":
            url = webhook_url(self._public_url or "", self._name, secret=self._secret, token=bot.token.encode())
        return Lookout(
            self._name,
            bot,
            url=url,
            secret=self._secret.decode(),
            every_s=settings.look_s,
            again_s=min(settings.reconnect_s, settings.look_s),
        )

    async def _tell_commands(self, bot: Bot) -> None:
        """A menu that can't be told now, for whatever reason, is told at the next start; nothing else waits for it."""
        if not self._settings.commands or not self._menu:
            return
        try:
            given = await register(bot, self._menu)
        except Exception as exc:
            reason = str(exc) if isinstance(exc, SendFailed) else type(exc).__name__
            logger.warning("commands not registered", extra={"channel": self._name, "reason": reason})
        else:
            logger.info("commands registered", extra={"channel": self._name, "languages": given})

    def _poller_for(self, bot: Bot, polling: HTTPXRequest, pulling: Pulling) -> Poller:
        async def fetch(offset: int | None) -> Sequence[Fields]:
            # Not by the bot's own method: it reads the updates all at once, and one that it can't read takes all along.
            asked = {"timeout": self._settings.poll_s, "allowed_updates": json.dumps(USED)}
            query = urlencode(asked if offset is None else {**asked, "offset": offset})
            with translated("getUpdates"):
                found = await polling.post(f"{bot.base_url}/getUpdates?{query}")
            return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

        return Poller(
            fetch=fetch, take=self._take, pulling=pulling, reconnect_s=self._settings.reconnect_s, name=self._name
        )

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Take one update, acknowledged once it is stored; the answer is empty, for Telegram would do what stands in it."""
        if self._settings.mode == "polling":
            raise Problem(404, "polling_mode", f"channel {self._name!r} fetches its updates itself")
        settings = self._settings
        try:
            update = await verified(request, secret=self._secret, limit=settings.body_bytes, seconds=settings.body_s)
        except Problem as refused:
            self._refusals.tell(refused)
            raise
        await self._take(update)
        return web.Response()

    async def _take(self, update: Fields) -> None:
        if self._receiver is None:
            raise unavailable(f"channel {self._name!r} is being opened or closed", retry_after_s=_OPENING_S)
        await self._receiver.take(update)

    def chunks(self, text: str) -> list[str]:
        return render.chunks(text)

    def rates(self, address: Address, call: Call) -> tuple[Rate, ...]:
        return posting.rates(self._name, address, call)

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        return await self._open().send(address, chunk, shown=shown)

    async def sign(self, address: Address, *, on: bool) -> None:
        if on:
            await self._open().sign(address)

    async def show(self, address: Address, text: str, *, turn: str, shown: str | None) -> str | None:
        return await self._open().show(address, text, turn=turn, shown=shown)

    async def remove(self, address: Address, shown: str) -> None:
        await self._open().remove(address, shown)

    def _open(self) -> Posting:
        if self._posting is None:
            raise Unreachable(f"channel {self._name!r} is being opened or closed")
        return self._posting

    def located(self, link: str) -> tuple[str, str] | None:
        return located(link)

    async def probe(self) -> None:
        if self._bot is None:
            raise AdapterFault(f"channel {self._name!r} is not open")
        with translated("getMe"):
            await self._bot.get_me()
        if self.problem is not None:
            raise AdapterFault(f"channel {self._name!r}: {self.problem}")

    @property
    def problem(self) -> str | None:
        """See `adapters.base.Reports`."""
        parts = (self._receiver, self._poller, self._lookout)
        return next((part.problem for part in parts if part is not None and part.problem is not None), None)

    @property
    def warning(self) -> str | None:
        """See `adapters.base.Reports`."""
        return self._lookout.warning if self._lookout is not None else None
