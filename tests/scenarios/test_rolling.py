"""Machines are upgraded one by one: the release before this one, and this one, on one database, while people go on talking.

The release before is taken from the repository's history; it runs in this environment.
"""

from __future__ import annotations

import asyncio
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest

from gateway.app import VERSION
from gateway.build import PACKAGES, release
from tests.scenarios.platforms import asks, world
from tests.scenarios.stage import echo, said
from tests.scenarios.test_receiving_instances import POLLING, QUICK, SOCKET, Three, once, warned
from tests.scenarios.world import ROOT, Hook, Prompt, gateway, model_server, rows, write_config

BEFORE = "d2cc865"
"""The commit of the release before this one. The next release changes this line."""

WITH_LEASES = "40b72e7"
"""A commit since then, with leases of what receives and sends, and words between instances: the release before had none yet."""

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], sync_s: 20, limits: {per_minute: 100000}}
"""
PEOPLE = 4


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """The folder with the sources of the release before."""
    return sources(BEFORE, tmp_path)


def sources(commit: str, folder: Path, *, root: Path = ROOT) -> Path:
    """Return a folder with the sources of a commit. A shallow copy of the repository, as a CI makes it, gets the rest first."""
    if git(root, "rev-parse", "--is-shallow-repository") == b"true\n":
        git(root, "fetch", "--quiet", "--unshallow")
    folder = folder / "before"
    with tarfile.open(fileobj=BytesIO(git(root, "archive", commit, *PACKAGES))) as tar:
        tar.extractall(folder, filter="data")
    return folder


def git(root: Path, *arguments: str) -> bytes:
    """Return what git says; it says itself what is wrong."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, stdout=subprocess.PIPE, timeout=60).stdout


def test_a_shallow_copy_gets_what_it_lacks(tmp_path: Path) -> None:
    sources(BEFORE, tmp_path / "whole")  # from here on this copy is
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{ROOT}", str(copy))

    assert (sources(BEFORE, tmp_path, root=copy) / "gateway" / "app.py").exists()


@dataclass
class Person:
    """Talks without a pause, to one instance after the other; each reply must be theirs."""

    name: str
    hooks: Sequence[Hook]
    told: list[str] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def talk(self) -> None:
        while not self.done.is_set():
            text = f"{self.name} says {len(self.told)} 第{len(self.told)}句 🧵"
            hook = self.hooks[len(self.told) % len(self.hooks)]
            turn = await hook.say(text, sender=self.name, conversation=self.name)
            assert ("answered", f"re: {text}") == (turn["status"], turn["reply"]["text"]), turn
            self.told.append(text)
            self.answered.set()

    async def more(self, turns: int) -> None:
        """Wait until they have been answered that often again."""
        enough = len(self.told) + turns
        while len(self.told) < enough:
            self.answered.clear()
            await self.answered.wait()


async def test_the_release_before_and_this_one_side_by_side(
    released: Path, tmp_path: Path, bare_postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """The old one made the database and answers while this one changes its schema and starts; both then answer the same people in
    turn, each of them with what was said to the other one in the window; the old one stops, and every message was answered
    once."""
    prompts: dict[str, Prompt] = {}

    def answer(prompt: Prompt) -> str:
        prompts[said(prompt)] = prompt
        return echo(prompt)

    async with model_server(answer) as model:
        config = write_config(tmp_path, BODY.replace("MODEL", model.url), storage=bare_postgres_url)
        command = ("tests.scenarios.released", str(released), "serve", "--config", str(config))
        async with gateway(config, command=command) as old:
            hooks = [Hook(session, old)]
            people = [Person(f"p{n}", hooks) for n in range(PEOPLE)]
            async with asyncio.timeout(120), asyncio.TaskGroup() as talks:
                for person in people:
                    talks.create_task(person.talk())
                await all_more(people, 2)
                before = rows(bare_postgres_url, "SELECT max(version) FROM queue_schema")
                async with gateway(config) as new:
                    await all_more(people, 1)
                    hooks.append(Hook(session, new))
                    await all_more(people, 6)
                    hooks.pop(0)
                    await all_more(people, 2)
                    assert 0 == await old.stop()
                    await all_more(people, 2)
                    for person in people:
                        person.done.set()
                    await all_more(people, 1)

    after = rows(bare_postgres_url, "SELECT max(version) FROM queue_schema")
    told = [text for person in people for text in person.told]
    assert [(7,)] == before
    assert after > before
    assert len(told) == len(set(told))
    assert [("answered", len(told))] == [
        (state, count)
        for state, count in rows(bare_postgres_url, "SELECT state, count(*) FROM inbox_events GROUP BY state")
    ]
    assert [(2 * len(told),)] == rows(bare_postgres_url, "SELECT count(*) FROM messages")
    for person in people:
        for earlier, later in zip(person.told, person.told[1:], strict=False):
            assert earlier in str(prompts[later])


async def all_more(people: Sequence[Person], turns: int) -> None:
    await asyncio.gather(*(person.more(turns) for person in people))


@pytest.mark.parametrize("way", [POLLING, SOCKET])
async def test_what_receives_and_sends_goes_from_one_to_the_other_and_back(
    way: str, tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """A bot that bears one poller, an app with its sockets: old and new heed each other's leases, and whichever is stopped, the
    other goes on, once for each message and in order. While both run, the new one says so, though their version is one."""
    async with world(tmp_path, ways=(way,), storage=postgres_url, body=QUICK) as there:
        command = (
            "tests.scenarios.released",
            str(sources(WITH_LEASES, tmp_path)),
            "serve",
            "--config",
            str(there.config),
        )
        async with gateway(there.config, command=command) as old:
            both = Three(there, [there.gateway, old], postgres_url)
            room = there.sides[way].private("Ann")
            await asks(room, "一号 👋")
            assert 0 == await there.gateway.stop()
            await both.until(lambda: both.holders(f"channel:{way}") != [] and set(both.holders("")) == {old})
            await asks(room, "two")
            await there.again()
            await asks(room, "三")
            told = await warned(session, there.gateway, postgres_url, of=2)
            assert f"this instance runs {release(VERSION)}; {VERSION} on " in told["releases"]
            assert 0 == await old.stop()
            await both.until(lambda: both.holders(f"channel:{way}") != [] and set(both.holders("")) == {there.gateway})
            await asks(room, "four")

        once(room, "一号 👋", "two", "三", "four")
        logs = [*there.gateway.log, *old.log]
        assert [] == [line for line in logs if "another program takes" in line]
