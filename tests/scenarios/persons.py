"""Somebody new on a stage's webhook channels, whose every word is learned from before the next one."""

from __future__ import annotations

import itertools
from typing import Any

from tests.scenarios.remembered import learned, sections
from tests.scenarios.stage import Stage
from tests.scenarios.world import Hook, Prompt, in_folder

_people = itertools.count(1)


class Person:
    """Somebody new, in a private talk on one channel."""

    def __init__(self, world: Stage, channel: str, *, name: str = "") -> None:
        self.world, self.name = world, name or f"person-{next(_people)}"
        self.storage = world.storage or in_folder(world.folder)
        self.hook: Hook = world.hook(channel)

    async def says(self, text: str, **more: Any) -> Prompt:
        """Say something, wait until it is learned from, and return the prompt that was answered."""
        turn = await self.hook.say(text, **({"sender": self.name, "conversation": self.name} | more))
        assert "answered" == turn["status"]
        self.turn = turn
        prompt = self.world.model.prompts[-1]
        await self.learned()
        return prompt

    async def learned(self) -> None:
        await learned(self.storage)

    async def facts(self) -> str:
        """Ask something about nothing, and return the facts that the prompt held."""
        return sections(await self.says("Is anybody there?")).get("facts", "")
