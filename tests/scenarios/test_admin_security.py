"""What strangers and admins with few rights try against the admins' doors, in the real process: hostile words on every page,
forged forms, other people's numbers, rights that one does not have, secrets in what is shown, and requests that are none."""

from __future__ import annotations

import asyncio
import io
import re
import time
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
import pytest_asyncio

from gateway.admin.console.parts import PARTS
from gateway.admin.operations import Operation
from gateway.admin.rights import ROLES, Role
from gateway.admin.table import OPERATIONS
from tests.browsing import chromium
from tests.scenarios.admins import PASSWORD, Admins, Reader
from tests.scenarios.stage import stage
from tests.scenarios.world import SECRET, Prompt

MARK = "zq9"
HOSTILE = (
    f"<script>{MARK}()</script>",
    f'"><img src=x onerror={MARK}()>',
    f"'><svg/onload={MARK}()>",
    f"</textarea></title></style><b id={MARK}>",
    f"javascript:{MARK}()",
    f"{{{{'{MARK}' ~ 'run'}}}}{{%raw%}}",
    f"\u202e<a href='javascript:{MARK}()'>",
)
ALL = " ".join(HOSTILE)
OWNER = ALL[:90]
API_KEY = "sk-canary-key-0123456789"
BODY = f"""
agents:
  default: {{kind: openai, base_url: "MODEL", model: "m<img src=x onerror={MARK}()>", retries: 0, api_key: "{API_KEY}",
            system: "<script>{MARK}()</script> be brief"}}
memory: {{model: none}}
defaults: {{limits: {{per_minute: 100000}}}}
channels:
  hook:
    kind: webhook
    secrets: ["${{HOOK}}"]
    rooms: {{"<img src=x onerror={MARK}()>": {{trigger: [always]}}}}
  other: {{kind: webhook, secrets: ["${{HOOK}}"]}}
"""

pytestmark = pytest.mark.asyncio(loop_scope="module")


def answer(prompt: Prompt) -> str:
    return f"{ALL}\n\n[click](javascript:{MARK}()) ![x](javascript:{MARK}())\n\n`{HOSTILE[0]}`"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admins(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Admins]:
    """A gateway where people with hostile names have said hostile things in hostile places, with admins of such names."""
    async with stage(tmp_path_factory.mktemp("security"), BODY, script=answer, server="log_level: debug") as running:
        for channel in ("hook", "other"):
            hook = running.hook(channel)
            await hook.say(ALL, sender=HOSTILE[1][:60], name=ALL[:120], conversation=HOSTILE[1][:60])
            await hook.say(f"我的名字是 {HOSTILE[0]}", sender="alice", name=HOSTILE[2])
            await hook.say("/human", sender="alice", name=HOSTILE[2])
        # To a webhook nothing can be sent, so nobody can be asked for there: the rows are as of a kind that has both.
        running.sql(
            """INSERT INTO takeovers (id, channel, conversation, "user", chat_type, state, asked_by, note, since_ms, touched_ms,
              created_ms, "last", turn_id, changes)
            SELECT max(id), channel, 'c1', CAST(speaker AS TEXT), 'private', 'asked', 'agent', '<script>zq9()</script>',
              accepted_ms, accepted_ms, accepted_ms, body, turn_id, 0 FROM inbox_events GROUP BY channel"""
        )
        made = Admins(running)
        await made.user(OWNER)
        await made.local("POST", "/tokens", name=ALL[:90], grants=[{"role": "viewer"}])
        yield made


