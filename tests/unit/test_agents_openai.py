"""The openai agent over real HTTP, against a server that misbehaves on purpose."""

from __future__ import annotations

import asyncio
import gzip
import logging
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from email.utils import formatdate

import msgspec
import pytest

from config.settings import AgentSettings
from gateway import logs
from gateway.agent import AgentEvent, Delta, Done, Usage
from gateway.agents.openai import OpenAIAgent
from gateway.errors import AgentBroken, AgentFault, AgentRefused, AgentTimeout, AgentUnavailable, ContextTooLong
from memory.base import Context
from tests.contracts.agent import deadline, text
from tests.model_server import (
    DONE,
    NEXT,
    ModelServer,
    caller,
    chunk,
    context,
    event,
    model_server,
    refuse,
    say,
    silent,
    stream,
    whole,
)
from tests.model_server import usage as usage_chunk
from tests.services import free_port

MakeAgent = Callable[..., OpenAIAgent]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as running:
        yield running


@pytest.fixture
async def make(server: ModelServer) -> AsyncIterator[MakeAgent]:
    """Make agents that talk to the server; retries wait 10 ms."""
    async with AsyncExitStack() as stack:

        def make_agent(**settings: object) -> OpenAIAgent:
            agent = OpenAIAgent(server.settings(**settings), jitter=lambda: 0.02)
            stack.push_async_callback(agent.aclose)
            return agent

        yield make_agent


async def ask(agent: OpenAIAgent, asked: Context | None = None, *, seconds: float = 20) -> list[AgentEvent]:
    return [e async for e in agent.answer(asked or context(), caller=caller(), deadline=deadline(seconds))]


async def fails(
    agent: OpenAIAgent,
    kind: type[AgentFault],
    *,
    shown: str = "",
    seconds: float = 20,
    server: ModelServer | None = None,
) -> str:
    """Expect the answer to show `shown` and then to raise `kind`; return the message. `server` goes on once text came."""
    events: list[AgentEvent] = []

    async def iterate() -> None:
        async for e in agent.answer(context(), caller=caller(), deadline=deadline(seconds)):
            events.append(e)
            if server is not None:
                server.go_on.set()

    with pytest.raises(kind) as raised:
        await iterate()
    assert shown == text(events)
    assert not [e for e in events if isinstance(e, Done)]
    return str(raised.value)


