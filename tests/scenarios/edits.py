"""A platform on which people edit and delete what they wrote, and which may tell of one message twice."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.scenarios.stage import Held, Stage, echo
from tests.scenarios.world import Answer, Gateway, Hook, Prompt

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: stub}
defaults: {limits: {per_minute: 1000}}
channels:
  collect: {kind: webhook, secrets: ["${HOOK}"]}
  queue: {kind: webhook, secrets: ["${HOOK}"], busy: queue}
  heard: {kind: webhook, secrets: ["${HOOK}"], trigger: [mention], observe: true}
  short: {kind: webhook, secrets: ["${HOOK}"], busy: queue, limits: {message_chars: 80}}
  unheard: {kind: webhook, secrets: ["${HOOK}"], trigger: [mention]}
"""


@dataclass
class Platform:
    """One room of one channel. Messages are named `m1`, `m2`, … by whoever sends them."""

    session: aiohttp.ClientSession
    gateway: Gateway
    channel: str
    room: str
    chat_type: str = "private"
    tellings: int = 0

    @property
    def hook(self) -> Hook:
        return Hook(self.session, self.gateway, self.channel)

    async def tell(
        self, event: str, message: str, *, sender: str | dict[str, Any] = "ada", **fields: Any
    ) -> dict[str, Any]:
        """Hand an event in, under an id of its own, and return its turn."""
        self.tellings += 1
        body = {
            "event": event,
            "channel": self.channel,
            "room": self.room,
            "chat_type": self.chat_type,
            "sender": sender if isinstance(sender, dict) else account(sender),
            "dedupe_ids": [f"{self.room}:event:{self.tellings}"],
            "message_id": message,
        } | fields
        async with self.session.post(f"{self.gateway.url}/channels/{self.channel}", json=body) as response:
            assert 200 == response.status, await response.text()
            told: dict[str, Any] = await response.json()
            return told

    async def say(
        self, message: str, text: str, *, sender: str | dict[str, Any] = "ada", **fields: Any
    ) -> dict[str, Any]:
        self.tellings += 1
        ids = [f"{self.room}:event:{self.tellings}", f"{self.room}:message:{message}"]
        return await self.tell("message", message, sender=sender, text=text, **{"dedupe_ids": ids} | fields)

    async def edit(self, message: str, text: str, *, sender: str = "ada") -> tuple[str, str | None]:
        """Edit a message and return how that went."""
        return how(await self.tell("edit", message, sender=sender, text=text))

    async def delete(self, message: str, *, sender: str = "ada") -> tuple[str, str | None]:
        return how(await self.tell("delete", message, sender=sender))

    async def ended(self, *turns: dict[str, Any]) -> list[dict[str, Any]]:
        return await asyncio.gather(*map(self.hook.settled, turns))


def account(name: str, **fields: Any) -> dict[str, Any]:
    """Who says something."""
    return {"user": name, "tenant": "t", "account": name, "name": name.title()} | fields


def how(turn: dict[str, Any]) -> tuple[str, str | None]:
    return turn["status"], turn.get("rule")


@dataclass
class Talk(Platform):
    """A room whose first answer is held until the test lets it go on; the others are echoes."""

    world: Stage = field(kw_only=True)
    held: Held = field(default_factory=Held)

    def __post_init__(self) -> None:
        self.world.play(self._answer)

    async def _answer(self, prompt: Prompt) -> Answer:
        return await self.held(prompt) if len(self.world.model.prompts) == 1 else echo(prompt)

    async def begin(self, text: str = "a story", *, message: str = "m0", sender: str = "ada") -> dict[str, Any]:
        """Say the first thing and wait until its answer has begun to show."""
        turn = await self.say(message, text, sender=sender)
        await self.hook.shown(turn, self.held.first)
        return turn

    @property
    def prompts(self) -> list[Prompt]:
        return self.world.model.prompts
