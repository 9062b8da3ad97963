"""The openai embedder over real HTTP, against a service that misbehaves on purpose."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiohttp import web
from llmock.pytest_plugin import LLMock
from llmock.testing import LLMockServer

from config.settings import EmbedderSettings
from memory.embedders.choice import choose_embedder
from memory.errors import ModelFailed
from memory.models import Embedder
from memory.vectors import unit_vectors
from tests.contracts.embedder import embeddings, encoded, vectors_of
from tests.model_server import Answer, ModelServer, model_server, refuse, say, silent, stream
from tests.services import free_port

MakeEmbedder = Callable[..., Embedder]
SECRET, WORDS = "sk-test-SECRET", "我对青霉素过敏"


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as running:
        yield running


@pytest.fixture
async def make(server: ModelServer) -> AsyncIterator[MakeEmbedder]:
    async with AsyncExitStack() as stack:

        def make_embedder(**settings: Any) -> Embedder:
            given = {"kind": "openai", "base_url": server.url, "api_key": SECRET, "retries": 0, **settings}
            embedder = choose_embedder(EmbedderSettings.model_validate(given))
            assert embedder is not None
            stack.push_async_callback(embedder.aclose)
            return embedder

        yield make_embedder


THREE: dict[str, Any] = {"model": "m-3", "dims": 3, "threshold": 0.5}
"""Settings of a model with three dimensions."""


async def fails(embedder: Embedder, *texts: str) -> str:
    """Expect `ModelFailed`; return its message, in which neither the key nor the words stand."""
    with pytest.raises(ModelFailed) as raised:
        await embedder.embed(texts or [WORDS])
    message = str(raised.value)
    assert SECRET not in message
    assert WORDS not in message
    assert raised.value.__suppress_context__ or raised.value.__context__ is None, "the cause may quote either"
    return message


async def test_sends_the_model_and_the_texts_and_nothing_else(server: ModelServer, make: MakeEmbedder) -> None:
    """No field that a compatible service might refuse; the key in its header."""
    server.will(embeddings)

    vectors = await make().embed(["Hello", "你好"])

    assert [{"model": "text-embedding-3-small", "input": ["Hello", "你好"]}] == server.bodies
    assert ["/v1/embeddings"] == [request.path for request in server.requests]
    assert f"Bearer {SECRET}" == server.requests[0].headers["Authorization"]
    assert unit_vectors(vectors_of(server.bodies[0])) == vectors


async def test_asks_for_other_dimensions_where_a_model_has_them(server: ModelServer, make: MakeEmbedder) -> None:
    """And only there: others refuse the field. The vectors' name tells them apart from the model's usual ones."""
    server.will(say(encoded([[1.0, 2.0]])))
    shorter, strange = make(dims=2), make(model="bge-m3", dims=2, threshold=0.5)

    await shorter.embed(["a"])
    await strange.embed(["a"])

    assert [2, None] == [body.get("dimensions") for body in server.bodies]
    assert "text-embedding-3-small/2" == shorter.name


async def test_no_request_holds_more_texts_than_the_service_takes(server: ModelServer, make: MakeEmbedder) -> None:
    """Some services refuse more than ten at once; the order stays."""
    server.will(embeddings)
    texts = [f"text {n}" for n in range(25)]

    vectors = await make().embed(texts)

    assert [10, 10, 5] == [len(body["input"]) for body in server.bodies]
    assert unit_vectors(vectors_of({"input": texts})) == vectors


async def test_no_more_requests_at_once_than_allowed(server: ModelServer, make: MakeEmbedder) -> None:
    """The next one goes when another is back."""
    running, most = 0, 0

    async def count(server: ModelServer, request: web.Request) -> web.StreamResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            server.go_on.set()
        await server.go_on.wait()
        running -= 1
        return web.Response(body=encoded([[1.0, 2.0, 3.0]]))

    server.will(count)
    embedder = make(**THREE, calls=2)

    async with asyncio.TaskGroup() as tasks:
        for number in range(8):
            tasks.create_task(embedder.embed([f"text {number}"]))

    assert (8, 2) == (len(server.bodies), most)


def reporting(usage: Any) -> Answer:
    """Answer with vectors and what is said to have been used."""
    return lambda server, request: _with_usage(server, usage)


async def _with_usage(server: ModelServer, usage: Any) -> web.StreamResponse:
    items = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors_of(server.bodies[-1], dims=3))]
    return web.json_response({"data": items, "usage": usage})


async def test_tells_what_each_request_took(server: ModelServer, make: MakeEmbedder) -> None:
    """By the model's name, as prices are; which texts it was for, and the tokens, where they are told and can be meant."""
    told = [
        {"prompt_tokens": 7, "total_tokens": 9},
        {"total_tokens": 9},
        {"prompt_tokens": -1},
        None,
        {"prompt_tokens": "x"},
    ]
    server.will(*map(reporting, told))
    heard: list[tuple[str, list[int], int | None]] = []

    vectors = await make(**THREE, batch=2).embed(
        [f"text {n}" for n in range(9)],
        requested=lambda model, which, tokens: heard.append((model, [*which], tokens)),
    )

    assert 9 == len(vectors)
    assert [
        ("m-3", [0, 1], 7),
        ("m-3", [2, 3], 9),
        ("m-3", [4, 5], None),
        ("m-3", [6, 7], None),
        ("m-3", [8], None),
    ] == heard


