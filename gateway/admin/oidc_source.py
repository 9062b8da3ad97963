"""What an identity provider publishes, and how it is spoken to: its discovery document, its keys, a client with a time limit.

Fetched when needed, and again when old or when a new key shows up, never more often than `keys_min_s`. While the provider can't
be reached, what is known stays good.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from config.admin import OidcSettings
from config.credentials import safe_source
from gateway.errors import GatewayFault

if TYPE_CHECKING:
    from authlib.integrations.httpx_client import AsyncOAuth2Client  # type: ignore[import-untyped]  # it ships no types
    from joserfc.jwk import KeySet

logger = logging.getLogger(__name__)

_DOCUMENT_BYTES = 1_048_576


class ProviderFault(GatewayFault):
    """The identity provider signed nobody in: it is away, or what came back is not good. The text is for the log and for who
    set it up; it holds no token."""


class TurnedAway(ProviderFault):
    """Nobody failed: who comes back did not go from here, took too long, brings a code that is not good, or was refused there."""


class Endpoints(msgspec.Struct, frozen=True):
    """What is needed of the discovery document."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class Source:
    """One provider, as the settings name it. `clock` gives seconds from any fixed start."""

    def __init__(self, settings: OidcSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = asyncio.Lock()
        self._endpoints: Endpoints | None = None
        self._keys: KeySet | None = None
        self._fetched_s = self._tried_s = float("-inf")

    async def document(self) -> Endpoints:
        """Return where the provider does what. Raises `ProviderFault`."""
        async with self._lock:
            if self._endpoints is None or self._clock() - self._fetched_s >= self._settings.keys_s:
                await self._fetch()
            if self._endpoints is None:
                raise ProviderFault("the identity provider can't be reached; its log and ours tell more")
            return self._endpoints

    async def keys(self, *, anew: bool = False) -> KeySet:
        """Return the keys it signs with; `anew`: the same object where that can't be told by now. Raises `ProviderFault`."""
        async with self._lock:
            if self._keys is None or anew:
                await self._fetch()
            if self._keys is None:
                raise ProviderFault("the identity provider's keys can't be fetched; its log and ours tell more")
            return self._keys

    async def _fetch(self) -> None:
        """Fetch document and keys, unless that was tried a moment ago. What is known stays where it fails."""
        now = self._clock()
        if now - self._tried_s < self._settings.keys_min_s:
            return
        self._tried_s = now
        try:
            self._endpoints, self._keys = await self._fetched()
        except ProviderFault as fault:
            logger.warning("identity provider not asked", extra={"reason": str(fault)})
        else:
            self._fetched_s = now

    async def _fetched(self) -> tuple[Endpoints, KeySet]:
        await asyncio.to_thread(_load)
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        where = f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            async with self.client(None, "") as client:
                endpoints = msgspec.json.decode(await _got(client, where), type=Endpoints)
                self._check(endpoints)
                keys = msgspec.json.decode(await _got(client, endpoints.jwks_uri), type=dict[str, Any])
            return endpoints, KeySet.import_key_set({"keys": _public(keys.get("keys"))})
        except (msgspec.MsgspecError, JoseError, ValueError, TypeError) as exc:
            raise ProviderFault(f"the document at {where} or its keys can't be read: {type(exc).__name__}") from exc

    def _check(self, endpoints: Endpoints) -> None:
        if endpoints.issuer != self._settings.issuer:
            raise ProviderFault(f"the provider calls itself {endpoints.issuer!r}; set admin.oidc.issuer to just that")
        for url in (endpoints.authorization_endpoint, endpoints.token_endpoint, endpoints.jwks_uri):
            if not safe_source(url):
                raise ProviderFault(f"the provider's document names {url!r}, which could be read on its way")

    @asynccontextmanager
    async def client(self, endpoints: Endpoints | None, back: str) -> AsyncIterator[AsyncOAuth2Client]:
        """Give what speaks to the provider, within `timeout_s`; its errors are `ProviderFault`s."""
        import httpx2  # what Authlib speaks by; who signs in by password loads neither
        from authlib.integrations.base_client import OAuthError  # type: ignore[import-untyped]
        from authlib.integrations.httpx_client import AsyncOAuth2Client

        settings, secret = self._settings, self._settings.client_secret
        client = AsyncOAuth2Client(
            client_id=settings.client_id,
            client_secret=None if secret is None else secret.get_secret_value(),
            token_endpoint_auth_method="none" if secret is None else _auth_method(endpoints),
            code_challenge_method="S256",
            scope=" ".join(settings.scopes),
            redirect_uri=back,
            timeout=settings.timeout_s,
            follow_redirects=False,
        )
        try:
            async with asyncio.timeout(settings.timeout_s), client:
                yield client
        except OAuthError as exc:
            fault = TurnedAway if exc.error == "invalid_grant" else ProviderFault  # RFC 6749, 5.2: the code's fault
            raise fault(f"the identity provider refuses: {str(exc.error)[:100]!r}") from exc
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as exc:
            raise ProviderFault(f"the identity provider does not answer: {type(exc).__name__}") from exc
        except ValueError as exc:  # an answer that is no JSON
            raise ProviderFault("the identity provider's answer can't be read") from exc


def _load() -> None:
    """Import what signing in needs: half a second, which nobody's answer should wait for."""
    for name in ("authlib.integrations.httpx_client", "authlib.oidc.core", "joserfc.jwt"):
        import_module(name)


async def _got(client: AsyncOAuth2Client, url: str) -> bytes:
    async with client.stream("GET", url, withhold_token=True) as response:
        if response.status_code != 200:
            raise ProviderFault(f"{url} answers with {response.status_code}")
        body = b""
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _DOCUMENT_BYTES:
                raise ProviderFault(f"{url} is longer than {_DOCUMENT_BYTES:,} bytes")
    return body


def _public(keys: object) -> list[dict[str, Any]]:
    """Return the keys that can sign: no symmetric ones, which prove nothing if everybody can fetch them."""
    found = [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []
    usable = [key for key in found if key.get("kty") in ("RSA", "EC") and key.get("use", "sig") == "sig"]
    if not usable:
        raise ProviderFault("the provider publishes no public signature key")
    return usable


def _auth_method(endpoints: Endpoints | None) -> str:
    supported = () if endpoints is None else endpoints.token_endpoint_auth_methods_supported
    return "client_secret_post" if supported and "client_secret_basic" not in supported else "client_secret_basic"
