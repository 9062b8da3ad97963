"""The limit for a webhook turn: an aiohttp handler that checks the signature, makes the same model call and answers.

No memory, no queue, nothing kept. `python -m tests.bench.bare MODEL_URL SECRET` prints the port it listens on.
"""

from __future__ import annotations

import asyncio
import sys

import aiohttp
import msgspec
from aiohttp import web
from standardwebhooks import Webhook

SYSTEM = "You are a helpful assistant. " * 6


async def main(model_url: str, secret: str) -> None:
    verifier = Webhook(secret)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as model:

        async def answer(request: web.Request) -> web.Response:
            raw = await request.read()
            verifier.verify(raw, dict(request.headers))
            text = msgspec.json.decode(raw)["message"]["text"]
            prompt = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
            body = msgspec.json.encode({"model": "stub", "stream": True, "messages": prompt})
            said = []
            headers = {"content-type": "application/json"}
            async with model.post(f"{model_url}/chat/completions", data=body, headers=headers) as response:
                async for line in response.content:
                    if line.startswith(b"data: {"):
                        choices = msgspec.json.decode(line[6:])["choices"]
                        said += [choice["delta"].get("content") or "" for choice in choices]
            return web.Response(body=msgspec.json.encode({"reply": {"text": "".join(said)}}))

        app = web.Application()
        app.router.add_post("/channels/hook", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
