"""The chat page over HTTP: its files, what is said on it, and who is let in; the gateway behind it is a fake."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from adapters.base import Address, Receipt
from adapters.console.access import cookie_value
from adapters.console.adapter import ConsoleAdapter
from adapters.errors import AdapterFault
from config.settings import ServerSettings
from tests.chat import LEDGER, console
from tests.fakes import FakeIntake
from tests.serving import serving

TOKEN = "令牌 opensesame"
PROXIED = ServerSettings(port=0, stop_s=2, trusted_proxies=("127.0.0.1",))


@asynccontextmanager
async def page(
    adapter: ConsoleAdapter, intake: FakeIntake | None = None, *, settings: ServerSettings | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    """The channel behind the real server, and a client that does not follow redirects to somewhere else."""
    async with (
        serving(intake or FakeIntake(), {"console": adapter}, console=lambda: adapter, settings=settings) as url,
        aiohttp.ClientSession(url) as client,
    ):
        yield client


def said(text: str = "hello", **changes: Any) -> dict[str, Any]:
    return {
        "room": "private-alice",
        "chat_type": "private",
        "person": {"id": "alice", "name": "Alice"},
        "message": {"id": "m1", "text": text},
    } | changes


async def test_the_page_and_its_files_come_under_a_strict_policy() -> None:
    """No inline code, nothing from elsewhere, no markup from text; every file has its type."""
    async with page(console()) as client:
        types = {}
        for path in ("/", "/chat/static/page.js", "/chat/static/page.css", "/chat/static/icon.svg"):
            async with client.get(path) as response:
                assert response.status == 200
                policy = response.headers["Content-Security-Policy"]
                assert "unsafe" not in policy
                assert policy.startswith("default-src 'none'; script-src 'self'")
                assert "require-trusted-types-for 'script'" in policy
                types[path] = response.content_type

    expected = {
        "/": "text/html",
        "/chat/static/page.js": "text/javascript",
        "/chat/static/page.css": "text/css",
        "/chat/static/icon.svg": "image/svg+xml",
    }
    assert expected == types


async def test_the_page_is_light() -> None:
    """Everything the page needs is under 60 kB on the wire."""
    total = 0
    async with page(console()) as client:
        async with client.get("/") as response:
            html = await response.text()
        modules = ("words", "talk", "log", "markdown", "store", "wire", "panel", "drawer", "known", "page")
        paths = [
            "/",
            "/chat/static/page.css",
            "/chat/static/early.js",
            *(f"/chat/static/{name}.js" for name in modules),
        ]
        for path in paths:
            async with client.get(path, headers={"Accept-Encoding": "gzip"}) as response:
                total += int(response.headers["Content-Length"])

    assert 'src="/chat/static/page.js"' in html
    assert total < 60_000


async def test_an_unchanged_file_is_not_sent_again() -> None:
    """A file's tag is asked for again each time, and answered 304 while the file is the same."""
    async with page(console()) as client:
        async with client.get("/chat/static/page.js") as first:
            tag = first.headers["ETag"]
        async with client.get("/chat/static/page.js", headers={"If-None-Match": tag}) as again:
            assert (again.status, await again.read()) == (304, b"")
        async with client.get("/chat/static/page.js", headers={"If-None-Match": '"other"'}) as changed:
            assert changed.status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/chat/static/adapter.py"),
        ("GET", "/chat/static/..%2fadapter.py"),
        ("GET", "/chat/static/"),
        ("GET", "/chat/"),
        ("GET", "/chat/turns/7"),
        ("PUT", "/chat/info"),
        ("DELETE", "/chat/turns/7/ledger"),
    ],
)
async def test_nothing_else_is_served(method: str, path: str) -> None:
    """Other paths and methods are a 404 problem."""
    async with page(console()) as client, client.request(method, path) as response:
        assert (response.status, response.content_type) == (404, "application/problem+json")


