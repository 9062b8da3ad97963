"""The one HTTP server: it finds the channel, the turn or the page a request is for, and says in one form what is wrong.

Channels are looked up at each request, so that a reload swaps them without touching the router. What a channel does with
a request is its adapter's business; what a turn is, the intake's.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from prometheus_client import CONTENT_TYPE_LATEST

from adapters.base import Intake, TurnView
from adapters.errors import AdapterFault
from adapters.problems import CONTENT_TYPE, Problem, as_problem, unavailable
from adapters.sse import CLOSING, follow, last_event_id
from config.settings import ServerSettings
from gateway.errors import CannotListen, StoreBusy
from gateway.proxies import client_ip, networks
from memory.errors import StoreUnavailable

logger = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_wire = logging.getLogger(f"{__name__}.wire")


def _readable(record: logging.LogRecord) -> bool:
    """Whether a line of the HTTP library is for the log: what strangers send that is no request is no error of ours."""
    exc = record.exc_info[1] if record.exc_info else None
    if isinstance(exc, HttpProcessingError | web.RequestPayloadError):
        logger.debug("request can't be read", extra={"reason": type(exc).__name__})
        return False
    return True


_wire.addFilter(_readable)
_LARGEST_BODY = 16 * 1024 * 1024  # the bound of every channel's own, smaller limit
_REFUSED_BODY_S = 1.0  # a refused body is read away this long, so that its sender hears the refusal and not a reset
_AWAY_S = 2.0
_OPENAPI = Path(__file__).with_name("openapi.json").read_bytes()
_SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # a turn's token may stand in the URL
    "X-Content-Type-Options": "nosniff",
}


@runtime_checkable
class HttpChannel(Protocol):
    """A channel that people or programs reach over HTTP. `request.remote` is the caller behind trusted proxies."""

    heartbeat_s: float
    """Seconds between comments on this channel's idle event streams."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request. Raises an `AdapterFault` (a `Problem`, most often), which becomes problem details."""
        ...


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """Whether this instance should get traffic. `checks` names each part looked at: "ok", or what is wrong with it; `warnings`
    those parts that work and are hardly set as they are meant to be."""

    ready: bool
    checks: dict[str, str]
    warnings: dict[str, str] = {}
    lag_s: float | None = None  # age of the oldest message that waits; None: nothing waits
    instances: int | None = None  # how many gateways run on the database; None: not known now


