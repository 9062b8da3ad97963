"""Deliveries to an app: signed, timed, repeated by Slack's schedule until one is acknowledged. Over HTTP or the app's sockets.

First try, then up to three more: at once, a minute later, five minutes later, each saying its number and the reason.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import aiohttp

from tests.emulators.slack.clock import owned, within

if TYPE_CHECKING:
    from tests.emulators.slack.apps import App
    from tests.emulators.slack.server import Slack

Json = dict[str, Any]
Kind = Literal["events_api", "slash_commands", "url_verification"]


@dataclass(slots=True, kw_only=True, eq=False)
class Delivery:
    """One try. `reason` says why the try before had failed; `failed` why this one did, None while open or when acknowledged."""

    kind: Kind
    payload: Json
    attempt: int = 0
    reason: str | None = None
    sent_at: float = 0.0  # by the platform's clock
    envelope_id: str | None = None  # Socket Mode
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    acked_after_s: float | None = None  # also of an answer that came too late
    failed: str | None = None

    @property
    def acked(self) -> bool:
        return self.failed is None and self.acked_after_s is not None

    @property
    def late(self) -> bool:
        """Answered well, but after Slack's three seconds."""
        return self.failed in ("http_timeout", "timeout") and self.status == 200

    @property
    def event_id(self) -> str | None:
        return self.payload.get("event_id")


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Slack's v0: over the raw bytes."""
    return "v0=" + hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()


def encoded(payload: Json) -> bytes:
    """JSON as Slack writes it, ASCII with escaped slashes: decoded and encoded again it has another signature."""
    return json.dumps(payload, separators=(",", ":")).replace("/", "\\/").encode()


@dataclass(slots=True, kw_only=True, eq=False)
class Pusher:
    """Delivers to all apps and keeps what came of it in `app.deliveries`.

    `in_order`: the first try of an event waits for the first try of the one before it in the same channel, so that scenes can be
    told apart from races; False: all at once, as Slack does.
    """

    slack: Slack
    session: aiohttp.ClientSession
    ack_s: float = 3.0
    retry_after_s: tuple[float, ...] = (0.0, 60.0, 300.0)
    in_order: bool = True
    _events: set[asyncio.Future[None]] = field(default_factory=set)
    _tries: set[asyncio.Future[None]] = field(
        default_factory=set
    )  # some outlive their event, waiting for a late answer
    _asleep: int = 0  # events that wait for their next try
    _moved: asyncio.Event = field(default_factory=asyncio.Event)
    _turns: dict[tuple[str, str], asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    def event(self, app: App, payload: Json, *, chain: str) -> None:
        """Deliver an event until it is acknowledged or the schedule has run out."""
        task = owned(self._events, self._with_retries(app, payload, chain=chain), name="slack event")
        task.add_done_callback(lambda _: self._moved.set())

    async def again(self, app: App, payload: Json, *, attempt: int = 1, reason: str = "http_timeout") -> Delivery:
        """Deliver an event once more, whatever came of it before."""
        return await self._try(app, Delivery(kind="events_api", payload=payload, attempt=attempt, reason=reason))

    async def once(
        self, app: App, *, url: str | None, body: bytes, content_type: str, kind: Kind, payload: Json
    ) -> Delivery:
        """Deliver what Slack does not repeat: commands, interactions, the check of an URL."""
        delivery = Delivery(kind=kind, payload=payload)
        return await self._try(app, delivery, url=url, body=body, content_type=content_type)

    async def settled(self, timeout_s: float = 10.0, *, late: bool = False) -> None:
        """Return when every event is acknowledged or given up, with `late` when late answers have come in too; AssertionError
        after `timeout_s` real seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                while busy := {*self._events, *(self._tries if late else ())}:
                    await asyncio.wait(busy)
        except TimeoutError:
            raise AssertionError(f"{len(self._events)} events are not settled within {timeout_s} s") from None

    async def resting(self, timeout_s: float = 10.0) -> None:
        """Return when no try is under way: what is not acknowledged yet waits for its time to come again."""
        try:
            async with asyncio.timeout(timeout_s):
                while len(self._events) > self._asleep:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            raise AssertionError(
                f"{len(self._events) - self._asleep} tries are not over within {timeout_s} s"
            ) from None

    async def close(self) -> None:
        tasks = [*self._events, *self._tries]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _with_retries(self, app: App, payload: Json, *, chain: str) -> None:
        delivery = Delivery(kind="events_api", payload=payload)
        if self.in_order:
            async with self._turns[app.id, chain]:
                await self._try(app, delivery)
        else:
            await self._try(app, delivery)
        if app.twice > 0 and delivery.acked:
            app.twice -= 1
            await self.again(app, payload)
        for number, wait_s in enumerate(self.retry_after_s, 1):
            if delivery.acked or delivery.headers.get("X-Slack-No-Retry") == "1":
                return
            if wait_s:
                await self._sleep(wait_s)
            delivery = await self.again(app, payload, attempt=number, reason=delivery.failed or "unknown_error")

    async def _sleep(self, wait_s: float) -> None:
        self._asleep += 1
        self._moved.set()
        try:
            await self.slack.clock.sleep(wait_s)
        finally:
            self._asleep -= 1

    async def _try(
        self,
        app: App,
        delivery: Delivery,
        *,
        url: str | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> Delivery:
        delivery.sent_at = self.slack.clock.now()
        app.deliveries.append(delivery)
        if app.socket_mode and delivery.kind != "url_verification":
            sending = app.sockets.deliver(delivery)
        else:
            sending = self._post(app, delivery, url or app.events_url, body or encoded(delivery.payload), content_type)
        work = owned(self._tries, sending, name="slack delivery")
        try:
            await within(self.slack.clock, self.ack_s, work)
        except TimeoutError:
            delivery.failed = "timeout" if app.socket_mode else "http_timeout"
        return delivery

    async def _post(self, app: App, delivery: Delivery, url: str | None, body: bytes, content_type: str) -> None:
        """Hand it in and note the answer, however late."""
        if url is None:
            delivery.failed = "connection_failed"
            return
        timestamp = str(int(self.slack.sign_now()))
        headers = {
            "Content-Type": content_type,
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": signature(app.signing_secret, timestamp, body),
        }
        if delivery.attempt:
            headers |= {"X-Slack-Retry-Num": str(delivery.attempt), "X-Slack-Retry-Reason": delivery.reason or ""}
        try:
            async with self.session.post(url, data=body, headers=headers, allow_redirects=False) as answer:
                delivery.body = await answer.read()
        except aiohttp.ClientError:
            delivery.failed = delivery.failed or "connection_failed"
            return
        delivery.status, delivery.headers = answer.status, answer.headers
        delivery.acked_after_s = self.slack.clock.now() - delivery.sent_at
        if answer.status >= 300:
            delivery.failed = delivery.failed or "http_error"