async def test_what_was_not_waited_for_was_asked_all_the_same(server: ModelServer, make: MakeEmbedder) -> None:
    """Its service charges for it. What it refused, and what never came there, cost nothing."""
    heard: list[int | None] = []
    server.will(refuse(401), silent)
    embedder = make(**THREE, timeout_s=0.3)

    for _ in range(2):
        with pytest.raises(ModelFailed):
            await embedder.embed(["a"], requested=lambda model, which, tokens: heard.append(tokens))
    away = make(**THREE, base_url=f"http://127.0.0.1:{free_port()}/v1")
    with pytest.raises(ModelFailed):
        await away.embed(["a"], requested=lambda model, which, tokens: heard.append(tokens))

    assert [None] == heard


async def test_tries_again_what_may_pass(server: ModelServer, make: MakeEmbedder) -> None:
    """A limit, an overload and a lost connection cost a moment, when the service asks for one that long."""
    soon = {"retry-after-ms": "10"}
    server.will(refuse(429, headers=soon), refuse(503, headers=soon), embeddings)

    assert 1 == len(await make(retries=2).embed(["a"]))
    assert 3 == len(server.bodies)


async def test_gives_up_after_the_tries_it_has(server: ModelServer, make: MakeEmbedder) -> None:
    """The failure names status and remedy."""
    server.will(refuse(503, {"error": {"message": WORDS}}, headers={"retry-after-ms": "10"}))

    assert "embedder 'm-3' at 127.0.0.1 refused (503); check its model and api_key" == await fails(
        make(**THREE, retries=1)
    )
    assert 2 == len(server.bodies)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_does_not_repeat_what_is_refused(server: ModelServer, make: MakeEmbedder, status: int) -> None:
    """A wrong key or model stays wrong; what the service says about it may quote the key or the words."""
    server.will(refuse(status, {"error": {"message": f"bad key {SECRET}, input {WORDS}"}}))

    assert f"refused ({status})" in await fails(make(retries=5))
    assert 1 == len(server.bodies)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (say(encoded([[1.0, 2.0, 3.0]] * 2)), "answered with 2 embeddings for 1 texts, or misnumbered"),
        (say(b'{"data": []}'), "answered with 0 embeddings for 1 texts"),
        (say(b'{"data": [{"index": 1, "embedding": [1, 2, 3]}]}'), "or misnumbered"),
        (say(encoded([[1.0, 2.0]])), "made vectors of 2 dimensions, not 3; set dims to what it makes"),
        (say(encoded([[1.0] * 1536])), "made vectors of 1536 dimensions, not 3"),
        (say(encoded([[0.0, 0.0, 0.0]])), "answered what is no list of embeddings (ValueError)"),
        (say(b'{"data": [{"index": 0, "embedding": [1e999, 0, 0]}]}'), "answered what is no list of embeddings"),
        (say(b'{"data": [{"index": 0, "embedding": [NaN, 0, 0]}]}'), "answered what is no list of embeddings"),
        (say(b'{"data": [{"index": 0, "embedding": "AAAA"}]}'), "(ValidationError)"),
        (say(b'{"data": [{"embedding": [1, 2, 3]}]}'), "(ValidationError)"),
        (say(b'{"error": {"message": "quota"}}'), "(ValidationError)"),
        (say(b"<html>502</html>"), "(DecodeError)"),
        (say(b""), "(DecodeError)"),
        (say(b" " * 100_000), "answered with more than 65,656 bytes"),
        (stream(b'{"data": [{"ind', drop=True), "can't be reached"),
    ],
)
async def test_believes_no_answer_that_is_not_exactly_right(
    server: ModelServer, make: MakeEmbedder, answer: Answer, told: str
) -> None:
    """Other dimensions than stored ones (mem0ai/mem0#4695), other counts, broken numbers, other documents, endless ones."""
    server.will(answer)

    assert told in await fails(make(**THREE))