async def test_a_message_is_stored_before_it_is_acknowledged() -> None:
    """The page gets the turn and its token; the gateway got the event."""
    intake = FakeIntake()
    async with page(console(), intake) as client, client.post("/channels/console", json=said("你好")) as response:
        turn = await response.json()
        assert response.status == 202
        assert response.headers["Location"] == f"/channels/console/turns/{turn['turn']}"

    (event,) = intake.messages
    assert ("accepted", "你好", "alice") == (turn["status"], event.text, event.sender.user)
    assert turn["token"]
    assert "duplicate" not in turn


async def test_the_same_message_again_is_the_same_turn() -> None:
    """Sent again, a message is not answered twice; its id with another text is a 409."""
    intake = FakeIntake(lambda event: "done")
    async with page(console(), intake) as client:
        async with (
            client.post("/channels/console", json=said()) as first,
            client.post("/channels/console", json=said(language="zh")) as second,
        ):
            assert (200, 200) == (first.status, second.status)
            assert (await first.json())["turn"] == (await second.json())["turn"]
        async with client.post("/channels/console", json=said("other")) as third:
            assert third.status == 409

    assert len(intake.messages) == 1


async def test_an_overloaded_gateway_says_when_to_come_again() -> None:
    """503 with Retry-After; nothing was taken."""
    intake = FakeIntake()
    intake.overloaded = True
    async with page(console(), intake) as client, client.post("/channels/console", json=said()) as response:
        assert (503, "3") == (response.status, response.headers["Retry-After"])


@pytest.mark.parametrize(
    ("status", "arguments"),
    [
        (400, {"data": b"{", "headers": {"Content-Type": "application/json"}}),
        (422, {"json": said(room="")}),
        (415, {"data": json.dumps(said()).encode(), "headers": {"Content-Type": "text/plain"}}),
        (415, {"data": {"room": "x"}}),
        (
            415,
            {"data": gzip.compress(b"{}"), "headers": {"Content-Type": "application/json", "Content-Encoding": "gzip"}},
        ),
        (413, {"json": said("x" * 3000)}),
        (403, {"json": said(), "headers": {"Origin": "https://attacker.example"}}),
        (403, {"json": said(), "headers": {"Sec-Fetch-Site": "cross-site"}}),
        (403, {"json": said(), "headers": {"Host": "attacker.example"}}),
        (403, {"json": said(), "headers": {"X-Forwarded-For": "127.0.0.1"}}),
    ],
)
async def test_what_can_not_be_taken_is_told_and_not_stored(status: int, arguments: dict[str, Any]) -> None:
    """Each refusal is problem details with its status, and no event."""
    intake = FakeIntake()
    async with (
        page(console(body_bytes=2000), intake) as client,
        client.post("/channels/console", **arguments) as response,
    ):
        assert (status, "application/problem+json") == (response.status, response.content_type)

    assert intake.messages == []


async def test_a_body_that_never_ends_is_given_up() -> None:
    """Who sends slower than `body_s` is told so."""

    async def forever() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async with (
        page(console(body_s=0.05)) as client,
        client.post("/channels/console", data=forever(), headers={"Content-Type": "application/json"}) as response,
    ):
        assert response.status == 408


async def test_the_page_learns_its_channel_and_agents() -> None:
    """`/chat/info` names the channel to post to, and what answers."""
    async with page(console()) as client, client.get("/chat/info") as response:
        info = await response.json()

    assert info["channel"] == "console"
    assert [("default", "demo", None), ("wise", "openai", "gpt-5-mini")] == [
        (agent["name"], agent["kind"], agent["model"]) for agent in info["agents"]
    ]


async def test_the_ledger_needs_the_turns_token() -> None:
    """The right token opens the ledger; any other is a 404."""
    async with page(console()) as client:
        async with client.get("/chat/turns/7/ledger?token=right") as response:
            assert (200, LEDGER) == (response.status, await response.json())
        for path in ("/chat/turns/7/ledger?token=wrong", "/chat/turns/7/ledger", "/chat/turns/7/ledger?token="):
            async with client.get(path) as response:
                assert response.status == 404


