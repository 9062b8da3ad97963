"""People in a chaos run, by each way in which their words reach the gateways: what they said, whether it was taken, and what
the bot has said to them.

Programs that send webhooks repeat what was not acknowledged, and sometimes what was; the local platforms do so by themselves.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp

from tests.chaos.evidence import Post, Said, canaries
from tests.chaos.talk import Line, Place
from tests.emulators.slack.apps import App, Siblings
from tests.emulators.slack.apps import Bot as SlackBot
from tests.emulators.slack.channels import Channel
from tests.emulators.slack.faults import throttled as slack_throttled
from tests.emulators.slack.members import Member
from tests.emulators.slack.server import Slack
from tests.emulators.slack.workspace import Workspace
from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.chats import Chat, Topic
from tests.emulators.telegram.emulator import Telegram
from tests.emulators.telegram.faults import throttled as telegram_throttled
from tests.emulators.telegram.people import Person
from tests.emulators.telegram.rooms import open_topic
from tests.scenarios.world import SECRET, Hook

WAYS = ("webhook", "telegram-webhook", "telegram-polling", "slack-http", "slack-socket")
PUBLIC = "https://clew.example"
PATIENCE_S = 6.0  # of a program that sends a webhook
READ_S = 30.0  # and of one that reads an answer
WAIT_S = 1.0
LOOKS = 5

_BUSY = {"telegram-webhook": "queue", "telegram-polling": "interrupt", "slack-socket": "interrupt"}
_SHOWING = "show_every_s: 1, first_use_notice: false, observe: true, limits: {per_minute: 100000}"


def mix(scopes: int, seconds: float) -> tuple[str, ...]:
    """Return by which ways how many talk: all alike, but for the workspace with growing answers, which takes fifty edits a
    minute from an app."""
    growing = max(6.0, seconds / 60 * 12)
    return (*WAYS[:-1] * max(1, round(scopes / growing / (len(WAYS) - 1))), WAYS[-1])


class Way(Protocol):
    """One channel of the gateways', and all who talk there."""

    name: str

    def settings(self) -> str:
        """Return the channel's settings, as the inside of a YAML mapping; `${NAME}` is the environment's."""
        ...

    def reach(self, url: str) -> None:
        """Let the platform find the gateways there."""
        ...

    async def say(self, line: Line) -> None:
        """Say it, until it is taken if need be."""
        ...

    def waiting(self) -> int:
        """How much the platform is still to deliver."""
        ...

    def throttle(self, seconds: int) -> None:
        """Ask whoever sends next to wait."""
        ...

    async def said(self) -> list[Said]: ...

    async def posts(self) -> list[Post]: ...

    def broken(self) -> list[str]:
        """Return the platform's rules that were broken."""
        ...

    def asked_about(self, room: str) -> bool:
        """Whether the gateways have looked up what stands in a room, to find what became of a send."""
        ...


def spot(way: str, room: str, thread: str | None) -> str:
    """Name a place, as the evidence does."""
    return f"{way} {room}" + (f"/{thread}" if thread else "")


def _said(line: Line, place: str, **more: Any) -> Said:
    return Said(
        token=line.token, way=line.place.way, place=place, group=line.place.group,
        person=f"{line.place.way} {line.person}", words=canaries(line.text), **more,
    )  # fmt: skip


