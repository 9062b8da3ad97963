"""Whose words stand under whose name in a group: `python -m tests.bench.attribution CHAT.json …`, or TEAM_CHATS=A.json:B.json.

The chats (of EverMemOS, Apache-2.0) are read where they lie; nothing of them stands in this project. Everybody speaks to the bot
in one room, through the whole memory core; a stand-in for the small model notes a stretch of every message, and each time also
one of somebody else's last message as if the speaker had said it, and the rules learn beside it. Every line of every prompt is
then looked up in the chat: it is right under the name of who wrote it, wrong under any other. Facts, profile, constraints and
recalled talk must be the asking person's own. Run as it is, with one name for all speakers, and with every other message
overheard only. Goal of engines.md B.1: 100 %.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from memory.key import ConversationKey, scope_of
from memory.slots import SLOTS
from memory.turn import Incoming, Prepared
from tests.bench.core import HOUR_MS, POLICY, Clock, Core, opened, print_on_all
from tests.contracts.columns import Column

OBSERVING = msgspec.structs.replace(POLICY, observed_messages=20)
_SECTION = re.compile(r'<memory section="(\w+)">\n[^\n]*\n(.*?)\n</memory>', re.S)
_NUMBERED = re.compile(r'<message number="1">(.*?)</message>', re.S)
_MARK = re.compile(r"^\[([^\]]*)\]: ", re.M)
_WORDS = 24  # characters of a message that are noted
_COMPARED = 200  # letters and digits of a message


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a chat."""

    sender: str
    name: str
    text: str


def load(raw: bytes) -> list[Line]:
    """Return a chat's messages, oldest first."""
    return [
        Line(sender=one["sender"], name=one["sender_name"], text=" ".join(one["content"].split()))
        for one in json.loads(raw)["conversation_list"]
    ]


@dataclass
class Figures:
    """Lines under the right and under a wrong name, by section; `refused`: notes of one person under another that the write
    bar did not take, of `foisted` ones."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    foisted: int = 0
    kept: int = 0  # of those, in anybody's facts or profile

    def line(self) -> str:
        sections = sorted(self.right.keys() | self.wrong.keys())
        told = ", ".join(f"{name} {self.right[name]:,} · {self.wrong[name]}" for name in sections)
        return f"{told} | {self.foisted} foisted, {self.kept} kept"


class Noting:
    """The stand-in for a small model: notes how a message begins, and foists on its speaker how somebody else's began."""

    def __init__(self) -> None:
        self.other = ""
        self.foisted: list[str] = []

    async def complete(self, *, system: str, prompt: str, schema: Mapping[str, object] | None, max_tokens: int) -> str:
        text = "".join(_NUMBERED.findall(prompt.partition("The person's messages:")[2]))
        slots = {"remember": text[:_WORDS], "topic": text[:_WORDS]}
        if self.other:
            self.foisted.append(self.other)
            slots |= {"like": self.other, "plan": self.other}
        changes = [{"op": "set", "slot": slot, "value": value, "message": 1} for slot, value in slots.items()]
        return json.dumps({"changes": changes}, ensure_ascii=False)


