"""What ends an answer reaches it on whatever instance it is made: /stop, a deletion, a message that interrupts."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from gateway.notices import notice
from tests.scenarios.platforms import SlackRoom, world
from tests.scenarios.stage import Held, echo, users
from tests.scenarios.world import Answer, Gateway, Hook, ModelServer, Prompt, gateway, model_server, write_config

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
queue: {lease_s: 600, poll_s: 0.2}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], busy: BUSY, limits: {per_minute: 1000}}
"""
STOPPED = f"First words\n\n{notice('stopped_mark', 'en')}"


def held_once(model: ModelServer, held: Held) -> None:
    """Let the first answer stop behind its first words; others are echoes."""

    async def answer(prompt: Prompt) -> Answer:
        return await held(prompt) if len(model.prompts) == 1 else echo(prompt)

    model.script = answer


@dataclass
class Two:
    """Two gateways on one database; the first runs a turn whose answer has begun."""

    runs: Gateway
    other: Gateway
    model: ModelServer
    session: aiohttp.ClientSession
    turn: dict[str, Any]

    @property
    def elsewhere(self) -> Hook:
        """Whoever talks to the instance that does not run the turn."""
        return Hook(self.session, self.other)


@asynccontextmanager
async def two(folder: Path, storage: str, session: aiohttp.ClientSession, *, busy: str = "queue") -> AsyncIterator[Two]:
    async with model_server(echo) as model:
        held_once(model, Held())
        body = BODY.replace("MODEL", model.url).replace("BUSY", busy)
        config = write_config(folder, body, storage=storage)
        async with gateway(config) as runs:
            hook = Hook(session, runs)
            turn = await hook.say("tell me a story 故事", mode="async")
            await hook.shown(turn, "First words")
            async with gateway(config) as other:
                yield Two(runs, other, model, session, turn)


async def test_stop_reaches_the_instance_that_answers(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """It is said to another one than the turn runs on: the text so far is the reply, marked, and nobody else's /stop does it
    (openclaw#106483)."""
    async with two(tmp_path, postgres_url, session) as there:
        stranger = await there.elsewhere.say("/stop", conversation="elsewhere")
        stopped = await there.elsewhere.say("/stop")
        ended = await there.elsewhere.settled(there.turn)
        after = await there.elsewhere.say("go on")

    assert ("applied", "nothing_to_stop") == (stranger["status"], stranger["rule"])
    assert ("applied", "stop") == (stopped["status"], stopped["rule"])
    assert ("answered", STOPPED) == (ended["status"], ended["reply"]["text"])
    assert "re: go on" == after["reply"]["text"]
    assert 2 == len(there.model.prompts)


async def test_a_stop_outlives_who_should_have_heard_it(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """The instance that answers hangs, /stop comes to another one, and the first is killed before it can hear: whoever takes the
    turn over ends it, and asks no model."""
    async with two(tmp_path, postgres_url, session) as there:
        there.runs.tell(signal.SIGSTOP)
        stopped = await there.elsewhere.say("/stop")
        await there.runs.kill()
        ended = await there.elsewhere.settled(there.turn)

    assert ("applied", "stop") == (stopped["status"], stopped["rule"])
    assert ("failed", "stopped") == (ended["status"], ended["error"]["code"])
    assert 1 == len(there.model.prompts)


async def test_a_message_interrupts_a_turn_on_another_instance(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """As if it had come to the one that answers: both messages are answered together (openclaw#121831)."""
    async with two(tmp_path, postgres_url, session, busy="interrupt") as there:
        more = await there.elsewhere.say("no, a poem", mode="async")
        views = [await there.elsewhere.settled(turn) for turn in (there.turn, more)]

    both = "tell me a story 故事\n\nno, a poem"
    assert [f"re: {both}"] * 2 == [view["reply"]["text"] for view in views]
    assert [both] == users(there.model.prompts[-1])
    assert 2 == len(there.model.prompts)


async def test_a_deletion_reaches_the_instance_that_answers(tmp_path: Path, postgres_url: str) -> None:
    """The platform told another instance that what is answered was deleted: as for /stop the text so far stands, marked."""
    async with world(tmp_path, ways=("slack-http",), storage=postgres_url, body="queue: {poll_s: 0.2}\n") as there:
        side = there.slack()
        room = side.private()
        held_once(there.model, Held())
        said = await room.says("about my illness 病")
        await room.until(lambda replies: any("First words" in reply for reply in replies))
        async with gateway(there.config) as other:
            side.reach(other.url)
            await _delete(room, said)
            await room.until(lambda replies: replies == [STOPPED])
            await room.says("and now?")
            await room.until(lambda replies: replies == [STOPPED, "re: and now?"])

    assert 2 == len(there.model.prompts)
    assert not [text for text in users(there.model.prompts[-1]) if "illness" in text]


async def _delete(room: SlackRoom, message: str) -> None:
    (somebody,) = room.people.values()
    await somebody.deletes(room.channel, message)
