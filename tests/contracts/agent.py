"""What every agent kind must keep (`gateway.agent.Agent`). A new kind joins `KINDS` by one line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import pytest

from gateway.agent import Agent, AgentEvent, Delta, Done
from gateway.agents.demo import DemoAgent
from gateway.agents.openai import OpenAIAgent
from gateway.errors import AgentTimeout
from memory.base import Context
from tests.model_server import caller, chunk, context, model_server, stream, whole


class Kind(Protocol):
    def __call__(self, *, endless: bool = False) -> AbstractAsyncContextManager[tuple[Agent, asyncio.Event | None]]:
        """Open an agent that can be reached; with `endless`, one whose answer does not come to its end for minutes.
        The event, if the kind calls somebody else, is set when that call was closed from here."""
        ...


@asynccontextmanager
async def _openai(*, endless: bool = False) -> AsyncIterator[tuple[Agent, asyncio.Event | None]]:
    async with model_server() as server:
        server.will(stream(chunk("Once "), hang=True) if endless else whole("Hello ", "世界", " 👋🏽"))
        agent = OpenAIAgent(server.settings())
        try:
            yield agent, server.left
        finally:
            await agent.aclose()


@asynccontextmanager
async def _demo(*, endless: bool = False) -> AsyncIterator[tuple[Agent, asyncio.Event | None]]:
    yield DemoAgent(pace_s=300 if endless else 0), None


KINDS: dict[str, Kind] = {"openai": _openai, "demo": _demo}


def deadline(seconds: float = 20) -> float:
    return asyncio.get_running_loop().time() + seconds


async def collect(agent: Agent, asked: Context) -> list[AgentEvent]:
    return [event async for event in agent.answer(asked, caller=caller(), deadline=deadline())]


class AgentContract:
    @pytest.fixture
    def kind(self) -> Kind:
        raise NotImplementedError

    async def test_text_then_exactly_one_done(self, kind: Kind) -> None:
        """An answer is deltas, none of them empty, and then one `Done`, the last."""
        async with kind() as (agent, _):
            events = await collect(agent, context("Hello? 你好"))

        assert [Done] == [type(event) for event in events if not isinstance(event, Delta)]
        assert isinstance(events[-1], Done)
        assert len(events) > 1
        assert all(event.text for event in events if isinstance(event, Delta))
        assert "stop" == events[-1].finish

    async def test_many_calls_at_once_do_not_mix(self, kind: Kind) -> None:
        """Calls at once give what the same calls give one by one."""
        async with kind() as (agent, _):
            asked = [context(f"question {i}") for i in range(20)]
            one_by_one = [await collect(agent, one) for one in asked]

            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(collect(agent, one)) for one in asked]

        assert [text(events) for events in one_by_one] == [text(task.result()) for task in running]

    async def test_the_deadline_ends_the_call(self, kind: Kind) -> None:
        """Past the deadline the call raises `AgentTimeout`, whatever was said before, and is closed."""
        async with kind() as (agent, _):
            with pytest.raises(AgentTimeout, match="deadline"):
                async for _event in agent.answer(context(), caller=caller(), deadline=deadline(-1)):
                    pass

    async def test_cancelling_closes_the_call(self, kind: Kind) -> None:
        """Cancelling the task that iterates ends the call at once, and with it the connection behind it."""
        begun = asyncio.Event()

        async def iterate(agent: Agent) -> None:
            async for _event in agent.answer(context(), caller=caller(), deadline=deadline(600)):
                begun.set()

        async with kind(endless=True) as (agent, left), asyncio.timeout(10):
            task = asyncio.create_task(iterate(agent))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            if left is not None:
                await left.wait()

    async def test_can_be_probed_and_closed_twice(self, kind: Kind) -> None:
        """`probe` passes for an agent that can be reached; closing twice is no error."""
        async with kind() as (agent, _):
            await agent.probe()
            await agent.aclose()
            await agent.aclose()


def text(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Delta))
