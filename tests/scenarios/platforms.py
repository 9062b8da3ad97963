"""Both platforms under one look: people who talk in rooms, over any of the four ways by which their words reach a gateway.

`world(…)` runs a gateway process with one channel for each way named, beside the local platforms, which stay when it dies.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tests.emulators.slack.apps import App
from tests.emulators.slack.apps import Bot as SlackBot
from tests.emulators.slack.channels import Channel
from tests.emulators.slack.channels import Message as SlackMessage
from tests.emulators.slack.clock import SteppedClock
from tests.emulators.slack.faults import Fault as SlackFault
from tests.emulators.slack.faults import cut_after, throttled
from tests.emulators.slack.members import Member
from tests.emulators.slack.server import Slack, slack
from tests.emulators.slack.workspace import Workspace
from tests.emulators.telegram import faults as telegram_faults
from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.chats import Chat, Topic
from tests.emulators.telegram.clock import LoopClock
from tests.emulators.telegram.emulator import Telegram, telegram
from tests.emulators.telegram.messages import Message
from tests.emulators.telegram.people import Person
from tests.emulators.telegram.rooms import open_topic
from tests.scenarios.stage import said
from tests.scenarios.world import Gateway, ModelServer, Prompt, Script, gateway, model_server, write_config

SLACK = ("slack-http", "slack-socket")
TELEGRAM = ("telegram-polling", "telegram-webhook")
WAYS = (*SLACK, *TELEGRAM)

Someone = TypeVar("Someone")

PUBLIC = "https://clew.example"
LONG = "memory: {window: {turns: 40}, summary: {start_turns: 41}}"
"""Windows of a length that Redis keeps, where there is Redis."""
QUICK = "queue: {poll_s: 0.2}\n"
"""What a killed gateway held is taken over at once, where any number of gateways may run."""

_NOWHERE = "http://127.0.0.1:9"
_PATIENCE_S = 30.0


def words(prompt: Prompt) -> str:
    """What was said last, without the speaker that stands before it in groups."""
    text = said(prompt)
    return text.partition("]: ")[2] if text.startswith("[") and "]: " in text else text


def echo(prompt: Prompt) -> str:
    return f"re: {words(prompt)}"


class Room(Protocol):
    """A conversation as the people in it see it."""

    async def says(self, text: str, *, by: str = "", to_bot: bool = True) -> Any:
        """Say something to the bot (in a group: calling it), the first person unless named; return what names the message."""
        ...

    async def edits(self, message: Any, text: str, *, by: str = "") -> None: ...

    def replies(self) -> list[str]:
        """What the bot's messages show now, oldest first."""
        ...

    async def until(self, wanted: Callable[[list[str]], bool]) -> None:
        """Return as soon as that is true of the replies."""
        ...


async def shows(room: Room, *answers: str) -> None:
    """Wait until each of the answers stands in the room."""
    await room.until(lambda replies: all(answer in replies for answer in answers))


async def asks(room: Room, text: str, *, by: str = "") -> None:
    """Say something to a bot that echoes, and wait for the answer."""
    await room.says(text, by=by)
    await shows(room, f"re: {text}")


def _who(people: dict[str, Someone], name: str) -> Someone:
    return people[name] if name else next(iter(people.values()))


class Side(Protocol):
    """One account of the gateway's on a platform."""

    name: str

    def settings(self) -> str:
        """Return the channel's own settings, as the inside of a YAML mapping."""
        ...

    def reach(self, url: str) -> None:
        """Let the platform find the gateway there."""
        ...

    def private(self, person: str = "Ann") -> Room:
        """Return somebody new's own conversation with the bot."""
        ...

    def group(self, title: str, *people: str) -> Room:
        """Return a new group's conversation: a thread, a topic."""
        ...

    def loses_receipt(self) -> None:
        """The next message is taken, and the answer to that lost."""
        ...

    def limits(self, seconds: int) -> None:
        """The next message is told to wait."""
        ...

    def sends(self) -> int:
        """How many new messages the platform was asked to take."""
        ...