class Chat:
    """The chat as it is had, and who wrote what."""

    def __init__(
        self, core: Core, lines: Sequence[Line], *, one_name: bool, overheard: bool, room: str = "team"
    ) -> None:
        self._core, self._lines, self._room = core, lines, room
        self._one_name, self._overheard = one_name, overheard
        self._noting = Noting()
        self._writers: defaultdict[str, set[str]] = defaultdict(set)
        self.figures = Figures()

    async def run(self) -> Figures:
        """Have the chat, and after it, sessions later, let everybody ask about what everybody said."""
        for number, line in enumerate(self._lines):
            self._writers[_plain(line.text)].add(line.sender)
            if self._overheard and number % 2:
                await self._core.memory.observe(
                    scope_of(self._key(line), mode="conversation"), self._said(line, number), agent_change="fresh"
                )
                continue
            prepared = await self._says(line)
            self._look(line.sender, prepared)
            self._noting.other = self._beginning_of_another(number)
            await self._core.learn(model=self._noting)
        self._core.clock.now += 3 * HOUR_MS
        askers = {line.sender: line for line in self._lines}
        for asked in self._lines[:: max(1, len(self._lines) // 60)]:
            for asker in askers.values():
                line = msgspec.structs.replace(asker, text=f"{asked.text}？")
                self._writers[_plain(line.text)].add(line.sender)
                self._look(asker.sender, await self._says(line))
        self.figures.foisted = len(self._noting.foisted)
        return self.figures

    def _key(self, line: Line) -> ConversationKey:
        return ConversationKey(
            user=line.sender, channel="web", room=self._room, thread=None, chat_type="group", agent="helper"
        )

    def _name(self, line: Line) -> str:
        return "Sam" if self._one_name else line.name

    def _said(self, line: Line, number: int) -> Incoming:
        return Incoming(key=self._key(line), event_id=number + 1, text=line.text, speaker_name=self._name(line))

    async def _says(self, line: Line) -> Prepared:
        person = await self._core.person(line.sender)
        return await self._core.say(
            self._key(line),
            line.text,
            person=person,
            name=self._name(line),
            policy=OBSERVING if self._overheard else None,
        )

    def _beginning_of_another(self, number: int) -> str:
        """How the newest message of somebody else begins, if this one does not hold the same words."""
        line = self._lines[number]
        others = (one.text[:_WORDS] for one in reversed(self._lines[:number]) if one.sender != line.sender)
        other = next(others, "")
        return "" if _plain(other) in _plain(line.text) else other

    def _look(self, asker: str, prepared: Prepared) -> None:
        marks = {name: user for user, name in self._marks(prepared).items()}
        for message in prepared.context.messages:
            if message.role == "user":
                self._count("window", _marked(message.text), marks)
        sections = dict(_SECTION.findall(prepared.context.system))
        self._count("observed", _marked(sections.get("observed", "")), marks)
        for name in ("facts", "profile", "pinned"):
            for item in sections.get(name, "").splitlines():
                self._count_own(name, _value(name, item), asker)
        for item in sections.get("recalled", "").splitlines():
            text = item.partition("]: ")[2]
            if "agent helper" not in item.partition("]: ")[0]:
                self._judge("recalled", self._writers.get(_plain(text)), asker)

    @staticmethod
    def _marks(prepared: Prepared) -> dict[str, str]:
        """Return the name shown for each account, by what the ledger's own rows say."""
        loaded = prepared.inputs.loaded
        said = {one.id: one.speaker for message in prepared.context.messages for one in message.said if one.speaker}
        return {row.user: said[row.id] for row in (*loaded.window, *loaded.appended) if row.id in said}

    def _count(self, section: str, lines: Iterator[tuple[str, str]], marks: Mapping[str, str]) -> None:
        for name, text in lines:
            writers = self._writers.get(_plain(text))
            if writers is None:
                self.figures.wrong[section] += 1
            elif name in marks:
                self._judge(section, writers, marks[name])
            elif not self._one_name:
                self._judge(section, {line.name for line in self._lines if line.sender in writers}, name)

    def _count_own(self, section: str, value: str, asker: str) -> None:
        """A note is a stretch of one of its person's messages."""
        writers = {one for text, of in self._writers.items() if _plain(value) in text for one in of}
        self._judge(section, writers, asker)
        self.figures.kept += value in self._noting.foisted and asker not in writers

    def _judge(self, section: str, writers: set[str] | None, who: str) -> None:
        if writers and who in writers:
            self.figures.right[section] += 1
        else:
            self.figures.wrong[section] += 1


def _plain(text: str) -> str:
    """Return letters and digits alone: a prompt writes otherwise what looks like a mark or a tag, and cuts what is very long."""
    return "".join(re.findall(r"\w+", text.casefold()))[:_COMPARED]


def _marked(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each marked line."""
    pieces = _MARK.split(text)
    yield from zip(pieces[1::2], (" ".join(piece.split()) for piece in pieces[2::2]), strict=True)


def _value(section: str, item: str) -> str:
    """Return what was noted, without the words around it, and without its speaker or its day."""
    text = re.sub(r" \([^()]*\)$", "", item.removeprefix("- "))
    if section == "facts":
        return text.partition(": ")[2]
    return next((text.removeprefix(words) for words in _AROUND if text.startswith(words)), text)


_AROUND = sorted({text.partition("{}")[0] for slot in SLOTS.values() for text in (slot.english, slot.chinese)})[::-1]


WAYS = {
    "as it is": {"one_name": False, "overheard": False},
    "one name for all": {"one_name": True, "overheard": False},
    "every other message overheard": {"one_name": False, "overheard": True},
}


async def rows(column: Column, *, paths: Sequence[str]) -> AsyncIterator[str]:
    """Yield a line for each chat and way, each in a room of its own."""
    clock = Clock()
    for path in paths:
        lines = load(Path(path).read_bytes())
        for name, how in WAYS.items():
            async with opened(column, clock=clock) as core:
                figures = await Chat(core, lines, room=f"{Path(path).stem}, {name}", **how).run()
                yield f"{Path(path).stem} | {name} | {figures.line()}"


if __name__ == "__main__":
    chats = sys.argv[1:] or [path for path in os.environ.get("TEAM_CHATS", "").split(os.pathsep) if path]
    if not chats:
        print("attribution: no chat given (TEAM_CHATS=path, or paths as arguments)")
        sys.exit(0)
    print_on_all(
        "database | chat | way | lines under the right name · under a wrong one, by section | of others' notes",
        partial(rows, paths=chats),
    )
