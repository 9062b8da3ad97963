"""Who gets into the console and the API of a running gateway, and who does not; and the pages by which owners see to that."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
import pytest_asyncio

from tests.scenarios.admins import PASSWORD, Admins
from tests.scenarios.stage import stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
admin: {sign_in: {wait_s: 600}}  # longer than any machine takes for the tries before
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"]}
"""
NEW = "quite another 密码 than before"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admins(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Admins]:
    async with stage(tmp_path_factory.mktemp("access"), BODY) as played:
        admins = Admins(played)
        await admins.user("ann", "owner")
        yield admins


def cookie_of(headers: dict[str, str], name: str) -> str:
    found = re.search(rf"{name}=([^;]*)[^\n]*", headers.get("Set-Cookie", ""))
    return found[0] if found else ""


async def test_signing_in_gives_a_strict_cookie(admins: Admins) -> None:
    """No script reads it, no other site's page sends it along; after leaving it opens nothing, wherever it was copied to."""
    async with admins.signed_in("ann") as reader:
        jar = {cookie.key: cookie.value for cookie in reader.session.cookie_jar}
        page = await reader.get("/admin")
        left = await reader.post("/admin/sign-out")
    url = f"{admins.stage.gateway.url}/admin"
    async with aiohttp.ClientSession(cookies=jar) as thief, thief.get(url, allow_redirects=False) as response:
        after = response

    assert 200 == page.status
    assert "no-store" == page.headers["Cache-Control"]
    assert 43 == len(jar["clew_session"])
    assert jar["clew_session"] not in page.text
    assert (303, "/admin/sign-in") == (left.status, left.headers["Location"])
    assert (303, "/admin/sign-in") == (after.status, after.headers["Location"])


async def test_the_session_is_new_with_every_sign_in(admins: Admins) -> None:
    """Session fixation: what a browser brought along, from whomever, is not what it leaves with."""
    async with aiohttp.ClientSession(cookies={"clew_session": "a" * 43}) as session:
        form = {"name": "ann", "password": PASSWORD}
        url = f"{admins.stage.gateway.url}/admin/sign-in"
        async with session.post(url, data=form, allow_redirects=False) as response:
            headers = response.headers.getall("Set-Cookie")

    (cookie,) = [header for header in headers if header.startswith("clew_session=")]
    assert "a" * 43 not in cookie
    assert {"HttpOnly", "Path=/", "SameSite=Strict"} <= set(cookie.split("; "))


async def test_signing_in_again_ends_the_session_before(admins: Admins) -> None:
    """Of the same browser only: a copy of the old cookie opens nothing."""
    async with admins.signed_in("ann") as reader, admins.signed_in("ann") as other:
        jar = {cookie.key: cookie.value for cookie in reader.session.cookie_jar}
        await reader.sign_in("ann")
        url = f"{admins.stage.gateway.url}/admin"
        async with aiohttp.ClientSession(cookies=jar) as thief, thief.get(url, allow_redirects=False) as response:
            before = response.status
        states = [before, (await reader.get("/admin")).status, (await other.get("/admin")).status]

    assert [303, 200, 200] == states


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "console.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"X-Forwarded-For": "192.0.2.7"}, 403),
        ({"X-Forwarded-Proto": "https"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({}, 303),
    ],
)
async def test_nobody_signs_in_over_a_line_that_others_read(
    admins: Admins, headers: dict[str, str], status: int
) -> None:
    """A foreign host name over http (DNS rebinding is one), or somebody who says to be a proxy; and a foreign page's form."""
    async with aiohttp.ClientSession() as session:
        form = {"name": "ann", "password": PASSWORD}
        url = f"{admins.stage.gateway.url}/admin/sign-in"
        async with session.post(url, data=form, headers=headers, allow_redirects=False) as response:
            assert status == response.status
            assert ("Set-Cookie" in response.headers) == (status == 303)


async def test_a_form_without_the_sessions_token_changes_nothing(admins: Admins) -> None:
    """CSRF: neither without a token nor with another session's."""
    async with admins.signed_in("ann") as reader, admins.signed_in("ann") as other:
        await other.get("/admin/users")
        theirs = other.csrf
        await reader.get("/admin/users")
        for forged in ("", theirs, "x"):
            refused = await reader.post("/admin/users", csrf=forged, name="made-by-a-forgery", role="owner")
            assert 403 == refused.status
        page = await reader.get("/admin/users")

    assert theirs != reader.csrf
    assert "made-by-a-forgery" not in page.text


