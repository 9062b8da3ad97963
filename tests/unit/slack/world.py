"""A channel of Clew's in a local Slack: the real adapter, behind the real server, before a fake gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from adapters.base import Address, InboundEvent, TurnView
from adapters.slack.adapter import SlackAdapter
from config.channels.slack import SlackSettings
from config.settings import ServerSettings
from gateway.hot.process import ProcessShelf
from tests.emulators.slack.apps import App, Bot
from tests.emulators.slack.channels import Channel
from tests.emulators.slack.clock import Clock
from tests.emulators.slack.members import Member
from tests.emulators.slack.server import Slack, slack
from tests.emulators.slack.workspace import Workspace
from tests.fakes import FakeIntake
from tests.pulling import receiving
from tests.serving import serving


class CountingIntake(FakeIntake):
    """Tells how often it was asked to store something, whatever it said to that."""

    def __init__(self) -> None:
        super().__init__()
        self._asked = 0
        self._more = asyncio.Condition()

    async def accept(self, event: InboundEvent, *, fingerprint: str | None = None) -> TurnView:
        async with self._more:
            self._asked += 1
            self._more.notify_all()
        return await super().accept(event, fingerprint=fingerprint)

    async def asked(self, count: int) -> None:
        """Return once it was asked so often."""
        async with asyncio.timeout(10), self._more:
            await self._more.wait_for(lambda: self._asked >= count)


@dataclass
class World:
    platform: Slack
    app: App
    here: Workspace
    bot: Bot
    ann: Member
    bob: Member
    general: Channel
    intake: CountingIntake
    adapter: SlackAdapter
    url: str  # of the channel

    def to(self, channel: Channel | None = None, **more: Any) -> Address:
        """The address of a channel."""
        return Address(channel="acme", room=(channel or self.general).id, **more)


def adapter(bot: Bot, *, mode: str = "http", shelf: ProcessShelf | None = None, **settings: Any) -> SlackAdapter:
    chosen = {
        "kind": "slack", "mode": mode, "bot_token": bot.token, "app_token": bot.app.app_token,
        "signing_secrets": [bot.app.signing_secret], "api_url": bot.app.slack.api_url, "timeout_s": 5, **settings,
    }  # fmt: skip
    return SlackAdapter("acme", settings=SlackSettings.model_validate(chosen), shelf=shelf or ProcessShelf())


async def until_it_ends(channel: SlackAdapter, what: Awaitable[None]) -> None:
    """Open the channel, let something happen, and stay until it ends by itself."""
    async with receiving(channel, FakeIntake()), asyncio.timeout(20):
        await what
        await asyncio.Event().wait()


@asynccontextmanager
async def platform(
    *, clock: Clock | None = None, scopes: Sequence[str] | None = None, **app: Any
) -> AsyncIterator[tuple[Slack, App, Bot]]:
    """A platform with a workspace and our app in it."""
    async with slack(clock=clock) as there:
        ours = there.app(**app)
        yield there, ours, there.workspace("Acme").install(ours, scopes=scopes)


@asynccontextmanager
async def world(
    *,
    clock: Clock | None = None,
    mode: str = "http",
    app: dict[str, Any] | None = None,
    scopes: Sequence[str] | None = None,
    **settings: Any,
) -> AsyncIterator[World]:
    """A channel `acme` that runs, in a workspace with Ann, Bob and a channel that all are members of."""
    async with platform(clock=clock, scopes=scopes, socket_mode=mode == "socket", **(app or {})) as (there, ours, bot):
        here = bot.workspace
        ann, bob = here.person("Ann"), here.person("Bob", lang="zh")
        general = here.channel("general", members=[ann, bob, bot])
        intake, ourselves = CountingIntake(), adapter(bot, mode=mode, **settings)
        async with serving(intake, {"acme": ourselves}, settings=ServerSettings(port=0, stop_s=0.2)) as url:
            ours.events_url = f"{url}/channels/acme"
            yield World(there, ours, here, bot, ann, bob, general, intake, ourselves, ours.events_url)
