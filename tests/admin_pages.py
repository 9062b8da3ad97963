"""The console's pages with chosen acts behind them, and whoever a test wants to be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from config.settings import ServerSettings
from gateway.admin.console.part import Part
from gateway.admin.console.parts import PARTS
from gateway.admin.console.signing import SignedIn
from gateway.admin.console.web import Console
from gateway.admin.operations import Acting, AuditOutcome, Handlers, Service
from gateway.admin.rights import Actor, Grant, Role
from gateway.http import HttpServer
from tests.fakes import FakeIntake
from tests.serving import all_well, one_metric

NOW_MS = 1_796_043_241_000  # 2026-11-30 12:54:01 UTC

CSRF = "the token of this session"


def admin(role: Role = "owner", channel: str | None = None, *, name: str = "Ada") -> Actor:
    """Somebody who is signed in."""
    return Actor(id="user:1", name=name, grants=(Grant(role=role, channel=channel),), door="console")


@dataclass
class FakeDoorkeeper:
    """Lets `actor` in, whatever the cookie; None: nobody has signed in."""

    actor: Actor | None = field(default_factory=admin)
    owner: bool = True

    async def has_owner(self) -> bool:
        return self.owner

    async def signed_in(self, request: web.Request) -> SignedIn | None:
        return None if self.actor is None else SignedIn(actor=self.actor, csrf=CSRF)

    async def lost(self, request: web.Request, actor: Actor) -> None:
        await asyncio.Event().wait()


@dataclass
class FakeAudit:
    """Remembers what was written, as (operation, outcome)."""

    entries: list[tuple[str, AuditOutcome]] = field(default_factory=list)

    async def write(self, acting: Acting, *, outcome: AuditOutcome) -> None:
        self.entries.append((acting.operation.name, outcome))


@asynccontextmanager
async def console(
    *handlers: Handlers,
    doorkeeper: FakeDoorkeeper | None = None,
    parts: tuple[Part, ...] = PARTS,
    clock: Callable[[], int] = lambda: NOW_MS,
) -> AsyncIterator[str]:
    """Serve the console over these acts, and give the base URL."""
    service = Service(*handlers, audit=FakeAudit())
    pages = Console(service, doorkeeper or FakeDoorkeeper(), parts=parts, clock=clock)
    server = HttpServer(
        settings=ServerSettings(port=0, stop_s=2),
        intake=FakeIntake(),
        channel=lambda name: None,
        console=lambda: None,
        ready=all_well,
        metrics=one_metric,
        admin=pages.routes(),
    )
    async with server.running() as port:
        yield f"http://127.0.0.1:{port}"
