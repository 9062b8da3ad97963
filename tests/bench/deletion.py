"""What is left after people take something back: `python -m tests.bench.deletion`.

Through the whole gateway, on each storage. Words that occur once are said in every way that memory keeps: private and in a
group, as facts, constraints and likes, quoted by somebody else, in a title, under a summary, in a window that is cached. Then
their message is deleted or edited on the platform, or what is known is forgotten in chat, or the person is erased. Searched then:
every prompt of later talk; what is derived; and the raw bytes of the SQLite files with log and index, of all columns of a
PostgreSQL database, of Redis, and every log line. Goal of engines.md B.1: nothing is found of what was to go.

An edit keeps the old text for replays, and what was said stays when what was learned of it is forgotten: there prompts of later
sessions and derived rows must be free of it. What the gateway was asked stands in its queue until its retention ends; after a
deletion memory's words, of people and derived, and the queue's are therefore looked for apart. Replies repeat what was said.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gateway.__main__ import main
from memory.ids import now_ms
from tests.residues import in_postgres, in_redis, in_sqlite, left_of
from tests.scenarios.edits import Platform, account
from tests.scenarios.remembered import condensed, whole
from tests.scenarios.stage import Stage, echo, said, stage
from tests.scenarios.world import SECRET, Prompt
from tests.services import running_postgres, running_valkey

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
defaults: {trigger: [always], limits: {per_minute: 1000}, memory: {window: {turns: 2, keep_turns: 1}, summary: {start_turns: 3}}}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"]}}
"""
RELAY = "tests.scenarios.relay"
SAYING = (
    "I like {0}.", "我喜欢{0}。", "I'm allergic to {0}.", "我对{0}过敏。", "My order number is {0}.", "请记住：我的{0}在家里。",
    "We had a long talk about {0} and {0}.", "昨天我们聊了很久的{0}。",
)  # fmt: skip
LATER = ("What do I like?", "我对什么过敏？", "What is my order number?", "你记得什么？")
_LEARNED = ("facts", "profile_items")
OPERATIONS = ("delete", "edit", "forget", "forget all", "erase")


@dataclass
class Figures:
    """Words planted, how many of them were seen before, and found after."""

    operation: str
    planted: int
    seen: int
    found: dict[str, list[str]] = field(default_factory=dict)

    def line(self) -> str:
        left = "; ".join(f"{where} {len(words)}" for where, words in self.found.items())
        return f"{self.operation} | {self.planted} | {self.seen} | {left}"


