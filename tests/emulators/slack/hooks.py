"""Response URLs: what a slash command may be answered at, five times within half an hour."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.emulators.slack.blocks import content
from tests.emulators.slack.faults import ApiError

if TYPE_CHECKING:
    from tests.emulators.slack.apps import App, Bot
    from tests.emulators.slack.channels import Channel
    from tests.emulators.slack.members import Member
    from tests.emulators.slack.server import Slack

Json = dict[str, Any]
USES = 5
LIFE_S = 1800.0


@dataclass(slots=True, kw_only=True, eq=False)
class Hook:
    bot: Bot
    channel: Channel
    asker: Member
    until: float
    uses: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class Hooks:
    slack: Slack
    _hooks: dict[str, Hook] = field(default_factory=dict)

    def new(self, app: App, channel: Channel, asker: Member) -> str:
        """Return a response URL for a command of the app's that `asker` used in `channel`."""
        bot = next(bot for bot in app.bots if bot.workspace is asker.workspace)
        name = self.slack.ids.token(24)
        self._hooks[name] = Hook(bot=bot, channel=channel, asker=asker, until=self.slack.clock.now() + LIFE_S)
        return f"{self.slack.url}/hooks/{name}"

    async def handle(self, request: web.Request) -> web.Response:
        """Take an answer: for the asker alone, or for the channel with `response_type: in_channel`."""
        hook = self._hooks.get(request.match_info["id"])
        if hook is None:
            return web.Response(status=404, text="no_hook")
        hook.uses += 1
        if hook.uses > USES or self.slack.clock.now() > hook.until:
            return web.Response(status=404, text="used_url" if hook.uses > USES else "expired_url")
        body: Json = json.loads(await request.read())
        try:
            what = content(body, update=False)
        except ApiError as exc:
            return web.Response(status=400, text=exc.error)
        for_all = body.get("response_type") == "in_channel"
        hook.channel.post(
            author=hook.bot.user,
            text=what.text,
            blocks=what.blocks,
            thread=body.get("thread_ts"),
            ephemeral_for=None if for_all else hook.asker.id,
        )
        return web.Response(text="ok")
