"""Which agent answers: by place, by a person's choice, by a fallback, and when the settings change under way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from gateway.notices import Language, notice
from tests.scenarios.stage import Stage, stage, users
from tests.scenarios.world import Prompt, Refusal, Script

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
agents:
  one: {kind: openai, base_url: "MODEL", model: one, retries: 0}
  two: {kind: openai, base_url: "MODEL", model: two, retries: 0}
  three: {kind: openai, base_url: "MODEL", model: three, retries: 0}
  down: {kind: openai, base_url: "MODEL", model: down, retries: 0}
  also-down: {kind: openai, base_url: "MODEL", model: also-down, retries: 0}
defaults: {agent: one}
channels:
  hook:
    kind: webhook
    secrets: ["${HOOK}"]
    rooms:
      lab: {agent: two, threads: {t3: {agent: three}}}
      backed: {agent: down, fallback: two}
      both-down: {agent: down, fallback: also-down}
      alone: {agent: down}
  second: {kind: webhook, secrets: ["${HOOK}"], agent: two}
  choice: {kind: webhook, secrets: ["${HOOK}"], agents: [one, two]}
  moving:
    kind: webhook
    secrets: ["${HOOK}"]
    rooms:
      fresh: {agent: AGENT, agent_change: fresh}
      carry: {agent: AGENT, agent_change: carry}
      alias: {agent: AGENT, agent_change: alias}
"""


def named(name: str) -> Script:
    return lambda prompt: f"{name} answers"


def play(world: Stage) -> None:
    world.play(named("nobody"))
    world.model.scripts.update({name: named(name) for name in ("one", "two", "three")})
    world.model.scripts.update({name: lambda prompt: Refusal(503) for name in ("down", "also-down")})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("agents"), BODY.replace("AGENT", "one")) as running:
        yield running


PLACES: list[tuple[str, dict[str, Any], str]] = [
    ("hook", {"conversation": "anywhere"}, "one"),
    ("hook", {"conversation": "lab"}, "two"),
    ("hook", {"conversation": "lab", "thread": "t1"}, "two"),
    ("hook", {"conversation": "lab", "thread": "t3"}, "three"),
    ("hook", {"conversation": "elsewhere", "thread": "t3"}, "one"),
    ("second", {"conversation": "lab"}, "two"),
]


@pytest.mark.parametrize(("channel", "place", "agent"), PLACES)
@pytest.mark.parametrize("chat_type", ["private", "group"])
async def test_the_configured_agent_answers(
    channel: str, place: dict[str, Any], agent: str, chat_type: str, world: Stage
) -> None:
    """By thread, else by room, else by channel, else by the defaults; in private and in groups."""
    play(world)

    turn = await world.hook(channel).say("hello, who is there?", chat_type=chat_type, **place)

    assert f"{agent} answers" == turn["reply"]["text"]
    assert [agent] == world.model.models


async def test_a_person_chooses_an_agent_for_himself(world: Stage) -> None:
    """/agent NAME holds for that person in that conversation, across a restart, and for nobody and nowhere else."""
    play(world)
    hook = world.hook("choice")

    async def who(sender: str, conversation: str = "g") -> str:
        turn = await hook.say("who is there?", sender=sender, conversation=conversation, chat_type="group")
        return str(turn["reply"]["text"])

    chosen = await hook.say("/agent two", sender="ada", conversation="g", chat_type="group")
    before = [await who("ada"), await who("bob"), await who("ada", "another room")]
    await world.gateway.stop()
    await world.gateway.start()
    after = [await who("ada"), await who("bob"), await who("ada", "another room")]

    assert notice("agent_set", "en", agent="two") == chosen["reply"]["text"]
    assert ["two answers", "one answers", "one answers"] == before == after


@pytest.mark.parametrize(
    ("channel", "text", "language", "name", "values"),
    [
        ("choice", "/agent", "en", "agent_is", {"agent": "one", "agents": "one, two"}),
        ("choice", "/智能体", "zh", "agent_is", {"agent": "one", "agents": "one, two"}),
        ("choice", "/agent three", "en", "agent_unknown", {"asked": "three", "agents": "one, two"}),
        ("choice", "/智能体 小明", "zh", "agent_unknown", {"asked": "小明", "agents": "one, two"}),
        ("hook", "/agent two", "en", "agent_fixed", {"agent": "one"}),
        ("hook", "/智能体 two", "zh", "agent_fixed", {"agent": "one"}),
    ],
)
async def test_only_listed_agents_can_be_chosen(
    channel: str, text: str, language: Language, name: str, values: dict[str, str], world: Stage
) -> None:
    """The admin's list decides; whatever else is asked is told the truth, and changes nothing."""
    play(world)
    hook = world.hook(channel)

    told = await hook.say(text, sender="carol")
    turn = await hook.say("who is there?", sender="carol")

    assert notice(name, language, **values) == told["reply"]["text"]
    assert "one answers" == turn["reply"]["text"]