class Tags(HTMLParser):
    """What a browser would find in a page: elements with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def active(text: str) -> list[str]:
    """Return what of a page would run or lead where it should not."""
    wrong = []
    for tag, attributes in Tags(text).found:
        if tag == "script" and not attributes.get("src", "").startswith("/admin/static/"):
            wrong.append(f"script {attributes}")
        if MARK in (attributes.get("id"), tag) or (tag in ("img", "svg") and attributes.get("src") == "x"):
            wrong.append(f"{tag} {attributes}")
        for name, value in attributes.items():
            if name.startswith("on") or name == "style":
                wrong.append(f"{tag} {name}={value}")
            if name in ("href", "src", "action", "formaction") and not re.match(
                r"/|#|\?|https?://127\.0\.0\.1|$", value
            ):
                wrong.append(f"{tag} {name}={value}")
    return wrong + (["template"] if f"{MARK}run" in text else [])


async def pages(reader: Reader, most: int = 150) -> dict[str, str]:
    """Read every page that links lead to from /admin; return the texts by path."""
    read: dict[str, str] = {}
    open_ = [
        "/admin",
        *(
            f"/admin{page.path}"
            for part in PARTS
            for page in part.pages
            if page.method == "GET" and "{" not in page.path
        ),
    ]
    shapes: dict[str, int] = {}
    while open_ and len(read) < most:
        path = open_.pop(0).rstrip("/") or "/admin"
        shape = re.sub(r"\d+|\?.*", "#", path)
        if path in read or shapes.get(shape, 0) >= 3:
            continue
        shapes[shape] = shapes.get(shape, 0) + 1
        answer = await reader.get(path)
        assert answer.status < 500, (path, answer.status)
        if "html" not in answer.headers.get("Content-Type", ""):
            continue
        read[path] = answer.text
        policy = answer.headers["Content-Security-Policy"]
        assert "unsafe" not in policy, path
        assert {"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy.split("; ")), path
        assert ("no-store", "nosniff") == (answer.headers["Cache-Control"], answer.headers["X-Content-Type-Options"]), (
            path
        )
        for tag, attributes in Tags(answer.text).found:
            target = urljoin(path, attributes.get("href" if tag == "a" else "hx-get", ""))
            if target.startswith("/admin") and "/static/" not in target and "export" not in target:
                open_.append(target.partition("#")[0])
    return read


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


async def test_no_page_shows_a_secret(admins: Admins) -> None:
    """Keys of services, signing secrets, passwords, tokens and their digests stand on no page, in no answer of the API, in no
    export and in no line of the log."""
    secrets = {
        API_KEY,
        SECRET,
        SECRET.removeprefix("whsec_"),
        PASSWORD,
        *(admins.tokens or {"x": await admins.token("owner")}).values(),
    }
    owner = await admins.token("owner")
    secrets.add(owner)
    async with admins.signed_in(OWNER) as reader:
        shown = await pages(reader)
    for operation in OPERATIONS:
        if operation.method == "GET" and "{" not in operation.path and operation.name != "turns.tail":
            shown[operation.name] = (await admins.ask(owner, "GET", operation.path)).text
    shown["log"] = "\n".join(admins.stage.gateway.log)

    assert [] == [(where, secret[:8]) for where, text in shown.items() for secret in secrets if secret in text]


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


def found(body: Any, key: str) -> set[str]:
    """Return every value of that name in an answer."""
    if isinstance(body, dict):
        own = {body[key]} if isinstance(body.get(key), str) else set()
        return own.union(*(found(value, key) for value in body.values()))
    if isinstance(body, list):
        return set().union(*(found(value, key) for value in body))
    return set()


TAKES = {"turn": {"text": "hello"}, "conversation": {}, "takeover": {"text": "hello"}, "person": {"things": ["1"]}}
"""By the name of an id in a path, what a body may need besides."""


@pytest.mark.parametrize("role", ROLES)
async def test_numbers_of_another_channel_open_nothing(admins: Admins, role: Role) -> None:
    """Who has a role in one channel gets 403 or 404 for every id of another one, by every operation that takes one in its path
    or body, and no list, search, filter, sum or export shows it."""
    owner, theirs = await admins.token("owner"), await admins.token(role, "other")
    ids: dict[str, set[str]] = {name: set() for name in TAKES}
    for path in ("/turns?channel=hook", "/conversations?channel=hook", "/takeovers?channel=hook", "/people?who=alice"):
        told = (await admins.ask(owner, "GET", path)).body
        for name in ids:
            ids[name] |= found(told, name)
    own = found((await admins.ask(theirs, "GET", "/people?who=alice")).body, "person")
    assert all(ids.values()), ids
    leaks = []
    for operation in OPERATIONS:
        names = re.findall(r"{(\w+)}", operation.path)
        if len(names) != 1 or names[0] not in ids:
            continue
        for value in sorted(ids[names[0]] - own)[:3]:
            path = operation.path.replace(f"{{{names[0]}}}", value)
            body = TAKES[names[0]] if operation.method in ("POST", "PUT") else None
            answer = await admins.ask(theirs, operation.method, path, body)
            if answer.status not in (403, 404, 422):
                leaks.append((operation.name, value, answer.status))
    turn = min(ids["turn"])
    for path, body in (
        ("/takeovers", {"turn": turn, "over": True}),
        ("/takeover-requests", {"turn": turn}),
        ("/dead-letters/many", {"act": "discard", "turns": [turn]}),
    ):
        answer = await admins.ask(theirs, "POST", path, body)
        dealt = [one for one in (answer.body or {}).get("results", ()) if one["done"] is not None or not one["problem"]]
        if answer.status not in (200, 403, 404) or dealt or (answer.status == 200 and "results" not in answer.body):
            leaks.append((path, turn, answer.status))
    for path in (
        "/turns", "/conversations", "/takeovers", "/dead-letters", "/channel-health", "/audit", "/messages?words=alice",
        "/usage?by=channel", "/quotas", "/turn-counts", "/settings/revisions", "/people?who=alice",
        *(f"/{part}{'&' if '?' in part else '?'}channel=hook" for part in (
            "turns", "conversations", "takeovers", "dead-letters", "channel-health", "audit", "usage?by=person", "quotas",
            "turn-counts", "messages?words=alice", "usage/series?by=agent",
        )),
    ):  # fmt: skip
        answer = await admins.ask(theirs, "GET", path)
        if answer.status not in (200, 403, 404, 422):
            leaks.append((path, "", answer.status))
        if "hook" in found(answer.body, "channel") or ids["turn"] & found(answer.body, "turn"):
            leaks.append((path, "hook", answer.status))
    assert [] == leaks


async def test_what_people_said_is_for_those_who_may_read_it(admins: Admins) -> None:
    """A viewer sees that there were turns, and not one word, name or room of them."""
    viewer = await admins.token("viewer")
    shown = ""
    for operation in OPERATIONS:
        if operation.method == "GET" and "{" not in operation.path and not isinstance(operation.result, str):
            shown += (await admins.ask(viewer, "GET", operation.path)).text
    turns = (await admins.ask(viewer, "GET", "/turns")).body
    for turn in sorted(found(turns, "turn"))[:5]:
        for tail in ("", "/why"):
            shown += (await admins.ask(viewer, "GET", f"/turns/{turn}{tail}")).text

    assert "我的名字" not in shown
    assert f"{MARK}()</script> [click]" not in shown
    assert HOSTILE[2] not in shown


ESCALATIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/tokens", {"name": "more", "grants": [{"role": "owner"}]}),
    ("POST", "/users", {"name": "mine", "grants": [{"role": "owner"}], "password": PASSWORD}),
    ("PUT", "/users/1/grants", {"role": "owner"}),
    ("PUT", "/users/1/password", {"password": "another password of mine"}),
    ("DELETE", "/users/1", {}),
]


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
async def test_nobody_makes_more_of_himself(admins: Admins, role: Role) -> None:
    """Tokens, users, grants and passwords above one's own rights are refused, for all of the gateway and for one channel."""
    for channel in (None, "hook"):
        token = await admins.token(role, channel)
        for method, path, body in ESCALATIONS:
            answer = await admins.ask(token, method, path, body or None)
            assert answer.status in (403, 404), (role, channel, method, path, answer.status, answer.text)
    mine = (await admins.ask(await admins.token(role, "hook"), "GET", "/me")).body
    assert [{"role": role, "channel": "hook"}] == mine["grants"]


