"""The agent behind any OpenAI-compatible service, called the cheap way.

The `openai` client sends a prepared body and hands back the raw response: its address, auth, proxies and error classes,
without its typed transform, which costs more than everything else in a turn. Retries are ours alone (the client's are
off), because only we know the deadline and whether text was shown. It is imported late: it costs 0.5 s and 19 MB.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import urlsplit

import aiohttp

from config.settings import AgentSettings
from gateway.agent import HAND_OVER, AgentEvent, Caller, Delta, Done, Retry, ToolUse
from gateway.agents.completion import Completion
from gateway.agents.refusal import refusal, retry_after_s, words
from gateway.agents.request import OFFICIAL_URL, body, first_dialect, other_dialect
from gateway.errors import AgentBroken, AgentFault, AgentRefused, AgentTimeout, AgentUnavailable, ContextTooLong
from memory.base import Context, Step

if TYPE_CHECKING:
    import httpx2
    from openai import APIStatusError, AsyncOpenAI
    from openai._types import RequestOptions

logger = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_WAIT_S, MAX_WAIT_S = 0.5, 8.0  # full jitter below these, doubling
# Once the service said why it stopped, the text is whole: only usage and the end of the body may still come, and nobody
# should wait long for them. Reading to the end keeps the connection for the next call.
TAIL_S = 1.0
KEEP_ALIVE_S = 60.0
MAX_CONNECTIONS = 10_000  # lanes bound the calls; the pool must not be a second, hidden bound


class OpenAIAgent:
    """Answers through `POST {base_url}/chat/completions`, streaming.

    `jitter` returns a number in [0, 1). `on_rate_limit` gets the seconds about to be waited because the service asked.
    """

    reports_lookups = False  # a service may search behind its URL, and nothing in this wire format tells

    def __init__(
        self,
        settings: AgentSettings,
        *,
        jitter: Callable[[], float] = random.random,
        on_rate_limit: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._jitter = jitter
        self._on_rate_limit = on_rate_limit
        self._service = f"model {settings.model!r} at {urlsplit(settings.base_url or OFFICIAL_URL).hostname}"
        self._dialect = first_dialect(settings)
        self._client: AsyncOpenAI | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> AsyncOpenAI:
        """Load the client library without stopping the loop. Idempotent; the first call does it if need be."""
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_make_client, self._settings, service=self._service)
            return self._client

    async def aclose(self) -> None:
        """Close the connections. Calls still running fail."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def answer(self, context: Context, *, caller: Caller, deadline: float) -> AsyncGenerator[AgentEvent, None]:
        """Stream the answer; see `gateway.agent.Agent`.

        Tries again, with full jitter or when the service asks, only while nothing was shown, and only what may pass:
        408, 409, 425, 429, 5xx, lost connections, broken streams. Whatever breaks an answer of which part was shown is
        `AgentBroken` (or `AgentTimeout`). Any `finish` passes if there is text; without text `content_filter` is
        `AgentRefused` and every other one `AgentBroken`.
        """
        shown, failed = False, 0
        while True:
            done: Done | None = None
            try:
                async with aclosing(self._one_try(context, deadline=deadline)) as events:
                    async for event in events:
                        if isinstance(event, Done):
                            done = event
                        else:
                            shown = True
                            yield event
            except (AgentUnavailable, AgentBroken, AgentRefused, ContextTooLong) as fault:
                if shown:
                    raise AgentBroken(f"the answer broke off: {fault}") from fault
                if failed == self._settings.retries or not isinstance(fault, AgentUnavailable | AgentBroken):
                    raise
                await self._wait(fault, failed, deadline=deadline)
                failed += 1
                yield Retry()
            if done is not None:
                if not shown:
                    raise _nothing_said(self._service, done.finish)
                yield done
                return

    async def probe(self) -> None:
        """Ask for the list of models, without retries, within `connect_s`. A service without such a list (404, 405) was
        reached all the same. Raises `AgentFault`."""
        client = await self.open()
        import openai  # not before: it takes a second, in a thread of its own

        call = _raw(client, "/models")
        try:
            response = await self._connected(call, seconds=self._settings.connect_s, deadline=math.inf)
        except openai.APIStatusError as exc:
            if exc.status_code not in (404, 405):
                raise self._fault(exc) from None
        else:
            await response.aclose()  # the list itself may be long

    async def _one_try(self, context: Context, *, deadline: float) -> AsyncGenerator[Delta | ToolUse | Done, None]:
        response = await self._post(context, deadline=deadline)
        reading = Completion(self._service)
        try:
            async with aclosing(response.aiter_bytes()) as blocks:
                while (block := await self._next(blocks, reading, deadline=deadline)) is not None:
                    if text := reading.feed(block, now=time.monotonic()):
                        yield Delta(text)
        finally:
            await response.aclose()
        text, done = reading.close(now=time.monotonic())
        if text:
            yield Delta(text)
        if context.may_hand_over and reading.hand_over is not None:
            yield ToolUse(Step(name=HAND_OVER, detail=reading.hand_over))
        yield done

    async def _post(self, context: Context, *, deadline: float) -> httpx2.Response:
        """Send the request and return the response as soon as its head is there; finds the service's dialect."""
        client = await self.open()
        import openai

        dialect = self._dialect
        seconds = self._settings.connect_s + self._settings.idle_s
        while True:
            call = _raw(client, "/chat/completions", content=body(context, self._settings, dialect))
            try:
                response = await self._connected(call, seconds=seconds, deadline=deadline)
            except openai.APIStatusError as exc:
                # llama-cpp-python's server calls a field that it does not know an error of its own: 500.
                other = other_dialect(dialect, words(exc.body)) if exc.status_code in (400, 422, 500) else None
                fault = self._fault(exc)
                if other is None or isinstance(fault, ContextTooLong):
                    raise fault from None  # the client's own error quotes what the service said
                dialect = other
            else:
                self._dialect = dialect
                return response

    async def _connected(self, call: Awaitable[httpx2.Response], *, seconds: float, deadline: float) -> httpx2.Response:
        """Await the head of a response. Raises `AgentUnavailable`, `AgentTimeout`, or the client's `APIStatusError`."""
        import httpx2
        import openai

        try:
            return await self._within(call, seconds=seconds, deadline=deadline)
        except (openai.APIConnectionError, aiohttp.ClientError) as exc:
            raise AgentUnavailable(f"{self._service} can't be reached ({_root(exc)}); check its base_url") from exc
        except (ValueError, httpx2.InvalidURL) as exc:
            raise _unaskable(self._service, exc) from None  # the error may quote the key

    async def _next(self, blocks: AsyncIterator[bytes], reading: Completion, *, deadline: float) -> bytes | None:
        """Return the next bytes of the body, or None at its end; once the text is whole, trouble is an end too."""
        import httpx2

        seconds = TAIL_S if reading.finished else self._settings.idle_s
        try:
            return await self._within(anext(blocks, None), seconds=seconds, deadline=deadline)
        except AgentTimeout:
            if not reading.finished:
                raise
        except (httpx2.RequestError, aiohttp.ClientError) as exc:
            if not reading.finished:
                raise AgentBroken(f"{self._service} dropped the connection ({_root(exc)})") from exc
        return None

    async def _within(self, call: Awaitable[T], *, seconds: float, deadline: float) -> T:
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(min(deadline, now + seconds)):
                return await call
        except TimeoutError:
            what = "the deadline passed" if deadline <= now + seconds else f"nothing came for {seconds:g} s"
            raise AgentTimeout(f"{self._service} did not finish: {what}") from None

    async def _wait(self, fault: AgentUnavailable | AgentBroken, failed: int, *, deadline: float) -> None:
        """Sleep before the next try, or raise the fault at once if the deadline would pass meanwhile."""
        asked_s = fault.retry_after_s if isinstance(fault, AgentUnavailable) else None
        wait_s = (asked_s or 0.0) + self._jitter() * min(MAX_WAIT_S, FIRST_WAIT_S * 2**failed)
        if asyncio.get_running_loop().time() + wait_s >= deadline:
            raise fault
        if asked_s is not None:
            self._on_rate_limit(wait_s)
        logger.warning("agent call is tried again", extra={"reason": str(fault), "wait_s": round(wait_s, 3)})
        await asyncio.sleep(wait_s)

    def _fault(self, exc: APIStatusError) -> AgentFault:
        asked_s = retry_after_s(exc.response.headers, now=time.time())
        return refusal(exc.status_code, exc.body, service=self._service, retry_after_s=asked_s)


