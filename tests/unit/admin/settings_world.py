"""A settings file, the admins' database over it, and plans: for tests of settings and secrets without a gateway."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from config.loader import Configuration, load
from config.vault_key import keys_of
from gateway.admin.acts.settings import Edit
from gateway.admin.database import Database, Transaction
from gateway.admin.loading import Layers, Loader
from gateway.admin.operations import Invalid
from gateway.admin.planning import Plan, Planner
from gateway.admin.revisions import Revisions
from gateway.admin.rights import local
from gateway.admin.vault import Vault

KEY = base64.b64encode(b"k" * 32).decode()
HOOK = "whsec_" + "A" * 32
FILE = """
agents:
  default: {}
  paid: {kind: openai, base_url: "http://127.0.0.1:1/v1", api_key: "${KEY}"}
channels:
  web: {kind: console}
  hook: {kind: webhook, secrets: ["${HOOK}"], rooms: {R: {observe: true}}}
"""
ENVIRON = {"HOOK": HOOK, "KEY": "sk-file"}


@dataclass
class House:
    """A file, a database over it, and plans."""

    file: Path
    database: Database
    layers: Layers
    running: Configuration
    planner: Planner
    now_ms: int = 7

    async def plan(self, *edits: Edit, expected: int | None = None) -> Plan:
        return await self.planner.edited(edits, expected=expected, admit=lambda touched: None)

    async def back_to(self, number: int) -> Plan:
        """Plan that a revision counts again."""
        overlay = await self.layers.revisions.overlay(number)
        assert overlay is not None
        return await self.planner.laid(overlay, expected=None, admit=lambda touched: None)

    async def keep(self, plan: Plan) -> None:
        """Make a plan's change a second later, and run by it."""
        sealed = self.layers.vault.seal(plan.secrets)
        self.now_ms += 1000

        async def beside(transaction: Transaction, ms: int) -> None:
            await self.layers.vault.write(transaction, sealed, actor=local(), ms=ms)

        await self.layers.revisions.put(
            plan.tree, expected=plan.expected, actor=local(), reason="", digest=plan.new.revision, beside=beside
        )
        self.running = plan.new

    async def problems(self, *edits: Edit) -> list[str]:
        with pytest.raises(Invalid) as caught:
            await self.plan(*edits)
        return [f"{one.path}: {one.value}: {one.problem}; {one.remedy}" for one in caught.value.problems]


def house_of(database: Database, folder: Path) -> House:
    """Return a house over FILE; its clock stands still but when a change is made."""
    file = folder / "clew.yaml"
    file.write_text(FILE, "utf-8")
    keys = keys_of(SecretStr(KEY))
    revisions = Revisions(database, clock=lambda: made.now_ms)
    vault = Vault(database, keys=lambda: keys, clock=lambda: made.now_ms)
    loader = Loader(file, ENVIRON, revisions=revisions, vault=vault, retry_s=0.01)
    made = House(
        file=file,
        database=database,
        layers=Layers(revisions=revisions, vault=vault, loader=loader),
        running=load(file, ENVIRON),
        planner=Planner(loader=loader, revisions=revisions, vault=vault, configuration=lambda: made.running),
    )
    return made


def set_(path: str, value: Any) -> Edit:
    """Return the edit that makes a setting be a value."""
    return Edit(path=path, value=value)