async def test_an_owner_of_one_channel_owns_no_other(admins: Admins) -> None:
    token = await admins.token("owner", "hook")
    for body in (
        {"name": "t", "grants": [{"role": "viewer"}]},
        {"name": "t", "grants": [{"role": "viewer", "channel": "other"}]},
    ):
        assert 403 == (await admins.ask(token, "POST", "/tokens", body)).status
    for role in ROLES:
        for channel in ({}, {"channel": "other"}):
            answer = await admins.ask(token, "PUT", "/users/1/grants", {"role": role} | channel)
            assert answer.status in (403, 404), (role, channel)


async def test_others_credentials_can_not_be_ended(admins: Admins) -> None:
    """Token and session numbers are small: whoever guesses one ends nothing of another's."""
    await admins.token("owner")
    stranger = await admins.token("admin")
    tokens = (await admins.ask(await admins.token("owner"), "GET", "/tokens?everybodys=true")).body["tokens"]
    own = (await admins.ask(stranger, "GET", "/me")).body["id"]
    for told in tokens:
        if f"token:{told['id']}" != own:
            assert 404 == (await admins.ask(stranger, "DELETE", f"/tokens/{told['id']}")).status, told["name"]
    async with admins.signed_in(OWNER) as reader:
        for number in range(1, 10):
            assert 404 == (await admins.ask(stranger, "DELETE", f"/sessions/{number}")).status
        assert 200 == (await reader.get("/admin")).status


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


