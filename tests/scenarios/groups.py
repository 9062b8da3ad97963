"""Two groups of people, one on each platform, who ask a bot numbered questions; and what they see of its answers.

An answer is made of words that say which answer's they are, and which: so that what is missing, comes twice or stands in the
wrong place shows in the messages themselves.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.emulators.slack.channels import Channel
from tests.emulators.slack.faults import throttled
from tests.emulators.slack.members import Member
from tests.emulators.slack.workspace import Workspace
from tests.emulators.telegram import faults as telegram_faults
from tests.emulators.telegram.chats import Chat
from tests.emulators.telegram.emulator import Telegram
from tests.emulators.telegram.people import Person

FLOOD_S = 25
"""How long a platform asks to wait."""

WAY_S = 0.1
"""What a call takes to its platform at most, and the answer back."""

_TOO_EARLY = ("Retry-After", "retry_after")
_WORD = re.compile(r"(\d+)·(\d+)")


def words(number: int) -> list[str]:
    """The answer to a question, word by word; of every twentieth it takes more than one message."""
    count = 700 if number % 20 == 0 else 3 + number % 9
    return [f"{number}·{place}好👋 " for place in range(count)]


@dataclass(frozen=True, slots=True)
class Question:
    number: int
    at: float
    room: str  # by its thread, where there are threads


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the gateway's as it stands: which words of which answers."""

    room: str
    words: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the platform took, with which words."""

    at: float
    method: str
    words: list[tuple[int, int]]


def words_in(text: str) -> list[tuple[int, int]]:
    return [(int(number), int(place)) for number, place in _WORD.findall(text)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an hour was like in a group: see `Group`."""

    asked: list[Question]
    said: list[Said]
    calls: list[Call]
    violations: list[Any]


class Group(Protocol):
    """One of the two groups: asked, looked at, and held back for a while."""

    asked: list[Question]

    async def ask(self, number: int, *, again: bool) -> None:
        """Let somebody ask; `again`: the platform tells of it twice."""
        ...

    def said(self) -> list[Said]:
        """What the gateway's messages show, oldest first."""
        ...

    def calls(self) -> list[Call]:
        """The calls that the platform took."""
        ...

    def floods(self) -> None:
        """Ask to wait at the next message, and at the next edit."""
        ...

    def violations(self) -> list[Any]: ...


@dataclass(eq=False)
class SlackGroup:
    """A channel of 200 people, who begin threads and go on in them."""

    here: Workspace
    people: list[Member]
    channel: Channel
    asked: list[Question] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(200))

    async def ask(self, number: int, *, again: bool) -> None:
        [bot] = self.here.bots
        bot.app.twice += again
        bot.app.siblings = self.chance.choice(("message first", "mention first"))
        recent = [question.room for question in self.asked[-10:]]
        thread = self.chance.choice(recent) if recent and self.chance.random() < 0.4 else None
        person = self.chance.choice(self.people)
        ts = await person.says(self.channel, f"{bot.mention} question {number} 好吗 👋", thread=thread)
        self.asked.append(Question(number, self.here.slack.clock.now(), thread or ts))

    def said(self) -> list[Said]:
        [bot] = self.here.bots
        ours = [message for message in self.channel.messages() if message.author is bot.user]
        return [Said(message.thread_ts or "", words_in(message.shown)) for message in ours]

    def calls(self) -> list[Call]:
        taken = [call for call in self.here.calls if call.status == 200]
        return [Call(call.at, call.method, words_in(str(call.args.get("blocks")))) for call in taken]

    def floods(self) -> None:
        for method in ("chat.postMessage", "chat.update"):
            self.here.will(method, throttled(FLOOD_S))

    def violations(self) -> list[Any]:
        return in_earnest(self.here.violations, [call.at for call in self.here.calls if call.status == 429])


@dataclass(eq=False)
class TelegramGroup:
    """A supergroup of 1,000 people with one stream of talk."""

    tg: Telegram
    people: list[Person]
    chat: Chat
    asked: list[Question] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(1000))

    async def ask(self, number: int, *, again: bool) -> None:
        person = self.chance.choice(self.people)
        message = person.says(self.chat, f"@{self.tg.bot.username} question {number} 好吗 👋")
        if again:
            self.tg.inject({"message": message.body})
        self.asked.append(Question(number, self.tg.clock.now(), ""))

    def said(self) -> list[Said]:
        return [Said("", words_in(message.text)) for message in self.chat.replies()]

    def calls(self) -> list[Call]:
        taken = [call for call in self.tg.calls if call.status == 200]
        return [Call(call.at, call.method, words_in(str(call.params.get("text")))) for call in taken]

    def floods(self) -> None:
        for method in ("sendMessage", "editMessageText"):
            self.tg.faults.plan(method, telegram_faults.throttled(FLOOD_S))

    def violations(self) -> list[Any]:
        return in_earnest(self.tg.violations, [call.at for call in self.tg.calls if call.status == 429])


def in_earnest(violations: Sequence[Any], refused: list[float]) -> list[Any]:
    """What is left without the calls that were under way when the platform began to ask to wait."""
    told = set(refused) - {violation.at for violation in violations}
    return [
        one for one in violations if one.rule not in _TOO_EARLY or not any(0 < one.at - at < 2 * WAY_S for at in told)
    ]


def open_numbers(group: Group) -> set[int]:
    """The questions whose answer is not whole."""
    told = {word for one in group.said() for word in one.words}
    return {
        question.number for question in group.asked if (question.number, len(words(question.number)) - 1) not in told
    }
