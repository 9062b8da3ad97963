"""A gateway on six channels: each kind once with a small model for memory, and once with rules alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from tests.scenarios.platforms import World, world
from tests.scenarios.remembered import Change, HookTalk, Line, RoomTalk, Talker, learned, model_of, notes_of
from tests.scenarios.world import Hook, in_folder

WITH_MODEL = ("slack-http", "telegram-polling", "hook")
RULES_ALONE = ("slack-socket", "telegram-webhook", "hook-rules")
HOOKS = ("hook", "hook-rules")
WAYS = (*WITH_MODEL, *RULES_ALONE)

_WINDOW = "window: {turns: 3}, summary: {start_turns: 4}"
_MODEL, _RULES = f"memory: {{{_WINDOW}}}", f"memory: {{model: none, {_WINDOW}}}"
_CHANNELS = f"""
  hook: {{kind: webhook, secrets: ["${{HOOK}}"], limits: {{per_minute: 1000}}, {_MODEL}}}
  hook-rules: {{kind: webhook, secrets: ["${{HOOK}}"], limits: {{per_minute: 1000}}, {_RULES}}}
"""


@dataclass
class Remembering:
    """The world, and who talks in it."""

    there: World
    session: aiohttp.ClientSession
    storage: str
    lines: list[Line] = field(default_factory=list)
    notes: dict[str, Sequence[Change]] = field(default_factory=dict)

    def plays(self, *lines: Line, notes: Mapping[str, Sequence[Change]]) -> None:
        """Let these lines be understood, and these be noted, beside those before."""
        self.lines += lines
        self.notes.update(notes)
        self.there.model.script = lambda prompt: model_of(self.lines, prompt)
        self.there.model.notes = lambda prompt: notes_of(self.notes, prompt)

    def talker(self, way: str, name: str) -> Talker:
        """Somebody new, in private."""
        if way.startswith("hook"):
            return HookTalk(Hook(self.session, self.there.gateway, way), sender=name, conversation=name)
        return RoomTalk(self.there.sides[way].private(name), [line.answer for line in self.lines])

    async def learned(self) -> None:
        await learned(self.storage)


@asynccontextmanager
async def remembering(
    folder: Path, *, storage: str | None = None, ways: Sequence[str] = WAYS
) -> AsyncIterator[Remembering]:
    memory = {way: _MODEL if way in WITH_MODEL else _RULES for way in ways}
    platforms = [way for way in ways if not way.startswith("hook")]
    async with (
        world(folder, ways=platforms, memory=memory, body=_CHANNELS, storage=storage) as there,
        aiohttp.ClientSession() as session,
    ):
        yield Remembering(there, session, storage or in_folder(folder))
