"""A bot's webhook and who serves it: one queue per chat strictly in order, the queues side by side, retries as the platform
makes them (its server's `WebhookActor`): at once, then after 2, 4, 8 … up to 60 s, for 24 hours; `Retry-After` honoured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.emulators.telegram.clock import Bell, Clock, within
from tests.emulators.telegram.updates import Update, Updates

ANSWER_S = 60.0
MAX_DELAY_S = 60.0
MAX_RETRY_AFTER_S = 3600
GONE_S = 23 * 3600.0  # answered 410 for so long, the webhook is removed
_NOT_EXECUTED = ("deletewebhook", "setwebhook", "close", "logout")

Execute = Callable[[str, dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One POST to the webhook; `status` None: no answer in time, or no connection."""

    at: float
    update_id: int
    attempt: int
    status: int | None


@dataclass(eq=False, kw_only=True)
class Webhook:
    """What setWebhook set, and how it went since."""

    url: str = ""
    secret: str = ""
    max_connections: int = 40
    last_error: str | None = None
    last_error_at: float = 0.0
    gone_since: float | None = None
    deliveries: list[Delivery] = field(default_factory=list)

    def set(self, url: str, *, secret: str, max_connections: int) -> None:
        self.url, self.secret, self.max_connections = url, secret, max_connections
        self.last_error, self.gone_since = None, None

    def clear(self) -> None:
        self.set("", secret="", max_connections=40)


class Pusher:
    """Serves one bot's webhook while it has one. `hosts` replaces the beginning of public URLs by where they really are."""

    def __init__(
        self, webhook: Webhook, updates: Updates, *, clock: Clock, bell: Bell, execute: Execute, hosts: dict[str, str]
    ) -> None:
        self._webhook = webhook
        self._updates = updates
        self._clock = clock
        self._bell = bell
        self._execute = execute
        self._hosts = hosts
        self._busy: set[Hashable] = set()

    async def run(self) -> None:
        """Serve until cancelled."""
        async with aiohttp.ClientSession(trust_env=False) as session, asyncio.TaskGroup() as tasks:
            while True:
                for update in await self._bell.until(self._next):
                    self._busy.add(update.queue)
                    tasks.create_task(self._serve(session, update))

    def _next(self) -> list[Update]:
        """Return the first update of each queue that nobody serves, as many as connections are free."""
        if not self._webhook.url:
            return []
        heads: dict[Hashable, Update] = {}
        for update in self._updates.waiting():
            if update.queue not in self._busy:
                heads.setdefault(update.queue, update)
        return list(heads.values())[: max(0, self._webhook.max_connections - len(self._busy))]

    async def _serve(self, session: aiohttp.ClientSession, update: Update) -> None:
        """Bring one update to its end: arrived, expired, or the webhook is no more."""
        attempt, delay = 0, 1.0
        try:
            while self._webhook.url and self._updates.holds(update):
                retry_after = await self._post(session, update, attempt)
                if retry_after is None:
                    self._updates.done(update)
                    return
                if retry_after == 0 and attempt > 0:
                    delay = min(MAX_DELAY_S, delay * 2)
                    retry_after = delay
                attempt += 1
                await self._clock.sleep(retry_after)
        finally:
            self._busy.discard(update.queue)
            self._bell.ring()

    async def _post(self, session: aiohttp.ClientSession, update: Update, attempt: int) -> float | None:
        """Return None where it was taken, else after how many seconds the receiver wants it again (0: it did not say)."""
        headers = {"X-Telegram-Bot-Api-Secret-Token": self._webhook.secret} if self._webhook.secret else {}
        status, retry_after, answer = None, 0.0, None
        try:
            status, retry_after, answer = await within(
                self._clock, ANSWER_S, _posted(session, self._where(), update.body, headers)
            )
            problem = f"Wrong response from the webhook: {status}"
        except TimeoutError:
            problem = "Read timeout expired"
        except aiohttp.ClientError:
            problem = "Connection refused"
        now = self._clock.now()
        self._webhook.deliveries.append(Delivery(at=now, update_id=update.id, attempt=attempt, status=status))
        self._bell.ring()
        if status is not None and 200 <= status <= 299:
            self._webhook.gone_since = None
            await self._run_answer(answer)
            return None
        self._webhook.last_error, self._webhook.last_error_at = problem, now
        self._note_gone(status, now)
        return retry_after

    def _note_gone(self, status: int | None, now: float) -> None:
        if status != 410:
            self._webhook.gone_since = None
        elif self._webhook.gone_since is None:
            self._webhook.gone_since = now
        elif now > self._webhook.gone_since + GONE_S:
            self._webhook.clear()
            self._updates.pushed = False

    async def _run_answer(self, answer: Any) -> None:
        method = str(answer.get("method", "")) if isinstance(answer, dict) else ""
        if method and method.lower() not in _NOT_EXECUTED and not method.lower().startswith("get"):
            await self._execute(method, {name: value for name, value in answer.items() if name != "method"})

    def _where(self) -> str:
        for public, local in self._hosts.items():
            if self._webhook.url.startswith(public):
                return local + self._webhook.url.removeprefix(public)
        return self._webhook.url


async def _posted(
    session: aiohttp.ClientSession, url: str, body: dict[str, Any], headers: dict[str, str]
) -> tuple[int, float, Any]:
    async with session.post(url, json=body, headers=headers, allow_redirects=False) as response:
        raw = await response.read()
        wanted = response.headers.get("Retry-After", "")
        retry_after = min(int(wanted), MAX_RETRY_AFTER_S) if wanted.isdigit() else 0
        answer = None
        if raw and "json" in response.headers.get("Content-Type", ""):
            try:
                answer = await response.json()
            except ValueError:
                answer = None
        return response.status, float(retry_after), answer
