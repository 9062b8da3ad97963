"""What a model call costs us in CPU: our agent beside the client library's typed path, the raw HTTP limit, in one run.

The stub answers at once, in another process. A call is a 22-message prompt answered by one chunk; a chunk's cost is the
difference to an answer of 201, sent in one piece and one by one. Goals (engines.md B.1): 0.8 ms a call, 5 µs a chunk.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp
import msgspec

from config.settings import AgentSettings
from gateway.agent import Delta
from gateway.agents.openai import OpenAIAgent
from memory.base import Context, PromptMessage
from tests.model_server import DONE, caller, chunk, usage
from tests.services import free_port

CALLS, ROUNDS, CHUNKS = 40, 3, 200

SYSTEM = "You are a helpful assistant. " * 12
TEXT = "Some words of a message as people write them, 也有中文。 " * 4
MESSAGES = tuple(PromptMessage(role="user" if i % 2 == 0 else "assistant", text=TEXT) for i in range(21))
CONTEXT = Context(system=SYSTEM, messages=MESSAGES, tokens=1_000, output_tokens=500)
PLAIN = [{"role": "system", "content": SYSTEM}, *({"role": m.role, "content": m.text} for m in MESSAGES)]

Call = Callable[[], Awaitable[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Medians over the rounds. `chunk_us` counts chunks that came together, `single_us` chunks that came one by one."""

    client: str
    call_ms: float
    chunk_us: float
    single_us: float


def measure() -> list[Figure]:
    """Return a figure for each client, all of one run; the first is ours."""
    port = free_port()
    stub = subprocess.Popen([sys.executable, "-m", "tests.bench.model_client", str(port)])
    try:
        return asyncio.run(_measure(f"http://127.0.0.1:{port}"))
    finally:
        stub.kill()
        stub.wait()


def report(figures: list[Figure]) -> str:
    """Return the figures as lines of text, each beside ours."""
    ours = figures[0]
    lines = ["model client, CPU a call of 22 messages / a chunk among many / a chunk alone (x of ours)"]
    lines += [
        f"  {f.client:28} {f.call_ms:6.2f} ms ({f.call_ms / ours.call_ms:5.1f}x) "
        f"{f.chunk_us:6.1f} µs ({f.chunk_us / ours.chunk_us:5.1f}x) "
        f"{f.single_us:6.1f} µs ({f.single_us / ours.single_us:5.1f}x)"
        for f in figures
    ]
    return "\n".join(lines)


async def _measure(root: str) -> list[Figure]:
    from openai import AsyncOpenAI, DefaultAioHttpClient

    def url(chunks: int, mode: str) -> str:
        return f"{root}/{mode}/{chunks}/v1"

    await _until_up(root)
    agents: dict[str, OpenAIAgent] = {}
    typed = AsyncOpenAI(api_key="k", base_url=root, max_retries=0)
    typed_aiohttp = AsyncOpenAI(api_key="k", base_url=root, max_retries=0, http_client=DefaultAioHttpClient())

    async def ours(base_url: str) -> int:
        if base_url not in agents:
            agents[base_url] = OpenAIAgent(AgentSettings(base_url=base_url, model="m"))
        loop = asyncio.get_running_loop()
        answer = agents[base_url].answer(CONTEXT, caller=caller(), deadline=loop.time() + 60)
        return sum([len(event.text) for event in [e async for e in answer] if isinstance(event, Delta)])

    async def by_types(client: AsyncOpenAI, base_url: str) -> int:
        client.base_url = base_url
        stream = await client.chat.completions.create(
            model="m",
            messages=PLAIN,  # type: ignore[arg-type]
            max_tokens=500,
            stream=True,
            stream_options={"include_usage": True},
        )
        return sum([len(c.choices[0].delta.content or "") async for c in stream if c.choices])

    async with aiohttp.ClientSession() as session:
        clients: dict[str, Callable[[str], Awaitable[int]]] = {
            "Clew's agent": ours,
            "openai, typed, httpx2": lambda base_url: by_types(typed, base_url),
            "openai, typed, aiohttp": lambda base_url: by_types(typed_aiohttp, base_url),
            "limit: aiohttp + msgspec": lambda base_url: _limit(session, base_url),
        }
        seen: dict[str, list[tuple[float, float, float]]] = {name: [] for name in clients}
        for round_number in range(ROUNDS + 1):
            for name, client in clients.items():
                one = await _cpu_s(client, url(1, "burst"))
                many = await _cpu_s(client, url(1 + CHUNKS, "burst"))
                one_single = await _cpu_s(client, url(1, "single"))
                many_single = await _cpu_s(client, url(1 + CHUNKS, "single"))
                if round_number:  # the first one warms up
                    seen[name].append((one, (many - one) / CHUNKS, (many_single - one_single) / CHUNKS))
    for agent in agents.values():
        await agent.aclose()
    await typed.close()
    await typed_aiohttp.close()
    medians = {
        name: [statistics.median(column) for column in zip(*rounds, strict=True)] for name, rounds in seen.items()
    }
    return [
        Figure(client=name, call_ms=call * 1e3, chunk_us=burst * 1e6, single_us=single * 1e6)
        for name, (call, burst, single) in medians.items()
    ]


async def _cpu_s(client: Callable[[str], Awaitable[int]], base_url: str) -> float:
    calls = CALLS if "/1/" in base_url else CALLS // 4
    begun = time.process_time()
    for _ in range(calls):
        assert await client(base_url) > 0
    return (time.process_time() - begun) / calls


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta


class _Chunk(msgspec.Struct):
    choices: list[_Choice]


_decoder = msgspec.json.Decoder(_Chunk)


async def _limit(session: aiohttp.ClientSession, base_url: str) -> int:
    body = msgspec.json.encode({"model": "m", "messages": PLAIN, "stream": True, "max_tokens": 500})
    got = 0
    async with session.post(f"{base_url}/chat/completions", data=body) as response:
        tail = b""
        async for block in response.content.iter_any():
            *events, tail = (tail + block).split(b"\n\n")
            for event in events:
                if event != DONE[:-2]:
                    got += sum(len(choice.delta.content or "") for choice in _decoder.decode(event[6:]).choices)
    return got


async def _until_up(root: str) -> None:
    async with aiohttp.ClientSession() as session, asyncio.timeout(20):
        while True:
            try:
                async with session.get(root):
                    return
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)


def _serve(port: int) -> None:
    from aiohttp import web

    async def answer(request: web.Request) -> web.StreamResponse:
        await request.read()
        chunks = int(request.match_info["chunks"])
        parts = [chunk("word ")] * chunks + [chunk(finish="stop"), usage(900, chunks), DONE]
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if request.match_info["mode"] == "burst":
            parts = [b"".join(parts)]
        for part in parts:
            await response.write(part)
            await asyncio.sleep(0)
        return response

    app = web.Application()
    app.router.add_post("/{mode}/{chunks}/v1/chat/completions", answer)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _serve(int(sys.argv[1]))
    else:
        sys.stdout.write(report(measure()) + "\n")
