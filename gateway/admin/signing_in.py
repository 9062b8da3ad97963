"""Signing in to the console: by password, with waits that grow, or through the identity provider.

What goes wrong is told in the same words and takes the same time whether there is such a user or not. Every sign-in begins a
new session; every try that was looked at is in the audit log, as far as a flood of them lets it.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable
from typing import Literal

import msgspec

from config.admin import AdminSettings, OidcSettings
from gateway.admin.access import Account, Users, folded
from gateway.admin.grants import merged
from gateway.admin.oidc import Begun, Claims, Provider
from gateway.admin.operations import Acting, AuditLog, AuditOutcome, Operation
from gateway.admin.passwords import Passwords
from gateway.admin.rights import ROLES, Actor, Grant
from gateway.admin.sessions import Sessions
from gateway.admin.tries import Knock, Tries, network_of
from gateway.errors import GatewayFault
from gateway.hot.base import RateLimits
from gateway.metrics import LoginOutcome

logger = logging.getLogger(__name__)

NOTED_PER_MINUTE = 30
"""Failures written to the audit log; the log can't be emptied, so nobody may fill it from outside."""
DAY_MS = 86_400_000

SIGN_IN = Operation(
    name="sessions.begin",
    told="Sign in to the console.",
    method="POST",
    path="/sessions",
    right="see",
    where="any",
)
SIGN_OUT = Operation(
    name="sessions.leave",
    told="Sign out of the console.",
    method="DELETE",
    path="/sessions",
    right="see",
    where="any",
)
"""For the audit log: no door offers these two but the console's own pages."""