async def test_wrong_passwords_have_to_wait(admins: Admins) -> None:
    """Brute force: the sixth guess is not looked at, nor is the right password, and both are told when to come back. The page
    says the same of a name that there is not."""
    await admins.user("guessed", "viewer")
    async with aiohttp.ClientSession() as session:
        url, seen = f"{admins.stage.gateway.url}/admin/sign-in", {}
        for name in ("guessed", "no-such-name"):
            for guess in [f"guess {n}" for n in range(5)] + [PASSWORD]:
                form = {"name": name, "password": guess}
                async with session.post(url, data=form, allow_redirects=False) as response:
                    text = re.sub(r'(value|content)="[^"]*"|\d+ s\.', "", await response.text())
                    seen.setdefault(name, []).append((response.status, "Retry-After" in response.headers, text))

    assert [422] * 5 + [429] == [status for status, _, _ in seen["guessed"]]
    assert seen["guessed"][-1][1]
    assert seen["guessed"] == seen["no-such-name"]


async def test_an_owner_makes_somebody_who_then_signs_in(admins: Admins) -> None:
    """Added without a password, one is shown once; the new user sees their own account, changes the password, and is signed out
    everywhere; an owner gives and takes roles, sees their sessions, and removes them."""
    async with admins.signed_in("ann") as owner:
        await owner.get("/admin/users")
        made = await owner.post("/admin/users", name="<b>李雷</b>", role="operator", channel="hook")
        found = re.search(r"<code>([^<]+)</code>", made.text)
        assert found is not None
        assert "&lt;b&gt;李雷&lt;/b&gt;" in made.text
        listed = await owner.get("/admin/users")
        assert found[1] not in listed.text
        (number,) = re.findall(r'href="/admin/users/(\d+)">&lt;b&gt;', listed.text)
        async with admins.signed_in("ann") as reader:
            await reader.post("/admin/sign-out")
            await reader.sign_in("<b>李雷</b>", found[1])
            account = await reader.get("/admin/account")
            assert 200 == account.status
            assert 403 == (await reader.get("/admin/users")).status
            wrong = await reader.post("/admin/account/password", current="wrong", password=NEW)
            assert 422 == wrong.status
            changed = await reader.post("/admin/account/password", current=found[1], password=NEW)
            assert "/admin/sign-in" == changed.headers["Location"]
            assert 303 == (await reader.get("/admin/account")).status
            await reader.sign_in("<b>李雷</b>", NEW)
            shown = await owner.get(f"/admin/users/{number}")
            assert "127.0.0.1" in shown.text
            granted = await owner.post(f"/admin/users/{number}/grant", role="admin")
            assert 303 == granted.status
            assert 200 == (await reader.get("/admin/audit")).status
            assert 303 == (await owner.post(f"/admin/users/{number}/revoke")).status
            assert 403 == (await reader.get("/admin/audit")).status
            assert 303 == (await owner.post(f"/admin/users/{number}/remove")).status
            assert 303 == (await reader.get("/admin/account")).status
    assert not [line for line in admins.stage.gateway.log if found[1] in line or NEW in line]


async def test_what_can_not_be_is_told_beside_its_field(admins: Admins) -> None:
    """The form comes back with what was typed, but the password."""
    async with admins.signed_in("ann") as owner:
        await owner.get("/admin/users")
        taken = await owner.post("/admin/users", name="ann", role="viewer", password=NEW)
        weak = await owner.post("/admin/users", name="wen", role="viewer", password="short")

    assert [422, 422] == [taken.status, weak.status]
    assert "is taken" in taken.text
    assert 'value="ann"' in taken.text
    assert NEW not in taken.text
    assert "at least 12" in weak.text


async def test_a_token_is_made_used_and_revoked_on_its_page(admins: Admins) -> None:
    """Shown once, it opens the API with the chosen role, until its end; an owner sees everybody's."""
    async with admins.signed_in("ann") as owner:
        await owner.get("/admin/tokens")
        made = await owner.post("/admin/tokens", name="ci 持续", grant="viewer@hook", days="3")
        found = re.search(r"clew_[\w-]{43}", made.text)
        assert found is not None
        me = await admins.ask(found[0], "GET", "/me")
        assert [{"role": "viewer", "channel": "hook"}] == me.body["grants"]
        assert 403 == (await admins.ask(found[0], "GET", "/users")).status
        page = await owner.get("/admin/tokens?of=everybody")
        assert found[0] not in page.text
        (number,) = re.findall(r'name="token" value="(\d+)"', (await owner.get("/admin/tokens")).text)
        wrong = await owner.post("/admin/tokens", name="x", days="1000")
        assert 422 == wrong.status
        assert 303 == (await owner.post("/admin/tokens/revoke", token=number)).status
        gone = await admins.ask(found[0], "GET", "/me")

    assert 401 == gone.status
    assert not [line for line in admins.stage.gateway.log if found[0] in line]


