"""A model that answers at once, in a process of its own: `python -m tests.bench.scale.model` prints its port."""

from __future__ import annotations

import asyncio

import msgspec
from aiohttp import web

PARTS = ("Order 8821 left ", "on Tuesday; it arrives ", "on Friday. 预计周五送达。")


def _body() -> bytes:
    chunks: list[dict[str, object]] = [{"delta": {"content": part}, "finish_reason": None} for part in PARTS]
    chunks.append({"delta": {}, "finish_reason": "stop"})
    events = [b"data: " + msgspec.json.encode({"choices": [chunk | {"index": 0}]}) + b"\n\n" for chunk in chunks]
    return b"".join(events) + b"data: [DONE]\n\n"


async def main() -> None:
    body = _body()

    async def complete(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=body, content_type="text/event-stream")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
