"""The console over HTTP: who gets in, what a form needs, what is shown when something goes wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
import msgspec
import pytest
from aiohttp import web

from gateway.admin.console.looks import TOLD_COOKIE, Told, told_cookie
from gateway.admin.console.part import NavEntry, Part, get, post
from gateway.admin.console.parts import PARTS
from gateway.admin.console.visit import Visit
from gateway.admin.operations import (
    Acting,
    Disagrees,
    Empty,
    FieldProblem,
    Handlers,
    Invalid,
    Missing,
    Operation,
    Refused,
    Stream,
)
from gateway.errors import StoreBusy
from memory.errors import StoreUnavailable
from tests.admin_pages import CSRF, FakeDoorkeeper, admin, console

HOSTILE = "<script>alert(1)</script>\"'客服"


class Named(msgspec.Struct, frozen=True):
    name: str


SAY = Operation(
    name="try.say", told="say", method="POST", path="/try", right="configure", where="gateway", request=Named
)
TEXT = Operation(
    name="try.text", told="text", method="GET", path="/try", right="see", where="gateway", result="text/csv"
)


async def said(visit: Visit) -> web.StreamResponse:
    await visit.perform(SAY, Named(visit.form.get("name", "")))
    return visit.see_other("/admin", told="trying.done", name=visit.form["name"])


async def shown(visit: Visit) -> web.StreamResponse:
    await visit.perform(SAY, Named(visit.query.get("name", "")))
    return visit.piece("start/overview.html")


async def text(visit: Visit) -> web.StreamResponse:
    return await visit.stream(await visit.perform(TEXT))


TRYING = Part(
    name="trying",
    words={
        "trying.done": {"en": "Said {name}.", "zh": "已说 {name}。"},
        "trying.nav": {"en": "Trying", "zh": "尝试"},
        "trying.nav.told": {"en": "Try.", "zh": "试。"},
    },
    pages=(post("/try", said), get("/try", shown), get("/text", text)),
    nav=(
        NavEntry(group="configure", word="trying.nav", path="/admin/try", right="configure"),
        NavEntry(group="access", word="trying.nav", path="/admin/all", right="configure", gateway=True),
    ),
)


def saying(handle: Callable[[str], object]) -> Handlers:
    """Bind the two acts."""

    async def say(acting: Acting, asked: Named) -> Empty:
        handle(asked.name)
        return Empty()

    async def pieces() -> AsyncIterator[bytes]:
        yield "a,客服\n".encode()

    async def give(acting: Acting, asked: Empty) -> Stream:
        return Stream(pieces(), "text/csv", filename="a.csv")

    return {SAY: say, TEXT: give}


@asynccontextmanager
async def reader(
    handle: Callable[[str], object] = lambda name: None, *, doorkeeper: FakeDoorkeeper | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    """A browser without scripts on the console."""
    async with (
        console(saying(handle), doorkeeper=doorkeeper, parts=(*PARTS, TRYING)) as url,
        aiohttp.ClientSession(url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session,
    ):
        yield session


def form(**fields: str) -> dict[str, str]:
    return {"csrf": CSRF, **fields}


async def test_a_page_is_sent_with_a_policy_that_allows_no_inline_script_or_style() -> None:
    async with reader() as session, session.get("/admin") as response:
        policy = response.headers["Content-Security-Policy"]

        assert 200 == response.status
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "no-store" == response.headers["Cache-Control"]
        assert "nosniff" == response.headers["X-Content-Type-Options"]


async def test_files_are_kept_for_ever_under_their_contents_hash() -> None:
    async with reader() as session:
        page = await (await session.get("/admin")).text()
        url = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
        async with session.get(url) as kept:
            assert "public, max-age=31536000, immutable" == kept.headers["Cache-Control"]
            assert "text/css; charset=utf-8" == kept.headers["Content-Type"]
        async with session.get("/admin/static/0123456789abcdef/clew.css") as old:
            assert (200, "no-cache") == (old.status, old.headers["Cache-Control"])


@pytest.mark.parametrize(
    "path", ["x/none.css", "x/..%2fweb.py", "x/%2e%2e%2fpage.py", "../web.py", "x/..%2f..%2f..%2fetc%2fpasswd"]
)
async def test_no_file_but_the_consoles_is_sent(path: str) -> None:
    async with reader() as session, session.get(f"/admin/static/{path}") as response:
        assert 404 == response.status


async def test_who_has_not_signed_in_is_sent_there_and_back() -> None:
    async with reader(doorkeeper=FakeDoorkeeper(actor=None)) as session:
        async with session.get("/admin/try?name=客", allow_redirects=False) as response:
            assert 303 == response.status
            assert "/admin/sign-in?next=/admin/try%3Fname%3D%25E5%25AE%25A2" == response.headers["Location"]
        async with session.post("/admin/try", data=form(name="x"), allow_redirects=False) as response:
            assert "/admin/sign-in" == response.headers["Location"]
        async with session.get("/admin/try", headers={"HX-Request": "true"}, allow_redirects=False) as response:
            assert (401, "/admin/sign-in") == (response.status, response.headers["HX-Redirect"])


async def test_whose_session_ended_on_a_page_comes_back_to_it() -> None:
    """A form or a piece of a page leads back to the page it stood on, if that is one of ours."""
    async with reader(doorkeeper=FakeDoorkeeper(actor=None)) as session:
        for came, back in (("/admin/turns?day=1", "?next=/admin/turns%3Fday%3D1"), ("/elsewhere", ""), ("/admin", "")):
            headers = {"Referer": f"http://127.0.0.1:1{came}"}
            async with session.post("/admin/try", data=form(), headers=headers, allow_redirects=False) as response:
                assert f"/admin/sign-in{back}" == response.headers["Location"]
            async with session.get("/admin/try", headers=headers | {"HX-Request": "true"}) as response:
                assert f"/admin/sign-in{back}" == response.headers["HX-Redirect"]


async def test_where_somebody_came_from_may_be_no_address() -> None:
    """What went wrong is told all the same, with no way back."""
    async with reader() as session, session.get("/admin/nowhere", headers={"Referer": "http://["}) as response:
        assert 404 == response.status
        assert 'href="/admin">To the overview' in await response.text()


async def test_without_an_owner_the_console_tells_how_to_make_one_and_nothing_else() -> None:
    told: list[str] = []
    async with reader(told.append, doorkeeper=FakeDoorkeeper(owner=False)) as session:
        for path in ("/admin", "/admin/try?name=x", "/admin/nothing"):
            async with session.get(path) as response:
                assert 503 == response.status
                assert "python -m gateway admin first-owner NAME" in await response.text()

    assert [] == told


async def test_a_form_ends_on_a_page_that_says_once_what_was_done() -> None:
    told: list[str] = []
    async with reader(told.append) as session:
        async with session.post("/admin/try", data=form(name=HOSTILE)) as response:
            page = await response.text()
            assert "/admin" == response.url.path
        again = await (await session.get("/admin")).text()

    assert [HOSTILE] == told
    assert "Said &lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;客服." in page
    assert "<script>alert" not in page
    assert "Said" not in again


async def test_what_was_told_without_what_its_words_need_is_not_shown() -> None:
    """A cookie can be of another release: the page is shown all the same, and the cookie taken back."""
    cookie = told_cookie(Told(key="trying.done", values={"who": "x"}))
    async with reader() as session, session.get("/admin", headers={"Cookie": f"{TOLD_COOKIE}={cookie}"}) as response:
        page = await response.text()

    assert 200 == response.status
    assert "Said" not in page
    assert f'{TOLD_COOKIE}=""' in response.headers["Set-Cookie"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"data": {"name": "x"}},
        {"data": {"name": "x", "csrf": "another"}},
        {"data": {"name": "x", "csrf": CSRF}, "headers": {"Origin": "https://evil.example"}},
        {"data": {"name": "x", "csrf": CSRF}, "headers": {"Sec-Fetch-Site": "cross-site"}},
        {"json": {"name": "x", "csrf": CSRF}},
        {"data": b"name=x"},
    ],
)
async def test_a_form_that_no_page_of_ours_sent_does_nothing(wrong: dict[str, object]) -> None:
    told: list[str] = []
    async with reader(told.append) as session, session.post("/admin/try", **wrong) as response:  # type: ignore[arg-type]
        assert response.status in (403, 422)

    assert [] == told


async def test_htmx_sends_the_token_as_a_header_and_is_sent_on() -> None:
    told: list[str] = []
    async with (
        reader(told.append) as session,
        session.post(
            "/admin/try", data={"name": "x"}, headers={"X-CSRF-Token": CSRF, "HX-Request": "true"}
        ) as response,
    ):
        assert (204, "/admin") == (response.status, response.headers["HX-Redirect"])

    assert ["x"] == told


@pytest.mark.parametrize(
    "body", [b"name=%ff%fe&csrf=x", b"\xff\xfe", b"nothing", b"&".join(b"a=1" for _ in range(2001))]
)
async def test_a_form_that_cant_be_read_is_refused(body: bytes) -> None:
    async with reader() as session, session.post("/admin/try", data=body) as response:
        assert 422 == response.status


async def test_a_form_beyond_its_bound_is_refused() -> None:
    async with reader() as session, session.post("/admin/try", data=b"a=" + b"x" * 600_000) as response:
        assert 413 == response.status


@pytest.mark.parametrize(
    ("fault", "status", "english", "chinese"),
    [
        (Refused("needs the right"), 403, "You may not do this", "您没有权限"),
        (Missing("gone"), 404, "There is nothing here", "这里什么都没有"),
        (Disagrees("since"), 409, "Somebody was faster", "已有人先做了更改"),
        (Invalid("bad"), 422, "This can&#39;t be done as it is", "无法按此执行"),
        (StoreBusy("busy", retry_after_s=1), 503, "The database is not within reach", "数据库暂时无法访问"),
        (StoreUnavailable("away"), 503, "The database is not within reach", "数据库暂时无法访问"),
        (RuntimeError("secret detail"), 500, "Something went wrong here", "这里出了问题"),
    ],
)
async def test_what_goes_wrong_is_told_as_a_page_in_the_readers_language(
    fault: Exception, status: int, english: str, chinese: str
) -> None:
    def fail(name: str) -> None:
        raise fault

    async with reader(fail) as session:
        async with session.get("/admin/try") as response:
            page = await response.text()
            assert (status, True) == (response.status, english in page)
        async with session.get("/admin/try", headers={"Accept-Language": "zh-CN"}) as response:
            assert chinese in await response.text()
        async with session.get("/admin/try", headers={"HX-Request": "true"}) as response:
            piece = await response.text()
            assert ("#notice", True, False) == (response.headers["HX-Retarget"], english in piece, "<html" in piece)

    assert "secret detail" not in page


async def test_fields_at_fault_are_named_and_escaped() -> None:
    def fail(name: str) -> None:
        problem = FieldProblem(path="rooms.C1", value=HOSTILE, problem="is odd", remedy="choose another")
        raise Invalid("rooms.C1: odd", problems=(problem,))

    async with reader(fail) as session, session.get("/admin/try") as response:
        page = await response.text()

    assert "<code>rooms.C1</code>" in page
    assert "is odd; choose another" in page
    assert "<script>alert" not in page


async def test_the_choice_of_language_and_theme_is_kept() -> None:
    async with reader() as session:
        async with session.post("/admin/look", data=form(language="zh", back="/admin/nothing?x=1")) as response:
            assert "/admin/nothing?x=1" == response.url.path_qs
            assert '<html lang="zh-CN" data-theme="system">' in await response.text()
        async with session.post("/admin/look", data=form(theme="dark", back="https://evil.example")) as response:
            assert "/admin" == response.url.path_qs
            assert '<html lang="zh-CN" data-theme="dark">' in await response.text()
        async with session.post("/admin/look", data=form(theme="neon")) as response:
            assert 'data-theme="dark"' in await response.text()


async def test_the_navigation_shows_what_the_reader_may() -> None:
    async with reader(doorkeeper=FakeDoorkeeper(actor=admin("viewer"))) as session:
        assert "Trying" not in await (await session.get("/admin")).text()
    async with reader(doorkeeper=FakeDoorkeeper(actor=admin("admin", "acme"))) as session:
        page = await (await session.get("/admin")).text()
        assert "/admin/try" in page
        assert "/admin/all" not in page


async def test_hiding_a_page_is_not_what_guards_it() -> None:
    told: list[str] = []
    async with (
        reader(told.append, doorkeeper=FakeDoorkeeper(actor=admin("viewer"))) as session,
        session.post("/admin/try", data=form(name="x")) as response,
    ):
        assert 403 == response.status

    assert [] == told


async def test_a_stream_is_sent_as_a_download() -> None:
    async with reader() as session, session.get("/admin/text") as response:
        assert 'attachment; filename="a.csv"' == response.headers["Content-Disposition"]
        assert "a,客服\n" == await response.text()


async def test_a_name_is_shown_as_it_is_and_harms_nobody() -> None:
    """Stored XSS: whatever somebody calls themselves."""
    async with reader(doorkeeper=FakeDoorkeeper(actor=admin(name=HOSTILE))) as session:
        page = await (await session.get("/admin")).text()

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;客服" in page


async def test_a_path_with_a_slash_too_many_leads_to_the_page() -> None:
    async with reader() as session, session.get("/admin/help/") as response:
        assert (200, "/admin/help") == (response.status, response.url.path)


async def test_a_page_can_be_looked_at_by_head() -> None:
    async with reader() as session, session.head("/admin") as response:
        assert 200 == response.status


async def test_what_no_page_takes_is_not_found() -> None:
    async with reader() as session:
        for method, path in (
            ("GET", "/admin/nothing"),
            ("PUT", "/admin"),
            ("POST", "/admin/text"),
            ("DELETE", "/admin/x/y"),
        ):
            async with session.request(method, path, data=form() if method != "GET" else None) as response:
                assert (method, 404) == (method, response.status)