class NotSignedIn(GatewayFault):
    """Nobody was signed in. `wrong`: not this name with this password; `wait`: too many tries, none is looked at for
    `wait_s`; `no_rights`: the provider knows them, and nothing lets them in; `off`: no provider is configured."""

    def __init__(self, reason: Literal["wrong", "wait", "no_rights", "off"], *, wait_s: float = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait_s = wait_s


class Comer(msgspec.Struct, frozen=True, kw_only=True):
    """Who wants in, as far as the request tells. `device`: the cookie of a browser in which somebody signed in before."""

    address: str
    browser: str = ""
    device: str = ""


class Entered(msgspec.Struct, frozen=True, kw_only=True):
    """What the browser is given: the session's secret, and what proves later that the user signed in there before (None: not
    by password)."""

    secret: str
    device: str | None = None


class SigningIn:
    """Signs in and out. Sessions and wrong passwords are rows: they are the same on every instance."""

    def __init__(
        self,
        *,
        users: Users,
        sessions: Sessions,
        passwords: Passwords,
        audit: AuditLog,
        tries: Tries,
        limits: RateLimits,
        settings: Callable[[], AdminSettings],
        clock: Callable[[], int],
        counted: Callable[[LoginOutcome], None] = lambda outcome: None,
    ) -> None:
        """`settings` gives those of the moment, `clock` milliseconds since 1970; `limits` counts what is noted of failures,
        `counted` hears how every try ended."""
        self._counted = counted
        self._users = users
        self._sessions = sessions
        self._passwords = passwords
        self._audit = audit
        self._limits = limits
        self._settings = settings
        self._clock = clock
        self._tries = tries
        self._provider: Provider | None = None

    async def by_password(self, name: str, password: str, comer: Comer) -> Entered:
        """Sign in. Raises `NotSignedIn` (`wrong`, `wait`) and `StoreBusy`."""
        settings = self._settings().sign_in
        _, knock = await self._knock(name, comer)
        self._make_wait(await self._tries.wait_s(knock, settings, now_ms=self._clock()), comer)
        # In turn: however many knock, the database is written to no oftener than passwords can be looked at.
        async with self._passwords.turn(known=knock.device is not None):
            account, knock = await self._knock(name, comer)  # anew: it may be another password by now
            self._make_wait(await self._tries.begin(knock, settings, now_ms=self._clock()), comer)
            try:
                right = await self._passwords.fits(password, None if account is None else account.kept)
            except BaseException:
                await self._tries.take_back(knock, settings, right=False)
                raise
        if account is None or not right:
            await self._failed(None if account is None else account.user_id, comer, way="password")
            raise NotSignedIn("wrong")
        await self._tries.take_back(knock, settings, right=True)
        secret = await self._enter(account.user_id, comer, way="password")
        return Entered(secret=secret, device=made_device(account.kept))

    async def _knock(self, name: str, comer: Comer) -> tuple[Account | None, Knock]:
        account = await self._users.account(name)
        device = _device(comer.device, None if account is None else account.kept)
        return account, Knock(account=folded(name), address=comer.address, device=device)

    def _make_wait(self, wait_s: float, comer: Comer) -> None:
        if wait_s > 0:
            logger.warning("sign-in has to wait", extra={"address": network_of(comer.address), "wait_s": round(wait_s)})
            self._counted("limited")
            raise NotSignedIn("wait", wait_s=wait_s)

    async def begin_provider(self, back: str) -> Begun:
        """Return where the provider signs people in; they come back to `back`. Raises `NotSignedIn` (`off`) and
        `ProviderFault`."""
        provider, _ = self._provider_now()
        return await provider.begin(back, now_s=self._clock() / 1000)

    async def by_provider(self, kept: str, query: dict[str, str], comer: Comer, *, back: str) -> Entered:
        """Sign in who comes back from the provider with `query`; `kept` is what their browser was given at the beginning.
        Raises `NotSignedIn` (`off`, `no_rights`) and `ProviderFault`."""
        provider, settings = self._provider_now()
        claims = await provider.finish(kept, query, back, now_s=self._clock() / 1000)
        user_id = await self._users.claimed(
            claims.issuer,
            claims.subject,
            name=claims.name,
            grants=grants_of(claims, settings),
            ends_ms=self._clock() + int(settings.hold_days * DAY_MS),
        )
        user = None if user_id is None else await self._users.find(user_id)
        if user is None or not user.grants:
            await self._failed(user_id, comer, way="provider")
            raise NotSignedIn("no_rights")
        return Entered(secret=await self._enter(user.id, comer, way="provider"))

    async def leave(self, secret: str) -> None:
        """Sign out: the session of the secret ends."""
        session = await self._sessions.current(secret)
        if session is not None:
            await self._sessions.end(session.id)
            acting = Acting(actor=session.actor, operation=SIGN_OUT)
            acting.note(session=session.id)
            await self._audit.write(acting, outcome="done")

    def _provider_now(self) -> tuple[Provider, OidcSettings]:
        settings = self._settings().oidc
        if settings is None:
            raise NotSignedIn("off")
        if self._provider is None or self._provider.settings != settings:
            self._provider = Provider(settings)
        return self._provider, settings

    async def _enter(self, user_id: int, comer: Comer, *, way: str) -> str:
        secret = await self._sessions.begin(user_id, address=comer.address, browser=comer.browser)
        await self._users.signed_in(user_id)
        await self._note(user_id, comer, way=way, outcome="done")
        self._counted("admitted")
        return secret

    async def _failed(self, user_id: int | None, comer: Comer, *, way: str) -> None:
        self._counted("refused")
        logger.warning("sign-in failed", extra={"address": network_of(comer.address)})
        if await self._limits.take("failed sign-ins", most=NOTED_PER_MINUTE):
            await self._note(user_id, comer, way=way, outcome="refused")

    async def _note(self, user_id: int | None, comer: Comer, *, way: str, outcome: AuditOutcome) -> None:
        actor_id = f"user:{user_id}" if user_id is not None and outcome == "done" else "nobody"
        acting = Acting(actor=Actor(id=actor_id, name="", grants=(), door="console"), operation=SIGN_IN)
        acting.note(way=way, user=user_id, address=network_of(comer.address))
        await self._audit.write(acting, outcome=outcome)


def grants_of(claims: Claims, settings: OidcSettings) -> tuple[Grant, ...]:
    """Return what the claims' roles give by the settings."""
    given = [text for value in claims.roles for text in settings.roles.get(value, ())]
    return merged(_grant(text) for text in given)


def _grant(text: str) -> Grant:
    role, _, channel = text.partition("@")
    return Grant(role=next(one for one in ROLES if one == role), channel=channel or None)


def made_device(kept: str) -> str:
    """Return what a browser proves with that the user signed in there: worthless once the password is another one."""
    mark = secrets.token_urlsafe(12)
    return f"{mark}.{_proof(mark, kept)}"


def _device(shown: str, kept: str | None) -> str | None:
    """Return the browser's mark; None: it proves nothing for this user."""
    mark, _, proof = shown.partition(".")
    good = hmac.compare_digest(proof.encode(errors="replace"), _proof(mark, kept or "").encode())
    return mark if good and kept is not None and mark else None


def _proof(mark: str, kept: str) -> str:
    return hmac.new(kept.encode(), b"clew device " + mark.encode(errors="replace"), hashlib.sha256).hexdigest()
