"""The openai agent against llmock: a foreign server that injects faults and judges how its client behaved.

Its verdict sees the wire only. A broken stream of which part was shown can't be asked for again, so there it must find
that we stopped at half an answer; that this half is not taken for a whole one is asserted here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from llmock.pytest_plugin import LLMock
from llmock.testing import LLMockServer

from config.settings import AgentSettings
from gateway.agent import AgentEvent, Done
from gateway.agents.openai import OpenAIAgent
from gateway.errors import AgentBroken, AgentFault, AgentRefused, AgentTimeout, AgentUnavailable, ContextTooLong
from tests.contracts.agent import deadline, text
from tests.model_server import caller, context


@pytest.fixture
def mock() -> Iterator[LLMock]:
    """A server of this test's own: behaviours apply to the next request, whoever makes it."""
    with LLMockServer() as server:
        yield LLMock(server)


@pytest.fixture
async def agent(mock: LLMock) -> AsyncIterator[OpenAIAgent]:
    settings = AgentSettings.model_validate(
        {"base_url": mock.base_url("openai"), "api_key": "k", "model": "gpt-4o", "idle_s": 1, "retries": 2}
    )
    agent = OpenAIAgent(settings, jitter=lambda: 0.2)
    yield agent
    await agent.aclose()


async def ask(agent: OpenAIAgent, question: str = "Hello?") -> list[AgentEvent]:
    return [event async for event in agent.answer(context(question), caller=caller(), deadline=deadline())]


async def fails(agent: OpenAIAgent, kind: type[AgentFault]) -> str:
    """Expect the answer to raise `kind`, never to be called done; return what was shown of it."""
    events: list[AgentEvent] = []

    async def iterate() -> None:
        async for event in agent.answer(context(), caller=caller(), deadline=deadline()):
            events.append(event)

    with pytest.raises(kind):
        await iterate()
    assert not [event for event in events if isinstance(event, Done)]
    return text(events)


async def test_a_good_answer(agent: OpenAIAgent, mock: LLMock) -> None:
    """Streamed text, a finish reason and the usage."""
    mock.reply("你好，世界 👋🏽, and more words to stream.")

    *deltas, done = await ask(agent)

    assert "你好，世界 👋🏽, and more words to stream." == text(deltas)
    assert isinstance(done, Done)
    assert "stop" == done.finish
    assert done.usage is not None
    assert done.usage.prompt > 0
    mock.assert_resilient(strict=True)


async def test_rate_limits_are_waited_out(agent: OpenAIAgent, mock: LLMock) -> None:
    """Two 429 with Retry-After: waited as long as asked, then answered (openclaw/openclaw#50866)."""
    mock.rate_limit(times=2, retry_after=0.3)

    assert isinstance((await ask(agent))[-1], Done)

    assert 3 == len(mock.requests)
    mock.assert_resilient(strict=True)


async def test_failures_are_tried_again_with_growing_waits(agent: OpenAIAgent, mock: LLMock) -> None:
    """Two 500: tried again, later each time."""
    mock.fail(500, times=2)

    assert isinstance((await ask(agent))[-1], Done)

    assert 3 == len(mock.requests)
    mock.assert_resilient(strict=True)


async def test_an_outage_is_no_reason_to_storm(agent: OpenAIAgent, mock: LLMock) -> None:
    """A service that stays down is asked three times in all; one layer alone retries (HKUDS/nanobot#3054)."""
    mock.outage()

    assert "" == await fails(agent, AgentUnavailable)

    assert 3 == len(mock.requests)
    mock.assert_resilient(strict=True)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_not_repeated(agent: OpenAIAgent, mock: LLMock, status: int) -> None:
    """What can't pass is asked once."""
    mock.fail(status, times=None)

    await fails(agent, AgentRefused)

    assert 1 == len(mock.requests)
    mock.assert_resilient(strict=True)


async def test_a_prompt_that_is_too_long(agent: OpenAIAgent, mock: LLMock) -> None:
    """The context refusal is told apart, and not repeated unchanged."""
    mock.context_overflow(times=None)

    await fails(agent, ContextTooLong)

    assert 1 == len(mock.requests)
    mock.assert_resilient(strict=True)


async def test_a_slow_first_token(agent: OpenAIAgent, mock: LLMock) -> None:
    """A service that thinks for a while is waited for."""
    mock.slow_first_token(0.5)

    assert isinstance((await ask(agent))[-1], Done)
    mock.assert_resilient(strict=True)


async def test_a_stall_is_given_up(agent: OpenAIAgent, mock: LLMock) -> None:
    """A stream that stalls in the middle ends after `idle_s`, not after the stall."""
    mock.reply("one two three four five six").stall(after_chunks=3, seconds=8)

    async with asyncio.timeout(5):
        assert await fails(agent, AgentTimeout)

    assert [] == [finding.code for finding in mock.verdict().findings]


async def test_a_connection_lost_before_the_text_is_made_good(agent: OpenAIAgent, mock: LLMock) -> None:
    """Nothing was shown yet: the call is made again and nobody sees it."""
    mock.disconnect(after_chunks=1)

    assert isinstance((await ask(agent))[-1], Done)

    assert 2 == len(mock.requests)
    mock.assert_resilient(strict=True)


async def test_a_stream_cut_before_the_text_is_made_good(agent: OpenAIAgent, mock: LLMock) -> None:
    """A stream that ends early but cleanly, before any text, is no empty answer."""
    mock.truncate(after_chunks=1)

    assert isinstance((await ask(agent))[-1], Done)

    assert 2 == len(mock.requests)
    mock.assert_resilient(strict=True)


@pytest.mark.parametrize(
    ("fault", "finding"),
    [
        ("truncate", "truncated_stream_accepted"),
        ("corrupt", "malformed_chunk_ignored"),
        ("disconnect", "gave_up"),
    ],
)
async def test_half_an_answer_is_never_a_whole_one(agent: OpenAIAgent, mock: LLMock, fault: str, finding: str) -> None:
    """Cut silently, garbled or dropped after part was shown: `AgentBroken`, no `Done`, and no second text.

    The judge can't see that we refused the half; its finding says only that we did not ask again.
    """
    mock.pace(60).reply("one two three four five six seven eight nine ten")
    getattr(mock, fault)(after_chunks=4)

    shown = await fails(agent, AgentBroken)

    assert shown
    assert "one two three four five six seven eight nine ten".startswith(shown)
    assert 1 == len(mock.requests)
    assert [finding] == [found.code for found in mock.verdict().findings]