class HttpServer:
    """Listens while inside `async with running()`.

    `channel` returns the adapter that serves a name now, None if there is no such channel over HTTP; a reload puts the new
    one in the old one's place in one moment. It raises a `Problem` for a channel that does not run now. `console` returns the
    adapter of the chat page, None if none is configured. `metrics` returns the Prometheus text. `admin` are the routes of
    the admins' doors (`/api/v1`, `/admin`).
    """

    def __init__(
        self,
        *,
        settings: ServerSettings,
        intake: Intake,
        channel: Callable[[str], HttpChannel | None],
        console: Callable[[], HttpChannel | None],
        ready: Callable[[], Awaitable[Readiness]],
        metrics: Callable[[], Awaitable[bytes]],
        admin: Sequence[web.AbstractRouteDef] = (),
        refused: Callable[[str, str], None] = lambda channel, code: None,
    ) -> None:
        """`refused` hears (channel, code) of each inbound request that a channel did not take."""
        self._refused = refused
        self._settings = settings
        self._intake = intake
        self._channel = channel
        self._console = console
        self._ready = ready
        self._metrics = metrics
        self._admin = admin
        self._trusted = networks(settings.trusted_proxies)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[int]:
        """Listen, and give the port (the real one, where the settings say 0). Raises `CannotListen`.

        On the way out: no new connections, streams end with a comment, callers who wait are answered with what there is;
        whatever is left after `server.stop_s` is cut off.
        """
        app = self._application()
        runner = web.AppRunner(
            app,
            access_log=None,  # it would write turn tokens into the log
            handle_signals=False,
            logger=_wire,
            keepalive_timeout=self._settings.keepalive_s,
            lingering_time=_REFUSED_BODY_S,
            shutdown_timeout=self._settings.stop_s,
        )
        await runner.setup()
        try:
            await self._listen(runner)
            yield int(runner.addresses[0][1])
        finally:
            app[CLOSING].set()
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> None:
        host, port = self._settings.host, self._settings.port
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as exc:
            remedy = "stop the other program, or set server.port or CLEW_PORT to a free port (0: any)"
            if exc.errno != errno.EADDRINUSE:
                remedy = "set server.host or CLEW_HOST, and server.port or CLEW_PORT, to an address of this machine"
            # Not the error's own words: they name the address once more.
            of_system = exc.errno is not None and exc.errno > 0
            reason = os.strerror(exc.errno or 0) if of_system else exc.strerror or type(exc).__name__
            raise CannotListen(f"can't listen on {host!r} port {port}: {reason}; {remedy}") from exc

    def _application(self) -> web.Application:
        app = web.Application(middlewares=[self._edge], client_max_size=_LARGEST_BODY)
        app[CLOSING] = asyncio.Event()
        app.on_response_prepare.append(_secure)
        app.router.add_routes(
            [
                web.post("/channels/{name}", self._inbound),
                web.get("/channels/{name}/turns/{turn}", self._turn),
                web.get("/channels/{name}/turns/{turn}/events", self._events, allow_head=False),
                web.get("/", self._page),
                web.route("*", "/chat/{tail:.*}", self._page),
                web.get("/healthz", _alive),
                web.get("/readyz", self._readiness),
                web.get("/metrics", self._prometheus),
                web.get("/openapi.json", _openapi),
                *self._admin,
            ]
        )
        return app

    @web.middleware
    async def _edge(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(self._from_client(request))
        except AdapterFault as fault:
            problem = as_problem(fault)
            if problem.status >= 500:
                logger.warning(
                    "request refused", extra={"path": request.path, "status": problem.status}, exc_info=fault
                )
        except (StoreBusy, StoreUnavailable) as fault:
            logger.warning("store away", extra={"path": request.path}, exc_info=fault)
            problem = unavailable("the gateway can't look at its store now; come again later", retry_after_s=_AWAY_S)
        except web.HTTPException as exc:
            problem = _from_aiohttp(exc)
        except web.RequestPayloadError:
            problem = Problem(400, "bad_body", "the body broke off or its transfer coding can't be read")
        except Exception as exc:
            if not (isinstance(exc, ConnectionError) and request.transport is None):  # else the caller left: no fault
                logger.exception("request failed", extra={"path": request.path, "method": request.method})
            problem = as_problem(AdapterFault())
        return web.Response(
            status=problem.status, headers={"Content-Type": CONTENT_TYPE} | problem.headers, body=problem.body()
        )

    def _from_client(self, request: web.Request) -> web.Request:
        if not self._trusted:
            return request
        address = client_ip(request.remote, request.headers.getall("X-Forwarded-For", []), trusted=self._trusted)
        return request if address == request.remote else request.clone(remote=address)

    async def _inbound(self, request: web.Request) -> web.StreamResponse:
        channel = self._named(request)
        try:
            return await channel.handle(request)
        except AdapterFault as fault:
            self._refused(request.match_info["name"], as_problem(fault).code)
            raise

    async def _page(self, request: web.Request) -> web.StreamResponse:
        console = self._console()
        if console is None:
            raise Problem(404, "not_found", "no channel of kind console is configured, so there is no chat page")
        return await console.handle(request)

    async def _turn(self, request: web.Request) -> web.Response:
        self._named(request)
        view = await self._authorised(request)
        return web.Response(body=msgspec.json.encode(view), content_type="application/json")

    async def _events(self, request: web.Request) -> web.StreamResponse:
        channel = self._named(request)
        view = await self._authorised(request)
        events = self._intake.events(request.match_info["name"], view.turn, after=last_event_id(request))
        return await follow(request, events, heartbeat_s=channel.heartbeat_s)

    def _named(self, request: web.Request) -> HttpChannel:
        channel = self._channel(request.match_info["name"])
        if channel is None:
            raise Problem(404, "unknown_channel", "no such channel; channels are named in the gateway's settings")
        return channel

    async def _authorised(self, request: web.Request) -> TurnView:
        """Return the turn the caller's token opens; the token itself is not shown again."""
        scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
        token = bearer.strip() if scheme.lower() == "bearer" else request.query.get("token", "")
        if not token:
            detail = "send the turn's token as `Authorization: Bearer …` or `?token=…`; the POST returned it"
            raise Problem(401, "token_needed", detail, headers={"WWW-Authenticate": "Bearer"})
        view = await self._intake.turn(request.match_info["name"], request.match_info["turn"], token=token)
        return msgspec.structs.replace(view, token=None, duplicate=False)

    async def _readiness(self, _request: web.Request) -> web.Response:
        readiness = await self._ready()
        status = 200 if readiness.ready else 503
        return web.Response(status=status, body=msgspec.json.encode(readiness), content_type="application/json")

    async def _prometheus(self, _request: web.Request) -> web.Response:
        return web.Response(body=await self._metrics(), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _alive(_request: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


async def _openapi(_request: web.Request) -> web.Response:
    return web.Response(body=_OPENAPI, content_type="application/json")


async def _secure(_request: web.Request, response: web.StreamResponse) -> None:
    """Give every response the headers that it has not set itself; the chat page sets a wider policy for its files."""
    response.headers["Server"] = "clew"
    for name, value in _SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)


def _from_aiohttp(exc: web.HTTPException) -> Problem:
    match exc.status:
        case 404:
            return Problem(404, "not_found", "nothing is served at this path; /openapi.json tells what is")
        case 405:
            allow = exc.headers["Allow"]
            return Problem(405, "method_not_allowed", f"this path takes {allow} only", headers={"Allow": allow})
        case 413:
            return Problem(413, "too_large", "the body is larger than this channel accepts (body_bytes)")
        case status:
            return Problem(status, "http_error", exc.reason)
