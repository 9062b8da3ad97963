"""A stand-in for a model's service: a real HTTP server that says exactly what a test tells it to, byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web

from config.settings import AgentSettings
from gateway.agent import Caller
from memory.base import Context, PromptMessage
from tests.loopback import on_loopback

DONE = b"data: [DONE]\n\n"

Answer = Callable[["ModelServer", web.Request], Awaitable[web.StreamResponse]]


def event(document: object) -> bytes:
    """One event of a stream."""
    return b"data: " + msgspec.json.encode(document) + b"\n\n"


def chunk(text: str | None = None, *, finish: str | None = None, index: int = 0, **delta: object) -> bytes:
    """One chunk of a completion."""
    if text is not None:
        delta["content"] = text
    return event(
        {"object": "chat.completion.chunk", "choices": [{"index": index, "delta": delta, "finish_reason": finish}]}
    )


def usage(prompt: int, completion: int) -> bytes:
    return event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}})


NEXT = b""  # what stands behind it in a stream is sent when the test sets `server.go_on`


def stream(*blocks: bytes, drop: bool = False, hang: bool = False, content_type: str = "text/event-stream") -> Answer:
    """Send each block; then end well, drop the connection, or say nothing more until the client goes."""

    async def answer(server: ModelServer, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type})
        await response.prepare(request)
        for block in blocks:
            if block == NEXT:
                await server.go_on.wait()
            else:
                await response.write(block)
        if hang:
            await server.until_left()
        if drop:
            assert request.transport is not None
            request.transport.abort()
        return response

    return answer


def whole(*texts: str, finish: str = "stop") -> Answer:
    """A complete stream of these texts."""
    return stream(*(chunk(text) for text in texts), chunk(finish=finish), usage(11, 7), DONE)


def refuse(status: int, error: object = None, *, headers: Mapping[str, str] | None = None) -> Answer:
    """An HTTP error with this JSON body."""

    async def answer(server: ModelServer, request: web.Request) -> web.StreamResponse:
        return web.Response(
            status=status,
            body=msgspec.json.encode(error),
            headers={"Content-Type": "application/json", **(headers or {})},
        )

    return answer


def say(body: bytes, *, content_type: str = "application/json") -> Answer:
    """One whole body, without a stream."""

    async def answer(server: ModelServer, request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, headers={"Content-Type": content_type})

    return answer


async def silent(server: ModelServer, request: web.Request) -> web.StreamResponse:
    """Not even a head."""
    await server.until_left()
    return web.Response()


@dataclass
class ModelServer:
    """Answers requests in order with what `will` was told; the last answer is repeated."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    requests: list[web.Request] = field(default_factory=list)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)  # a client went before its answer was whole

    def will(self, *answers: Answer) -> None:
        self.answers = list(answers)

    async def until_left(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.left.set()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        if request.method == "POST":
            self.bodies.append(msgspec.json.decode(await request.read()))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(self, request)

    def settings(self, **changes: Any) -> AgentSettings:
        """Settings of an agent that talks to this server."""
        return AgentSettings.model_validate(
            {"kind": "openai", "base_url": self.url, "api_key": "sk-test-SECRET", "model": "m-1", **changes}
        )


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    server = ModelServer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server._handle)
    async with on_loopback(app, handler_cancellation=True, shutdown_timeout=1) as url:
        server.url = f"{url}/v1"
        yield server


def context(*texts: str, system: str = "Be brief.", output_tokens: int = 100) -> Context:
    """A context of alternating messages, a user's first."""
    roles = ("user", "assistant")
    messages = tuple(PromptMessage(role=roles[i % 2], text=text) for i, text in enumerate(texts or ("Hello?",)))  # type: ignore[arg-type]
    return Context(system=system, messages=messages, tokens=10, output_tokens=output_tokens)


def caller(*, language: str = "en", kind: str = "webhook") -> Caller:
    return Caller(
        channel="acme",
        kind=kind,
        tenant="t",
        account="ada",
        person_id=1,
        chat_type="private",
        room="r",
        thread=None,
        language=language,
    )
