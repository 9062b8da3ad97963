"""Which doors there are, by the routers of the application itself, and at which of them something is handed in."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from config.loader import load
from gateway.app import run
from gateway.logs import SecretMask
from tests.scenarios.world import environ, write_config

Door = tuple[str, str]
"""Method ("*": any) and path as the router has it."""

BODY = "agents: {default: {kind: demo}}\nchannels: {chat: {kind: console}}\n"


@asynccontextmanager
async def applications(folder: Path) -> AsyncIterator[list[web.Application]]:
    """Run the gateway in this process and give all that it serves; which channels there are makes no difference to routes."""
    config, before = write_config(folder, BODY), _all()
    stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(
            run(
                load(config, environ()), path=config, environ=environ(), stop=stop, announce=ready.set_result, mask=SecretMask()
            )
        )  # fmt: skip
        await ready
        try:
            yield [one for one in _all() if one not in before]
        finally:
            stop.set()


def _all() -> list[web.Application]:
    return [one for one in gc.get_objects() if isinstance(one, web.Application)]


def doors_of(app: web.Application) -> set[Door]:
    """Return every door of an application. HEAD is GET without the body, and no door of its own."""
    return {_door(route) for route in app.router.routes() if route.method != "HEAD"}


async def reached(app: web.Application, asked: Iterable[Door]) -> set[Door]:
    """Return the doors that requests of these methods and paths come to."""
    found = set()
    for method, path in asked:
        match = await app.router.resolve(make_mocked_request(method, path))
        if match.http_exception is None:
            found.add(_door(match.route))
    return found


def _door(route: web.AbstractRoute) -> Door:
    return route.method, "" if route.resource is None else route.resource.canonical
