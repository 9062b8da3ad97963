"""A small OpenID provider on this machine: real keys, discovery, JWKS, the code flow with PKCE; nobody is asked anything.

It is as strict as a provider has to be: a code is good once, for the client, the redirect URI and the verifier it was made for.
What it says wrongly is set by the test: `claims` over the ID token's own, `algorithm`, `signs_with`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

CLIENT_ID, CLIENT_SECRET = "clew", "a client's secret"


class Issuer:
    """The provider; `url` is its issuer once it runs."""

    def __init__(self) -> None:
        self.url = ""
        self.who: dict[str, Any] = {"sub": "u-1", "preferred_username": "李雷", "groups": ["admins"]}
        self.claims: dict[str, Any] = {}
        self.without: tuple[str, ...] = ()
        self.algorithm = "RS256"
        self.key = made_key("k1")
        self.signs_with: RSAKey | ECKey | OctKey | None = None
        self.published: list[dict[str, Any]] | None = None
        self.document: dict[str, Any] = {}
        self.raw: bytes | None = None
        self.answer: dict[str, Any] | None = None
        self.asked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    def rotate(self, kid: str = "k2") -> None:
        """Sign with another key from now on, and publish that one only."""
        self.key = made_key(kid)

    def signed_in(self, url: str) -> str:
        """Do what a browser sent to `url` does there: sign in, and return where it is sent back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert ("code", CLIENT_ID, "S256") == (
            asked["response_type"],
            asked["client_id"],
            asked["code_challenge_method"],
        )
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(8)
        self._codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state'], 'iss': self.url})}"

    async def _discovery(self, _request: web.Request) -> web.Response:
        self.asked.append("document")
        if self.raw is not None:
            return web.Response(body=self.raw)
        told = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "none"],
        }
        return web.json_response(told | self.document)

    async def _keys(self, _request: web.Request) -> web.Response:
        self.asked.append("keys")
        keys = [self.key.as_dict(private=False)] if self.published is None else self.published
        return web.json_response({"keys": keys})

    async def _authorize(self, request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": self.signed_in(str(request.url))})

    async def _token(self, request: web.Request) -> web.Response:
        self.asked.append("token")
        form = {name: str(value) for name, value in (await request.post()).items()}
        asked = self._codes.pop(form.get("code", ""), None)
        if asked is None:
            return web.json_response({"error": "invalid_grant"}, status=400)
        basic = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        public = form.get("client_id") == CLIENT_ID and "client_secret" not in form
        posted = form.get("client_secret") == CLIENT_SECRET
        if request.headers.get("Authorization") != f"Basic {basic}" and not posted and not public:
            return web.json_response({"error": "invalid_client"}, status=401)
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(challenge).rstrip(b"=").decode() != asked["code_challenge"]:
            return web.json_response({"error": "invalid_grant"}, status=400)
        if form.get("redirect_uri") != asked["redirect_uri"]:
            return web.json_response({"error": "invalid_grant"}, status=400)
        if self.answer is not None:
            return web.json_response(self.answer)
        return web.json_response(
            {"access_token": "at", "token_type": "Bearer", "id_token": self._id_token(asked["nonce"])}
        )

    def _id_token(self, nonce: str) -> str:
        now = int(time.time())
        claims = (
            {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": nonce} | self.who | self.claims
        )
        for name in self.without:
            del claims[name]
        if self.algorithm == "none":
            parts = [json.dumps(part).encode() for part in ({"alg": "none", "typ": "JWT"}, claims)]
            return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."
        key = self.key if self.signs_with is None else self.signs_with
        return jwt.encode({"alg": self.algorithm, "kid": self.key.kid}, claims, key, algorithms=[self.algorithm])


def made_key(kid: str) -> RSAKey:
    """Return a new key pair."""
    return RSAKey.generate_key(2048, parameters={"kid": kid, "use": "sig"})


@asynccontextmanager
async def issuer() -> AsyncIterator[Issuer]:
    """Run a provider on a free port."""
    made = Issuer()
    app = web.Application()
    app.add_routes(
        [
            web.get("/.well-known/openid-configuration", made._discovery),
            web.get("/keys", made._keys),
            web.get("/authorize", made._authorize),
            web.post("/token", made._token),
        ]
    )
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield made
    finally:
        await runner.cleanup()
