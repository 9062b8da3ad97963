"""Server-sent events: a turn's stream as an HTTP response that can be left, resumed and closed at any time.

Used by the webhook's `stream` mode, the chat page and `GET …/events`. A reader that leaves never touches the turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiohttp import web

from adapters.base import StreamEvent

logger = logging.getLogger(__name__)

CLOSING = web.AppKey("closing", asyncio.Event)
"""Set by the server when it stops: open streams end with a comment, waiting callers are answered with what there is."""

_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-store",
    "X-Accel-Buffering": "no",  # or nginx holds events back until its buffer is full
}
_RETRY = b"retry: 2000\n\n"
_HEARTBEAT = b": still here\n\n"
_CLOSING = b": the gateway is stopping; come again with Last-Event-ID\n\n"
_STALLED_BEATS = 2


def frame(name: str, data: bytes, *, event_id: int | None = None) -> bytes:
    """Return one event as it goes over the wire. `data` is JSON on one line."""
    head = b"" if event_id is None else b"id: %d\n" % event_id
    return b"%bevent: %b\ndata: %b\n\n" % (head, name.encode(), data)


def last_event_id(request: web.Request) -> int | None:
    """Return the last event the reader has, from `Last-Event-ID`; None if it has none, or says nonsense."""
    header = request.headers.get("Last-Event-ID", "")
    return int(header) if header.isascii() and header.isdigit() and len(header) < 19 else None


async def follow(
    request: web.Request, events: AsyncGenerator[StreamEvent, None], *, heartbeat_s: float
) -> web.StreamResponse:
    """Answer `request` with `events` until they end, the reader leaves or stalls, or the server closes.

    An idle stream carries a comment every `heartbeat_s` seconds; a reader that takes nothing for twice as long is let go.
    Call it only once the reader's right to the turn is settled: from here on the status is 200.
    """
    response = web.StreamResponse(headers=_HEADERS)
    try:
        await response.prepare(request)
        await response.write(_RETRY)
        async with aclosing(_frames(events, request.app[CLOSING], heartbeat_s=heartbeat_s)) as frames:
            async for piece in frames:
                async with asyncio.timeout(_STALLED_BEATS * heartbeat_s):
                    await response.write(piece)
    except (ConnectionError, TimeoutError):
        logger.debug("reader left", extra={"path": request.path})
    except Exception:
        # The status line is out, so this can't become a 500; without `done` the reader knows to come again.
        logger.exception("event stream broke off", extra={"path": request.path})
    return response


async def _frames(
    events: AsyncGenerator[StreamEvent, None], closing: asyncio.Event, *, heartbeat_s: float
) -> AsyncGenerator[bytes, None]:
    """Yield each event's frame, and a comment whenever `heartbeat_s` passes without one.

    The wait for the next event is a task of its own, ended here: a timeout around `anext` would end the generator.
    """
    stopping = asyncio.create_task(closing.wait())
    upcoming: asyncio.Task[StreamEvent | None] | None = None
    try:
        while True:
            upcoming = upcoming or asyncio.create_task(_next(events))
            await asyncio.wait({upcoming, stopping}, timeout=heartbeat_s, return_when=asyncio.FIRST_COMPLETED)
            if upcoming.done():
                event, upcoming = upcoming.result(), None
                if event is None:
                    return
                yield frame(event.name, event.data, event_id=event.id)
            elif stopping.done():
                yield _CLOSING
                return
            else:
                yield _HEARTBEAT
    finally:
        left = [task for task in (stopping, upcoming) if task is not None]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await events.aclose()


async def _next(events: AsyncGenerator[StreamEvent, None]) -> StreamEvent | None:
    return await anext(events, None)
