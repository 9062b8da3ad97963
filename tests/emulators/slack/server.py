"""A local Slack: Web API, events, Socket Mode and files of any number of workspaces, over real HTTP and WebSockets.

`async with slack() as platform:` serves; `platform.workspace(…)`, `platform.app(…)` and `workspace.install(app)` furnish it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from tests.emulators.slack import api, events
from tests.emulators.slack.apps import App, Bot
from tests.emulators.slack.channels import Channel
from tests.emulators.slack.clock import Clock, ScaledClock
from tests.emulators.slack.faults import Call
from tests.emulators.slack.files import Files
from tests.emulators.slack.hooks import Hooks
from tests.emulators.slack.ids import Ids
from tests.emulators.slack.messages import Message
from tests.emulators.slack.push import Pusher
from tests.emulators.slack.richtext import pings
from tests.emulators.slack.sockets import reached
from tests.emulators.slack.workspace import Workspace

Json = dict[str, Any]


@dataclass(slots=True, kw_only=True, eq=False)
class Slack:
    """The platform. `sign_now` is the clock of request signatures: the world's, whatever the platform's own does. `way_s` is
    asked how long each call of the Web API is on its way, and each answer."""

    clock: Clock
    sign_now: Callable[[], float]
    ids: Ids
    url: str = ""
    way_s: Callable[[], float] = lambda: 0.0
    workspaces: dict[str, Workspace] = field(default_factory=dict)
    apps: dict[str, App] = field(default_factory=dict)
    strangers: list[Call] = field(default_factory=list)  # calls without a token we know
    files: Files = field(init=False)
    hooks: Hooks = field(init=False)
    pusher: Pusher = field(init=False)

    def __post_init__(self) -> None:
        self.files = Files(slack=self)
        self.hooks = Hooks(slack=self)

    @property
    def api_url(self) -> str:
        """What the SDK takes as `base_url`."""
        return f"{self.url}/api/"

    def workspace(self, name: str, *, enterprise: str | None = None) -> Workspace:
        team = self.ids.new("T")
        domain = "".join(letter for letter in name.lower() if letter.isascii() and letter.isalnum()) or team.lower()
        self.workspaces[team] = Workspace(slack=self, id=team, name=name, domain=domain, enterprise=enterprise)
        return self.workspaces[team]

    def app(self, name: str = "Clew", **settings: Any) -> App:
        """Make an app; `settings` are fields of `App`."""
        app = App(slack=self, id=self.ids.new("A"), name=name, **settings)
        app.app_token = app.app_token or f"xapp-1-{app.id}-{self.ids.number()}-{self.ids.token(24)}"
        self.apps[app.id] = app
        return app

    async def settled(self, timeout_s: float = 10.0) -> None:
        """Return when every event is acknowledged or given up (`Pusher.settled`)."""
        await self.pusher.settled(timeout_s)

    def publish_message(self, channel: Channel, message: Message) -> None:
        """Tell every app that may know of a new message: as `message` where its bot is a member, as `app_mention` where it is
        called; both, as two events, where both hold."""
        root = channel.find(message.thread_ts) if message.thread_ts is not None else None
        called = pings(message.text)
        for bot in self._bots(channel):
            member = bot.id in channel.members
            mentioned = bot.id in called and message.author is not bot.user and channel.kind != "im"
            siblings = [("message", events.posted(channel, message, root))] if member else []
            if mentioned and (member or channel.kind == "channel") and message.subtype in (None, "file_share"):
                siblings.append(("mention", events.mention(channel, message, to=bot)))
            for _, event in _arranged(siblings, bot.app.siblings):
                self._deliver(bot, channel, event)

    def publish_mention_again(self, channel: Channel, message: Message) -> None:
        """Tell the apps that an edited message calls, whether or not it did before (PostHog/posthog#59517)."""
        for bot in self._bots(channel):
            if bot.id in channel.members and bot.id in pings(message.text) and channel.kind != "im":
                self._deliver(bot, channel, events.mention(channel, message, to=bot))

    def publish(self, channel: Channel, event: Json) -> None:
        """Tell every app whose bot is a member."""
        for bot in self._bots(channel):
            if bot.id in channel.members:
                self._deliver(bot, channel, event)

    def _bots(self, channel: Channel) -> list[Bot]:
        return [bot for workspace in channel.workspaces for bot in workspace.bots if bot.revoked is None]

    def _deliver(self, bot: Bot, channel: Channel, event: Json) -> None:
        if bot.app.wants(event):
            now = self.clock.now()
            body = events.envelope(event, to=bot, channel=channel, event_id=self.ids.new("Ev"), at=now)
            self.pusher.event(bot.app, body, chain=channel.id)


def _arranged(siblings: list[tuple[str, Json]], order: str) -> list[tuple[str, Json]]:
    if len(siblings) < 2:
        return siblings
    first, only = order.split()
    chosen = [one for one in siblings if only == "first" or one[0] == first]
    return sorted(chosen, key=lambda one: one[0] != first)


@asynccontextmanager
async def slack(
    *, clock: Clock | None = None, sign_now: Callable[[], float] = time.time, seed: int = 1
) -> AsyncIterator[Slack]:
    """Serve a platform on a free port of this machine until the block ends; nothing is left running."""
    platform = Slack(clock=clock or ScaledClock(), sign_now=sign_now, ids=Ids(seed))

    async def called(request: web.Request) -> web.StreamResponse:
        reached.set(f"{request.scheme}://{request.host}")
        await platform.clock.sleep(platform.way_s())
        answer = await api.handle(platform, request)
        await platform.clock.sleep(platform.way_s())
        return answer

    async def linked(request: web.Request) -> web.StreamResponse:
        known = platform.apps.get(request.query.get("app_id", ""))
        return web.Response(status=404) if known is None else await known.sockets.handle(request)

    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_route("*", "/api/{method}", called)
    app.router.add_get("/link/", linked)
    app.router.add_post("/hooks/{id}", platform.hooks.handle)
    app.router.add_post("/upload/{id}", platform.files.take)
    app.router.add_get("/files-pri/{id}/{name}", platform.files.give)
    runner = web.AppRunner(app, shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    platform.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(trust_env=False, timeout=timeout) as session:
        platform.pusher = Pusher(slack=platform, session=session)
        try:
            yield platform
        finally:
            await platform.pusher.close()
            for known in platform.apps.values():
                await known.sockets.close()
            await runner.cleanup()
            await asyncio.sleep(0)  # transports that were cut close one turn of the loop later
