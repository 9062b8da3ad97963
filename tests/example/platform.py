"""A local platform for the example channel: a real server in the test's own process.

Small beside `tests/emulators`, and of the same parts: people who speak, what stands in a room, what was called, what goes
wrong with the next calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from tests.loopback import on_loopback

TOKEN = "pigeon-1"


@dataclass
class Pigeons:
    """`faults` are for the next calls, one each: a status instead of the answer, "cut" for a letter that arrives and an answer
    that does not."""

    api_url: str = ""
    events_url: str = ""
    letters: list[tuple[str, str]] = field(default_factory=list)  # room, text
    faults: deque[int | str] = field(default_factory=deque)

    async def says(self, text: str, **where: Any) -> int:
        """Let somebody write; return how the bot answered the event."""
        async with aiohttp.ClientSession() as session, session.post(self.events_url, **said(text, **where)) as response:
            return response.status

    async def letter(self, request: web.Request) -> web.StreamResponse:
        """Take a letter of the bot's."""
        refused = self._refused(request)
        fault = self.faults.popleft() if self.faults else None
        if refused or isinstance(fault, int):
            return refused or web.Response(status=int(fault or 0), headers={"Retry-After": "3"})
        body = await request.json()
        self.letters.append((body["loft"], body["text"]))
        if fault == "cut" and request.transport is not None:
            request.transport.abort()
        return web.json_response({"id": str(len(self.letters))})

    async def me(self, request: web.Request) -> web.StreamResponse:
        """Tell the bot who it is."""
        return self._refused(request) or web.json_response({"id": "clew"})

    def _refused(self, request: web.Request) -> web.Response | None:
        return None if request.headers.get("Authorization") == f"Bearer {TOKEN}" else web.Response(status=401)


def said(
    text: str = "hello", *, number: str = "1", user: str = "alice", room: str = "r1", chat_type: str = "private"
) -> dict[str, Any]:
    """Return the request by which the platform tells of a message."""
    kind = "direct" if chat_type == "private" else "group"
    body = {"id": number, "loft": room, "kind": kind, "from": {"id": user, "name": user}, "text": text}
    return {"json": body, "headers": {"Pigeon-Token": TOKEN}}


@asynccontextmanager
async def pigeons() -> AsyncIterator[Pigeons]:
    """Run the platform on loopback; `api_url` says where."""
    platform = Pigeons()
    app = web.Application()
    app.add_routes([web.post("/letters", platform.letter), web.post("/me", platform.me)])
    async with on_loopback(app, shutdown_timeout=0.1) as platform.api_url:
        yield platform