class TestRequest:
    async def test_what_is_sent(self, server: ModelServer, make: MakeAgent) -> None:
        """The body holds the system block first, the messages as they are, and asks for a stream with its usage."""
        server.will(whole("ok"))

        await ask(make(temperature=0.3, parameters={"top_p": 0.5}), context("Hi", "Hello", "你好 👋🏽"))

        assert {
            "model": "m-1",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello"},
                {"role": "user", "content": "你好 👋🏽"},
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": 100,
            "temperature": 0.3,
            "top_p": 0.5,
        } == server.bodies[0]
        assert "/v1/chat/completions" == server.requests[0].path
        assert "Bearer sk-test-SECRET" == server.requests[0].headers["Authorization"]
        assert "application/json" == server.requests[0].headers["Content-Type"]

    async def test_no_empty_system_block(self, server: ModelServer, make: MakeAgent) -> None:
        """Without a system block no system message is sent."""
        server.will(whole("ok"))

        await ask(make(), context("Hi", system=""))

        assert ["user"] == [message["role"] for message in server.bodies[0]["messages"]]

    async def test_nothing_is_taken_from_the_environment(
        self, server: ModelServer, make: MakeAgent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Key and address are those of the settings, whatever the environment holds for the client library."""
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
        monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin")
        server.will(whole("ok"))

        assert "ok" == text(await ask(make(api_key=None)))

        assert "sk-" not in str(server.requests[0].headers)

    async def test_a_proxy_from_the_environment_is_used(
        self, server: ModelServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """HTTP_PROXY carries the call, as for every program that uses the client library."""
        monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
        server.will(whole("by proxy"))
        agent = OpenAIAgent(AgentSettings.model_validate({"base_url": "http://model.invalid/v1", "api_key": "k"}))

        answered = text(await ask(agent))
        await agent.aclose()

        assert "by proxy" == answered
        assert "model.invalid" == server.requests[0].host

    async def test_the_client_library_is_imported_late(self) -> None:
        """Importing the agent costs neither the time nor the memory of the client library (G5)."""
        code = "import sys, gateway.agents.openai; sys.exit('openai' in sys.modules or 'httpx2' in sys.modules)"

        assert 0 == subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode

    async def test_one_connection_serves_calls_in_turn(self, server: ModelServer, make: MakeAgent) -> None:
        """A body that was read to its end leaves its connection for the next call."""
        server.will(whole("ok"))
        agent = make()

        for _ in range(3):
            await ask(agent)

        assert 1 == len({request.transport for request in server.requests})


class TestDialects:
    async def test_the_cap_is_swapped_once_and_remembered(self, server: ModelServer, make: MakeAgent) -> None:
        """A service that wants `max_completion_tokens` gets it, and from then on at once."""
        error = {
            "message": "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            "type": "invalid_request_error",
            "param": "max_tokens",
            "code": "unsupported_parameter",
        }
        server.will(refuse(400, {"error": error}), whole("ok"))
        agent = make()

        assert "ok" == text(await ask(agent))
        assert "ok" == text(await ask(agent))

        assert [
            ("max_tokens", None),
            (None, "max_completion_tokens"),
            (None, "max_completion_tokens"),
        ] == [
            (
                "max_tokens" if "max_tokens" in body else None,
                "max_completion_tokens" if "max_completion_tokens" in body else None,
            )
            for body in server.bodies
        ]

    async def test_stream_options_are_left_out_where_refused(self, server: ModelServer, make: MakeAgent) -> None:
        """A service that does not know `stream_options` (here FastAPI's own 422) answers without usage."""
        detail = [
            {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
        ]
        server.will(refuse(422, {"detail": detail}), stream(chunk("ok"), chunk(finish="stop"), DONE))

        events = await ask(make())

        assert Done(finish="stop", usage=None) == events[-1]
        assert ["stream_options" in body for body in server.bodies] == [True, False]

    async def test_a_schema_is_left_out_where_the_service_breaks_on_it(
        self, server: ModelServer, make: MakeAgent
    ) -> None:
        """llama-cpp-python's server answers a `response_format` that it does not know with 500, as seen of version 0.3.36."""
        said = "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'input': 'json_schema'}]"
        error = {"message": said, "type": "internal_server_error", "param": None, "code": None}
        server.will(refuse(500, {"error": error}), stream(chunk("{}"), chunk(finish="stop"), DONE))

        await ask(make(), msgspec.structs.replace(context("?"), schema={"type": "object"}))

        assert [True, False] == ["response_format" in body for body in server.bodies]

    async def test_each_field_gives_way_once(self, server: ModelServer, make: MakeAgent) -> None:
        """A service that refuses everything is asked three times in all, never the same way twice, then given up."""
        server.will(refuse(400, {"error": {"message": "no stream_options, no max_tokens, no max_completion_tokens"}}))

        assert "HTTP 400" in await fails(make(), AgentRefused)

        assert 3 == len({msgspec.json.encode(body) for body in server.bodies}) == len(server.bodies)

    async def test_a_cap_among_the_parameters_is_the_only_one(self, server: ModelServer, make: MakeAgent) -> None:
        """Who sets a cap by hand gets exactly that one."""
        server.will(whole("ok"))

        await ask(make(parameters={"max_completion_tokens": 7}))

        assert 7 == server.bodies[0]["max_completion_tokens"]
        assert "max_tokens" not in server.bodies[0]


class TestAnswer:
    async def test_usage_and_finish_are_kept(self, server: ModelServer, make: MakeAgent) -> None:
        """The end carries the tokens that the service reports and why it stopped; "length" passes as it is."""
        server.will(stream(chunk("cut"), chunk(finish="length"), usage_chunk(123, 45), DONE))

        assert [Delta("cut"), Done(finish="length", usage=Usage(prompt=123, completion=45))] == await ask(make())

    async def test_thinking_is_kept_apart(self, server: ModelServer, make: MakeAgent) -> None:
        """Reasoning never shows in the text; its words and its duration come with the end (A17)."""
        server.will(
            stream(
                chunk(reasoning_content="Let me "), chunk(reasoning="think"), chunk("42"), chunk(finish="stop"), DONE
            )
        )

        *deltas, done = await ask(make())

        assert "42" == text(deltas)
        assert isinstance(done, Done)
        assert "Let me think" == done.thinking
        assert done.thinking_s is not None
        assert 0 <= done.thinking_s < 5

    async def test_a_whole_json_answer(self, server: ModelServer, make: MakeAgent) -> None:
        """A service that ignores `stream` is understood, whatever it calls its content."""
        choice = {"index": 0, "message": {"content": "整个", "reasoning_content": "hm"}, "finish_reason": "stop"}
        document = {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
        body = msgspec.json.encode(document)
        done = Done(finish="stop", usage=Usage(prompt=3, completion=2), thinking="hm")

        server.will(say(body), say(body, content_type="text/event-stream"), refuse(200, {"error": {"message": "x"}}))
        agent = make(retries=0)

        assert [Delta("整个"), done] == await ask(agent)
        assert [Delta("整个"), done] == await ask(agent)
        await fails(agent, AgentUnavailable)

    async def test_a_compressed_body_is_read(self, server: ModelServer, make: MakeAgent) -> None:
        """A service or proxy that compresses although asked not to is understood."""

        async def compressed(server: ModelServer, request):  # type: ignore[no-untyped-def]
            response = await say(gzip.compress(chunk("ok") + chunk(finish="stop")), content_type="text/event-stream")(
                server, request
            )
            response.headers["Content-Encoding"] = "gzip"
            return response

        server.will(compressed)

        assert "ok" == text(await ask(make()))

    async def test_once_the_reason_is_known_the_answer_is_whole(self, server: ModelServer, make: MakeAgent) -> None:
        """A connection lost, or silent, after the finish reason costs the usage, not the answer."""
        end = (chunk("whole"), chunk(finish="stop"))
        server.will(stream(*end, drop=True), stream(*end, hang=True))
        agent = make()

        assert [Delta("whole"), Done(finish="stop")] == await ask(agent)
        begun = time.monotonic()
        assert [Delta("whole"), Done(finish="stop")] == await ask(agent)
        assert time.monotonic() - begun < 5

    @pytest.mark.parametrize(
        ("finish", "kind", "says"),
        [
            ("stop", AgentBroken, "said nothing"),
            ("length", AgentBroken, "raise the agent's output_tokens"),
            ("content_filter", AgentRefused, "content_filter"),
        ],
    )
    async def test_an_empty_answer_is_none(
        self, server: ModelServer, make: MakeAgent, finish: str, kind: type[AgentFault], says: str
    ) -> None:
        """A complete answer without text is an error, and not asked for again: it cost its tokens once."""
        server.will(stream(chunk(""), chunk(finish=finish), DONE))

        assert says in await fails(make(), kind)
        assert 1 == len(server.requests)

    async def test_a_filtered_answer_with_text_passes(self, server: ModelServer, make: MakeAgent) -> None:
        """What was shown before the filter stepped in stays, and the finish says so."""
        server.will(whole("so far", finish="content_filter"))

        assert Done(finish="content_filter", usage=Usage(prompt=11, completion=7)) == (await ask(make()))[-1]


class TestBrokenStreams:
    async def test_a_stream_without_finish_reason(self, server: ModelServer, make: MakeAgent) -> None:
        """Half an answer that ends cleanly is not taken for a whole one (the client library accepts it)."""
        server.will(stream(chunk("half an ans")))

        assert "finish reason" in await fails(make(), AgentBroken, shown="half an ans")
        assert 1 == len(server.requests)

    async def test_a_malformed_chunk(self, server: ModelServer, make: MakeAgent) -> None:
        """A chunk that is not JSON ends the answer; its content is not in the error."""
        server.will(stream(chunk("begun"), NEXT, b'data: {"choices": [SECRET\n\n', chunk(finish="stop")))

        said = await fails(make(), AgentBroken, shown="begun", server=server)

        assert "malformed" in said
        assert "SECRET" not in said

    async def test_a_lost_connection(self, server: ModelServer, make: MakeAgent) -> None:
        """A connection lost in the middle is an answer that broke off."""
        server.will(stream(chunk("begun"), drop=True))

        assert "dropped the connection" in await fails(make(), AgentBroken, shown="begun")

    async def test_an_error_inside_the_stream(self, server: ModelServer, make: MakeAgent) -> None:
        """An error object after part of the answer ends it; its words are not repeated."""
        server.will(stream(chunk("begun"), NEXT, event({"error": {"message": "the prompt said SECRET", "code": 500}})))

        said = await fails(make(), AgentBroken, shown="begun", server=server)

        assert "HTTP 500" in said
        assert "SECRET" not in said

    async def test_before_the_first_text_a_broken_stream_is_tried_again(
        self, server: ModelServer, make: MakeAgent
    ) -> None:
        """As long as nothing was shown, a broken stream costs a second try and nobody sees it."""
        server.will(
            stream(chunk(role="assistant"), drop=True),
            stream(chunk(reasoning="hm"), b"data: {\n\n"),
            whole("well"),
        )

        assert "well" == text(await ask(make()))
        assert 3 == len(server.requests)

    async def test_the_error_kinds_inside_a_stream(self, server: ModelServer, make: MakeAgent) -> None:
        """What is wrong is told apart inside a stream as in a status."""
        agent = make(retries=0)
        server.will(stream(event({"error": {"message": "maximum context length is 8192", "code": 400}})))
        await fails(agent, ContextTooLong)
        server.will(stream(event({"object": "error", "message": "overloaded"})))
        await fails(agent, AgentUnavailable)
        server.will(stream(event({"error": {"code": "insufficient_quota", "message": "x"}})))
        await fails(agent, AgentRefused)


class TestRetries:
    @pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
    async def test_what_may_pass_is_tried_again(self, server: ModelServer, make: MakeAgent, status: int) -> None:
        """Overload and failures are tried again; one layer alone does so (HKUDS/nanobot#3054)."""
        server.will(refuse(status, {"error": {"message": "later"}}), whole("ok"))

        assert "ok" == text(await ask(make()))
        assert 2 == len(server.requests)

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
    async def test_what_will_not_pass_is_not(self, server: ModelServer, make: MakeAgent, status: int) -> None:
        """A refusal is told at once, without the key, the prompt or what the service said."""
        server.will(refuse(status, {"error": {"message": "key sk-test-SECRET, prompt Hello?", "code": "bad_thing"}}))

        said = await fails(make(), AgentRefused)

        assert f"HTTP {status}, bad_thing" in said
        assert "check the agent's" in said
        assert "SECRET" not in said
        assert "Hello" not in said
        assert 1 == len(server.requests)

    async def test_a_used_up_quota_is_not_tried_again(self, server: ModelServer, make: MakeAgent) -> None:
        """A 429 that only money cures is a refusal."""
        server.will(
            refuse(429, {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}})
        )

        assert "billing" in await fails(make(), AgentRefused)
        assert 1 == len(server.requests)

    async def test_retries_end(self, server: ModelServer, make: MakeAgent) -> None:
        """After `retries` more tries the fault is told, with the wait that the service asked for last."""
        server.will(refuse(503, headers={"retry-after-ms": "20"}))

        with pytest.raises(AgentUnavailable) as raised:
            await ask(make(retries=2))

        assert 3 == len(server.requests)
        assert 0.02 == raised.value.retry_after_s

    async def test_the_service_is_given_the_time_it_asks_for(self, server: ModelServer) -> None:
        """`Retry-After` is waited out, and reported (openclaw/openclaw#50866: ignoring it makes the ban longer)."""
        waits: list[float] = []
        server.will(refuse(429, headers={"Retry-After": "0.3"}), whole("ok"))
        agent = OpenAIAgent(server.settings(), jitter=lambda: 0.0, on_rate_limit=waits.append)

        begun = time.monotonic()
        await ask(agent)
        await agent.aclose()

        assert time.monotonic() - begun >= 0.3
        assert [0.3] == waits

    async def test_no_wait_beyond_the_deadline(self, server: ModelServer, make: MakeAgent) -> None:
        """A wait that the deadline forbids is not begun: another agent may answer at once."""
        server.will(refuse(429, headers={"Retry-After": formatdate(time.time() + 600, usegmt=True)}))

        begun = time.monotonic()
        await fails(make(), AgentUnavailable)

        assert time.monotonic() - begun < 5
        assert 1 == len(server.requests)

    async def test_an_address_where_nobody_listens(self) -> None:
        """A refused connection is tried again and then told as unreachable, with the reason's kind."""
        settings = AgentSettings.model_validate(
            {"base_url": f"http://127.0.0.1:{free_port()}/v1", "api_key": "k", "retries": 1}
        )
        agent = OpenAIAgent(settings, jitter=lambda: 0.0)

        said = await fails(agent, AgentUnavailable)
        await agent.aclose()

        assert "can't be reached (ConnectionRefusedError)" in said
        assert "127.0.0.1" in said

    @pytest.mark.parametrize(
        "wrong",
        [
            {"base_url": "http://127.0.0.1:1/\x01"},
            {"base_url": "http://me:pw@127.0.0.1:1/v1"},
            {"base_url": f"http://{'a' * 300}/v1"},
            {"api_key": "sk-\u200bSECRET"},
        ],
        ids=["control-character", "password", "long-label", "zero-width-space"],
    )
    async def test_an_address_or_key_that_cannot_be_sent(self, wrong: dict[str, str]) -> None:
        """What the client's own checks refuse is refused in our words, without the key, when asked and when probed."""
        settings = AgentSettings.model_validate({"base_url": "http://127.0.0.1:1/v1", "api_key": "k"} | wrong)
        agent = OpenAIAgent(settings, jitter=lambda: 0.0)

        said = await fails(agent, AgentRefused)
        with pytest.raises(AgentRefused) as probed:
            await agent.probe()
        await agent.aclose()

        assert "check the agent's base_url and api_key" in said
        assert "SECRET" not in said + logs.describe(probed.value)

    async def test_a_server_that_speaks_no_http(self) -> None:
        """Bytes that are no HTTP are a fault of ours to tell, not a stray error of the transport."""

        async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(babble, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            agent = OpenAIAgent(AgentSettings.model_validate({"base_url": f"http://127.0.0.1:{port}/v1", "retries": 0}))
            await fails(agent, AgentUnavailable)
            await agent.aclose()

    async def test_a_retry_is_logged_without_content(
        self, server: ModelServer, make: MakeAgent, caplog: pytest.LogCaptureFixture
    ) -> None:
        """One WARNING per retry, with reason and wait."""
        server.will(refuse(500, {"error": {"message": "prompt: Hello?"}}), whole("ok"))

        with caplog.at_level(logging.WARNING, logger="gateway"):
            await ask(make())

        (record,) = caplog.records
        assert "agent call is tried again" == record.message
        assert 0.01 == vars(record)["wait_s"]
        assert "Hello" not in str(vars(record))


class TestTooLong:
    async def test_a_context_refusal_is_its_own_fault(self, server: ModelServer, make: MakeAgent) -> None:
        """A prompt beyond the model's window raises `ContextTooLong`, even where the words name one of our fields."""
        message = (
            "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is "
            "4096 tokens and your request has 3104 input tokens (2000 > 4096 - 3104). None"
        )
        server.will(refuse(400, {"object": "error", "message": message, "code": 400}))

        assert "window_tokens" in await fails(make(), ContextTooLong)
        assert 1 == len(server.requests)


class TestTimeouts:
    async def test_silence_before_the_head(self, server: ModelServer, make: MakeAgent) -> None:
        """A service that says nothing at all is given up, without a second try."""
        server.will(silent)

        assert "nothing came for" in await fails(make(connect_s=0.1, idle_s=0.1), AgentTimeout)
        assert 1 == len(server.requests)
        await asyncio.wait_for(server.left.wait(), 10)

    async def test_silence_between_bytes(self, server: ModelServer, make: MakeAgent) -> None:
        """A stream that stalls is given up after `idle_s`, and closed."""
        server.will(stream(chunk("begun"), hang=True))

        assert "nothing came for 0.2 s" in await fails(make(idle_s=0.2), AgentTimeout, shown="begun")
        await asyncio.wait_for(server.left.wait(), 10)

    async def test_a_slow_reader_is_not_silence(self, server: ModelServer, make: MakeAgent) -> None:
        """Time that our own side takes between two pieces does not count against the service."""
        server.will(stream(chunk("a"), chunk("b"), chunk(finish="stop"), DONE))
        events = []

        async for e in make(idle_s=0.2).answer(context(), caller=caller(), deadline=deadline()):
            events.append(e)
            await asyncio.sleep(0.25)

        assert "ab" == text(events)

    async def test_the_deadline_cuts_a_running_stream(self, server: ModelServer, make: MakeAgent) -> None:
        """The deadline holds in the middle of a stream too."""
        server.will(stream(chunk("begun"), hang=True))

        assert "deadline" in await fails(make(), AgentTimeout, shown="begun", seconds=0.5)

    async def test_leaving_the_iteration_closes_the_call(self, server: ModelServer, make: MakeAgent) -> None:
        """Closing the iterator after the first piece closes the connection."""
        server.will(stream(chunk("begun"), hang=True))

        async with aclosing(make().answer(context(), caller=caller(), deadline=deadline())) as events:
            assert Delta("begun") == await anext(events)

        await asyncio.wait_for(server.left.wait(), 10)


class TestProbe:
    @pytest.mark.parametrize("status", [200, 404, 405])
    async def test_reached(self, server: ModelServer, make: MakeAgent, status: int) -> None:
        """A list of models, or the lack of one, proves that the service can be reached."""
        server.will(refuse(status, {"data": []}))

        await make().probe()

        assert ("GET", "/v1/models") == (server.requests[0].method, server.requests[0].path)

    @pytest.mark.parametrize(("status", "kind"), [(401, AgentRefused), (503, AgentUnavailable)])
    async def test_not_usable(self, server: ModelServer, make: MakeAgent, status: int, kind: type[AgentFault]) -> None:
        """A wrong key and an overload are told, at once."""
        server.will(refuse(status))

        with pytest.raises(kind):
            await make().probe()

        assert 1 == len(server.requests)

    async def test_silent(self, server: ModelServer, make: MakeAgent) -> None:
        """A probe does not wait longer than `connect_s`."""
        server.will(silent)

        with pytest.raises(AgentTimeout):
            await make(connect_s=0.1).probe()