@dataclass(eq=False, repr=False)
class SlackRoom:
    channel: Channel
    bot: SlackBot
    people: dict[str, Member]
    thread: str | None = None

    async def says(self, text: str, *, by: str = "", to_bot: bool = True) -> str:
        group = self.channel.kind != "im"
        address = f"{self.bot.mention} " if group and to_bot else ""
        ts = await _who(self.people, by).says(self.channel, address + text, thread=self.thread)
        if group and to_bot and self.thread is None:
            self.thread = ts
        return ts

    async def edits(self, message: str, text: str, *, by: str = "") -> None:
        address = f"{self.bot.mention} " if self.channel.kind != "im" else ""
        await _who(self.people, by).edits(self.channel, message, address + text)

    def ours(self) -> list[SlackMessage]:
        return [message for message in self.channel.messages() if message.author is self.bot.user]

    def replies(self) -> list[str]:
        return [message.shown for message in self.ours()]

    async def until(self, wanted: Callable[[list[str]], bool]) -> None:
        await self.channel.wait_for(lambda _: wanted(self.replies()), _PATIENCE_S)


@dataclass(eq=False, repr=False)
class SlackSide:
    """A workspace of its own, with an app of its own."""

    name: str
    platform: Slack
    here: Workspace
    app: App
    bot: SlackBot

    def settings(self) -> str:
        mode = "socket" if self.app.socket_mode else "http"
        secrets = f"bot_token: {self.bot.token}, app_token: {self.app.app_token}, signing_secrets: [{self.app.signing_secret}]"
        rest = "show_every_s: 1, first_use_notice: false"
        return f"kind: slack, mode: {mode}, {secrets}, api_url: '{self.platform.api_url}', {rest}"

    def reach(self, url: str) -> None:
        self.app.events_url = f"{url}/channels/{self.name}"

    def private(self, person: str = "Ann") -> SlackRoom:
        member = self.here.person(person)
        return SlackRoom(self.here.dm(member, self.bot), self.bot, {person: member})

    def group(self, title: str, *people: str) -> SlackRoom:
        members = {name: self.here.person(name) for name in people or ("Ann",)}
        return SlackRoom(self.here.channel(title, members=[*members.values(), self.bot]), self.bot, members)

    def will(self, *faults: SlackFault | None) -> None:
        self.here.will("chat.postMessage", *faults)

    def loses_receipt(self) -> None:
        self.will(cut_after())

    def limits(self, seconds: int) -> None:
        self.will(throttled(seconds))

    def sends(self) -> int:
        return len(self.here.called("chat.postMessage"))


@dataclass(eq=False, repr=False)
class TelegramRoom:
    chat: Chat
    bot: Bot
    people: dict[str, Person]
    topic: Topic | None = None

    async def says(self, text: str, *, by: str = "", to_bot: bool = True) -> Message:
        address = f"@{self.bot.username} " if self.chat.type != "private" and to_bot else ""
        return _who(self.people, by).says(self.chat, address + text, topic=self.topic)

    async def edits(self, message: Message, text: str, *, by: str = "") -> None:
        address = f"@{self.bot.username} " if self.chat.type != "private" else ""
        _who(self.people, by).edits(message, address + text)

    def ours(self) -> list[Message]:
        """The bot's messages in this topic; of a chat without topics all."""
        topic = self.topic.id if self.topic else None
        return [message for message in self.chat.replies() if message.bot is self.bot and message.topic == topic]

    def replies(self) -> list[str]:
        return [message.text for message in self.ours()]

    async def until(self, wanted: Callable[[list[str]], bool]) -> None:
        await self.chat.until(lambda _: wanted(self.replies()), timeout_s=_PATIENCE_S)


@dataclass(eq=False, repr=False)
class TelegramSide:
    """A bot of its own, that hears everything in groups."""

    name: str
    tg: Telegram
    bot: Bot
    webhook: bool

    def settings(self) -> str:
        mode = "webhook, secret_token: s3cret" if self.webhook else "polling"
        return (
            f"kind: telegram, mode: {mode}, token: '{self.bot.token}', api_url: '{self.tg.url}', show_every_s: 1, "
            "reconnect_s: 0.2, first_use_notice: false"
        )

    def reach(self, url: str) -> None:
        self.tg.hosts[PUBLIC] = url

    def private(self, person: str = "Ann") -> TelegramRoom:
        somebody = self.tg.person(person)
        return TelegramRoom(self.tg.private(somebody, self.bot), self.bot, {person: somebody})

    def group(self, title: str, *people: str) -> TelegramRoom:
        members = {name: self.tg.person(name) for name in people or ("Ann",)}
        chat = self.tg.supergroup(title, *members.values(), bots=(self.bot,), forum=True)
        topic = open_topic(chat, title, by=next(iter(members.values())))
        return TelegramRoom(chat, self.bot, members, topic)

    def loses_receipt(self) -> None:
        self.tg.faults.plan("sendMessage", telegram_faults.cut(done=True))

    def limits(self, seconds: int) -> None:
        self.tg.faults.plan("sendMessage", telegram_faults.throttled(seconds))

    def sends(self) -> int:
        return len([call for call in self.tg.called("sendMessage") if call.bot == self.bot.username])


