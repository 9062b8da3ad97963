"""All that tells who an admin is, made once from the admins' database: for the doors and for the acts."""

from __future__ import annotations

from collections.abc import Callable

from config.admin import AdminSettings
from gateway.admin.access import Users
from gateway.admin.acts.access import AccessActs
from gateway.admin.acts.audit import AuditActs
from gateway.admin.acts.credentials import CredentialActs
from gateway.admin.audit import Audit
from gateway.admin.database import Database
from gateway.admin.operations import Handlers
from gateway.admin.passwords import Passwords
from gateway.admin.sessions import Sessions
from gateway.admin.signing_in import SigningIn
from gateway.admin.tokens import Tokens
from gateway.hot.base import RateLimits
from gateway.metrics import Metrics


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
        self.signing_in = SigningIn(
            users=self.users,
            sessions=self.sessions,
            passwords=self.passwords,
            audit=self.audit,
            limits=limits,
            settings=settings,
            clock=clock,
            counted=(lambda outcome: None) if metrics is None else metrics.login,
        )
        self._clock = clock

    def handlers(self) -> tuple[Handlers, ...]:
        """Return the acts about access."""
        return (
            AccessActs(users=self.users, passwords=self.passwords).handlers(),
            CredentialActs(sessions=self.sessions, tokens=self.tokens, clock=self._clock).handlers(),
            AuditActs(audit=self.audit, users=self.users).handlers(),
        )
