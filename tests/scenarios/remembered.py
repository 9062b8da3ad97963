"""What memory keeps beyond the window: a model that knows only its prompt, a small model that notes what it is told to, one look
at all ways to talk, and how to wait until everything is learned and to let days go by."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import redis

from memory.ids import now_ms
from tests.scenarios.platforms import Room, words
from tests.scenarios.world import Hook, Prompt, rows, write

LOST = "I can't tell what you mean."

Change = tuple[str, str, str]
"""op, slot, value: what a small model notes."""

_SECTION = re.compile(r'<memory section="(\w+)">\n[^\n]*\n(.*?)\n</memory>', re.S)
_MESSAGE = re.compile(r'<message number="(\d+)">(.*?)</message>', re.S)
_HEARD = re.compile(r'<message from="[^"]*">(.*?)</message>', re.S)


def sections(prompt: Prompt) -> dict[str, str]:
    """What stands in each section of the system block, without its label."""
    return dict(_SECTION.findall(prompt[0]["content"]))


def labels(prompt: Prompt) -> dict[str, str]:
    """The first line of each section."""
    return dict(re.findall(r'<memory section="(\w+)">\n([^\n]*)\n', prompt[0]["content"]))


def whole(prompt: Prompt) -> str:
    """Every word of a prompt."""
    return "\n".join(message["content"] for message in prompt)


@dataclass(frozen=True)
class Line:
    """What a person says, and the answer of who understood. It needs words of the earlier talk in the window (`needs`) and
    others in sections of the system block (`known`)."""

    said: str
    answer: str = "Noted."
    needs: tuple[str, ...] = ()
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def answered(self, prompt: Prompt) -> str:
        earlier = "\n".join(message["content"] for message in prompt[1:-1])
        held = sections(prompt)
        found = all(need in earlier for need in self.needs) and all(
            word in held.get(name, "") for name, wanted in self.known.items() for word in wanted
        )
        return self.answer if found else LOST


def model_of(lines: Sequence[Line], prompt: Prompt) -> str:
    """Answer the last message if everything that it can't be understood without stands in the prompt."""
    said = words(prompt)
    return next(line for line in lines if line.said == said).answered(prompt)


def notes_of(known: Mapping[str, Sequence[Change]], prompt: Prompt) -> str:
    """Play memory's small model: note the changes of each message that holds one of these texts, and nothing else."""
    about = prompt[-1]["content"].partition("The person's messages:")[2]
    changes = [
        {"op": op, "slot": slot, "value": value, "message": int(number)}
        for number, text in _MESSAGE.findall(about)
        for part, noted in known.items()
        if part in text
        for op, slot, value in noted
    ]
    return json.dumps({"changes": changes}, ensure_ascii=False)


def told_to_condense(prompt: Prompt) -> list[str]:
    """The messages that the small model is asked to condense, oldest first."""
    return [str(text) for text in _HEARD.findall(prompt[-1]["content"])]


def condensed(prompt: Prompt) -> str:
    """Play the small model that condenses: a summary of everything it was told, word by word."""
    before = re.findall(r"<summary>(.*?)</summary>", prompt[-1]["content"], re.S)
    return "; ".join([*before, *told_to_condense(prompt)])


class Talker(Protocol):
    """Somebody's conversation with the bot, whatever carries it."""

    async def ask(self, text: str) -> str:
        """Say something and return the answer."""
        ...


@dataclass
class HookTalk:
    hook: Hook
    sender: str
    conversation: str
    fields: dict[str, Any] = field(default_factory=dict)

    async def ask(self, text: str) -> str:
        turn = await self.hook.say(text, sender=self.sender, conversation=self.conversation, **self.fields)
        return str(turn["reply"]["text"])


@dataclass
class RoomTalk:
    """`answers` are all that the model may say: so one that is shown in part is told from a whole one."""

    room: Room
    answers: Sequence[str]
    by: str = ""

    async def ask(self, text: str) -> str:
        before = len(self.room.replies())
        await self.room.says(text, by=self.by)
        await self.room.until(lambda replies: len(replies) > before and replies[-1] in (*self.answers, LOST))
        return self.room.replies()[-1]


_LEFT = """SELECT (SELECT count(*) FROM ledgers WHERE due_ms IS NOT NULL)
  + (SELECT count(*) FROM learners WHERE until_ms > ? AND scope_id <> 0)  -- 0: whoever embeds
  + (SELECT count(DISTINCT turn_id) FROM messages AS m
     WHERE role = 'user' AND NOT EXISTS (SELECT 1 FROM ledgers AS l WHERE l.turn_id = m.turn_id))"""


async def learned(storage: str) -> None:
    """Wait until every turn there was is learned from, and summarised where that was due."""
    async with asyncio.timeout(60):
        while rows(storage, _LEFT, now_ms()) != [(0,)]:
            await asyncio.sleep(0.02)


async def stored(storage: str, query: str, *parameters: object) -> None:
    """Wait until a query finds something: what a platform tells of an edit or a deletion is applied after it was told."""
    async with asyncio.timeout(60):
        while not rows(storage, query, *parameters):
            await asyncio.sleep(0.02)


_TIMES = {
    "sqlite": """SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c
      WHERE m.type = 'table' AND c.name LIKE '%\\_ms' ESCAPE '\\'""",
    "postgresql": """SELECT table_name, column_name FROM information_schema.columns
      WHERE table_schema = 'public' AND column_name LIKE '%\\_ms' AND data_type = 'bigint'
        AND NOT (SELECT relispartition FROM pg_class WHERE oid = format('%I', table_name)::regclass)""",
}


def days_later(storage: str, days: int) -> None:
    """Let days go by for a gateway that does not run: everything that is stored becomes so much older."""
    url, _, cache = storage.partition("\nredis: ")
    if cache:
        redis.Redis.from_url(cache).flushall()  # what it held has expired long since
    earlier = [
        f'UPDATE "{table}" SET "{column}" = "{column}" - {days * 86_400_000}'
        for table, column in rows(storage, _TIMES[url.partition(":")[0]])
    ]
    write(storage, *earlier)


def leases_end(storage: str) -> None:
    """Let the time be over for which a gateway that died had taken what it was learning from."""
    write(storage, "UPDATE learners SET until_ms = 0")