def _make_client(settings: AgentSettings, *, service: str) -> AsyncOpenAI:
    import httpx2
    from openai import AsyncOpenAI, DefaultAioHttpClient

    # The time to connect is the transport's; the time between bytes and the deadline are measured here.
    timeout = httpx2.Timeout(None, connect=settings.connect_s, pool=settings.connect_s)
    limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=KEEP_ALIVE_S)
    try:
        return AsyncOpenAI(
            # Key and address are given even when unset, or the client would take them from the environment behind the
            # settings' back. Local services ignore the key.
            api_key=settings.api_key.get_secret_value() if settings.api_key is not None else "unset",
            base_url=settings.base_url or OFFICIAL_URL,
            max_retries=0,
            timeout=timeout,
            http_client=DefaultAioHttpClient(timeout=timeout, limits=limits),
        )
    except (ValueError, httpx2.InvalidURL) as exc:
        raise _unaskable(service, exc) from None


def _raw(client: AsyncOpenAI, path: str, *, content: bytes | None = None) -> Awaitable[httpx2.Response]:
    """GET, or POST a prepared body, by the client's raw path; the body of the response is not read yet."""
    import httpx2
    from openai import AsyncStream

    options: RequestOptions = {
        "headers": {"accept-encoding": "identity"},  # compression would hold small chunks back on their way
        "security": {"bearer_auth": True},  # or an administrator's key from the environment would go out as well
    }
    call: object
    if content is None:
        call = client.get(path, cast_to=httpx2.Response, options=options, stream=True, stream_cls=AsyncStream[object])
    else:
        call = client.post(
            path, cast_to=httpx2.Response, content=content, options=options, stream=True, stream_cls=AsyncStream[object]
        )
    return cast("Awaitable[httpx2.Response]", call)  # its types don't say so, but `cast_to` goes before `stream_cls`


def _unaskable(service: str, exc: Exception) -> AgentRefused:
    return AgentRefused(f"{service} can't be asked ({type(exc).__name__}); check the agent's base_url and api_key")


def _root(exc: BaseException) -> str:
    """Return the innermost cause's type: every layer above renames what it is told."""
    while exc.__cause__ is not None:
        exc = exc.__cause__
    return type(exc).__name__


def _nothing_said(service: str, finish: str) -> AgentFault:
    if finish == "content_filter":
        return AgentRefused(f"{service} withheld its answer (content_filter)")
    if finish == "length":
        return AgentBroken(f"{service} used up its tokens before it said anything; raise the agent's output_tokens")
    return AgentBroken(f"{service} said nothing (finish {finish!r})")
