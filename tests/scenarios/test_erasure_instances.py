"""A person's end while several gateways know them: one erases, the others run a turn of theirs, learn from them, hold their
names, windows and streams. Afterwards nothing of theirs is anywhere, and nothing comes back. B46, E06."""

from __future__ import annotations

import asyncio
import io
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.__main__ import main
from tests.residues import in_postgres, in_redis, left_of
from tests.scenarios.admins import Admins
from tests.scenarios.conftest import stored
from tests.scenarios.kill_at import armed
from tests.scenarios.remembered import learned, notes_of
from tests.scenarios.stage import Held, Stage, echo, said, stage
from tests.scenarios.world import SECRET, Answer, Gateway, Hook, Prompt, gateway

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: stub, api_key: "key-0123456789"}
queue: {lease_s: 2, poll_s: 0.2}
defaults: {trigger: [always], memory: {summary: {start_turns: 61}}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}}
"""
ME, NAME = "Zwölfender-77", "Hieronymus Löwenzahn"
SLOW, JAM, GROUP, SHOWN = "Seegurke🥒", "Quittengelee", "翡翠长颈鹿", "Mitternachtsblau"
WORDS = (JAM, SLOW, GROUP, "水晶刺猬", SHOWN, ME, NAME)


@pytest.fixture(params=["postgres", "postgres+redis"])
def storage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("HOOK", SECRET)
    with stored(request.param, request, tmp_path) as line:
        yield line


@dataclass
class Two:
    """Two gateways: `here` somebody is erased; `there` they talked last. `views` are open streams of their turns, of each."""

    stage: Stage
    there: Gateway
    held: Held
    learning: asyncio.Event = field(default_factory=asyncio.Event)
    learn: asyncio.Event = field(default_factory=asyncio.Event)
    turns: list[dict[str, Any]] = field(default_factory=list)
    views: list[asyncio.Task[tuple[str, str]]] = field(default_factory=list)

    @property
    def hooks(self) -> tuple[Hook, Hook]:
        return self.stage.hook(), Hook(self.stage.session, self.there)

    async def noted(self, prompt: Prompt) -> str:
        """Play the small model: what the person said slowly is thought about until the test lets it go on."""
        if SLOW in prompt[-1]["content"]:
            self.learning.set()
            await self.learn.wait()
        return notes_of({JAM: [("set", "likes", JAM)], SLOW: [("set", "city", SLOW)]}, prompt)

    async def live(self) -> None:
        """Talk as the person through both, until one turn runs, one waits, and something is just being learned."""
        here, there = self.hooks
        me = {"sender": ME, "name": NAME}
        group = {"conversation": "g1", "chat_type": "group"}
        for number in range(2):
            await here.say(f"{number}: my jam is {JAM}", **me)
            await there.say(f"{number}: I said {GROUP}", **me, **group)
        await here.say("good morning", sender="other", name="Otto", **group)
        await learned(self.stage.storage or "")
        await here.say("/memory", **me)
        await there.say(f"I live in {SLOW}", conversation="c2", **me)
        async with asyncio.timeout(30):
            await self.learning.wait()
        self.stage.play(self.answer)
        running = await there.say(f"{JAM}?", mode="async", **me)
        grouped = await there.say(f"{GROUP}!", mode="async", **me, **group)
        for turn in (running, grouped):
            await here.shown(turn, SHOWN)
        waiting = await here.say("/memory 水晶刺猬", mode="async", **me)
        self.turns = [running, grouped, waiting]
        self.views = [asyncio.create_task(hook.read(turn)) for turn in (running, grouped) for hook in self.hooks]

    async def answer(self, prompt: Prompt) -> Answer:
        return await self.held(prompt) if said(prompt).endswith((f"{JAM}?", f"{GROUP}!")) else echo(prompt)

    async def nothing_to_learn(self) -> None:
        """Wait until nothing waits to be learned from; what an erasure has emptied never does."""
        async with asyncio.timeout(30):
            while self.stage.rows("SELECT 1 FROM ledgers WHERE due_ms IS NOT NULL"):
                await asyncio.sleep(0.02)

    def let_go(self) -> None:
        """Let whatever was held at the erasure come to its end."""
        self.held.go_on.set()
        self.learn.set()

    def residues(self, *more: str) -> list[str]:
        """Return what is left of the words in the storage, in Redis, in both logs, and elsewhere."""
        url, _, cache = (self.stage.storage or "").partition("\nredis: ")
        where = in_postgres(url) + (in_redis(cache) if cache else b"")
        return left_of(WORDS, where + "\n".join([*self.stage.gateway.log, *self.there.log, *more]).encode())


@asynccontextmanager
async def two(folder: Path, storage: str, *, module: str | None = None) -> AsyncIterator[Two]:
    async with (
        stage(folder, BODY, storage=storage, module=module) as running,
        gateway(running.gateway.config) as other,
    ):
        both = Two(running, other, Held(f"{SHOWN} "))
        running.model.notes = both.noted
        yield both
        both.let_go()


async def on_its_own(_: Two, config: Path) -> str:
    """Erase by the command line, which joins as an instance of its own; return all that it printed."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        arguments = ["people", "erase", f"webhook:hook:{ME}", "--json", "--config", str(config)]
        assert 0 == await asyncio.to_thread(main, arguments), err.getvalue()
    assert json.loads(out.getvalue())["erased"]["messages"]
    return out.getvalue() + err.getvalue()