@dataclass(eq=False)
class HookWay:
    """Programs that sign what they send; answers are collected. Each conversation of a group is in a thread."""

    hook: Hook
    name: str = "webhook"
    over: bool = False
    faults: list[str] = field(default_factory=list)
    _lines: dict[str, Line] = field(default_factory=dict)
    _turns: dict[str, dict[str, Any]] = field(default_factory=dict)
    _views: dict[str, dict[str, Any]] = field(default_factory=dict)
    _reading: set[str] = field(default_factory=set)
    _read: dict[str, tuple[str, str]] = field(default_factory=dict)  # how it ended, and the text as it had grown

    def settings(self) -> str:
        return f'kind: webhook, secrets: ["{SECRET}"], observe: true, limits: {{per_minute: 100000}}'

    def reach(self, url: str) -> None:
        pass  # it is sent to whatever the front is

    async def say(self, line: Line) -> None:
        self._lines[line.token] = line
        for _ in range(2 if line.again else 1):
            turn = await self._sent(line, line.token, line.text)
            if turn is None:
                return
            first = self._turns.setdefault(line.token, turn)
            if first["turn"] != turn["turn"]:
                self.faults.append(f"«{line.token}» is turn {first['turn']}, and when it came again {turn['turn']}")
        if line.stop_s is not None:
            await asyncio.sleep(line.stop_s)
            await self._sent(line, f"{line.token}/stop", "/stop")
        elif line.reads:
            await self._follow(line.token)

    async def _sent(self, line: Line, message: str, text: str) -> dict[str, Any] | None:
        """Send until it is taken; None: it never was."""
        body = {
            "conversation": line.place.name,
            "chat_type": "group" if line.place.group else "private",
            "sender": {"id": f"p{line.person}", "name": f"Person {line.person} 人"},
            "message": {"id": message, "text": text},
            "mode": "async",
            **({"thread": "t"} if line.place.group else {}),
        }
        while not self.over:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    status, answer = await self.hook.post(body, webhook_id=f"msg_{message}")
            except (TimeoutError, aiohttp.ClientError):
                status, answer = 0, {}
            if status in (200, 202):
                return answer
            if 400 <= status < 500 and status != 429:
                self.faults.append(f"«{line.token}» was refused with {status}: {answer}")
                return None
            await asyncio.sleep(WAIT_S)
        return None

    async def _follow(self, token: str) -> None:
        """Read the answer as it grows, from whatever instance the front leads to; from the beginning where that broke off."""
        self._reading.add(token)
        while not self.over:
            try:
                async with asyncio.timeout(READ_S):
                    self._read[token] = await self.hook.read(self._turns[token])
            except (TimeoutError, aiohttp.ClientError, EOFError):
                await asyncio.sleep(WAIT_S)
            else:
                self._reading.remove(token)
                return

    def waiting(self) -> int:
        return len(self._lines) - len(self._turns) + len(self._reading)

    def throttle(self, seconds: int) -> None:
        pass

    async def _view(self, token: str) -> dict[str, Any]:
        """Look at how it ended; once more, if that fails."""
        for left in range(LOOKS, -1, -1):
            if token in self._views:
                break
            try:
                async with asyncio.timeout(PATIENCE_S):
                    self._views[token] = await self.hook.turn(self._turns[token])
            except (AssertionError, TimeoutError, aiohttp.ClientError):
                if not left:
                    raise
                await asyncio.sleep(WAIT_S)
        return self._views[token]

    async def said(self) -> list[Said]:
        found = []
        for token, line in self._lines.items():
            taken = token in self._turns
            seen = (await self._view(token))["status"] if taken else None
            found.append(_said(line, self._place(line.place), accepted=taken, seen=seen))
        return found

    async def posts(self) -> list[Post]:
        """The answers, one for each turn, as its senders see it."""
        found = {}
        for token in self._turns:
            view = await self._view(token)
            turn, reply = view.get("part_of") or view["turn"], view.get("reply")
            if reply is not None:
                place = self._place(self._lines[token].place)
                found[turn] = Post(place=place, id=turn, text=reply["text"])
        return list(found.values())

    def broken(self) -> list[str]:
        """Return what programs saw that is wrong: a message taken twice, refused, or read otherwise than it ended."""
        found = [*self.faults, *(f"who reads the answer to «{token}» never saw its end" for token in self._reading)]
        for token, (status, text) in self._read.items():
            view = self._views[token]
            # What was stored by an instance that died is not said again piece by piece: its end holds it.
            whole = ("", (view.get("reply") or {}).get("text", text))
            if status != view["status"] or text not in whole:
                found.append(f"who read the answer to «{token}» saw it {status}, {text!r}; it is {view}")
        return found

    def asked_about(self, room: str) -> bool:
        return False  # nobody can be asked

    def _place(self, place: Place) -> str:
        return spot(self.name, place.name, "t" if place.group else None)


@dataclass(eq=False)
class _TelegramScope:
    chat: Chat
    topic: Topic | None
    place: str


