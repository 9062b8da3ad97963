"""Everybody and everything on the emulated platform: accounts, chats, calls, and what went against the rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.chats import Chat, Member
from tests.emulators.telegram.clock import Bell, Clock
from tests.emulators.telegram.errors import bad_request, forbidden
from tests.emulators.telegram.people import Person
from tests.emulators.telegram.updates import Updates

DELETED = "user is deactivated"


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of the API: its parameters as understood (as sent, where they were refused), and its answer; `error` is its
    description. `lost`: done, but the answer never arrived."""

    at: float
    bot: str
    method: str
    params: dict[str, Any]
    status: int
    result: Any = None
    error: str | None = None
    lost: bool = False

    @property
    def chat_id(self) -> Any:
        return self.params.get("chat_id")


@dataclass(frozen=True, kw_only=True)
class Violation:
    """Something a well-behaved client would not have done: `rule` is `limit` (a 429 was earned) or `retry_after` (it came
    back before the time it was told)."""

    at: float
    rule: str
    scope: str
    detail: str


@dataclass(eq=False, kw_only=True)
class World:
    """The platform without its HTTP front."""

    clock: Clock
    way_s: Callable[[], float] = lambda: 0.0  # how long each call is on its way, and each answer
    bell: Bell = field(default_factory=Bell)
    bots: dict[str, Bot] = field(default_factory=dict)  # by token
    people: dict[int, Person] = field(default_factory=dict)
    rooms: dict[int, Chat] = field(default_factory=dict)
    privates: dict[tuple[int, int], Chat] = field(default_factory=dict)  # by (bot, person)
    calls: list[Call] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)  # by file_id
    callbacks: dict[str, float] = field(
        default_factory=dict
    )  # callback queries not answered yet: until when they may be
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(5_000_000_001))  # over 32 bits, as real ones
    empty_drafts: bool = True  # since Bot API 10.0
    drafts_work: bool = True

    def add_bot(self, username: str, *, token: str | None = None, name: str = "Clew", **changes: Any) -> Bot:
        """Register a bot account. `changes`: `reads_all`, `topics`, `guest`, `talks_to_bots`."""
        token = token or f"{next(self.numbers)}:AAE_{username}-0123456789abcdefghijklmnopq"
        bot = Bot(token=token, username=username, name=name, updates=Updates(self.clock, self.bell), **changes)
        self.bots[token] = bot
        return bot

    def add_person(self, name: str, **changes: Any) -> Person:
        """Register an account. `changes`: `language_code`, `username`, `last_name`, `id`."""
        changes.setdefault("id", next(self.numbers))
        person = Person(world=self, first_name=name, **changes)
        self.people[person.id] = person
        return person

    def private(self, person: Person, bot: Bot) -> Chat:
        """Return the person's chat with the bot; the person has pressed Start."""
        key = (bot.id, person.id)
        if key not in self.privates:
            chat = Chat(
                world=self, id=person.id, type="private", first_name=person.first_name, username=person.username,
                private_topics=bot.topics, last_id=next(self.numbers) % 1000,
            )  # fmt: skip
            chat.members[bot.id] = Member(user=bot.user(), bot=bot, status="member")
            self.privates[key] = chat
        return self.privates[key]

    def add_room(self, chat: Chat, *people: Person) -> Chat:
        self.rooms[chat.id] = chat
        for person in people:
            chat.members[person.id] = Member(user=person.user(), status="member")
        if people:
            chat.members[people[0].id].status = "creator"
        return chat

    def room_id(self, kind: str) -> int:
        """Return a new id as the platform forms it: groups are negative, supergroups and channels start with -100."""
        return -next(self.numbers) if kind == "group" else -1_000_000_000_000 - next(self.numbers)

    def chat(self, bot: Bot, chat_id: int | str) -> Chat:
        """Return the chat the bot names; raises 400 where it has none such, 403 where it is not wanted."""
        if isinstance(chat_id, str):
            by_name = [room for room in self.rooms.values() if room.username and f"@{room.username}" == chat_id]
            chat_id = by_name[0].id if by_name else 0
        if chat_id > 0:
            return self._person_chat(bot, chat_id)
        chat = self.rooms.get(chat_id)
        if chat is None:
            raise bad_request("chat not found")
        if chat.migrated_to is not None:
            raise bad_request("group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.migrated_to.id)
        member = chat.members.get(bot.id)
        kind = {"group": "group", "supergroup": "supergroup", "channel": "channel"}[chat.type]
        if member is None or member.status == "left":
            raise (
                forbidden(f"bot is not a member of the {kind} chat")
                if member or chat.username
                else bad_request("chat not found")
            )
        if member.status == "kicked":
            raise forbidden(f"bot was kicked from the {kind} chat")
        return chat

    def _person_chat(self, bot: Bot, person_id: int) -> Chat:
        if any(other.id == person_id for other in self.bots.values()):
            raise forbidden("bots can't send messages to bots")
        person = self.people.get(person_id)
        if person is None:
            raise bad_request("chat not found")
        if person.deactivated:
            raise forbidden(DELETED)
        chat = self.privates.get((bot.id, person_id))
        if chat is None:
            raise forbidden("bot can't initiate conversation with a user")
        if not chat.members[bot.id].inside:
            raise forbidden("bot was blocked by the user")
        return chat
