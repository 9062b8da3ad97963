"""People on the local Telegram: in private, and in topics of groups."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from tests.chaos.evidence import Post, Said
from tests.chaos.people import BUSY, PUBLIC, SHOWING, said_by, spot
from tests.chaos.talk import Line, Place
from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.chats import Chat, Topic
from tests.emulators.telegram.emulator import Telegram
from tests.emulators.telegram.faults import throttled
from tests.emulators.telegram.people import Person
from tests.emulators.telegram.rooms import open_topic


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
    askable: bool = False
    _people: dict[int, Person] = field(default_factory=dict)
    _scopes: dict[str, _TelegramScope] = field(default_factory=dict)
    _said: list[tuple[Line, int]] = field(default_factory=list)  # and the update

    def settings(self) -> str:
        mode = "webhook, secret_token: s3cret" if "webhook" in self.name else "polling"
        return (
            f"kind: telegram, mode: {mode}, token: '{self.bot.token}', api_url: '${{TELEGRAM}}', reconnect_s: 1, "
            f"connect_s: 3, timeout_s: 5, poll_s: 5, {SHOWING}, busy: {BUSY[self.name]}"
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
            self.tg.faults.plan(method, throttled(seconds))

    async def said(self) -> list[Said]:
        left = {update.id for update in self.bot.updates.waiting()}
        return [
            said_by(line, self._scope(line.place).place, accepted=update not in left) for line, update in self._said
        ]

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