@pytest.mark.parametrize(
    ("language", "words"), [("en-GB,zh;q=0.8", "own machine only"), ("zh-CN,en;q=0.5", "只对本机开放")]
)
async def test_somebody_elsewhere_is_told_what_to_do(language: str, words: str) -> None:
    """Without a token, a foreign host name gets a plain page in the browser's language, and no data."""
    headers = {"Host": "attacker.example", "Accept-Language": language}
    async with page(console()) as client:
        async with client.get("/", headers=headers) as response:
            assert (403, "text/html") == (response.status, response.content_type)
            assert words in await response.text()
        async with client.get("/chat/info", headers=headers) as response:
            assert response.status == 403


async def test_a_caller_behind_a_trusted_proxy_is_not_local() -> None:
    """A proxy on this machine does not open the page to the world, whoever it says to speak for."""
    async with page(console(), settings=PROXIED) as client:
        for claimed in ("203.0.113.9", "127.0.0.1", "nonsense"):
            async with client.get("/", headers={"X-Forwarded-For": claimed}) as response:
                assert response.status == 403


async def test_the_token_is_asked_once_and_remembered() -> None:
    """The form takes the token, the browser keeps a cookie that scripts can't read, and the page opens."""
    async with page(console(token=TOKEN)) as client:
        async with client.get("/", headers={"Accept-Language": "zh"}) as response:
            assert (401, True) == (response.status, "需要令牌" in await response.text())
        async with client.post("/chat/token", data={"token": f" {TOKEN} "}, allow_redirects=False) as response:
            cookie = response.headers["Set-Cookie"]
            assert (303, "/") == (response.status, response.headers["Location"])
        client.cookie_jar.update_cookies(response.cookies)
        value = response.cookies["clew_console"].value
        async with client.get("/", headers={"Cookie": f"clew_console={value}", "Host": "chat.example"}) as response:
            assert response.status == 200

    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Secure" not in cookie
    assert "opensesame" not in cookie


async def test_behind_https_the_cookie_stays_there() -> None:
    """Where the public URL is https, the cookie is never sent in the clear."""
    async with (
        page(console(token=TOKEN, public_url="https://chat.example")) as client,
        client.post(
            "/chat/token", data={"token": TOKEN}, headers={"Origin": "https://chat.example"}, allow_redirects=False
        ) as response,
    ):
        assert "Secure" in response.headers["Set-Cookie"]


async def test_a_wrong_token_opens_nothing() -> None:
    """The form comes again and says so; programs get a 401 that names the way in."""
    async with page(console(token=TOKEN)) as client:
        async with client.post("/chat/token", data={"token": "guess"}) as response:
            assert (403, True) == (response.status, "That is not the token." in await response.text())
            assert "Set-Cookie" not in response.headers
        async with client.post("/chat/token", data=b"\xff\xfe") as response:
            assert response.status == 403
        for path in ("/chat/info", "/chat/turns/7/ledger?token=right"):
            async with client.get(path) as response:
                assert (401, "Bearer") == (response.status, response.headers["WWW-Authenticate"])
        async with client.post("/channels/console", json=said()) as response:
            assert response.status == 401


