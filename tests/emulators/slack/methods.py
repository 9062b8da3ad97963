"""What a Web API method is: its arguments, scope and tier, and what a handler of one is given."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tests.emulators.slack.faults import ApiError

if TYPE_CHECKING:
    from tests.emulators.slack.apps import App, Bot
    from tests.emulators.slack.channels import Channel
    from tests.emulators.slack.messages import Message
    from tests.emulators.slack.server import Slack
    from tests.emulators.slack.workspace import Workspace

Json = dict[str, Any]
TS = re.compile(r"\d{10}\.\d{6}")
FAMILY = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A call that is allowed: who asks, where, and for what."""

    platform: Slack
    app: App
    bot: Bot | None  # None: asked with the app-level token
    args: Json

    @property
    def me(self) -> Bot:
        assert self.bot is not None
        return self.bot

    @property
    def workspace(self) -> Workspace:
        return self.me.workspace

    def channel(self, name: str = "channel", *, scope: str | None = None) -> Channel:
        """Return the channel an argument names, if the bot may know of it. `scope` is the verb (`read`, `history`) that it needs
        for that kind of conversation."""
        channel = self.workspace.channels.get(self.args[name])
        if channel is None or (channel.kind != "channel" and self.me.id not in channel.members):
            raise ApiError("channel_not_found")
        if scope is not None:
            need(self.me, f"{FAMILY[channel.kind]}:{scope}")
        return channel

    def place(self, name: str = "channel") -> Channel:
        """Return the channel that something is to be written to; an account's id stands for the DM with it."""
        member = self.workspace.members.get(self.args[name])
        channel = self.channel(name) if member is None else self.workspace.dm(self.me, member)
        if channel.archived:
            raise ApiError("is_archived")
        public = channel.kind == "channel" and "chat:write.public" in (self.me.scopes or ())
        if self.me.id not in channel.members and not public:
            raise ApiError("not_in_channel")
        return channel

    def thread(self, channel: Channel) -> str | None:
        """Return the root that `thread_ts` names; None: not given. A reply's `ts` is no thread's."""
        ts = self.args.get("thread_ts")
        if ts is None:
            return None
        if not TS.fullmatch(ts):
            raise ApiError("invalid_thread_ts")
        root = channel.find(ts)
        if root is None:
            raise ApiError("thread_not_found")
        if root.thread_ts not in (None, ts):
            raise ApiError("invalid_thread_ts")
        return str(ts)

    def message(self, channel: Channel, name: str = "ts") -> Message:
        message = channel.find(self.args[name])
        if message is None or message.subtype == "tombstone":
            raise ApiError("message_not_found")
        return message

    def flag(self, name: str, default: bool = False) -> bool:
        """Read a truth value as JSON or as a form carries it."""
        value = self.args.get(name, default)
        return value in (True, 1, "1", "true", "True")


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """`tier` None: a limit of its own; `posts`: held to the channel's rate. `form_only`: a JSON body is not read, as Slack does
    for what was made for GET."""

    name: str
    answer: Callable[[Asked], Json]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    scope: str | None = None
    tier: int | None = 3
    posts: bool = False
    form_only: bool = False
    token: Literal["bot", "app"] = "bot"


def need(bot: Bot, scope: str) -> None:
    """Raise ApiError if the bot was installed without the scope."""
    if bot.scopes is not None and scope not in bot.scopes:
        raise ApiError("missing_scope", needed=scope, provided=",".join(sorted(bot.scopes)))
