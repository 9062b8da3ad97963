"""Sign-in by OpenID Connect: the code flow with PKCE, state and nonce, and the check of the ID token.

State, nonce and verifier are all made from one secret that the browser keeps in a cookie meanwhile: whoever comes back without
it did not begin here, and nothing has to be remembered for who never comes back. A code is good once, by the provider's word.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from config.admin import OidcSettings
from gateway.admin.oidc_source import Endpoints, ProviderFault, Source, TurnedAway

if TYPE_CHECKING:
    from joserfc.jwk import KeySet
    from joserfc.jwt import Token

BEGUN_S = 600
"""Seconds between the beginning and the way back at most."""
_EPOCH = re.compile(r"[0-9]{1,12}")
MOST_ROLES = 1000
MOST_AT_ONCE = 50
"""Who come back at the same time at most: anybody may say that they do, and the provider is asked about each."""


class Begun(msgspec.Struct, frozen=True):
    """Where the provider signs people in, and what the browser keeps until they come back."""

    url: str
    kept: str


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """Who the provider says this is. `roles`: the values of the claim that settings map to grants."""

    issuer: str
    subject: str
    name: str
    roles: tuple[str, ...]


class Provider:
    """Sign-in at one identity provider."""

    def __init__(self, settings: OidcSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`, in seconds from any fixed start, says when what the provider publishes is old."""
        self.settings = settings
        self._source = Source(settings, clock=clock)
        self._asking = 0

    async def begin(self, back: str, *, now_s: float) -> Begun:
        """Return where people are sent; they come back to the URL `back`. Raises `ProviderFault`."""
        endpoints = await self._source.document()
        kept = f"{int(now_s)}.{secrets.token_urlsafe(32)}"
        async with self._source.client(endpoints, back) as client:
            url, _ = client.create_authorization_url(
                endpoints.authorization_endpoint,
                state=derived(kept, "state"),
                nonce=derived(kept, "nonce"),
                code_verifier=derived(kept, "verifier"),
            )
        return Begun(url, kept)

    async def finish(self, kept: str, query: Mapping[str, str], back: str, *, now_s: float) -> Claims:
        """Return who comes back with `query`, if it was this browser that went. Raises `ProviderFault`, of these
        `TurnedAway` where that is not so."""
        if not hmac.compare_digest(query.get("state", "").encode(errors="replace"), derived(kept, "state").encode()):
            raise TurnedAway("the way back does not belong to a way there of this browser; begin again")
        began, _, secret = kept.partition(".")
        if not secret or not _EPOCH.fullmatch(began) or not 0 <= now_s - int(began) + 5 <= BEGUN_S:
            raise TurnedAway("it took too long to come back from the identity provider; begin again")
        if "error" in query:
            raise TurnedAway(f"the identity provider refuses: {query['error'][:100]!r}")
        endpoints = await self._source.document()
        if query.get("iss", endpoints.issuer) != endpoints.issuer:  # RFC 9207
            raise TurnedAway("another identity provider answers")
        token = await self._exchanged(endpoints, query.get("code", ""), derived(kept, "verifier"), back)
        return self._claims(await self._verified(token, nonce=derived(kept, "nonce"), now_s=now_s))

    async def _exchanged(self, endpoints: Endpoints, code: str, verifier: str, back: str) -> str:
        if self._asking >= MOST_AT_ONCE:
            raise ProviderFault("too many come back at once; begin again a little later")
        self._asking += 1
        try:
            async with self._source.client(endpoints, back) as client:
                answer = await client.fetch_token(
                    endpoints.token_endpoint, grant_type="authorization_code", code=code, code_verifier=verifier
                )
        finally:
            self._asking -= 1
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise ProviderFault("the identity provider gives no ID token; is `openid` among the scopes?")
        return token

    async def _verified(self, token: str, *, nonce: str, now_s: float) -> dict[str, Any]:
        """Return the ID token's claims: signed by the provider with an allowed algorithm, for us, in time, for this sign-in
        (OpenID Connect Core 1.0, 3.1.3.7)."""
        from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]  # only who signs in this way loads it
        from joserfc.errors import JoseError

        settings, keys = self.settings, await self._source.keys()
        try:
            decoded = self._decoded(token, keys)
        except ProviderFault:
            newer = await self._source.keys(anew=True)  # providers change theirs
            if newer is keys:
                raise
            decoded = self._decoded(token, newer)
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
            options={
                "iss": {"essential": True, "value": settings.issuer},
                "aud": {"essential": True, "value": settings.client_id},
                "nonce": {"essential": True, "value": nonce},
            },
            params={"nonce": nonce, "client_id": settings.client_id},
        )
        try:
            claims.validate(now=int(now_s), leeway=int(settings.leeway_s))
        except (JoseError, ValueError, TypeError) as exc:
            raise ProviderFault(
                f"the ID token is not accepted: {type(exc).__name__} {getattr(exc, 'claim', '')}"
            ) from exc
        return dict(claims)

    def _decoded(self, token: str, keys: KeySet) -> Token:
        from joserfc import jwt
        from joserfc.errors import JoseError

        try:
            return jwt.decode(token, keys, algorithms=list(self.settings.algorithms))
        except (JoseError, ValueError) as exc:
            raise ProviderFault(f"the ID token is not accepted: {type(exc).__name__}") from exc

    def _claims(self, claims: dict[str, Any]) -> Claims:
        subject, name = claims["sub"], claims.get(self.settings.name_claim)
        if not isinstance(subject, str) or not 0 < len(subject) <= 255:
            raise ProviderFault("the ID token's subject is not a text of 1 to 255 characters")
        said = claims.get(self.settings.roles_claim)
        if self.settings.roles_claim == "email" and claims.get("email_verified") not in (True, "true"):
            said = None  # anybody may have written it there
        values = said if isinstance(said, list) else [said]
        return Claims(
            issuer=self.settings.issuer,
            subject=subject,
            name=name if isinstance(name, str) else subject,
            roles=tuple(value for value in values[:MOST_ROLES] if isinstance(value, str)),
        )


def derived(kept: str, what: str) -> str:
    """Return what is told of the browser's secret (`state`, `nonce`), or kept of it (`verifier`): none leads to another."""
    made = hmac.new(kept.encode(errors="replace"), f"clew oidc {what}".encode(), hashlib.sha256).digest()
    return urlsafe_b64encode(made).rstrip(b"=").decode()
