"""Every act through the doors for programs, by role: what a role holds is done, what it lacks is refused, with the same word at
each door. And every act has its place in the console."""

from __future__ import annotations

import argparse
import ast
import asyncio
import importlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import gateway.admin.console
from gateway.admin.admin_cli import admin
from gateway.admin.operations import Operation
from gateway.admin.rights import RIGHTS, ROLES
from gateway.admin.table import OPERATIONS
from tests.admin_examples import EXAMPLES, example
from tests.scenarios.admins import Admins
from tests.scenarios.conftest import stored
from tests.scenarios.stage import Stage, stage

SETTINGS = """
channels:
  chat: {kind: console}
"""

DONE = frozenset({200, 202, 204})
ADMITTED = DONE | {404, 409, 422}
"""An example may name a thing that is not there, or ask for what can't be done here: who lacks the right does not get so far."""


OWN = {"users.password": "others' only for owners, and a token is nobody's password"}
"""Acts that everybody does to what is theirs."""


@pytest.fixture(params=["sqlite", "postgres"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    with stored(request.param, request, tmp_path) as storage:
        async with stage(tmp_path, SETTINGS, storage=storage) as running:
            yield running


async def _by_rest(admins: Admins, operation: Operation, token: str) -> int:
    return (await admins.call(token, operation, example(operation))).status


async def _by_command(admins: Admins, operation: Operation, token: str) -> int:
    values = example(operation)
    words = [
        f"{key}={one if isinstance(one, str) else json.dumps(one)}"
        for key, value in values.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    args = argparse.Namespace(operation=operation.name, fields=words, json=True, url=admins.stage.gateway.url)
    try:
        async with asyncio.timeout(20 if not isinstance(operation.result, str) else 1):
            return await admin(args, door=None, environ={"CLEW_TOKEN": token})
    except TimeoutError:
        return 0  # it follows what happens


async def test_every_act_by_role_and_door(world: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    """REST and the command line let the same roles do the same; nobody does without a token. On PostgreSQL by REST alone: the
    command line comes that way, whatever the database."""
    admins, on_sqlite = Admins(world), (world.storage or "").startswith("sqlite")
    await admins.token("viewer", "chat")  # number 1, which the examples revoke
    tokens = await admins.every_role()
    wrong: list[str] = []
    for operation in OPERATIONS:
        assert 401 == await _by_rest(admins, operation, "clew_none"), operation.name
        for role in ROLES:
            allowed = (operation.right if operation.name not in OWN else "access") in RIGHTS[role]
            status = await _by_rest(admins, operation, tokens[role])
            if (status in ADMITTED) is not allowed or (not allowed and status != 403):
                wrong.append(f"{operation.name} as {role} by REST: {status}")
            if not on_sqlite:
                continue
            capsys.readouterr()
            code = await _by_command(admins, operation, tokens[role])
            said = capsys.readouterr().err
            refused = code == 1 and "needs the right" in said
            if refused is allowed:
                wrong.append(f"{operation.name} as {role} by command: {code} {said}")

    assert not wrong, "\n".join(wrong)


async def test_a_role_for_one_channel_reaches_no_other(world: Stage) -> None:
    """An act on the gateway as a whole is refused to the owner of one channel; one on another channel, too."""
    admins = Admins(world)
    await admins.token("viewer", "chat")  # number 1, which the examples revoke
    token = await admins.token("owner", "chat")
    wrong: list[str] = []
    for operation in OPERATIONS:
        status = await _by_rest(admins, operation, token)
        named = example(operation).get("channel")
        refused = operation.where == "gateway" or (operation.where == "channel" and named != "chat")
        if refused and status != 403:
            wrong.append(f"{operation.name}: {status}")

    assert not wrong, "\n".join(wrong)


def test_every_act_is_in_the_table_once() -> None:
    """Names and places are not given twice; each is a word of its part."""
    names = [operation.name for operation in OPERATIONS]
    places = [(operation.method, operation.path) for operation in OPERATIONS]

    assert sorted(set(names)) == sorted(names)
    assert len(set(places)) == len(places)
    assert [] == [name for name in names if name.count(".") != 1]
    assert {} == {name: given for name, given in EXAMPLES.items() if name not in names}


ELSEWHERE = {
    "takeovers.ask": "who may ask for a human in a conversation may be that human: the console offers to take it over",
    "usage.turn": "a turn's page tells what it cost, as part of `turns.trace`",
}


def _performed(path: Path) -> set[str]:
    """Return the names of the operations that a module of the console names, imported by themselves or with their module."""
    found: set[str] = set()
    modules: dict[str, Any] = {}
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gateway.admin.acts"):
            module = importlib.import_module(node.module or "")
            for alias in node.names:
                one = getattr(module, alias.name, None)
                if isinstance(one, Operation):
                    found.add(one.name)
                else:
                    modules[alias.asname or alias.name] = one
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            one = getattr(modules.get(node.value.id), node.attr, None)
            if isinstance(one, Operation):
                found.add(one.name)
    return found


def test_every_act_has_a_page() -> None:
    """The console performs each operation somewhere: none can be done by programs only."""
    used = set().union(*map(_performed, Path(gateway.admin.console.__path__[0]).glob("*.py")))

    assert sorted(ELSEWHERE) == sorted({operation.name for operation in OPERATIONS} - used)
