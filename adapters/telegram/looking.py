"""Who the bot is, and whether what it hears comes to us: looked at when the channel opens, and now and then from then on.

Telegram tells nobody that a bot was renamed, that its privacy mode changed, that its token was revoked or that another program
has taken its webhook away.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from telegram import Bot, WebhookInfo

from adapters.errors import SendFailed, Throttled, Unreachable
from adapters.telegram.parse import USED, Identity
from adapters.telegram.web import translated

logger = logging.getLogger(__name__)

DEAF = (
    "privacy mode is on: in groups the bot hears commands and replies to it only, no mentions; switch it off in "
    "@BotFather (/setprivacy) and add the bot to its groups again, or make it an admin there"
)


class Lookout:
    """Looks at one bot. `url` is where Telegram shall call us, with `secret`; None: it is asked for updates instead."""

    def __init__(self, name: str, bot: Bot, *, url: str | None, secret: str, every_s: float, again_s: float) -> None:
        """Looks every `every_s` seconds; `again_s` after a look that failed or found something wrong."""
        self.problem: str | None = None
        self.warning: str | None = None
        self._name = name
        self._bot = bot
        self._url = url
        self._secret = secret
        self._every_s = every_s
        self._again_s = again_s
        self._undelivered: str | None = None

    async def identity(self) -> Identity:
        """Return who the bot is now. Raises `SendFailed`."""
        with translated("getMe"):
            user = await self._bot.get_me()
        hears = user.can_read_all_group_messages is True
        warnings = [one for one in (None if hears else DEAF, self._undelivered) if one is not None]
        before, self.warning = self.warning, "; ".join(warnings) or None
        if self.warning is not None and self.warning != before:
            logger.warning(self.warning, extra={"channel": self._name})
        return Identity(account=user.id, username=user.username or "", name=user.first_name)

    async def called(self) -> None:
        """Let Telegram call us, unless it does already. What it has not delivered yet is never dropped. Raises `SendFailed`."""
        await self._call_us(await self._webhook())

    async def run(self, seen: Callable[[Identity], None]) -> None:
        """Look for ever; `seen` is told who the bot is, each time."""
        wait_s = self._every_s
        while True:
            await asyncio.sleep(wait_s)
            try:
                await self._look(seen)
                self.problem, wait_s = None, self._every_s
            except Exception as exc:  # whatever it is: the channel goes on, and is looked at again
                wait_s = max(self._again_s, exc.retry_after_s if isinstance(exc, Throttled) else 0.0)
                self.problem = (
                    str(exc) if isinstance(exc, SendFailed) else f"the bot can't be looked at ({type(exc).__name__})"
                )
                logger.warning("channel unwell", extra={"channel": self._name, "reason": self.problem})

    async def _look(self, seen: Callable[[Identity], None]) -> None:
        if self._url is not None:
            known = await self._webhook()
            if known.url not in ("", self._url):  # not taken back: two programs would take turns for ever
                raise Unreachable("another program has set this bot's webhook: stop it, or use a bot of your own here")
            await self._call_us(known)
            self._undelivered = self._lately(known)
        seen(await self.identity())

    async def _webhook(self) -> WebhookInfo:
        with translated("getWebhookInfo"):
            return await self._bot.get_webhook_info()

    async def _call_us(self, known: WebhookInfo) -> None:
        if self._url is None or (known.url == self._url and set(known.allowed_updates) == set(USED)):
            return
        with translated("setWebhook"):
            await self._bot.set_webhook(
                self._url, secret_token=self._secret, allowed_updates=list(USED), drop_pending_updates=False
            )

    def _lately(self, known: WebhookInfo) -> str | None:
        """Return what kept Telegram from telling us something since the last look; None: nothing."""
        when = known.last_error_date
        if when is None or time.time() - when.timestamp() > self._every_s:
            return None
        return f"Telegram could not deliver lately: {known.last_error_message}"
