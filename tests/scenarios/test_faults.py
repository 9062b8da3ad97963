"""A foreign, faulty model service behind the whole process: the right end of each turn, and the judge's word on our calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from llmock.pytest_plugin import LLMock
from llmock.testing import LLMockServer

from gateway.notices import notice
from tests.scenarios.stage import Stage, stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEN = "one two three four five six seven eight nine ten"
BODY = """
agents: {default: {kind: openai, base_url: "LLMOCK", api_key: k, model: gpt-4o, idle_s: 5}}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"]}}
memory: {model: none}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[LLMockServer]:
    with LLMockServer() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, server: LLMockServer) -> AsyncIterator[Stage]:
    body = BODY.replace("LLMOCK", server.base_url("openai"))
    async with stage(tmp_path_factory.mktemp("faults"), body) as running:
        async with running.session.get(f"{running.gateway.url}/readyz") as response:
            await response.read()  # the looks at the service that the start makes are over, and take no test's fault
        yield running


@pytest.fixture
def mock(server: LLMockServer) -> LLMock:
    return LLMock(server).reset()


def completions(mock: LLMock) -> int:
    """How often a completion was asked for; looks at the list of models are no turn's."""
    return sum("chat/completions" in record.path for record in mock.requests)


async def test_a_rate_limit_is_waited_out(world: Stage, mock: LLMock) -> None:
    """429 with Retry-After twice: nobody sees it (openclaw#50866)."""
    mock.rate_limit(times=2, retry_after=0.2).reply("Here I am 我在")

    turn = await world.hook().say("are you there?", conversation="429")

    assert ("answered", "Here I am 我在") == (turn["status"], turn["reply"]["text"])
    assert 3 == completions(mock)
    mock.assert_resilient(strict=True)


@pytest.mark.parametrize(
    ("fault", "finding"),
    [("truncate", "truncated_stream_accepted"), ("disconnect", "gave_up"), ("corrupt", "malformed_chunk_ignored")],
)
async def test_half_an_answer_is_no_answer(fault: str, finding: str, world: Stage, mock: LLMock) -> None:
    """Cut silently, dropped or garbled after part was shown: `failed` with a notice, the half is not remembered as said,
    and the next message is answered. The judge can't see that we refused the half: it finds that we did not ask again."""
    mock.pace(30).reply(TEN)
    getattr(mock, fault)(after_chunks=4)
    hook = world.hook()

    failed = await hook.say("从一数到十 please", conversation=fault)
    calls = completions(mock)
    findings = [found.code for found in mock.verdict().findings]
    mock.reset()
    after = await hook.say("so?", conversation=fault)

    assert ("failed", "agent_broken") == (failed["status"], failed["error"]["code"])
    assert notice("agent_broken", "zh") == failed["error"]["message"]
    assert (1, [finding]) == (calls, findings)
    assert "answered" == after["status"]
    assert ["user", "user", "assistant"] == [
        role for (role,) in world.rows("SELECT role FROM messages WHERE conversation = ? ORDER BY id", fault)
    ]
    mock.assert_resilient(strict=True)


@pytest.mark.parametrize("fault", ["truncate", "disconnect"])
async def test_a_stream_that_breaks_before_its_text_is_made_good(fault: str, world: Stage, mock: LLMock) -> None:
    """Nothing was shown yet: the call is made again, unseen."""
    mock.reply("Here I am")
    getattr(mock, fault)(after_chunks=1)

    turn = await world.hook().say("are you there?", conversation=f"early {fault}")

    assert "answered" == turn["status"]
    assert 2 == completions(mock)
    mock.assert_resilient(strict=True)


async def test_a_prompt_that_the_model_finds_too_long(world: Stage, mock: LLMock) -> None:
    """Refused once: trimmed harder once and answered, and the ledger says so (openclaw#13624, openclaw#72676,
    AstrBot#1054)."""
    hook = world.hook()
    for number in range(6):
        await hook.say(f"{number} " + "tell me about tea 说说茶 " * 20, conversation="long")
    mock.reset().context_overflow(times=1)

    turn = await hook.say("which tea was best?", conversation="long")

    assert "answered" == turn["status"]
    assert 2 == completions(mock)
    first, second = (record.body["messages"] for record in mock.requests if "chat/completions" in record.path)
    assert len(second) < len(first)
    assert first[-1] == second[-1]
    told = await world.explain(turn)
    assert "context refused: trimmed harder once" in told["notes"]
    assert "token_budget" in {entry["rule"] for entry in told["entries"] if entry["verdict"] == "out"}
    mock.assert_resilient(strict=True)


async def test_a_prompt_that_stays_too_long(world: Stage, mock: LLMock) -> None:
    """Refused again: `failed` with a notice that says what can be done, after two calls; the conversation is not stuck
    (AstrBot#1054)."""
    mock.context_overflow(times=None)
    hook = world.hook()

    failed = await hook.say("太长了吗", conversation="stuck")
    calls = completions(mock)
    mock.reset()
    after = await hook.say("现在呢？还好吗", conversation="stuck")

    assert {"code": "context_too_long", "message": notice("context_too_long", "zh")} == failed["error"]
    assert 2 == calls
    assert "answered" == after["status"]