async def raw(admins: Admins, sent: bytes, *, within_s: float = 10) -> bytes:
    """Send bytes and return all that comes back until the other side closes, or nothing more comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(admins.url).port)
    got = b""
    try:
        writer.write(sent)
        await writer.drain()
        async with asyncio.timeout(within_s):
            while piece := await reader.read(65_536):
                got += piece
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
    return got


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


async def test_deep_and_odd_json_is_a_422(admins: Admins) -> None:
    """Nested beyond reason, of the wrong shape, with huge numbers, NUL or lone surrogates: refused in words, never a 500."""
    owner = await admins.token("owner")
    headers = {"Authorization": f"Bearer {owner}", "Content-Type": "application/json"}
    odd = [
        b"[" * 200_000,
        b'{"name":' * 5_000,
        b"null",
        b"[]",
        b'"x"',
        b"1e999",
        b'{"name": 1e999}',
        b'{"name": "\\u0000", "days": 99999999999999999999999}',
        b'{"name": "\\ud800"}',
        b"\xff\xfe",
        b"{",
    ]
    for body in odd:
        async with admins.stage.session.post(f"{admins.url}/tokens", data=body, headers=headers) as response:
            assert response.status in (200, 400, 422), (body[:20], response.status, await response.text())
    for query in (
        "limit=0",
        "limit=999999999999999999999",
        "limit=x",
        "after=%00",
        "after=%ED%A0%80",
        "after=' OR 1=1 --",
        "nothing=1",
        "limit=1&limit=2",
    ):
        answer = await admins.ask(owner, "GET", f"/tokens?{query}")
        assert answer.status in (200, 422), (query, answer.status, answer.text)


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


async def test_the_audit_log_holds_ids_alone(admins: Admins) -> None:
    """After all of the above: what people said, were called and searched for is not in it, so that an erasure need not look
    there."""
    owner = await admins.token("owner")
    for path in (
        "/messages?words=%E6%88%91%E7%9A%84%E5%90%8D%E5%AD%97",
        "/people?who=alice",
        "/conversations",
        "/turns",
    ):
        assert 200 == (await admins.ask(owner, "GET", path)).status, path
    for turn in sorted(found((await admins.ask(owner, "GET", "/turns")).body, "turn"))[:3]:
        await admins.ask(owner, "GET", f"/turns/{turn}")
    log = (await admins.ask(owner, "GET", "/audit/export")).text

    assert "conversations.search" in log
    assert [] == [word for word in (MARK, "我的名字", "alice", "img src", PASSWORD, "hello") if word in log]


async def test_nothing_was_a_fault_of_ours(admins: Admins) -> None:
    """All of the above left no error in the log: nobody is woken by strangers."""
    assert [] == [line for line in admins.stage.gateway.log if '"level":"error"' in line]


async def test_who_reads_words_is_audited() -> None:
    """Every operation that needs the right to read is a look or an act: none goes unseen."""
    unseen: list[Operation] = [one for one in OPERATIONS if one.right == "read" and one.audited == "no"]

    assert [] == [one.name for one in unseen]
