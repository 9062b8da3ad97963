"""A memory on a real database, and short ways to talk to it, for the facade's tests."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from memory.base import Message
from memory.derived import Derived
from memory.ids import Ids
from memory.key import ConversationKey, Scope, scope_of
from memory.learning import give_up
from memory.policy import Policy
from memory.service import Memory
from memory.tokens import Tokenizers
from memory.turn import Incoming, Prepared, Reply, TurnRequest
from tests.contracts.columns import Column

NOW = 1_790_000_000_000


class Clock:
    """Time that moves a second with every look, and further when told."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        self.now += 1000
        return self.now


class Talk:
    """One memory and its clock; turns, events and platform ids number themselves."""

    def __init__(self, memory: Memory, derived: Derived, clock: Clock, tokenizers: Tokenizers) -> None:
        self.memory = memory
        self.derived = derived
        self.clock = clock
        self.tokenizers = tokenizers
        self._numbers = itertools.count(1)

    def turn(self, *texts: str, policy: Policy | None = None, turn_id: int | None = None, **fields: Any) -> TurnRequest:
        """Return Alice's turn in private; `fields` replace those of the key, of the messages and of the request."""
        key = key_of(**{name: fields.pop(name) for name in list(fields) if name in KEY})
        number = turn_id or next(self._numbers) * 100
        of_request = {name: fields.pop(name) for name in list(fields) if name in TurnRequest.__struct_fields__}
        said: dict[str, Any] = {"speaker_name": "Alice", "person_id": 1} | fields
        messages = tuple(
            Incoming(key=key, event_id=number + i, text=text, **({"platform_message_id": f"p{number + i}"} | said))
            for i, text in enumerate(texts)
        )
        defaults: dict[str, Any] = {
            "turn_id": number, "scope": scope_of(key, mode="conversation"), "messages": messages,
            "policy": policy or Policy(down_weight="none", system="Be kind."), "fence": 1, "revision": "rev1",
        }  # fmt: skip
        return TurnRequest(**(defaults | of_request))

    async def ask(self, *texts: str, **fields: Any) -> Prepared:
        """Store what was said and return the prompt."""
        return await self.memory.load_and_append(self.turn(*texts, **fields))

    async def answer(self, prepared: Prepared, text: str, **fields: Any) -> Message:
        """Store the reply. Nothing is learned from the turn: what is tested here is what was said."""
        stored = await self.memory.append(prepared, Reply(text=text, **fields), fence=1)
        for due in await self.derived.claim(owner="test", now_ms=self.clock.now, lease_ms=0, limit=1000):
            await give_up(self.derived, due.ledger)
        return stored

    async def say(self, text: str, reply: str, **fields: Any) -> Prepared:
        """Have a whole turn."""
        prepared = await self.ask(text, **fields)
        await self.answer(prepared, reply)
        return prepared


KEY: dict[str, Any] = {
    "user": "U1", "channel": "web", "room": "r1", "thread": None, "chat_type": "private", "agent": "helper",
}  # fmt: skip


def key_of(**parts: Any) -> ConversationKey:
    """Return Alice's private key; `parts` replace."""
    return ConversationKey(**(KEY | parts))


def scope(**parts: Any) -> Scope:
    """Return the scope of `key_of`."""
    return scope_of(key_of(**parts), mode="conversation")


@asynccontextmanager
async def remembering(column: Column, *, instance: int = 1) -> AsyncIterator[Talk]:
    """Open a memory on the column's database; called again, a second instance beside it."""
    clock, tokenizers = Clock(), Tokenizers()
    async with column.open(ids=Ids(instance, clock)) as store:
        yield Talk(Memory(store, tokenizers=tokenizers, clock=clock), store.derived, clock, tokenizers)


def texts(prepared: Prepared) -> list[str]:
    """Return the array's texts."""
    return [message.text for message in prepared.context.messages]


def rules(prepared: Prepared) -> list[str]:
    """Return the rules of the window and of the message, row by row."""
    return [entry.rule for entry in prepared.ledger.entries if entry.section in ("window", "message")]
