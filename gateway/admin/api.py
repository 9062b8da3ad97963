"""The REST door: every operation below `/api/v1`, with its OpenAPI document; errors as RFC 9457 problem details.

Who calls is told by a bearer token. What an operation is and who may, `operations.py` says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import msgspec
from aiohttp import web

from adapters.bodies import body_of
from adapters.problems import Problem, unavailable
from adapters.sse import CLOSING
from gateway.admin.binding import from_body, from_texts, in_query, path_fields, request_of
from gateway.admin.openapi import document
from gateway.admin.operations import Disagrees, Invalid, Missing, Operation, Refused, Service, Stream
from gateway.admin.rights import Actor
from gateway.admin.tokens import Tokens
from gateway.errors import BadRequest, GatewayFault, StoreBusy
from memory.errors import MemoryFault

logger = logging.getLogger(__name__)

PREFIX = "/api/v1"
BODY_BYTES, BODY_S = 1_048_576, 20.0
AWAY_S = 2.0
STALLED_S = 60.0
"""Seconds that a stream waits for its reader to take what was sent."""

ActorOf = Callable[[web.Request], Awaitable[Actor | None]]
"""Tells who calls; None: nobody that is known."""


Lost = Callable[[Callable[[], Awaitable[Actor | None]], Actor], Awaitable[None]]
"""Returns as soon as an actor is not any more who they were; the callable tells who they are now (`Entrance.lost`)."""


async def never(_look: Callable[[], Awaitable[Actor | None]], _actor: Actor) -> None:
    """Return never: of who can lose nothing."""
    await asyncio.Event().wait()


def bearer(tokens: Tokens) -> ActorOf:
    """Return what tells callers by the API token that they show."""

    async def actor_of(request: web.Request) -> Actor | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return await tokens.actor(token.strip()) if scheme.lower() == "bearer" else None

    return actor_of


def routes(service: Service, actor_of: ActorOf, *, version: str, lost: Lost = never) -> list[web.RouteDef]:
    """Return the door's routes for the gateway's HTTP server. A stream ends as soon as its reader's rights are `lost`."""

    @cache
    def told() -> bytes:
        """Return the document: made when it is first asked for, as a start must not wait for it."""
        return msgspec.json.encode(document(service.operations, version=version))

    async def openapi(_request: web.Request) -> web.Response:
        return web.Response(body=told(), content_type="application/json")

    made = [
        web.route(operation.method, PREFIX + operation.path, _handler(service, operation, actor_of, lost))
        for operation in _fixed_first(service.operations)
    ]
    return [web.get(f"{PREFIX}/openapi.json", openapi), *made]


def _fixed_first(operations: Sequence[Operation]) -> list[Operation]:
    """Return `/turns/tail` before `/turns/{turn}`: the router takes the first that fits."""
    return sorted(operations, key=lambda operation: ["{" in step for step in operation.path.split("/")])


def _handler(
    service: Service, operation: Operation, actor_of: ActorOf, lost: Lost
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        actor = await actor_of(request)
        if actor is None:
            detail = "send an API token as `Authorization: Bearer …`; an owner makes one in the console, under tokens"
            raise Problem(401, "token_needed", detail, headers={"WWW-Authenticate": "Bearer"})
        with translated():
            result = await service.perform(actor, operation, await _asked(request, operation))
            if isinstance(result, Stream):
                return await streamed(request, result, lost=lambda: lost(lambda: actor_of(request), actor))
            return _answer(result)

    return handle


async def _asked(request: web.Request, operation: Operation) -> msgspec.Struct:
    path = {name: request.match_info[name] for name in path_fields(operation)}
    texts = list(request.query.items())
    if in_query(operation):
        return request_of(operation, from_texts(operation, texts), path=path, strict=False)
    if texts:
        raise Invalid(f"{texts[0][0]}: the query says nothing here; put it into the body")
    body = await body_of(request, limit=BODY_BYTES, seconds=BODY_S)
    if body and request.content_type != "application/json":
        raise Problem(415, "not_json", "send the body as application/json")
    return request_of(operation, from_body(body), path=path, strict=True)


def _answer(result: object) -> web.Response:
    body = msgspec.json.encode(result)
    return web.Response(status=204) if body == b"{}" else web.Response(body=body, content_type="application/json")


async def streamed(
    request: web.Request, stream: Stream, *, lost: Callable[[], Awaitable[None]], stalled_s: float = STALLED_S
) -> web.StreamResponse:
    """Send what comes piece by piece; ends with the stream, with its reader, with the gateway, or when the right to it
    is `lost` (returns then). A reader that takes nothing for `stalled_s`, or at one of these ends, is cut off."""
    response = web.StreamResponse(headers={"Content-Type": stream.media})
    if stream.filename is not None:
        response.headers["Content-Disposition"] = f'attachment; filename="{stream.filename}"'
    await response.prepare(request)
    pieces = stream.pieces
    closing = asyncio.create_task(_first(request.app[CLOSING].wait(), lost()), name="closing")
    try:
        taken = True
        while taken and (piece := await _next(pieces, closing)) is not None:
            taken = await _taken(response.write(piece), closing, within_s=stalled_s)
        if (
            not (taken and await _taken(response.write_eof(), closing, within_s=stalled_s))
            and request.transport is not None
        ):
            request.transport.abort()
    finally:
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        if (aclose := getattr(pieces, "aclose", None)) is not None:
            await aclose()
    return response


async def _taken(write: Coroutine[object, object, None], closing: asyncio.Task[None], *, within_s: float) -> bool:
    """Whether the reader took what was written: it is waited for no longer than the stream may last."""
    writing = asyncio.create_task(write, name="write")
    try:
        await asyncio.wait((writing, closing), timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        if not writing.done():
            return False
        writing.result()
        return True
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def _first(*ends: Awaitable[object]) -> None:
    """Return with the first of them, and end the others."""
    waiting = [asyncio.ensure_future(end) for end in ends]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _next(pieces: AsyncIterator[bytes], closing: asyncio.Task[None]) -> bytes | None:
    """Return the next piece; None: there is no more, or it is not to be sent."""
    coming = asyncio.create_task(_piece(pieces), name="next piece")
    try:
        await asyncio.wait((coming, closing), return_when=asyncio.FIRST_COMPLETED)
        return coming.result() if coming.done() else None
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


async def _piece(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)


@contextmanager
def translated() -> Iterator[None]:
    """Turn what a service raises into the problem that a caller is told."""
    try:
        yield
    except (GatewayFault, MemoryFault) as exc:
        problem = problem_of(exc)
        if problem is None:
            raise
        raise problem from exc


def problem_of(exc: BaseException) -> Problem | None:
    """Return what a caller is told of a service's error; None: it is none of a service's."""
    match exc:
        case Refused():
            return Problem(403, "refused", str(exc))
        case Missing():
            return Problem(404, "missing", str(exc))
        case Disagrees():
            return Problem(409, "disagrees", str(exc))
        case Invalid():
            told = [msgspec.to_builtins(problem) for problem in exc.problems]
            field = exc.problems[0].path if exc.problems else None
            return Problem(422, "invalid", str(exc), field=field, more={"problems": told} if told else {})
        case BadRequest():
            return Problem(422, "invalid", str(exc))
        case StoreBusy() | MemoryFault():
            logger.warning("store away", exc_info=exc)
            return unavailable("the gateway can't look at its store now; come again later", retry_after_s=AWAY_S)
        case _:
            return None