@pytest.mark.parametrize("how", ["form", "bearer", "cookie"])
async def test_a_token_can_not_be_guessed(how: str) -> None:
    """After ten wrong tokens from one address, however they are shown, none is looked at, the right one neither; others
    are not kept out, nor are those who show nothing."""

    def shown(value: str) -> dict[str, str]:
        return {
            "bearer": {"Authorization": f"Bearer {value}"},
            "cookie": {"Cookie": f"clew_console={cookie_value(value)}"},
        }.get(how, {})

    async def tried(client: aiohttp.ClientSession, value: str, *, address: str = "203.0.113.9") -> tuple[int, str]:
        came = {"X-Forwarded-For": address}
        if how == "form":
            request = client.post("/chat/token", data={"token": value}, headers=came, allow_redirects=False)
        else:
            request = client.get("/chat/info", headers=came | shown(value))
        async with request as response:
            return response.status, response.headers.get("Retry-After", "")

    wrong, right = (403, 303) if how == "form" else (401, 200)
    async with page(console(token="opensesame"), settings=PROXIED) as client:
        refused = [(await tried(client, f"guess {number}"))[0] for number in range(12)]

        assert [wrong] * 10 + [429] * 2 == refused
        assert (429, "60") == await tried(client, "opensesame")
        assert (right, "") == await tried(client, "opensesame", address="203.0.113.10")
        async with client.get("/", headers={"X-Forwarded-For": "203.0.113.9"}) as response:
            assert 401 == response.status
        if how == "cookie":
            headers = {"X-Forwarded-For": "203.0.113.9", "Accept-Language": "zh"} | shown("opensesame")
            async with client.get("/", headers=headers) as response:
                assert (429, "60") == (response.status, response.headers["Retry-After"])
                assert "请等一分钟再试" in await response.text()


async def test_a_program_shows_the_token_as_bearer() -> None:
    """`Authorization: Bearer` is as good as the cookie."""
    async with page(console(token="opensesame")) as client:
        headers = {"Authorization": "bearer opensesame"}
        async with client.post("/channels/console", json=said(), headers=headers) as response:
            assert response.status == 202
        async with client.get("/chat/info", headers={"Authorization": "Basic opensesame"}) as response:
            assert response.status == 401


async def test_a_foreign_form_can_not_log_somebody_in() -> None:
    """The token form takes nothing from another origin's page, and nothing at all where no token is set."""
    async with page(console(token=TOKEN)) as client:
        headers = {"Origin": "https://attacker.example"}
        async with client.post("/chat/token", data={"token": TOKEN}, headers=headers) as response:
            assert (403, "foreign_page") == (response.status, (await response.json())["code"])
    async with page(console()) as client, client.post("/chat/token", data={"token": ""}) as response:
        assert response.status == 404


async def test_the_token_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Neither a right nor a wrong token, nor what was said, stands in any log line."""
    caplog.set_level(logging.DEBUG)
    async with page(console(token="opensesame")) as client:
        for given in ("opensesame", "guess-me"):
            async with client.post("/chat/token", data={"token": given}, allow_redirects=False):
                pass
        async with client.post("/channels/console", json=said("a secret"), headers={"Authorization": "Bearer x"}):
            pass

    logged = " ".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)
    assert not any(word in logged for word in ("opensesame", "guess-me", "a secret"))


async def test_a_reply_is_delivered_as_soon_as_it_stands_in_its_turn() -> None:
    """One chunk, whatever the length, and a receipt at once: the page collects it."""
    adapter = console()
    text = "长" * 100_000

    assert [text] == adapter.chunks(text)
    assert Receipt() == await adapter.send(Address(channel="console", room="group"), text, chunk_id="1")
    assert adapter.capabilities.streams
    assert adapter.capabilities.collected


async def test_a_stopped_channel_says_so() -> None:
    """The probe fails and messages are refused for now, outside of running."""
    adapter = console()
    with pytest.raises(AdapterFault, match="console"):
        await adapter.probe()
    async with adapter.running(FakeIntake()):
        await adapter.probe()
    with pytest.raises(AdapterFault):
        await adapter.probe()

    channels: dict[str, ConsoleAdapter] = {}
    async with serving(FakeIntake(), channels) as url, aiohttp.ClientSession(url) as client:
        channels["console"] = adapter
        async with client.post("/channels/console", json=said()) as response:
            assert (503, "1") == (response.status, response.headers["Retry-After"])
