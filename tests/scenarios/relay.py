"""A gateway whose webhook channels take events as adapters hand them in: `python -m tests.scenarios.relay CONFIG [held]`.

The process is the real one; only what stands before `Intake.accept` is not. So tests can say what no channel can yet: an edit,
a deletion, a second telling of one message. `held`: whatever is to be appended to memory waits, and says so in the log, until
the process gets SIGUSR1.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from adapters.base import Adapter, InboundEvent
from adapters.webhook.adapter import WebhookAdapter
from config.channels.base import ChannelSettings
from config.loader import load
from config.settings import Settings
from gateway import logs
from gateway.app import open_storage, run
from gateway.storage import Storage
from memory.ids import Ids

logger = logging.getLogger("gateway.tests")

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


class Held:
    """Passes everything on to the store; appends wait for `go_on`."""

    def __init__(self, store: Any, go_on: asyncio.Event) -> None:
        self._store, self._go_on = store, go_on

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append_and_load(self, *args: Any, **more: Any) -> Any:
        logger.warning("an append is held")
        await self._go_on.wait()
        return await self._store.append_and_load(*args, **more)


async def main(config: Path, *, held: bool) -> None:
    go_on, stop = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, go_on.set)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)

    @asynccontextmanager
    async def opened(settings: Settings, *, ids: Ids) -> AsyncIterator[Storage]:
        async with open_storage(settings, ids=ids) as storage:
            store: Any = Held(storage.store, go_on) if held else storage.store
            yield Storage(store=store, queues=storage.queues, admin=storage.admin, leases=storage.leases)

    await run(
        load(config, os.environ),
        path=config,
        environ=os.environ,
        stop=stop,
        announce=lambda line: print(line, flush=True),
        mask=logs.configure("info"),
        opened=opened,
        adapters=relay,
    )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), held="held" in sys.argv[2:]))
