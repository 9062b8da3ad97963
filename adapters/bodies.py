"""Reading the body of a request, held to a size and a time."""

from __future__ import annotations

import asyncio

from aiohttp import web

from adapters.problems import Problem


async def body_of(request: web.Request, *, limit: int, seconds: float) -> bytes:
    """Return the body. Raises a `Problem`: 408 when it is slower than `seconds`, 400 when it breaks off or can't be decoded; and
    aiohttp's 413 when it has more than `limit` bytes."""
    if request.content_length is None:
        request = request.clone(client_max_size=limit)  # counted as it comes; an announced length can't be exceeded
    elif request.content_length > limit:
        raise web.HTTPRequestEntityTooLarge(max_size=limit, actual_size=request.content_length)
    try:
        async with asyncio.timeout(seconds):
            return await request.read()
    except TimeoutError as exc:
        raise Problem(408, "slow_body", f"the body did not arrive within {seconds:g} s") from exc
    except web.RequestPayloadError as exc:
        raise Problem(400, "bad_body", "the body broke off, or is not coded as its headers say") from exc
