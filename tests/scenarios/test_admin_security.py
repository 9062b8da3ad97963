"""What strangers try against the admins' doors, in the real process: hostile words on every page, forged forms, ways that lead
elsewhere, and requests that are none."""

from __future__ import annotations

import asyncio
import io
import json
import re
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from gateway.admin.console.parts import PARTS
from tests.browsing import chromium
from tests.scenarios.admins import PASSWORD, Admins
from tests.scenarios.hostile import MARK, OWNER, Tags, active, hostile_world, pages, raw

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admins(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Admins]:
    async with hostile_world(tmp_path_factory.mktemp("security")) as made:
        yield made


async def test_no_page_runs_what_people_wrote(admins: Admins) -> None:
    """Names, messages, rooms, models' answers, settings, users and tokens: on every page they are text, whatever they hold; and
    every page forbids scripts and styles of its own, frames and caches."""
    async with admins.signed_in(OWNER) as reader:
        read = await pages(reader)

    assert {} == {path: wrong for path, text in read.items() if (wrong := active(text))}
    assert any(MARK in text for text in read.values()), "no page showed what was hostile"


@pytest.mark.browser
async def test_a_browser_runs_nothing_of_it(admins: Admins) -> None:
    """The same pages in a real browser: not one of the hostile words becomes a script, a link that runs, or a request to
    elsewhere, and the policy has nothing to refuse."""
    async with admins.signed_in(OWNER) as reader, chromium() as browser:
        paths = list(await pages(reader))
        context = await browser.new_context()
        await context.add_init_script(f"window.{MARK} = () => {{ window.ran = true }}")
        origin = admins.stage.gateway.url
        await context.add_cookies(
            [{"name": cookie.key, "value": cookie.value, "url": origin} for cookie in reader.session.cookie_jar]
        )
        page, told = await context.new_page(), list[str]()
        # That a page says by its status what it needs, or that there is none, the browser notes too.
        noted = re.compile(r"Failed to load resource: the server responded with a status of (404|422) ")
        page.on(
            "console",
            lambda said: told.append(said.text) if said.type == "error" and not noted.match(said.text) else None,
        )
        page.on(
            "response",
            lambda one: told.append(one.url) if one.status >= 400 and one.request.resource_type != "document" else None,
        )
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("dialog", lambda dialog: told.append(dialog.message))
        page.on("request", lambda request: None if request.url.startswith(origin) else told.append(request.url))
        ran = []
        for path in paths:
            await page.goto(f"{origin}{path}", wait_until="domcontentloaded")
            ran += [path] if await page.evaluate("window.ran === true") else []
            risky = "a[href^='javascript:' i], [onerror], [onload], iframe, object, embed, base"
            ran += [path] if await page.locator(risky).count() else []
        await context.close()

    assert len(paths) > 5
    assert ([], []) == (ran, told)


async def test_a_form_that_no_page_sent_changes_nothing(admins: Admins) -> None:
    """Without the session's token, with another session's, from another site or origin: 403, whatever the form."""
    async with admins.signed_in(OWNER) as reader, admins.signed_in(OWNER) as other:
        foreign: list[tuple[str, dict[str, str]]] = [
            ("", {}),
            (other.csrf, {}),
            (reader.csrf, {"Origin": "https://evil.example"}),
            (reader.csrf, {"Origin": "null"}),
            (reader.csrf, {"Sec-Fetch-Site": "cross-site"}),
            (reader.csrf, {"Sec-Fetch-Site": "same-site"}),
        ]
        assert reader.csrf
        assert reader.csrf != other.csrf
        read = await pages(reader)
        shown = {
            attributes.get("action", path)
            for path, text in read.items()
            for tag, attributes in Tags(text).found
            if tag == "form" and attributes.get("method", "").lower() == "post"
        } - {"/admin/look"}
        assert len(shown) > 3, shown
        declared = [page for part in PARTS for page in part.pages if page.method == "POST" and not page.public]
        forms = shown | {f"/admin{re.sub(r'{[^}]*}', '1', page.path)}" for page in declared}
        before = len((await admins.ask(await admins.token("owner"), "GET", "/audit?limit=200")).body["entries"])
        for path in sorted(forms):
            for csrf, headers in foreign:
                answer = await reader.post(path, csrf=csrf, headers=headers)
                assert 403 == answer.status, (path, csrf, headers, answer.status)
        after = len((await admins.ask(await admins.token("owner"), "GET", "/audit?limit=200")).body["entries"])
        assert "/admin/sign-in" not in (await reader.get("/admin")).headers.get("Location", "")

    assert before == after


