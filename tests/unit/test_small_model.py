"""The small model of memory over the wire: which agent it is, what is asked for, and what counts as an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from config.channels.base import RoomSettings
from config.loader import load
from gateway.agent import Usage
from gateway.app import make_agent
from gateway.channels import Times
from gateway.live import Live, MadeAgent
from gateway.metrics import Metrics
from gateway.small_model import AgentModel, model_name
from memory.errors import ModelFailed
from memory.extraction import SCHEMA
from tests.fakes import FakeIntake
from tests.model_server import DONE, Answer, ModelServer, chunk, model_server, refuse, silent, stream, whole

SETTINGS = """
agents:
  default: {kind: openai, base_url: "URL", api_key: sk-x, model: large, retries: 0}
  small: {kind: openai, base_url: "URL", api_key: sk-x, model: tiny, retries: 0}
  demo: {kind: demo}
channels: {}
"""


class World:
    def __init__(self, server: ModelServer, folder: Path) -> None:
        (folder / "clew.yaml").write_text(SETTINGS.replace("URL", server.url), "utf-8")
        self.server, self.metrics, self.spent = (
            server,
            Metrics(version="1"),
            list[tuple[Usage | None, dict[str, object]]](),
        )
        self.live = Live(
            load(folder / "clew.yaml", {}),
            make_agent=lambda name, agent: make_agent(name, agent, metrics=self.metrics),
            make_adapter=lambda name, settings: pytest.fail("no channel is made"),
            times=Times(start_s=1, send_s=1, rest_s=1),
        )

    def note(self, usage: Usage | None, **about: object) -> None:
        self.spent.append((usage, about))

    async def asked(self, name: str = "small", *, timeout_s: float = 20) -> str:
        model = AgentModel(name, live=self.live, metrics=self.metrics, timeout_s=timeout_s, spent=self.note)
        return await model.complete(
            system="Be a clerk.", prompt="注意：<message>hi</message>", schema=SCHEMA, max_tokens=77
        )


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with model_server() as server, asyncio.TaskGroup() as tasks:
        there = World(server, tmp_path)
        await there.live.apply(there.live.configuration, intake=FakeIntake(), tasks=tasks)
        yield there
        await there.live.aclose()


async def test_the_service_is_asked_for_json_of_the_schema_and_little_invention(world: World) -> None:
    """A43, B12: temperature 0.3, the schema, at most so many tokens; the answer comes whole and is counted apart from talk."""
    world.server.will(whole('{"changes"', ": []}"))

    answer = await world.asked()

    (body,) = world.server.bodies
    assert '{"changes": []}' == answer
    assert ("tiny", 0.3) == (body["model"], body["temperature"])
    assert ["Be a clerk.", "注意：<message>hi</message>"] == [message["content"] for message in body["messages"]]
    assert SCHEMA == body["response_format"]["json_schema"]["schema"]
    assert 77 in body.values()
    ((usage, about),) = world.spent
    assert usage is not None
    assert (11, "tiny", False) == (usage.prompt, about["model"], about["failed"])


@pytest.mark.parametrize(
    "answer",
    [
        refuse(503, {"error": {"message": "secret words"}}),
        refuse(401, {"error": {"message": "secret words"}}),
        whole("half a summ", finish="length"),
        whole(" "),
        stream(chunk("half"), drop=True),
        stream(chunk("half"), DONE),
        stream(*[chunk("on and on " * 40)] * 9, chunk(finish="stop"), DONE),
    ],
)
async def test_whatever_is_no_whole_answer_is_none(world: World, answer: Answer) -> None:
    """F2, s2b-dev/smart-second-brain#435: what was said half is not kept, and an error's text is not taken for an answer."""
    world.server.will(answer)

    with pytest.raises(ModelFailed) as failed:
        await world.asked()

    assert "secret words" not in str(failed.value)


async def test_it_may_take_its_time_and_no_longer(world: World) -> None:
    world.server.will(silent)

    with pytest.raises(ModelFailed):
        await asyncio.wait_for(world.asked(timeout_s=0.2), 20)


async def test_an_agent_that_is_gone_is_a_failure(world: World) -> None:
    with pytest.raises(ModelFailed, match="not configured any more"):
        await world.asked("gone")


def room(model: str) -> RoomSettings:
    return RoomSettings.model_validate({"memory": {"model": model}})


@pytest.mark.parametrize(
    ("wished", "answering", "without", "name"),
    [
        ("none", "default", "", None),
        ("auto", "default", "", "small"),
        ("auto", "default", "small", "default"),
        ("auto", "demo", "small", None),
        ("default", "demo", "", "default"),
        ("demo", "default", "", None),
        ("gone", "default", "", None),
    ],
)
async def test_which_agent_it_is(world: World, wished: str, answering: str, without: str, name: str | None) -> None:
    """D13: a smaller one where there is one, else the one that answers, if a model does; never against the admin's word."""
    agents: dict[str, MadeAgent] = {one: made for one, made in world.live.agents().items() if one != without}

    assert name == model_name(room(wished), answering, agents)