@dataclass(eq=False)
class TelegramWay:
    """A bot that hears everything in groups, each of them a topic of a forum."""

    name: str
    tg: Telegram
    bot: Bot
    _people: dict[int, Person] = field(default_factory=dict)
    _scopes: dict[str, _TelegramScope] = field(default_factory=dict)
    _said: list[tuple[Line, int]] = field(default_factory=list)  # and the update

    def settings(self) -> str:
        mode = "webhook, secret_token: s3cret" if "webhook" in self.name else "polling"
        return (
            f"kind: telegram, mode: {mode}, token: '{self.bot.token}', api_url: '${{TELEGRAM}}', reconnect_s: 1, "
            f"connect_s: 3, timeout_s: 5, poll_s: 5, {_SHOWING}, busy: {_BUSY[self.name]}"
        )

    def reach(self, url: str) -> None:
        self.tg.hosts[PUBLIC] = url

    async def say(self, line: Line) -> None:
        scope = self._scope(line.place)
        text = f"@{self.bot.username} {line.text}" if line.place.group and line.asks else line.text
        message = self._person(line.person).says(scope.chat, text, topic=scope.topic)
        update = self.bot.updates.waiting()[-1]
        self._said.append((line, update.id))
        if line.again:  # in a queue of its own, so that it may overtake the first
            self.bot.updates.put_raw({"message": message.body}, queue=("again", update.id), update_id=update.id)
        if line.stop_s is not None:
            await asyncio.sleep(line.stop_s)
            self._person(line.person).says(scope.chat, "/stop")
        if line.amends_s is not None:
            await asyncio.sleep(line.amends_s)
            self._person(line.person).edits(message, f"{text} (again 再说一遍)")

    def waiting(self) -> int:
        return len(self.bot.updates.waiting())

    def throttle(self, seconds: int) -> None:
        for method in ("sendMessage", "editMessageText"):
            self.tg.faults.plan(method, telegram_throttled(seconds))

    async def said(self) -> list[Said]:
        left = {update.id for update in self.bot.updates.waiting()}
        return [_said(line, self._scope(line.place).place, accepted=update not in left) for line, update in self._said]

    async def posts(self) -> list[Post]:
        found = []
        for chat in {id(scope.chat): scope.chat for scope in self._scopes.values()}.values():
            for message in chat.replies():
                if message.bot is self.bot:
                    place = spot(self.name, str(chat.id), str(message.topic) if message.topic else None)
                    found.append(Post(place=place, id=str(message.id), text=message.text, at=(message.id,)))
        return found

    def broken(self) -> list[str]:
        return [f"{one.rule} {one.scope}" for one in self.tg.violations if one.scope.startswith(self.bot.username)]

    def asked_about(self, room: str) -> bool:
        return False  # nobody can be asked

    def _person(self, number: int) -> Person:
        if number not in self._people:
            self._people[number] = self.tg.person(f"Person {number} 人")
        return self._people[number]

    def _scope(self, place: Place) -> _TelegramScope:
        if place.name not in self._scopes:
            people = [self._person(number) for number in place.people]
            if place.group:
                chat = self.tg.supergroup(place.name, *people, bots=(self.bot,), forum=True)
                topic = open_topic(chat, place.name, by=people[0])
            else:
                chat, topic = self.tg.private(people[0], self.bot), None
            where = spot(self.name, str(chat.id), str(topic.id) if topic else None)
            self._scopes[place.name] = _TelegramScope(chat, topic, where)
        return self._scopes[place.name]


_SIBLINGS: tuple[Siblings, ...] = ("message first", "mention first")


@dataclass(eq=False)
class _SlackScope:
    channel: Channel
    thread: str | None = None


