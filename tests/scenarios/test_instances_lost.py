"""One of two instances is killed, wakes late, or is cut off: the other answers, once, and the first is never seen again."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.chaos.proxy import Mode, Proxy
from tests.emulators.slack.faults import slow_after
from tests.scenarios.conftest import HOOK
from tests.scenarios.kill_at import armed
from tests.scenarios.platforms import World, asks, echo, world
from tests.scenarios.world import Answer, Gateway, Hook, Prompt, gateway, model_server, rows, write_config

WAY = ("slack-http",)


class Telling:
    """A script whose first answer comes in three parts, each when the test says so; the others are echoes."""

    def __init__(self, there: World) -> None:
        self._there = there
        self.more, self.rest = asyncio.Event(), asyncio.Event()

    async def __call__(self, prompt: Prompt) -> Answer:
        return self._pieces() if len(self._there.model.prompts) == 1 else echo(prompt)

    async def _pieces(self) -> AsyncIterator[str]:
        yield "Half of it"
        await self.more.wait()
        yield " and more"
        await self.rest.wait()
        yield ", too late 晚了"


async def until(look: Callable[[], bool]) -> None:
    """Look until it is true: what another process has done tells nobody here."""
    async with asyncio.timeout(30):
        while not look():
            await asyncio.sleep(0.02)


async def alive(there: World, one: Gateway) -> None:
    """Prove that an instance takes part again, and that what it wanted to say before has had its time."""
    side = there.slack()
    side.reach(one.url)
    await asks(side.private("Bob"), "are you there? 在吗")


async def test_a_killed_instance_s_turn_is_answered_by_the_other(tmp_path: Path, postgres_url: str) -> None:
    """Long before its lease is out: the server sees its connections go. In the message that shows what it had begun to say; once
    (openclaw#96374)."""
    async with world(tmp_path, ways=WAY, storage=postgres_url, body="queue: {lease_s: 600, poll_s: 0.2}\n") as there:
        room, telling = there.slack().private(), Telling(there)
        there.play(telling)
        await room.says("hello 你好")
        await room.until(lambda replies: replies == ["Half of it"])
        await until(lambda: [("shown",)] == _shown(postgres_url))
        async with gateway(there.config) as other:
            await there.gateway.kill()
            await room.until(lambda replies: replies == ["re: hello 你好"])
            await alive(there, other)
            await asks(room, "and again?")

    assert ["re: hello 你好", "re: and again?"] == room.replies()
    assert ["hello 你好"] * 2 == [prompt[-1]["content"] for prompt in there.model.prompts[:2]]


async def test_an_instance_that_wakes_late_shows_nothing(tmp_path: Path, postgres_url: str) -> None:
    """It was stopped with a call to the platform under way and more to show; the other has answered since. Its model goes on, it
    wakes, and neither half a text nor a second reply comes."""
    async with world(tmp_path, ways=WAY, storage=postgres_url, body="queue: {poll_s: 0.2}\n") as there:
        side = there.slack()
        room, telling = side.private(), Telling(there)
        there.play(telling)
        await room.says("hello 你好")
        await room.until(lambda replies: replies == ["Half of it"])
        await until(lambda: [("shown",)] == _shown(postgres_url))
        side.here.will("chat.update", slow_after(3))
        telling.more.set()
        await room.until(lambda replies: replies == ["Half of it and more"])
        async with gateway(there.config) as other:
            there.gateway.tell(signal.SIGSTOP)
            await room.until(lambda replies: replies == ["re: hello 你好"])
            before = len(side.here.calls)
            telling.rest.set()
            side.reach(other.url)
            await asks(room, "do you go on?")
            there.gateway.tell(signal.SIGCONT)
            await there.gateway.logged("lane lost")
            await alive(there, there.gateway)
            await alive(there, other)

    late = [call for call in side.here.calls[before:] if "Half" in str(call.args) or "late" in str(call.args)]
    assert [] == late
    assert ["re: hello 你好", "re: do you go on?"] == room.replies()


async def test_an_instance_that_wakes_late_sends_nothing(tmp_path: Path, postgres_url: str) -> None:
    """It had taken the reply to send it, and was stopped before the call: the other looks whether it arrived, finds nothing, and
    sends it. The first one wakes in front of its call."""
    body = "queue: {lease_s: 2, poll_s: 0.2, send_wait_s: 0.2}\n"
    async with world(
        tmp_path, ways=WAY, storage=postgres_url, module="tests.scenarios.kill_at", body=body, more=", stream: false"
    ) as there:
        room = there.slack().private()
        await asks(room, "hello 你好")
        await armed(there.gateway, "queues.due", "after", "SIGSTOP")
        await room.says("and more 还有")
        async with gateway(there.config) as other:
            await room.until(lambda replies: replies == ["re: hello 你好", "re: and more 还有"])
            there.gateway.tell(signal.SIGCONT)
            await alive(there, there.gateway)
            await alive(there, other)

    assert ["re: hello 你好", "re: and more 还有"] == room.replies()


@pytest.mark.parametrize(
    ("verb", "when", "asked"),
    [("store.append_and_load", "after", 1), ("store.append", "before", 2), ("queues.put", "before", 1)],
    ids=["asking", "remembering", "replying"],
)
async def test_an_instance_that_wakes_late_does_nothing(
    verb: str, when: str, asked: int, tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """Wherever in a turn it was stopped, before it asks, before it remembers the answer, before it hands it on: the other has
    answered, no agent is asked for it any more, and its answer is nowhere."""
    async with model_server(lambda prompt: f"answer {len(model.prompts)}") as model:
        body = f"""
agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}
queue: {{lease_s: 2, poll_s: 0.2}}
channels: {HOOK}"""
        config = write_config(tmp_path, body, storage=postgres_url)
        async with gateway(config, command=("tests.scenarios.kill_at", str(config), verb, when, "SIGSTOP")) as first:
            turn = await Hook(session, first).say("hello 你好", mode="async")
            async with gateway(config) as other:
                settled = await Hook(session, other).settled(turn)
                first.tell(signal.SIGCONT)
                await until(lambda: any("lane lost" in line or "lane taken over" in line for line in first.log))
                again = await Hook(session, first).say("are you there?", mode="sync")
                view = await Hook(session, other).turn(turn)

    assert ("answered", f"answer {asked}") == (settled["status"], settled["reply"]["text"])
    assert settled["reply"] == view["reply"]
    assert f"answer {asked + 1}" == again["reply"]["text"]
    kept = rows(postgres_url, "SELECT text FROM messages WHERE role = 'assistant' ORDER BY id")
    assert [(f"answer {asked}",), (f"answer {asked + 1}",)] == kept


@pytest.mark.parametrize("mode", ["hole", "refuse"])
async def test_an_instance_that_is_cut_off_from_the_database_does_nothing(
    mode: Mode, tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """Its words are swallowed, or its connections reset, while it asks: the other answers. Its own answer comes, finds the way
    closed, then open, and is nowhere; it joins anew."""
    late = asyncio.Event()

    async def answer(_: Prompt) -> str:
        number = len(model.prompts)
        if number == 1:
            await late.wait()
        return f"answer {number}"

    place = urlsplit(postgres_url)
    async with model_server(answer) as model, Proxy(lambda: [("127.0.0.1", place.port or 0)]).running() as way:
        body = f"""
agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}
queue: {{lease_s: 2, poll_s: 0.2}}
database: {{timeout_s: 2}}
channels: {HOOK}"""
        (tmp_path / "cut").mkdir()
        roundabout = postgres_url.replace(f":{place.port}/", f":{way.port}/")
        cut = write_config(tmp_path / "cut", body, storage=roundabout)
        async with gateway(cut) as first, gateway(write_config(tmp_path, body, storage=postgres_url)) as other:
            turn = await Hook(session, first).say("hello 你好", mode="async")
            await until(lambda: len(model.prompts) == 1)
            way.set(mode)
            settled = await Hook(session, other).settled(turn)
            late.set()
            await first.logged("lost the database")
            way.set("pass")
            await until(lambda: any("lane lost" in line or "lane taken over" in line for line in first.log))
            again = await _said_again(Hook(session, first))
            view = await Hook(session, other).turn(turn)

    assert ("answered", "answer 2") == (settled["status"], settled["reply"]["text"])
    assert settled["reply"] == view["reply"]
    assert ("answered", "answer 3") == (again["status"], again["reply"]["text"])
    kept = rows(postgres_url, "SELECT text FROM messages WHERE role = 'assistant' ORDER BY id")
    assert [("answer 2",), ("answer 3",)] == kept


async def _said_again(hook: Hook) -> dict[str, Any]:
    """Say something to an instance that is just joining anew: until then it refuses, and is told again."""
    async with asyncio.timeout(30):
        while True:
            with suppress(AssertionError):
                return await hook.say("are you there? 在吗", message_id="again")
            await asyncio.sleep(0.1)


def _shown(url: str) -> list[tuple[object, ...]]:
    return rows(url, "SELECT 'shown' FROM inbox_events WHERE shown IS NOT NULL")
