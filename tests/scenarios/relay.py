"""A gateway whose webhook channels take events as adapters hand them in: `python -m tests.scenarios.relay CONFIG`.

The process is the real one; only what stands before `Intake.accept` is not. So tests can say what no channel can yet: an edit,
a deletion, a second telling of one message.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from adapters.base import Adapter, InboundEvent
from adapters.webhook.adapter import WebhookAdapter
from config.channels.base import ChannelSettings
from config.loader import load
from gateway import logs
from gateway.app import run

_EVENT: msgspec.json.Decoder[InboundEvent] = msgspec.json.Decoder(InboundEvent)


class Relay(WebhookAdapter):
    """Accepts what is posted, and returns the turn."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        assert self._intake is not None
        view = await self._intake.accept(_EVENT.decode(await request.read()))
        return web.Response(body=msgspec.json.encode(view), content_type="application/json")


def relay(name: str, settings: ChannelSettings, **_: Any) -> Adapter:
    """Make a channel."""
    return Relay(name, settings=settings, members=lambda room, thread: None)  # type: ignore[arg-type]


async def main(config: Path) -> None:
    await run(
        load(config, os.environ),
        path=config,
        environ=os.environ,
        stop=asyncio.Event(),
        announce=lambda line: print(line, flush=True),
        mask=logs.configure("info"),
        adapters=relay,
    )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