@dataclass(eq=False, repr=False)
class World:
    folder: Path
    platform: Slack
    tg: Telegram
    model: ModelServer
    sides: dict[str, Side]
    config: Path
    clocks: tuple[SteppedClock, LoopClock] | None
    gateway: Gateway = field(init=False)

    def reached(self) -> None:
        """Tell the platforms where the gateway is."""
        for side in self.sides.values():
            side.reach(self.gateway.url)

    async def again(self) -> None:
        """Start the gateway that has died."""
        await self.gateway.start()
        self.reached()

    async def later(self, seconds: float) -> None:
        """Let time pass for the platforms: what was not acknowledged comes again."""
        assert self.clocks is not None
        stepped, looped = self.clocks
        looped.advance(seconds)
        await stepped.advance(seconds)

    def play(self, script: Script) -> None:
        """Answer by `script` from now on; what was asked before is forgotten."""
        self.model.script = script
        self.model.prompts.clear()
        self.model.models.clear()
        self.model.called.clear()

    def slack(self, name: str = "slack-http") -> SlackSide:
        side = self.sides[name]
        assert isinstance(side, SlackSide)
        return side

    def telegram(self, name: str = "telegram-polling") -> TelegramSide:
        side = self.sides[name]
        assert isinstance(side, TelegramSide)
        return side


@asynccontextmanager
async def world(
    folder: Path,
    *,
    ways: Sequence[str] = WAYS,
    agents: str = "default: {kind: openai, base_url: 'MODEL', model: stub}",
    more: str | Mapping[str, str] = "",
    memory: str | Mapping[str, str] = LONG,
    body: str = "",
    storage: str | None = None,
    server: str = "",
    stepped: bool = False,
    module: str | None = None,
    prepare: Callable[[World], None] = lambda there: None,
) -> AsyncIterator[World]:
    """Run it all. `more` and `memory` are written into every channel, or each way's own; `body` below all of them, so that it
    may begin with more channels. `stepped`: the platforms' time stands still but for `World.later`. `module`: which process it
    is. `prepare` sees the world before the gateway does."""
    clocks = (SteppedClock(), LoopClock(scale=0)) if stepped else None
    async with (
        slack(clock=clocks[0] if clocks else None) as platform,
        telegram(clock=clocks[1] if clocks else None, hosts={PUBLIC: _NOWHERE}, reads_all=True) as tg,
        model_server(echo) as model,
    ):
        sides = {name: _side(name, platform, tg) for name in ways}
        own = more if isinstance(more, Mapping) else dict.fromkeys(ways, more)
        kept = memory if isinstance(memory, Mapping) else dict.fromkeys(ways, memory)
        channels = "".join(
            f"  {name}: {{{side.settings()}, limits: {{per_minute: 1000}}, {kept[name]}{own.get(name, '')}}}\n"
            for name, side in sides.items()
        )
        config = write_config(
            folder, f"agents: {{{agents}}}\nchannels:\n{channels}{body}".replace("MODEL", model.url),
            storage=storage, server=f"public_url: '{PUBLIC}', {server}",
        )  # fmt: skip
        there = World(folder, platform, tg, model, sides, config, clocks)
        prepare(there)
        async with gateway(config, command=(module, str(config)) if module else ()) as there.gateway:
            there.reached()
            yield there


def _side(name: str, platform: Slack, tg: Telegram) -> Side:
    if name.startswith("slack"):
        here, app = platform.workspace(name), platform.app(name, socket_mode="socket" in name)
        return SlackSide(name, platform, here, app, here.install(app))
    bot = tg.add_bot(f"{name.replace('-', '_')}_bot", reads_all=True)
    return TelegramSide(name, tg, bot, webhook="webhook" in name)
