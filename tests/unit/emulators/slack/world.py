"""A small furnished Slack for tests: one workspace, two people, our bot, a channel, and an app that listens over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.emulators.slack.apps import App, Bot
from tests.emulators.slack.channels import Channel
from tests.emulators.slack.clock import Clock
from tests.emulators.slack.members import Member
from tests.emulators.slack.server import Slack, slack
from tests.emulators.slack.workspace import Workspace
from tests.loopback import on_loopback


@dataclass
class Received:
    """One request as it reached the app."""

    headers: dict[str, str]
    raw: bytes
    body: dict[str, Any]

    @property
    def event(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["event"]
        return found


@dataclass
class Listener:
    """The app's own server: notes what comes and answers with the status the test sets, once `go_on` is set."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)  # of the next answers; then 200
    headers: dict[str, str] = field(default_factory=dict)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def handle(self, request: web.Request) -> web.Response:
        raw = await request.read()
        form = request.content_type == "application/x-www-form-urlencoded"
        body = dict(await request.post()) if form else await request.json()
        self.received.append(Received(dict(request.headers), raw, body))
        async with self._came:
            self._came.notify_all()
        if body.get("type") == "url_verification":
            return web.json_response({"challenge": body["challenge"]})
        await self.go_on.wait()
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200, headers=self.headers)

    async def holding(self, count: int) -> list[Received]:
        """Return what came, oldest first, once there is so much."""
        async with asyncio.timeout(10), self._came:
            await self._came.wait_for(lambda: len(self.received) >= count)
        return self.received

    @property
    def events(self) -> list[dict[str, Any]]:
        return [one.event for one in self.received if "event" in one.body]

    def kinds(self) -> list[str]:
        """What came, by type and subtype."""
        return [":".join(filter(None, (event["type"], event.get("subtype")))) for event in self.events]


@asynccontextmanager
async def listener() -> AsyncIterator[Listener]:
    heard = Listener()
    heard.go_on.set()
    app = web.Application()
    app.router.add_post("/slack", heard.handle)
    async with on_loopback(app, shutdown_timeout=0.2) as url:
        heard.url = f"{url}/slack"
        try:
            yield heard
        finally:
            heard.go_on.set()


@dataclass
class World:
    platform: Slack
    app: App
    here: Workspace
    bot: Bot
    ann: Member
    bob: Member
    general: Channel
    heard: Listener
    web: AsyncWebClient

    async def refused(self, method: str, **args: Any) -> str:
        """Call a method that must be refused; return the error."""
        with pytest.raises(SlackApiError) as caught:
            await self.web.api_call(method, json=args)
        error: str = caught.value.response["error"]
        return error


def client(bot: Bot, *, timeout_s: int = 5) -> AsyncWebClient:
    """The real SDK's client, without its own retries."""
    return AsyncWebClient(token=bot.token, base_url=bot.app.slack.api_url, timeout=timeout_s, retry_handlers=[])


@asynccontextmanager
async def world(monkeypatch: pytest.MonkeyPatch, *, clock: Clock | None = None, **app: Any) -> AsyncIterator[World]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)  # the SDK takes a proxy to the loopback too
    async with listener() as heard, slack(clock=clock) as platform:
        here = platform.workspace("Acme")
        ours = platform.app(events_url=heard.url, **app)
        bot, ann, bob = here.install(ours), here.person("Ann"), here.person("Bob", lang="zh")
        general = here.channel("general", members=[ann, bob, bot])
        yield World(platform, ours, here, bot, ann, bob, general, heard, client(bot))
