"""The door by which the command line reaches the gateway that runs on the same SQLite file: one process writes to it, so what
others want written is asked of that one. Behind it are a person's end, and the whole of the admins' REST door.

It listens on this machine only, on a port of its own; a file beside the database, readable by its owner alone, tells where
and with which token. Whoever may write the database may come in. On PostgreSQL there is none: there anybody may write.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from hmac import compare_digest
from pathlib import Path

import aiohttp
import msgspec
from aiohttp import web

from adapters.errors import AdapterFault
from adapters.problems import CONTENT_TYPE, as_problem
from adapters.sse import CLOSING
from gateway.admin.people import Receipt
from gateway.admin.rights import Actor, local
from gateway.errors import StoreBusy
from memory.base import Identity
from memory.errors import StoreUnavailable

logger = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Erase = Callable[[int | Identity], Awaitable[Receipt | None]]

_UNKNOWN, _BUSY = 404, 503


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.door")


@asynccontextmanager
async def door(
    path: Path | None, erase: Erase, routes: Sequence[web.AbstractRouteDef] = (), *, stop_s: float = 5
) -> AsyncIterator[None]:
    """Keep the door of the database at `path` open; None: it has none. `routes` are the admins' (`api.routes`), for whoever comes
    in. Where it can't be made, that is logged and all else goes on."""
    if path is None:
        yield
        return
    token = secrets.token_urlsafe(32)
    app = _application(erase, token, routes)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=stop_s)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            _write(_note(path), {"url": f"http://127.0.0.1:{runner.addresses[0][1]}", "token": token})
        except OSError as exc:
            logger.warning("the command line cannot reach this gateway", extra={"reason": exc.strerror})
        yield
    finally:
        _note(path).unlink(missing_ok=True)
        app[CLOSING].set()
        await runner.cleanup()


def _write(note: Path, told: dict[str, str]) -> None:
    note.unlink(missing_ok=True)  # of a gateway that was killed
    with os.fdopen(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
        json.dump(told, file)


def _application(erase: Erase, token: str, routes: Sequence[web.AbstractRouteDef]) -> web.Application:
    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        shown = request.headers.get("Authorization", "").encode(errors="surrogateescape")  # bytes may be no text
        if not compare_digest(shown, f"Bearer {token}".encode()):
            return web.Response(status=401)
        try:
            return await handler(request)
        except AdapterFault as fault:
            problem = as_problem(fault)
            headers = {"Content-Type": CONTENT_TYPE} | problem.headers
            return web.Response(status=problem.status, headers=headers, body=problem.body())

    async def erased(request: web.Request) -> web.Response:
        number = request.match_info.get("person")
        try:
            receipt = await erase(
                int(number) if number is not None else msgspec.json.decode(await request.read(), type=Identity)
            )
        except (StoreBusy, StoreUnavailable) as fault:
            logger.warning("person not erased", exc_info=fault)
            return web.Response(status=_BUSY, text=str(fault))
        return web.Response(status=_UNKNOWN) if receipt is None else web.Response(body=msgspec.json.encode(receipt))

    app = web.Application(middlewares=[guarded])
    app[CLOSING] = asyncio.Event()
    app.router.add_post(r"/people/{person:[0-8]?\d{1,18}}/erase", erased)
    app.router.add_post("/accounts/erase", erased)
    app.router.add_routes(routes)
    return app


async def local_actor(_request: web.Request) -> Actor:
    """Say who comes in by the door: whoever may write the database's file owns it."""
    return local()


async def open_door(path: Path | None) -> tuple[str, str] | None:
    """Return the (URL, token) of the gateway that runs on the database at `path`; None: none does, or there is no door."""
    if path is None:
        return None
    try:
        told = json.loads(await asyncio.to_thread(_note(path).read_text, "utf-8"))
        return told["url"], told["token"]
    except (OSError, ValueError, KeyError):
        return None


async def ask(path: Path, who: int | Identity) -> Receipt | None:
    """Let the gateway that runs on the database erase a person, by number or account; None: it knows no such person.

    Raises `StoreBusy` when it can't do so now, OSError when none runs or it can't be reached.
    """
    told = json.loads(await asyncio.to_thread(_note(path).read_text, "utf-8"))
    headers = {"Authorization": f"Bearer {told['token']}"}
    where, body = (f"people/{who}/erase", b"") if isinstance(who, int) else ("accounts/erase", msgspec.json.encode(who))
    try:
        # An erasure takes as long as there is to erase; what runs on this machine does not go silent.
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None, sock_connect=5)) as session,
            session.post(f"{told['url']}/{where}", headers=headers, data=body) as response,
        ):
            answer = await response.read()
    except aiohttp.ClientError as exc:
        raise OSError(f"the gateway that wrote {str(_note(path))!r} does not answer") from exc
    if response.status == _BUSY:
        raise StoreBusy(answer.decode(), retry_after_s=0)
    if response.status not in (200, _UNKNOWN):
        raise OSError(f"what answers there is another program ({response.status}); remove {str(_note(path))!r}")
    return None if response.status == _UNKNOWN else msgspec.json.decode(answer, type=Receipt)