async def test_sessions_end_from_the_account_page(admins: Admins) -> None:
    """A browser left open elsewhere is signed out from here."""
    await admins.user("twice", "viewer")
    async with admins.signed_in("twice") as here, admins.signed_in("twice") as there:
        page = await here.get("/admin/account")
        _, older = re.findall(r'name="session" value="(\d+)"', page.text)
        ended = await here.post("/admin/account/end-session", session=older)
        assert 303 == ended.status
        states = {(await reader.get("/admin/account")).status for reader in (here, there)}

    assert {200, 303} == states


async def test_the_log_of_acts_is_seen_filtered_and_taken_along(admins: Admins) -> None:
    """By who, what and how it ended; as lines of JSON with what was chosen; nothing secret in it."""
    async with admins.signed_in("ann") as owner:
        everything = await owner.get("/admin/audit")
        signed_in = await owner.get("/admin/audit?operation=sessions.begin&outcome=refused")
        nothing = await owner.get("/admin/audit?actor=token:99999")
        taken = await owner.get("/admin/audit/export?operation=users")
        wrong = await owner.get("/admin/audit?after=x")
        today = datetime.now(UTC).date()
        days = {name: (today + timedelta(days=n)).isoformat() for name, n in (("before", -2), ("after", 2))}
        then = await owner.get(f"/admin/audit?since={days['before']}&until={days['after']}")
        later = await owner.get(f"/admin/audit?since={days['after']}")
        earlier = await owner.get(f"/admin/audit/export?until={days['before']}")
        no_day = await owner.get("/admin/audit?since=2026-02-31")

    assert "<code>sessions.begin</code>" in everything.text
    assert "<code>users.add</code>" not in signed_in.text
    assert 200 == nothing.status
    assert 200 == taken.status, admins.stage.gateway.log[-3:]
    assert "application/x-ndjson" == taken.headers["Content-Type"]
    assert "clew-audit.jsonl" in taken.headers["Content-Disposition"]
    assert '"operation":"users.add"' in taken.text
    assert PASSWORD not in taken.text + everything.text
    assert [422, 422] == [wrong.status, no_day.status]
    assert "<code>sessions.begin</code>" in then.text
    assert "<code>sessions.begin</code>" not in later.text
    assert (200, "") == (earlier.status, earlier.text)


async def test_pages_speak_chinese(admins: Admins) -> None:
    """Every page of this part in the other language, with nothing left in English that people read."""
    async with admins.signed_in("ann") as owner:
        owner.session.headers["Accept-Language"] = "zh-CN"
        pages = [await owner.get(f"/admin/{name}") for name in ("users", "users/1", "tokens", "account", "audit")]
    url, headers = f"{admins.stage.gateway.url}/admin/sign-in", {"Accept-Language": "zh"}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(url) as response:
        form = await response.text()

    assert [200] * 5 == [page.status for page in pages]
    assert all('lang="zh-CN"' in page.text for page in pages)
    assert "用户名" in form


async def test_a_revoked_token_stops_what_it_follows(admins: Admins) -> None:
    """The live tail ends within two seconds of it, and the token opens nothing any more."""
    made = await admins.local("POST", "/tokens", name="tail", grants=[{"role": "operator"}])
    headers = {"Authorization": f"Bearer {made['secret']}"}
    async with admins.stage.session.get(f"{admins.url}/tail", headers=headers) as response:
        assert 200 == response.status
        await response.content.readany()
        await admins.local("DELETE", f"/tokens/{made['id']}")
        async with asyncio.timeout(2):
            await response.content.read()

    assert 401 == (await admins.ask(made["secret"], "GET", "/me")).status


async def test_an_owner_restores_whom_the_identity_provider_knows(admins: Admins) -> None:
    """By their number; of nobody else, and not twice."""
    admins.stage.sql(
        "INSERT INTO admin_users (id, name, issuer, subject, created_ms, removed_ms) VALUES (77, 'Bo', 'https://id', 'bo', 1, 2)"
    )
    async with admins.signed_in("ann") as owner:
        await owner.get("/admin/users")
        wrong = await owner.post("/admin/users/restore", user="Bo")
        unknown = await owner.post("/admin/users/restore", user="987654")
        await owner.get("/admin/users")
        restored = await owner.post("/admin/users/restore", user="77")
        await owner.get("/admin/users")
        again = await owner.post("/admin/users/restore", user="77")

    assert [422, 404, 303, 404] == [wrong.status, unknown.status, restored.status, again.status]
    assert [(None,)] == admins.stage.rows("SELECT removed_ms FROM admin_users WHERE id = 77")