@dataclass(eq=False)
class SlackWay:
    """A workspace with an app of ours; groups talk in threads of channels of their own."""

    name: str
    platform: Slack
    here: Workspace
    app: App
    bot: SlackBot
    _chance: random.Random = field(default_factory=lambda: random.Random(1))
    _people: dict[int, Member] = field(default_factory=dict)
    _scopes: dict[str, _SlackScope] = field(default_factory=dict)
    _said: list[tuple[Line, str]] = field(default_factory=list)  # and its `ts`
    _removed: set[str] = field(default_factory=set)

    def settings(self) -> str:
        mode = "socket" if self.app.socket_mode else "http"
        secrets = f"bot_token: {self.bot.token}, app_token: {self.app.app_token}, signing_secrets: [{self.app.signing_secret}]"
        times = "connect_s: 3, timeout_s: 5, ping_s: 2, reconnect_s: 1, steady_s: 1"
        stream = f"stream: {str(self.app.socket_mode).lower()}, busy: {_BUSY.get(self.name, 'collect')}"
        return f"kind: slack, mode: {mode}, {secrets}, api_url: '${{SLACK}}', {times}, {stream}, {_SHOWING}"

    def reach(self, url: str) -> None:
        self.app.events_url = f"{url}/channels/{self.name}"

    async def say(self, line: Line) -> None:
        scope = self._scope(line.place)
        group = line.place.group
        text = f"{self.bot.mention} {line.text}" if group and line.asks else line.text
        self.app.siblings = self._chance.choice(_SIBLINGS)
        self.app.twice += line.again
        ts = await self._person(line.person).says(scope.channel, text, thread=scope.thread)
        if group and scope.thread is None:
            scope.thread = ts
        self._said.append((line, ts))
        if line.amends_s is not None:
            await asyncio.sleep(line.amends_s)
            if line.removes and scope.thread != ts:
                self._removed.add(line.token)
                await self._person(line.person).deletes(scope.channel, ts)
            else:
                await self._person(line.person).edits(scope.channel, ts, f"{text} (again 再说一遍)")

    def waiting(self) -> int:
        return len(self.platform.pusher._events)

    def throttle(self, seconds: int) -> None:
        for method in ("chat.postMessage", "chat.update"):
            self.here.will(method, slack_throttled(seconds))

    async def said(self) -> list[Said]:
        taken = set[tuple[str, str]]()
        for delivery in self.app.deliveries:
            event = delivery.payload.get("event", {})
            if delivery.acked and event.get("type") in ("message", "app_mention"):
                taken.add((event.get("channel", ""), event.get("ts", "")))
        found = []
        for line, ts in self._said:
            scope = self._scope(line.place)
            place = spot(self.name, scope.channel.id, scope.thread)
            taken_away = line.token in self._removed
            found.append(_said(line, place, accepted=(scope.channel.id, ts) in taken, removed=taken_away))
        return found

    async def posts(self) -> list[Post]:
        found = []
        for scope in self._scopes.values():
            for message in scope.channel.messages():
                if message.author is self.bot.user and message.subtype is None:
                    thread = message.thread_ts if scope.channel.kind != "im" else None
                    place = spot(self.name, scope.channel.id, thread)
                    found.append(Post(place=place, id=message.ts, text=message.shown, at=message.order))
        return found

    def broken(self) -> list[str]:
        return [f"{one.rule} {one.method}" for one in self.here.violations]

    def asked_about(self, room: str) -> bool:
        looks = ("conversations.history", "conversations.replies")
        return any(call.method in looks and call.args.get("channel") == room for call in self.here.calls)

    def _person(self, number: int) -> Member:
        if number not in self._people:
            self._people[number] = self.here.person(f"Person {number} 人")
        return self._people[number]

    def _scope(self, place: Place) -> _SlackScope:
        if place.name not in self._scopes:
            people = [self._person(number) for number in place.people]
            if place.group:
                channel = self.here.channel(place.name.lower(), members=[*people, self.bot])
            else:
                channel = self.here.dm(people[0], self.bot)
            self._scopes[place.name] = _SlackScope(channel)
        return self._scopes[place.name]


def ways_of(names: Iterable[str], *, hook: Hook, platform: Slack, tg: Telegram) -> dict[str, Way]:
    """Return the ways by their names, each with an account of its own."""
    return {name: _way(name, hook, platform, tg) for name in names}


def _way(name: str, hook: Hook, platform: Slack, tg: Telegram) -> Way:
    if name == "webhook":
        return HookWay(hook)
    if name.startswith("telegram"):
        return TelegramWay(name, tg, tg.add_bot(f"{name.replace('-', '_')}_bot", reads_all=True))
    here, app = platform.workspace(name), platform.app(name, socket_mode="socket" in name)
    here.limits.mode = "enforce"
    return SlackWay(name, platform, here, app, here.install(app))
