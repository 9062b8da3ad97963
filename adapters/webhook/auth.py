"""Who is calling a webhook: a Standard Webhooks signature over the raw bytes, or a bearer token.

Nothing of the body is read before this is settled. Whatever goes wrong is a 401, because the libraries answer malformed
input with errors of every kind and none of them may become a 500.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

import jwt
from standardwebhooks.webhooks import Webhook

from adapters.errors import AdapterFault
from adapters.problems import Problem, unavailable
from adapters.strict import usable_id, usable_text
from adapters.webhook.identity import MAX_NAME_CHARS, MAX_SUBJECT_BYTES, Principal
from config.channels.webhook import JwtSettings

logger = logging.getLogger(__name__)

_HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


def verify_signature(verifiers: Sequence[Webhook], raw: bytes, *, headers: Callable[[str], Sequence[str]]) -> Principal:
    """Return the signer, if any of the secrets signed `raw` within five minutes of now. `headers` gives all values of a
    header. Raises a 401 `Problem`."""
    values = {name: headers(name) for name in _HEADERS}
    if any(len(found) != 1 for found in values.values()):
        raise _unauthorised("send webhook-id, webhook-timestamp and webhook-signature, each once")
    given = {name: found[0] for name, found in values.items()}
    timestamp = given["webhook-timestamp"]
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise _unauthorised("webhook-timestamp is not a time in whole seconds")
    if not any(_signed(verifier, raw, given) for verifier in verifiers):
        raise _unauthorised("no signature of this body by a secret of this channel within five minutes of now")
    return Principal(delivery=given["webhook-id"])


def _signed(verifier: Webhook, raw: bytes, headers: dict[str, str]) -> bool:
    try:
        verifier.verify(raw, headers, json_parse=False)
    except Exception:  # ValueError for an entry without comma, UnicodeError, binascii.Error, …: see platform-facts 3.1
        return False
    return True


class KeySet:
    """The public keys of a token's issuer, by `kid`; fetched when one is missing or they are old, never more often than
    `jwks_min_interval_s`. While the issuer can't be reached, the keys known so far stay good."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[bytes]],
        *,
        settings: JwtSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`fetch` returns the JWKS document or raises `AdapterFault`."""
        self._fetch = fetch
        self._settings = settings
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._tried_s = self._fetched_s = float("-inf")
        self._lock = asyncio.Lock()

    async def key(self, kid: str) -> jwt.PyJWK | None:
        """Return the key, None if the issuer has no such. Raises a 503 `Problem` if that can't be found out."""
        if kid not in self._keys or self._clock() - self._fetched_s >= self._settings.jwks_max_age_s:
            await self._refresh()
        if kid not in self._keys and self._fetched_s < self._tried_s:
            raise unavailable(
                "the token issuer's keys can't be fetched", retry_after_s=self._settings.jwks_min_interval_s
            )
        return self._keys.get(kid)

    async def _refresh(self) -> None:
        async with self._lock:  # held for one fetch, which has its own timeout
            now = self._clock()
            if now - self._tried_s < self._settings.jwks_min_interval_s:
                return
            self._tried_s = now
            try:
                self._keys = parse_jwks(await self._fetch())
            except AdapterFault as fault:
                logger.warning("token keys not fetched", extra={"issuer": self._settings.issuer, "reason": str(fault)})
            else:
                self._fetched_s = now


def parse_jwks(document: bytes) -> dict[str, jwt.PyJWK]:
    """Return the public signature keys by `kid`. Raises `AdapterFault` if there is none. Symmetric keys are left out: what
    everybody can fetch proves nothing."""
    try:
        keys = jwt.PyJWKSet.from_json(document.decode()).keys
    except (jwt.PyJWTError, ValueError, AttributeError, TypeError, RecursionError) as exc:
        raise AdapterFault("the document at jwt.jwks_url is not a set of keys") from exc
    usable = {
        key.key_id: key
        for key in keys
        if isinstance(key.key_id, str) and key.key_type != "oct" and key.public_key_use in (None, "sig")
    }
    if not usable:
        raise AdapterFault("the document at jwt.jwks_url has no public signature key with a kid")
    return usable


async def verify_token(token: str, *, settings: JwtSettings, keys: KeySet | None) -> Principal:
    """Return the subject of a token that is signed by the configured key with a configured algorithm, in time, and meant
    for us by the configured issuer. Raises a 401 `Problem`; 503 while a new key can't be fetched."""
    try:
        claims = jwt.decode(
            token,
            await _key(token, settings=settings, keys=keys),
            algorithms=list(settings.algorithms),
            audience=settings.audience,
            issuer=settings.issuer,
            leeway=settings.leeway_s,
            options={"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
        )
        return _principal(claims, settings=settings)
    except Problem:
        raise
    except Exception as exc:
        reason = str(exc) if isinstance(exc, jwt.InvalidTokenError) else "it can't be read"
        raise _unauthorised(f"the bearer token is not accepted: {reason}", scheme="Bearer") from exc


async def _key(token: str, *, settings: JwtSettings, keys: KeySet | None) -> jwt.PyJWK | str:
    if keys is not None:
        kid = jwt.get_unverified_header(token).get(
            "kid"
        )  # `jku` and `x5u` would let the token choose who vouches for it
        found = await keys.key(kid) if isinstance(kid, str) else None
        if found is None:
            raise jwt.InvalidTokenError("it names no key (kid) of its issuer")
        return found
    if settings.secret is not None:
        return settings.secret.get_secret_value()
    return settings.public_key or ""


def _principal(claims: dict[str, object], *, settings: JwtSettings) -> Principal:
    subject, name, groups = claims["sub"], claims.get(settings.name_claim), claims.get(settings.groups_claim)
    if not isinstance(subject, str) or not usable_id(subject) or len(subject.encode()) > MAX_SUBJECT_BYTES:
        raise jwt.InvalidTokenError("its subject is not a usable account id")
    members = groups if isinstance(groups, list) else []
    return Principal(
        subject=subject,
        name=name[:MAX_NAME_CHARS] if isinstance(name, str) and usable_text(name) else "",
        groups=None if groups is None else frozenset(group for group in members if isinstance(group, str)),
    )


def _unauthorised(detail: str, *, scheme: str = "Signature") -> Problem:
    return Problem(401, "unauthorised", detail, headers={"WWW-Authenticate": scheme})