async def test_a_get_changes_nothing(admins: Admins) -> None:
    """Cookies come along with links from elsewhere: whatever a form does is not done by a GET or HEAD of its path."""
    async with admins.signed_in(OWNER) as reader:
        before = (await admins.ask(await admins.token("owner"), "GET", "/audit?limit=200")).body["entries"]
        for part in PARTS:
            for page in part.pages:
                if page.method == "POST":
                    await reader.get(f"/admin{re.sub(r'{[^}]*}', '1', page.path)}")
        await reader.get("/admin/sign-out")
        assert 200 == (await reader.get("/admin")).status
        after = (await admins.ask(await admins.token("owner"), "GET", "/audit?limit=200")).body["entries"]

    assert [one for one in after if one["audited"] == "act"] == [one for one in before if one["audited"] == "act"]


@pytest.mark.parametrize(
    "back",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "/admin\\..\\..//x",
        "javascript:alert(1)",
        "/admin/../..//evil.example",
        "/admin/%0d%0aX: y",
        "http:evil.example",
    ],
)
async def test_nobody_is_sent_elsewhere(admins: Admins, back: str) -> None:
    """After signing in, and after choosing a language: the way leads into the console (open redirects)."""
    async with admins.signed_in(OWNER) as reader:
        looked = await reader.post("/admin/look", language="en", back=back)
        await reader.post("/admin/sign-out")
        page = await reader.get(f"/admin/sign-in?next={back}")
        signed = await reader.post(f"/admin/sign-in?next={back}", name=OWNER, password=PASSWORD, next=back)

    assert page.status in (200, 303)
    for answer in (looked, signed):
        where = urlsplit(answer.headers["Location"])
        assert (303, "", "") == (answer.status, where.scheme, where.netloc), answer.headers["Location"]
        assert where.path == "/admin" or where.path.startswith("/admin/")
        assert "\r" not in answer.headers["Location"]
        assert "X" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "../../../README.md",
        "..%2f..%2fpage.py",
        "x/../../../pyproject.toml",
        "%2e%2e/%2e%2e/web.py",
        "x/..%5c..%5cpage.py",
        "x/%00",
        "x/clew.css%00.py",
        "x/.",
        "x//etc/passwd",
        "x/clew.css/",
    ],
)
async def test_only_the_consoles_own_files_are_served(admins: Admins, path: str) -> None:
    """No file beside them, whatever way the path takes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(admins.url).port)
    writer.write(f"GET /admin/static/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    told = (await reader.read()).decode(errors="replace")
    writer.close()

    status = int(told.split()[1])
    assert status in (303, 400, 404), told
    assert "import" not in told
    assert "[project]" not in told
    assert "root:" not in told


async def test_a_host_of_somebody_elses_is_repeated_nowhere(admins: Admins) -> None:
    """Whatever Host or X-Forwarded-Host says: no link, redirect or cookie is made of it."""
    for headers in (
        {"Host": "evil.example"},
        {"X-Forwarded-Host": "evil.example"},
        {"X-Original-URL": "/admin/users", "X-Rewrite-URL": "/x"},
    ):
        async with admins.signed_in(OWNER) as reader:
            for path in ("/admin", "/admin/", "/admin/sign-in", "/admin/nothing"):
                answer = await reader.get(path, **headers)
                assert "evil.example" not in answer.text + str(answer.headers), (path, headers)


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 44\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n",
        "Content-Length: +5\r\n",
        "Content-Length : 5\r\n",
        "Transfer-Encoding:\x0bchunked\r\n",
    ],
)
async def test_one_request_is_never_two(admins: Admins, head: str) -> None:
    """A body that proxies and we might measure differently is refused, and what follows in it is not taken for a request
    (request smuggling)."""
    hidden = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    sent = f"POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{head}\r\n0\r\n\r\n{hidden}"
    got = await raw(admins, sent.encode(), within_s=3)

    assert b'{"status": "ok"}' not in got
    first = int(got.split()[1]) if got else 400
    assert first in (400, 401, 411, 413, 415, 501), got[:200]


async def test_bodies_are_bounded_in_size_and_time(admins: Admins) -> None:
    """Too large a body is refused before it is read, with and without a token; while many trickle, others are served."""
    owner = await admins.token("owner")
    for token, wanted in ((owner, 413), ("nobody's", 401)):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        large = io.BytesIO(b'{"name": "' + b"x" * 2_000_000 + b'"}')
        async with admins.stage.session.post(f"{admins.url}/tokens", data=large, headers=headers) as response:
            assert wanted == response.status
    async with admins.signed_in(OWNER) as reader:
        assert (await reader.post("/admin/look", language="x" * 900_000)).status in (413, 422)

    slow = f"POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {owner}\r\nContent-Type: application/json\r\n"
    slow += "Content-Length: 1000\r\n\r\n{"
    trickling = [asyncio.create_task(raw(admins, slow.encode(), within_s=3)) for _ in range(50)]
    began = time.monotonic()
    assert 200 == (await admins.ask(owner, "GET", "/me")).status
    assert time.monotonic() - began < 3
    assert {b""} == set(
        await asyncio.gather(*trickling)
    )  # each is given up in its own time (tests of adapters/bodies.py)


async def test_a_form_that_can_not_be_decoded_is_no_fault_of_ours(admins: Admins) -> None:
    """A 400, as at every other door, and nobody is woken for it."""
    async with admins.signed_in(OWNER) as reader:
        seen = len(admins.stage.gateway.log)
        answer = await reader.post("/admin/secrets", headers={"Content-Encoding": "gzip"}, name="x", value="y")
        assert (400, "bad_body") == (answer.status, json.loads(answer.text)["code"])
        assert 200 == (await reader.get("/admin/secrets")).status

    assert not [line for line in admins.stage.gateway.log[seen:] if '"level":"error"' in line]


async def test_cookies_are_strict(admins: Admins) -> None:
    """The session's cookie is unseen by scripts and comes along from this site only; signing in gives a new one each time."""
    async with admins.signed_in(OWNER) as reader:
        cookies = {cookie.key: cookie for cookie in reader.session.cookie_jar}
        session = [cookie for name, cookie in cookies.items() if "session" in name.lower()]
        assert session, cookies.keys()
        for cookie in session:
            assert cookie["httponly"]
            assert "strict" == cookie["samesite"].lower()
        first = {cookie.value for cookie in session}
        await reader.sign_in(OWNER)
        second = {cookie.value for cookie in reader.session.cookie_jar if "session" in cookie.key.lower()}
        assert not first & second


async def test_the_api_is_no_browsers(admins: Admins) -> None:
    """A session's cookie opens nothing of the REST door, so that no page elsewhere can use it; no other origin may read what it
    says, nor frame it; a token in the URL, where logs and histories would keep it, is none."""
    token = await admins.token("owner")
    async with admins.signed_in(OWNER) as reader:
        with_cookie = await reader.get("/api/v1/me")
        as_query = await admins.ask(None, "GET", f"/me?token={token}&access_token={token}")
        foreign = await admins.ask(token, "GET", "/me", origin="https://evil.example")
        preflight = await admins.ask(None, "OPTIONS", "/tokens", origin="https://evil.example")

    assert [401, 401, 200] == [with_cookie.status, as_query.status, foreign.status]
    for answer in (with_cookie, foreign, preflight):
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert ("no-store", "nosniff") == (answer.headers["Cache-Control"], answer.headers["X-Content-Type-Options"])


async def test_nothing_was_a_fault_of_ours(admins: Admins) -> None:
    """All of the above left no error in the log: nobody is woken by strangers."""
    assert [] == [line for line in admins.stage.gateway.log if '"level":"error"' in line]