class Taken:
    """Somebody who says things, and takes them back by one operation."""

    def __init__(self, there: Stage, storage: str, operation: str) -> None:
        self._there, self._storage, self._operation = there, storage, operation
        self._me = f"me-{operation.replace(' ', '-')}"
        self._rooms = {
            chat: Platform(there.session, there.gateway, "hook", f"{self._me}-{chat}", chat_type=chat)
            for chat in ("private", "group")
        }
        self._messages: list[tuple[Platform, str]] = []
        self._number = 0
        self.words: list[str] = []

    async def run(self) -> Figures:
        """Say everything, take it back, go on talking, and search."""
        self._there.play(self._replied)
        await self._says_everything()
        await self._settled()
        if self._operation.startswith("forget"):
            self.words = left_of(
                self.words, self._rows(lambda table: table in _LEARNED)
            )  # only what was learned can be
        seen = left_of(self.words, self._bytes())
        await self._takes_back()
        await self._settled()
        for prompts in (self._there.model.prompts, self._there.model.asked_by_memory):
            prompts.clear()
        for platform in self._rooms.values():
            for text in ("/new", *LATER):
                await self._say(platform, text)
        await self._settled()
        figures = Figures(operation=self._operation, planted=len(self.words), seen=len(seen))
        asked = [*self._there.model.prompts, *self._there.model.asked_by_memory]
        figures.found["prompts"] = left_of(self.words, "\n".join(map(whole, asked)).encode())
        figures.found["facts and profile"] = left_of(self.words, self._rows(lambda table: table in _LEARNED))
        figures.found["summaries"] = left_of(self.words, self._rows(lambda table: table == "summaries"))
        if self._operation == "delete":
            figures.found["people's messages"] = left_of(self.words, self._said())
            figures.found["the bot's replies, which no prompt shows"] = left_of(self.words, self._said(by="assistant"))
            figures.found["the queue, until its retention ends"] = left_of(self.words, self._rows(_of_queue))
        if self._operation == "erase":
            figures.found["raw bytes, Redis, logs"] = left_of(self.words, self._bytes())
        return figures

    def _replied(self, prompt: Prompt) -> str:
        """Repeat everything, as models do; but neither what was said before an edit, nor to somebody else what was quoted."""
        repeats = self._operation != "edit" and "why?" not in said(prompt)
        return echo(prompt) if repeats else "Noted."

    async def _settled(self) -> None:
        """Wait until nothing is left to learn from; not as `learned` does, for whom erased turns lack their ledgers."""
        async with asyncio.timeout(60):
            while self._there.rows(_WAITING, now_ms()) != [(0,)]:
                await asyncio.sleep(0.02)

    async def _says_everything(self) -> None:
        for platform in self._rooms.values():
            for saying in SAYING:
                word = _word(self._operation, len(self.words), digits="number" in saying)
                self.words.append(word)
                message = await self._say(platform, saying.format(word))
                self._messages.append((platform, message))
                if platform.chat_type == "group":
                    quote = {"name": "Me", "text": saying.format(word), "by_bot": False}
                    await self._say(platform, "why?", by="other", in_reply_to=message, quote=quote)

    async def _say(self, platform: Platform, text: str, *, by: str = "", **fields: Any) -> str:
        self._number += 1
        message = f"{self._me}-{self._number}"
        await platform.ended(await platform.say(message, text, sender=account(by or self._me), **fields))
        return message

    async def _takes_back(self) -> None:
        if self._operation == "erase":
            await self._erases()
        elif self._operation == "forget all":
            for text in ("/forget all", "/forget all yes"):
                await self._say(self._rooms["private"], text)
        elif self._operation == "forget":
            for platform in self._rooms.values():
                await self._forgets_each(platform)
        else:
            for platform, message in self._messages:
                sender = self._me
                if self._operation == "delete":
                    await platform.delete(message, sender=sender)
                else:
                    await platform.edit(message, "never mind 算了", sender=sender)

    async def _forgets_each(self, platform: Platform) -> None:
        while True:
            listed = await platform.ended(await platform.say(f"l{self._number}", "/memory", sender=account(self._me)))
            self._number += 1
            if not re.search(r"^1\. ", listed[0]["reply"]["text"], re.M):
                return
            await self._say(platform, "/forget 1")

    async def _erases(self) -> None:
        people = json.loads(await self._command("list"))
        (person,) = [one["person"] for one in people if self._me in [one["account"] for one in one["identities"]]]
        await self._command("erase", str(person))

    async def _command(self, *arguments: str) -> str:
        out = io.StringIO()
        config = str(self._there.gateway.config)
        with redirect_stdout(out):
            code = await asyncio.to_thread(main, ["people", *arguments, "--config", config, "--json"])
        if code:
            raise AssertionError(f"people {arguments[0]} failed: {code}")
        return out.getvalue()

    def _bytes(self) -> bytes:
        url, _, cache = self._storage.partition("\nredis: ")
        where = in_sqlite(self._there.database) if url.startswith("sqlite") else in_postgres(url)
        return where + (in_redis(cache) if cache else b"") + "\n".join(self._there.gateway.log).encode()

    def _said(self, *, by: str = "user") -> bytes:
        rows = self._there.rows("SELECT text, quote FROM messages WHERE role = ?", by)
        older = self._there.rows("SELECT text, '' FROM message_versions")
        titles = self._there.rows("SELECT title, '' FROM scopes")
        return str([*rows, *older, *titles]).encode()

    def _rows(self, of: Callable[[str], bool]) -> bytes:
        names = "sqlite_master WHERE type = 'table'" if self._storage.startswith("sqlite") else _PG_TABLES
        tables = [name for (name,) in self._there.rows(f"SELECT name FROM {names}") if of(name)]
        values = (value for table in tables for row in self._there.rows(f"SELECT * FROM {table}") for value in row)
        return b"\n".join(value if isinstance(value, bytes) else str(value).encode() for value in values)


_WAITING = """SELECT (SELECT count(*) FROM ledgers WHERE due_ms IS NOT NULL)
  + (SELECT count(*) FROM learners WHERE until_ms > ?)"""
_PG_TABLES = "(SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public') AS t"


def _of_queue(table: str) -> bool:
    return table.startswith(("inbox", "outbox", "lanes"))


def _word(operation: str, number: int, *, digits: bool) -> str:
    """A word that occurs once, in one script or the other, or a number."""
    code = f"{1 + OPERATIONS.index(operation)}{number:03}"
    if digits:
        return f"86{code}42"
    letters = "bcdfghjklm" if number % 2 == 0 else "琥珀翡翠孔雀河马刺猬"
    return ("zq" if number % 2 == 0 else "金丝") + "".join(letters[int(digit)] for digit in code)


async def measure(there: Stage, storage: str, operations: Sequence[str] = OPERATIONS) -> list[Figures]:
    """Return the figures of each operation, one person each."""
    return [await Taken(there, storage, operation).run() for operation in operations]


@asynccontextmanager
async def world(folder: Path, storage: str) -> AsyncIterator[Stage]:
    """Run the gateway, with a small model that condenses by repeating every word."""
    async with stage(folder, BODY, storage=storage, module=RELAY) as there:
        there.model.summary = condensed
        yield there


@contextmanager
def storages(folder: Path) -> Iterator[dict[str, str]]:
    """Give an empty storage of each kind, as settings name it."""
    with (
        running_postgres() as postgres,
        running_valkey() as valkey,
        postgres.database() as one,
        postgres.database() as two,
    ):
        yield {
            "SQLite": f"sqlite:///{folder / 'SQLite' / 'clew.db'}",
            "PostgreSQL": one,
            "PostgreSQL + Redis": f"{two}\nredis: {valkey.url}",
        }


async def report() -> None:
    """Print the table."""
    os.environ["HOOK"] = SECRET  # for the commands, which read the same settings
    sys.stdout.write("database | taken back by | words | seen before | found after\n")
    with TemporaryDirectory(prefix="clew-bench-") as name, storages(Path(name)) as all_storages:
        for database, storage in all_storages.items():
            folder = Path(name) / database
            folder.mkdir()
            async with world(folder, storage) as there:
                for figures in await measure(there, storage):
                    sys.stdout.write(f"{database} | {figures.line()}\n")
                    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(report())