async def test_a_fallback_answers_while_the_agent_is_down(world: Stage) -> None:
    """The fallback answers, and the ledger names it."""
    play(world)

    turn = await world.hook().say("anybody here? 在吗，请回答", conversation="backed")

    assert ("answered", "two answers") == (turn["status"], turn["reply"]["text"])
    assert ["down", "two"] == world.model.models
    told = await world.explain(turn)
    assert "two" == told["agent"]
    assert "answered by two" in told["notes"]


@pytest.mark.parametrize("room", ["alone", "both-down"])
@pytest.mark.parametrize(("text", "language"), [("anybody here?", "en"), ("有人能回答我吗", "zh")])
async def test_without_an_agent_there_is_an_honest_notice(
    room: str, text: str, language: Language, world: Stage
) -> None:
    """No fallback, or one that is down as well: `failed`, with a notice in the person's language; the next one is
    answered (AstrBot#1054)."""
    play(world)
    hook = world.hook()

    turn = await hook.say(text, conversation=room)
    world.model.scripts["down"] = lambda prompt: f"back again, {len(users(prompt))}"
    again = await hook.say(text, conversation=room)

    assert "failed" == turn["status"]
    assert {"code": "agent_unavailable", "message": notice("agent_unavailable", language)} == turn["error"]
    assert again["reply"]["text"].startswith("back again")


async def test_a_refusal_is_no_outage(world: Stage) -> None:
    """A service that refuses the key or the content is not passed over for another model."""
    play(world)
    world.model.scripts["down"] = lambda prompt: Refusal(401)

    turn = await world.hook().say("anybody here?", conversation="backed")

    assert "agent_refused" == turn["error"]["code"]
    assert ["down"] == world.model.models


async def test_each_failure_is_counted_on_the_agent_that_failed(world: Stage) -> None:
    """First one down, then its fallback: one failed call each, whoever the turn was for."""

    async def errors() -> list[float]:
        async with world.session.get(f"{world.gateway.url}/metrics") as response:
            lines = (await response.text()).splitlines()
        failed = 'clew_agent_errors_total{agent="%s",code="agent_unavailable"} '
        return [
            sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(failed % agent))
            for agent in ("down", "also-down")
        ]

    play(world)
    before = await errors()
    await world.hook().say("anybody here?", conversation="both-down")

    assert [1, 1] == [now - then for now, then in zip(await errors(), before, strict=True)]


async def test_a_room_given_another_agent(world: Stage) -> None:
    """`fresh` begins anew, `carry` brings the last window as attributed reference, `alias` goes on as if nothing had
    been (C19); the change takes hold while the gateway runs, and a command that comes before the first question changes
    nothing of it."""
    play(world)
    hook = world.hook("moving")
    for room in ("fresh", "carry", "alias"):
        await hook.say(
            f"in {room}: the vault is blue 蓝色", sender="ada", name="Ada", conversation=room, chat_type="group"
        )

    await world.change(BODY.replace("AGENT", "two"))
    world.model.prompts.clear()
    prompts: dict[str, Prompt] = {}
    for room in ("fresh", "carry", "alias"):
        await hook.say("/memory", sender="bob", name="Bob", conversation=room, chat_type="group")
        turn = await hook.say("what colour?", sender="bob", name="Bob", conversation=room, chat_type="group")
        assert "two answers" == turn["reply"]["text"]
        prompts[room] = world.model.prompts[-1]

    system = {room: prompt[0]["content"] for room, prompt in prompts.items()}
    assert "blue" not in "".join(message["content"] for message in prompts["fresh"])
    assert "[Ada]: in carry: the vault is blue 蓝色" in system["carry"]
    assert "[agent one]: one answers" in system["carry"]
    assert "blue" not in system["alias"]
    assert ["[Bob]: what colour?"] == users(prompts["fresh"]) == users(prompts["carry"])
    assert ["[Ada]: in alias: the vault is blue 蓝色", "[Bob]: what colour?"] == users(prompts["alias"])


async def test_a_choice_that_is_not_offered_any_more(world: Stage) -> None:
    """An agent taken off the list answers nobody who chose it before: the place's own agent does."""
    play(world)
    hook = world.hook("choice")
    await hook.say("/agent two", sender="dave")

    await world.change(BODY.replace("AGENT", "two").replace("agents: [one, two]", "agents: [one, three]"))
    turn = await hook.say("who is there?", sender="dave")

    assert "one answers" == turn["reply"]["text"]
