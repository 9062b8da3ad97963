"""Bearer tokens whose keys are fetched from a real issuer over HTTP: rotation, outage, and an issuer that misbehaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from adapters.errors import AdapterFault
from adapters.webhook.adapter import WebhookAdapter
from tests.fakes import FakeIntake
from tests.loopback import on_loopback
from tests.serving import bearer, message, serving, token, webhook

KEY = ec.generate_private_key(ec.SECP256R1())
KEYS = json.dumps({"keys": [ECAlgorithm.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "one"}]}).encode()


class Issuer:
    """An HTTP server at /keys that answers as the test says, and counts."""

    def __init__(self) -> None:
        self.fetches = 0
        self.status = 200
        self.body = KEYS
        self.location: str | None = None
        self.hang: asyncio.Event | None = None

    async def _elsewhere(self, _request: web.Request) -> web.Response:
        return web.Response(body=KEYS)

    async def _keys(self, _request: web.Request) -> web.Response:
        self.fetches += 1
        if self.hang is not None:
            await self.hang.wait()
        return web.Response(
            status=self.status, body=self.body, headers={"Location": self.location} if self.location else {}
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_get("/keys", self._keys)
        app.router.add_get("/elsewhere", self._elsewhere)
        async with on_loopback(app) as url:
            yield url


def channel(url: str, **jwt: Any) -> WebhookAdapter:
    settings = {"algorithms": ["ES256"], "issuer": "https://id.example", "audience": "clew", "jwks_url": f"{url}/keys"}
    return webhook("api", secrets=[], jwt=settings | jwt)


async def post(url: str, *, number: int = 1, kid: str = "one") -> aiohttp.ClientResponse:
    call = bearer(message(message={"id": f"m-{number}", "text": "x"}), token(KEY, algorithm="ES256", kid=kid))
    async with aiohttp.ClientSession() as session, session.post(f"{url}/channels/api", **call) as response:
        await response.read()
        return response


def echo() -> FakeIntake:
    return FakeIntake(lambda event: "ok")


async def test_keys_are_fetched_once_for_all_calls() -> None:
    """Many callers at once cause one fetch, and so do made-up key ids."""
    issuer = Issuer()
    async with issuer.running() as at, serving(echo(), {"api": channel(at)}) as url:
        good = await asyncio.gather(*[post(url, number=number) for number in range(10)])
        made_up = [await post(url, kid=f"made-up-{number}") for number in range(5)]

    assert {200} == {response.status for response in good}
    assert {401} == {response.status for response in made_up}
    assert 1 == issuer.fetches


@pytest.mark.parametrize(
    ("status", "body", "location"),
    [
        (500, b"", None),
        (302, b"", "/elsewhere"),
        (200, b"<html>", None),
        (200, b'{"keys": []}', None),
        (200, b" " * 300_000, None),
    ],
)
async def test_an_issuer_that_misbehaves_is_our_503_and_the_probes_fault(
    status: int, body: bytes, location: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Errors, redirects (never followed), pages, empty sets, floods: the caller may come again, the admin is told why."""
    issuer = Issuer()
    issuer.status, issuer.body, issuer.location = status, body, location
    async with issuer.running() as at, serving(echo(), {"api": (adapter := channel(at))}) as url:
        response = await post(url)
        with pytest.raises(AdapterFault, match="jwks_url"):
            await adapter.probe()

    assert (503, "60") == (response.status, response.headers["Retry-After"])
    assert "token keys not fetched" in caplog.text


async def test_an_issuer_that_hangs_or_is_away_costs_its_timeout_and_no_more() -> None:
    """Every wait on a network has its limit."""
    issuer = Issuer()
    issuer.hang = asyncio.Event()
    async with issuer.running() as at:
        async with serving(echo(), {"api": channel(at, timeout_s=0.05)}) as url:
            hanging = await post(url)
        issuer.hang.set()
    async with serving(echo(), {"api": channel(at)}) as url:
        away = await post(url)

    assert [503, 503] == [hanging.status, away.status]


async def test_a_probe_proves_that_the_keys_can_be_fetched() -> None:
    """`probe` is what an admin's health page asks."""
    issuer = Issuer()
    async with issuer.running() as at:
        await channel(at).probe()

    assert 1 == issuer.fetches