async def by_an_admin(both: Two, _: Path) -> str:
    """Erase through the first gateway."""
    admins = Admins(replace(both.stage, storage=(both.stage.storage or "").partition("\n")[0]))
    person = str(both.stage.rows("SELECT person_id FROM identities WHERE account LIKE ?", "Zw%")[0][0])
    answer = await admins.ask(await admins.token("owner"), "POST", f"/people/{person}/erase", {"confirm": True})
    assert 200 == answer.status, answer.text
    return answer.text


@pytest.mark.parametrize("how", [by_an_admin, on_its_own])
async def test_nothing_is_left_on_any_instance(
    how: Callable[[Two, Path], Awaitable[str]], tmp_path: Path, storage: str
) -> None:
    """Turns end in sight wherever they run, and their streams on each instance; what is learned late is not written; who comes
    again is nobody whom either knows; others go on."""
    async with two(tmp_path, storage) as both:
        await both.live()
        assert {*WORDS} - {SHOWN} == {*both.residues()} - {SHOWN}

        told = await how(both, both.stage.gateway.config)
        both.let_go()

        ended = [await hook.settled(turn) for turn in both.turns for hook in both.hooks]
        async with asyncio.timeout(30):
            seen = await asyncio.gather(*both.views)
        await both.nothing_to_learn()
        left = both.residues(told)
        both.stage.play(echo)
        for hook in both.hooks:
            for place in ({}, {"conversation": "g1", "chat_type": "group"}):
                answered = await hook.say("hello", sender=ME, **place)
                assert "hello" in answered["reply"]["text"]
        prompts = json.dumps(both.stage.model.prompts, ensure_ascii=False).replace(ME, "")
        heard = await both.hooks[1].say("and?", sender="other", conversation="g1", chat_type="group")
        for one in (both.stage.gateway, both.there):
            assert 0 == await one.stop()
        after = both.residues()

    assert {("ignored", "person_erased")} == {(view["status"], view.get("rule")) for view in ended}
    assert {"ignored"} == {status for status, _ in seen}
    assert [] == left
    assert [] == left_of(WORDS, prompts.encode())
    assert "good morning" in prompts
    assert heard["reply"]["text"].endswith("and?")
    assert [ME] == after, "as a new person"


async def test_who_erases_is_killed_and_the_other_one_finishes(tmp_path: Path, storage: str) -> None:
    """While the other one still answers the person, and learns from them; nobody asks again."""
    async with two(tmp_path, storage, module="tests.scenarios.kill_at") as both:
        await both.live()
        await armed(both.stage.gateway, "persons.erase", "before")
        with suppress(aiohttp.ClientError):
            await by_an_admin(both, tmp_path)
        await both.stage.gateway.dead()
        both.let_go()

        await both.there.logged("person erased")
        ended = [await both.hooks[1].settled(turn) for turn in both.turns]
        await both.nothing_to_learn()
        assert 0 == await both.there.stop()
        left = both.residues()

    assert {("ignored", "person_erased")} == {(view["status"], view.get("rule")) for view in ended}
    assert [] == left


async def test_who_answers_is_frozen_and_wakes_too_late(tmp_path: Path, storage: str) -> None:
    """What it still holds of the person when it goes on is neither shown, nor stored, nor learned."""
    async with two(tmp_path, storage) as both:
        await both.live()
        both.there.tell(signal.SIGSTOP)
        await by_an_admin(both, tmp_path)
        async with asyncio.timeout(30):
            while both.stage.rows("SELECT 1 FROM inbox_lanes"):  # what it held is let go by others; names bear accounts
                await asyncio.sleep(0.02)
        left = both.residues()
        both.let_go()
        both.there.tell(signal.SIGCONT)
        ended = [await both.hooks[1].settled(turn) for turn in both.turns]
        await both.nothing_to_learn()
        again = await both.hooks[1].say("hello", sender="other")
        for one in (both.stage.gateway, both.there):
            assert 0 == await one.stop()
        after = both.residues()

    assert [] == left
    assert [] == after
    assert {("ignored", "person_erased")} == {(view["status"], view.get("rule")) for view in ended}
    assert "re: hello" == again["reply"]["text"]
