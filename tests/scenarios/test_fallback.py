"""A fallback agent that steps in while the settings change under the turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.scenarios.stage import Stage, stage
from tests.scenarios.world import Answer, Prompt, Refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
agents:
  down: {kind: openai, base_url: "MODEL", model: down, retries: 0}
  two: {kind: openai, base_url: "MODEL", model: two, system: "I am SYSTEM."}
  three: {kind: openai, base_url: "MODEL", model: three}
defaults: {agent: down, fallback: two}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], memory: {window: {turns: 4}}}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("fallback"), BODY) as running:
        yield running


async def changed_meanwhile(world: Stage, body: str, conversation: str) -> tuple[dict[str, object], dict[str, object]]:
    """Let the first agent go down after the settings have changed; return the turn and what is told of it."""
    go_on, asked = asyncio.Event(), asyncio.Event()

    async def down(prompt: Prompt) -> Answer:
        asked.set()
        await go_on.wait()
        return Refusal(503)

    world.play(lambda prompt: "stepped in")
    world.model.scripts["down"] = down
    hook = world.hook()
    saying = asyncio.ensure_future(hook.say("anybody here? 在吗", conversation=conversation))
    await asked.wait()
    await world.change(body)
    go_on.set()
    turn = await saying
    told = await world.explain(turn)
    await world.change(BODY)
    return turn, told


async def test_the_ledger_names_the_settings_the_fallback_was_asked_by(world: Stage) -> None:
    """Agent and settings are of one moment: the turn can be made again byte for byte."""
    turn, told = await changed_meanwhile(world, BODY.replace("SYSTEM", "the new two"), "changed")

    assert "answered" == turn["status"]
    assert "I am the new two." in world.model.prompts[-1][0]["content"]
    assert ("two", True) == (told["agent"], told["exact"])
    assert "I am the new two." in str(told["system"])


async def test_the_fallback_is_the_one_of_this_moment(world: Stage) -> None:
    """One that was taken away meanwhile answers nobody; the one put in its place does."""
    body = BODY.replace("fallback: two", "fallback: three")
    turn, told = await changed_meanwhile(
        world, "\n".join(row for row in body.splitlines() if "two:" not in row), "other"
    )

    assert "answered" == turn["status"]
    assert ["down", "three"] == world.model.models
    assert ("three", True) == (told["agent"], told["exact"])


async def test_an_answer_of_nothing_but_blanks_is_none(world: Stage) -> None:
    """The fallback answers; and where it says no more, the person is told that there is no answer."""
    world.model.scripts["down"] = lambda prompt: " \n\n"
    world.play(lambda prompt: "stepped in")
    answered = await world.hook().say("hello 你好", conversation="blank")
    world.play(lambda prompt: "\n")
    failed = await world.hook().say("and now?", conversation="blank")

    assert ("answered", "stepped in") == (answered["status"], answered["reply"]["text"])
    assert ("failed", "agent_broken") == (failed["status"], failed["error"]["code"])
