"""A model that answers at once, in a process of its own: `python -m tests.bench.scale.model` prints its port.

It plays memory's part too: asked what was learned from a turn, it says that nothing was, in the form that is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
from aiohttp import web

from memory.extraction import SYSTEM

ANSWER = ("Order 8821 left ", "on Tuesday; it arrives ", "on Friday. 预计周五送达。")
NOTHING = ('{"changes": []}',)


def _stream(parts: Sequence[str]) -> bytes:
    chunks: list[dict[str, object]] = [{"delta": {"content": part}, "finish_reason": None} for part in parts]
    chunks.append({"delta": {}, "finish_reason": "stop"})
    events = [b"data: " + msgspec.json.encode({"choices": [chunk | {"index": 0}]}) + b"\n\n" for chunk in chunks]
    return b"".join(events) + b"data: [DONE]\n\n"


async def main() -> None:
    answer, nothing = _stream(ANSWER), _stream(NOTHING)
    about_memory = msgspec.json.encode(SYSTEM[:60])[1:-1]

    async def complete(request: web.Request) -> web.Response:
        asked = await request.read()
        return web.Response(body=nothing if about_memory in asked else answer, content_type="text/event-stream")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
