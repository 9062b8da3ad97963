"""People on the local Slack: in private, and in threads of channels."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

from tests.chaos.evidence import Post, Said
from tests.chaos.people import BUSY, SHOWING, said_by, spot
from tests.chaos.talk import Line, Place
from tests.emulators.slack.apps import App, Bot, Siblings
from tests.emulators.slack.channels import Channel
from tests.emulators.slack.faults import throttled
from tests.emulators.slack.members import Member
from tests.emulators.slack.server import Slack
from tests.emulators.slack.workspace import Workspace

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
    bot: Bot
    askable: bool = True
    _chance: random.Random = field(default_factory=lambda: random.Random(1))
    _people: dict[int, Member] = field(default_factory=dict)
    _scopes: dict[str, _SlackScope] = field(default_factory=dict)
    _said: list[tuple[Line, str]] = field(default_factory=list)  # and its `ts`
    _removed: set[str] = field(default_factory=set)

    def settings(self) -> str:
        mode = "socket" if self.app.socket_mode else "http"
        secrets = f"bot_token: {self.bot.token}, app_token: {self.app.app_token}, signing_secrets: [{self.app.signing_secret}]"
        times = "connect_s: 3, timeout_s: 5, ping_s: 2, reconnect_s: 1, steady_s: 1"
        stream = f"stream: {str(self.app.socket_mode).lower()}, busy: {BUSY.get(self.name, 'collect')}"
        return f"kind: slack, mode: {mode}, {secrets}, api_url: '${{SLACK}}', {times}, {stream}, {SHOWING}"

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
            self.here.will(method, throttled(seconds))

    async def said(self) -> list[Said]:
        taken = set[tuple[str, str]]()
        for delivery in self.app.deliveries:
            event = delivery.payload.get("event", {})
            # A mention that is told of again because it was edited says nothing of whether it was heard when it was said.
            said = event.get("type") in ("message", "app_mention") and not event.get("edited")
            if delivery.acked and said:
                taken.add((event.get("channel", ""), event.get("ts", "")))
        found = []
        for line, ts in self._said:
            scope = self._scope(line.place)
            place = spot(self.name, scope.channel.id, scope.thread)
            taken_away = line.token in self._removed
            found.append(said_by(line, place, accepted=(scope.channel.id, ts) in taken, removed=taken_away))
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
