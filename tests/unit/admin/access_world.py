"""Users, sessions, tokens and their acts over a real database, with a clock that tests set."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from argon2 import PasswordHasher

from config.admin import AdminSettings
from gateway.admin.database import Database
from gateway.admin.entrance import Entrance
from gateway.admin.operations import Operation, Service
from gateway.admin.passwords import Passwords
from gateway.admin.rights import Actor, Grant, Role
from gateway.hot.process import ProcessRateLimits
from tests.contracts.admin_database import open_admin_database

PASSWORD = "correct horse 电池 staple"
START_MS = 1_764_000_000_000


def quick() -> PasswordHasher:
    """An argon2id that costs next to nothing."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


class World:
    """All parts of access over one database; `now_ms` is the time."""

    def __init__(self, database: Database, settings: AdminSettings) -> None:
        self.now_ms = START_MS
        self.database = database
        self.settings = settings
        self.entrance = Entrance(
            database,
            settings=lambda: self.settings,
            limits=ProcessRateLimits(),
            clock=lambda: self.now_ms,
            passwords=Passwords(quick),
        )
        self.passwords, self.users = self.entrance.passwords, self.entrance.users
        self.sessions, self.tokens = self.entrance.sessions, self.entrance.tokens
        self.audit, self.signing_in = self.entrance.audit, self.entrance.signing_in
        self.service = Service(*self.entrance.handlers(), audit=self.audit)

    async def user(self, name: str, role: Role | None = None, channel: str | None = None) -> Actor:
        """Make a user who signs in by `PASSWORD`, and return them as they act in the console."""
        grants = () if role is None else (Grant(role=role, channel=channel),)
        user_id = await self.users.add(name, kept=await self.passwords.kept(PASSWORD), grants=grants)
        return Actor(id=f"user:{user_id}", name=name, grants=grants, door="console")

    async def do(self, actor: Actor, operation: Operation, /, **fields: Any) -> Any:
        """Let the actor do it, with a request as it comes in JSON."""
        return await self.service.perform(actor, operation, msgspec.convert(fields, operation.request))

    async def acting(self, secret: str) -> Actor:
        """Return who shows a token."""
        actor = await self.tokens.actor(secret)
        assert actor is not None
        return actor


def number(actor: Actor) -> str:
    """Return the user's number."""
    return actor.id.removeprefix("user:")


@asynccontextmanager
async def world(url: str, settings: AdminSettings | None = None) -> AsyncIterator[World]:
    """Open the parts over the database at `url`."""
    async with open_admin_database(url) as database:
        yield World(database, settings or AdminSettings())
