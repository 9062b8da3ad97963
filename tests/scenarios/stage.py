"""One gateway process, one scripted model and one HTTP session, shared by the tests of a module.

Each test talks in conversations of its own, so that none meets another.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import aiohttp

from tests.forks import fork
from tests.scenarios.world import (
    Gateway,
    Hook,
    ModelServer,
    Prompt,
    Script,
    gateway,
    in_folder,
    model_server,
    rows,
    write,
    write_config,
)


def said(prompt: Prompt) -> str:
    """The message to answer."""
    return prompt[-1]["content"]


def echo(prompt: Prompt) -> str:
    return f"re: {said(prompt)}"


def talk(prompt: Prompt) -> list[tuple[str, str]]:
    """Role and text of everything behind the system block."""
    return [(message["role"], message["content"]) for message in prompt[1:]]


def users(prompt: Prompt) -> list[str]:
    return [text for role, text in talk(prompt) if role == "user"]


@dataclass
class Held:
    """A script whose answer stops behind its first words until the test lets it go on."""

    first: str = "First words"
    rest: str = ", and the rest."
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, prompt: Prompt) -> AsyncIterator[str]:
        return self._pieces()

    async def _pieces(self) -> AsyncIterator[str]:
        yield self.first
        await self.go_on.wait()
        yield self.rest


@dataclass
class Stage:
    """What a module's tests play on."""

    folder: Path
    model: ModelServer
    gateway: Gateway
    session: aiohttp.ClientSession
    storage: str | None = None

    def hook(self, channel: str = "hook") -> Hook:
        return Hook(self.session, self.gateway, channel)

    def play(self, script: Script) -> None:
        """Answer by `script` from now on; what was asked before is forgotten."""
        self.model.script = script
        self.model.scripts.clear()
        self.model.prompts.clear()
        self.model.models.clear()

    async def change(self, body: str) -> None:
        """Write other settings and wait until they are in force."""
        seen = len(self.gateway.log)
        write_config(self.folder, body.replace("MODEL", self.model.url), storage=self.storage)
        await self.gateway.logged("settings changed", after=seen)

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Read from the gateway's database, beside it."""
        return rows(self.storage or in_folder(self.folder), query, *parameters)

    def sql(self, statement: str) -> None:
        """Change the gateway's database, past it."""
        write(self.storage or in_folder(self.folder), statement)

    @property
    def database(self) -> Path:
        return self.folder / "clew.db"

    async def explain(self, turn: dict[str, Any]) -> dict[str, Any]:
        """Ask `python -m gateway explain` what the model saw in the turn."""
        config = str(self.gateway.config)
        process = await fork("gateway", "explain", turn["turn"], "--json", "--config", config, env=self.gateway.environ)
        async with asyncio.timeout(60):
            out, err = await process.communicate()
        assert 0 == process.returncode, err.decode()
        told: dict[str, Any] = json.loads(out)
        return told


@asynccontextmanager
async def stage(
    folder: Path,
    body: str,
    *,
    storage: str | None = None,
    script: Script = echo,
    server: str = "",
    module: str | None = None,
    environ: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[Stage]:
    """Run a gateway by the settings `body`, in which `MODEL` stands for the model server's address; by the `module`'s own
    process, if one is named; with more in its environment."""
    async with model_server(script) as model, aiohttp.ClientSession() as session:
        config = write_config(folder, body.replace("MODEL", model.url), storage=storage, server=server)
        command = (module, str(config)) if module else ()
        async with gateway(config, command=command, **environ) as running:
            yield Stage(folder, model, running, session, storage)