async def test_whole_numbers_are_numbers(server: ModelServer, make: MakeEmbedder) -> None:
    """JSON writes 1.0 as 1."""
    server.will(say(b'{"object": "list", "data": [{"index": 0, "embedding": [3, 0, 4]}], "usage": null}'))

    assert unit_vectors([[0.6, 0.0, 0.8]]) == await make(**THREE).embed(["a"])


async def test_a_silent_service_is_given_up_in_time(server: ModelServer, make: MakeEmbedder) -> None:
    """Waits and retries included."""
    server.will(silent)
    started = time.monotonic()

    assert "embedder 'm-3' at 127.0.0.1 did not finish within 0.2 s" == await fails(
        make(**THREE, timeout_s=0.2, retries=3)
    )
    assert time.monotonic() - started < 5
    await asyncio.wait_for(server.left.wait(), 10)


async def test_a_service_that_asks_for_long_is_given_up_in_time(server: ModelServer, make: MakeEmbedder) -> None:
    """Recall does not wait a minute for meaning."""
    server.will(refuse(429, headers={"retry-after": "60"}))

    assert "did not finish within 0.3 s" in await fails(make(timeout_s=0.3, retries=3))


async def test_a_service_that_is_not_there(make: MakeEmbedder) -> None:
    """The address is to be checked."""
    message = await fails(make(base_url=f"http://127.0.0.1:{free_port()}/v1"))

    assert (
        "embedder 'text-embedding-3-small' at 127.0.0.1 can't be reached (APIConnectionError); check its base_url"
        == message
    )


async def test_a_key_that_no_header_can_hold(make: MakeEmbedder) -> None:
    """It fails as any other, without showing the key."""
    assert "can't be asked" in await fails(make(api_key="sk-\n中文"))


async def test_an_address_that_is_none(make: MakeEmbedder) -> None:
    """The same for an address that no check has seen."""
    assert "check its base_url" in await fails(make(base_url="http://h:port/v1"))


async def test_a_foreign_service_takes_what_is_sent(make: MakeEmbedder) -> None:
    """llmock, which nobody here wrote, reads the request and answers in the official form."""
    with LLMockServer() as foreign:
        embedder = make(base_url=LLMock(foreign).base_url("openai"))

        vectors = await embedder.embed([f"text {n}, 第{n}条" for n in range(12)])
        await embedder.aclose()

    assert [4 * 1536] * 12 == [len(vector) for vector in vectors]


async def test_nothing_comes_from_the_environment(
    server: ModelServer, make: MakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither key nor address nor an administrator's key: what is not in the settings is not sent to a service."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "sk-from-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    server.will(embeddings)

    await make(api_key=None).embed(["a"])

    assert "Bearer unset" == server.requests[0].headers["Authorization"]
