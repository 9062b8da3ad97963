"""A model that asks for a human: offered where the room lets it, read from the stream, left out for services without tools."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from gateway.agent import HAND_OVER, AgentEvent, Delta, Done, ToolUse
from gateway.agents.completion import MOST_REASON, Completion
from gateway.agents.openai import OpenAIAgent
from memory.base import Context, Step
from tests.contracts.agent import deadline
from tests.model_server import DONE, Answer, ModelServer, caller, chunk, context, model_server, refuse, stream, whole

MAY = msgspec.structs.replace(context("I want my money back 退钱"), may_hand_over=True)


def called(*arguments: str, name: str = HAND_OVER) -> list[bytes]:
    """A call's chunks: its name first, its arguments piece by piece."""
    first = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = [{"index": 0, "function": {"arguments": piece}} for piece in arguments]
    return [chunk(tool_calls=[call]) for call in (first, *pieces)]


def calls(*arguments: str, name: str = HAND_OVER, text: str = "") -> Answer:
    said = [chunk(text)] if text else []
    return stream(*said, *called(*arguments, name=name), chunk(finish="tool_calls"), DONE)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as running:
        yield running


async def ask(server: ModelServer, prompt: Context = MAY) -> list[AgentEvent]:
    agent = OpenAIAgent(server.settings(), jitter=lambda: 0)
    try:
        return [event async for event in agent.answer(prompt, caller=caller(), deadline=deadline(10))]
    finally:
        await agent.aclose()


async def test_a_call_is_a_step_with_its_reason(server: ModelServer) -> None:
    """In pieces, in any script; without a word to the person the answer is whole all the same."""
    server.will(calls('{"rea', 'son": "wants 退', '款\\n now"}'))

    events = await ask(server)

    assert [ToolUse(Step(name=HAND_OVER, detail="wants 退款 now")), Done(finish="tool_calls")] == events
    (tool,) = server.bodies[0]["tools"]
    assert HAND_OVER == tool["function"]["name"]


async def test_what_is_said_besides_is_said(server: ModelServer) -> None:
    server.will(calls('{"reason": "x"}', text="A colleague will look at it."))

    events = await ask(server)

    assert [Delta("A colleague will look at it."), ToolUse(Step(name=HAND_OVER, detail="x"))] == events[:2]


async def test_the_tool_is_offered_where_the_room_lets_it(server: ModelServer) -> None:
    """And a call that nobody offered is none."""
    server.will(calls('{"reason": "x"}', text="Hm."))

    events = await ask(server, context("hello"))

    assert "tools" not in server.bodies[0]
    assert [Delta("Hm."), Done(finish="tool_calls")] == events


async def test_a_service_without_tools_answers_without(server: ModelServer) -> None:
    """It refuses the field once, and is not sent it again."""
    server.will(refuse(400, {"error": {"message": "unknown field: tools"}}), whole("ok"))

    events = await ask(server)

    assert Delta("ok") == events[0]
    assert [True, False] == ["tools" in body for body in server.bodies]


@pytest.mark.parametrize("arguments", ["", "{", '{"reason": 5}', "[]", "null"])
def test_a_call_without_a_reason_counts(arguments: str) -> None:
    """Whatever a model makes of the arguments, it wants a human."""
    reading = Completion("model 'm'")
    for block in called(arguments):
        reading.feed(block, now=0)

    assert "" == reading.hand_over


def test_other_tools_are_nobodys() -> None:
    """A model that invents one has asked for nothing; a long reason is cut."""
    invented, long = Completion("model 'm'"), Completion("model 'm'")
    for block in called('{"reason": "x"}', name="refund_all"):
        invented.feed(block, now=0)
    for block in called('{"reason": "' + "长" * 5000 + '"}'):
        long.feed(block, now=0)

    assert invented.hand_over is None
    assert "长" * MOST_REASON == long.hand_over
