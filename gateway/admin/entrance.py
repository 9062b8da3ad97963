"""All that tells who an admin is, made once from the admins' database: for the doors and for the acts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from config.admin import AdminSettings
from gateway.admin.access import ACCESS, Users
from gateway.admin.acts.access import AccessActs
from gateway.admin.acts.audit import AuditActs
from gateway.admin.acts.credentials import CredentialActs
from gateway.admin.audit import Audit
from gateway.admin.database import Database
from gateway.admin.operations import Handlers
from gateway.admin.passwords import Passwords
from gateway.admin.rights import Actor
from gateway.admin.sessions import Sessions
from gateway.admin.signing_in import SigningIn
from gateway.admin.tokens import Tokens
from gateway.admin.tries import Tries
from gateway.errors import StoreBusy
from gateway.hot.base import RateLimits
from gateway.metrics import Metrics

LOOK_S = 60.0
"""Seconds between two looks at what ends by itself."""


class Entrance:
    """Users, sessions, tokens, the audit log and signing in."""

    def __init__(
        self,
        database: Database,
        *,
        settings: Callable[[], AdminSettings],
        limits: RateLimits,
        clock: Callable[[], int],
        passwords: Passwords | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """`settings` gives those of the moment, `clock` milliseconds since 1970; `passwords` None: argon2id; `metrics` count
        sign-ins, and audit entries that could not be written."""
        self.settings = settings
        self.passwords = passwords or Passwords()
        self.users = Users(database, clock=clock)
        self.sessions = Sessions(database, settings=settings, clock=clock)
        self.tokens = Tokens(database, clock=clock)
        self.audit = Audit(database, clock=clock, failed=(lambda: None) if metrics is None else metrics.audit_failed)
        self._tries = Tries(database)
        self.signing_in = SigningIn(
            users=self.users,
            sessions=self.sessions,
            passwords=self.passwords,
            audit=self.audit,
            tries=self._tries,
            limits=limits,
            settings=settings,
            clock=clock,
            counted=(lambda outcome: None) if metrics is None else metrics.login,
        )
        self._database = database
        self._clock = clock

    async def lost(self, look: Callable[[], Awaitable[Actor | None]], actor: Actor) -> None:
        """Return as soon as the actor's session or token has ended, or they may do something else than before, on whatever
        instance that came about: within two seconds; what ends by itself, within a minute. `look` tells who it is now. Returns
        as well where that can't be told."""
        number = 0
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    number = await self._database.changed(ACCESS, number)
            try:
                now = await look()
            except StoreBusy:
                return
            if now is None or now.grants != actor.grants:
                return

    def handlers(self) -> tuple[Handlers, ...]:
        """Return the acts about access."""
        return (
            AccessActs(
                users=self.users,
                passwords=self.passwords,
                tries=self._tries,
                settings=lambda: self.settings().sign_in,
                clock=self._clock,
            ).handlers(),
            CredentialActs(sessions=self.sessions, tokens=self.tokens, clock=self._clock).handlers(),
            AuditActs(audit=self.audit, users=self.users).handlers(),
        )
