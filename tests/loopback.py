"""An aiohttp application of a test's own, served where only this machine reaches it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


@asynccontextmanager
async def on_loopback(app: web.Application, *, port: int = 0, **runner: Any) -> AsyncIterator[str]:
    """Serve the application and give its URL, without a slash at the end. Port 0 is any free one; `runner` goes to
    `aiohttp.web.AppRunner`."""
    running = web.AppRunner(app, **runner)
    await running.setup()
    await web.TCPSite(running, "127.0.0.1", port).start()
    try:
        yield f"http://127.0.0.1:{running.addresses[0][1]}"
    finally:
        await running.cleanup()
