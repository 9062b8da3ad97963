"""Signing in to a running gateway's console at an identity provider, as a browser goes there and back."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest
import pytest_asyncio

from tests.emulators.oidc.provider import CLIENT_SECRET, Issuer, issuer
from tests.scenarios.stage import Stage, stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
admin:
  oidc:
    issuer: "URL"
    client_id: clew
    client_secret: "SECRET"
    keys_min_s: 0.001
    roles: {admins: [owner], 客服: [operator@hook]}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"]}
"""


@dataclass
class There:
    """The gateway, and the provider that it trusts."""

    stage: Stage
    provider: Issuer

    @property
    def url(self) -> str:
        return self.stage.gateway.url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[There]:
    async with issuer() as provider:
        body = BODY.replace("URL", provider.url).replace("SECRET", CLIENT_SECRET)
        async with stage(tmp_path_factory.mktemp("oidc"), body) as played:
            yield There(played, provider)


async def sent(session: aiohttp.ClientSession, url: str) -> tuple[int, str, str]:
    """Open a page; return status, where it leads and what it says."""
    async with session.get(url, allow_redirects=False) as response:
        return response.status, response.headers.get("Location", ""), await response.text()


async def come_back(there: There, session: aiohttp.ClientSession, to: str = "") -> tuple[int, str]:
    """Go to the provider and back in this browser."""
    status, away, _ = await sent(session, f"{there.url}/admin/sign-in/provider?next={to}")
    assert 303 == status
    assert away.startswith(f"{there.provider.url}/authorize?")
    status, _, page = await sent(session, there.provider.signed_in(away))
    return status, page


async def test_there_and_back(there: There) -> None:
    """The first owner comes in by the provider alone, and is led on to what they wanted to see; there the session counts."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        status, where, _ = await sent(session, f"{there.url}/admin")  # nobody has to be made on the command line first
        assert (303, "/admin/sign-in") == (status, where)
        form = (await sent(session, f"{there.url}/admin/sign-in"))[2]
        status, page = await come_back(there, session, "/admin/users")
        led = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page)
        assert 200 == status
        assert led is not None
        status, _, users = await sent(session, there.url + led[1])
        status_account, _, account = await sent(session, f"{there.url}/admin/account")

    assert "127.0.0.1" in form
    assert "/admin/sign-in/provider" in form
    assert ("/admin/users", 200, 200) == (led[1], status, status_account)
    assert "李雷" in users
    assert "identity provider" in account


async def test_a_way_back_is_good_once_and_in_its_own_browser(there: There) -> None:
    """Login CSRF and replay: another browser that follows the link is not signed in, nor is this one a second time."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as mine, aiohttp.ClientSession() as other:
        _, away, _ = await sent(mine, f"{there.url}/admin/sign-in/provider")
        back = there.provider.signed_in(away)
        strangers = await sent(other, back)
        first = await sent(mine, back)
        second = await sent(mine, back)

    assert [403, 200, 403] == [status for status, _, _ in (strangers, first, second)]
    assert "begin again" in strangers[2]


async def test_who_has_no_role_is_told_so(there: There) -> None:
    """The provider knows them; nothing lets them in, and no session begins."""
    there.provider.who = {"sub": "u-2", "preferred_username": "eve", "groups": ["others"]}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        status, page = await come_back(there, session)
        after = await sent(session, f"{there.url}/admin/account")

    assert 403 == status
    assert "Ask an owner" in page
    assert 303 == after[0]


async def test_a_claim_gives_a_channels_role(there: There) -> None:
    """Of any script; and where one is led on to is a page of the console, whatever the link said."""
    there.provider.who = {"sub": "u-3", "preferred_username": "韩梅梅", "groups": ["客服"]}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        status, page = await come_back(there, session, "https://evil.example/admin")
        _, _, account = await sent(session, f"{there.url}/admin/account")
        users = await sent(session, f"{there.url}/admin/users")

    assert 200 == status
    assert "evil.example" not in page
    assert "hook" in account
    assert 403 == users[0]


async def test_nothing_of_it_is_logged(there: There) -> None:
    """Neither codes nor tokens nor the client's secret, though it says why nobody was signed in."""
    async with aiohttp.ClientSession() as session:
        _, away, _ = await sent(session, f"{there.url}/admin/sign-in/provider")
        await sent(session, there.provider.signed_in(away).replace("state=", "state=x"))
    text = "\n".join(there.stage.gateway.log)

    assert "signed nobody in" in text
    assert not [word for word in (CLIENT_SECRET, "code=", "id_token", "state=", "eyJ") if word in text]
