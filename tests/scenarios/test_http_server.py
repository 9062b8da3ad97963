"""The HTTP server: routes, swapped channels, problems, limits, proxies, health, start and stop."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from adapters.errors import Overloaded
from config.settings import ServerSettings
from gateway.errors import CannotListen, StoreBusy
from gateway.http import Readiness
from memory.errors import StoreUnavailable
from tests.fakes import FakeIntake
from tests.serving import NEXT_SECRET, SECRET, message, serving, signed, webhook


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield session


class Echo:
    """A channel that says who it thinks is calling; `failure` is raised instead, if set."""

    heartbeat_s = 15.0

    def __init__(self, name: str = "echo", failure: Exception | None = None) -> None:
        self.name = name
        self.failure = failure

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.failure is not None:
            raise self.failure
        raw = await request.read()
        return web.json_response({"name": self.name, "remote": request.remote, "path": request.path, "bytes": len(raw)})

    def running(self, intake: object) -> Any:
        return nullcontext()


async def problem(response: aiohttp.ClientResponse) -> dict[str, Any]:
    assert "application/problem+json" == response.content_type
    document: dict[str, Any] = json.loads(await response.read())
    assert response.status == document["status"]
    assert {"type", "title", "status", "detail", "code"} <= set(document)
    return document


async def test_what_a_channel_does_not_take_in_is_told(client: aiohttp.ClientSession) -> None:
    """By channel and code, as nothing of it is stored: a wrong secret would go unseen. A path of no channel is no channel's."""
    told: list[tuple[str, str]] = []
    intake = FakeIntake(answer=lambda event: "hi")
    channels = {"shop": webhook(), "away": Echo(failure=Overloaded("full", retry_after_s=1))}
    async with serving(intake, channels, refused=lambda channel, code: told.append((channel, code))) as url:
        for name, request in (
            ("shop", signed(message(), secret=NEXT_SECRET)),
            ("shop", signed(message(), delivery="msg_2")),
            ("away", {"data": b""}),
            ("nobody", {"data": b""}),
        ):
            async with client.post(f"{url}/channels/{name}", **request) as response:
                await response.read()

    assert [("shop", "unauthorised"), ("away", "unavailable")] == told


async def test_a_request_meets_the_adapter_of_the_moment(client: aiohttp.ClientSession) -> None:
    """A reload swaps adapters without touching the router: the next request meets the new one (openclaw/openclaw#137591)."""
    channels: dict[str, Any] = {"shop": Echo("old")}
    async with serving(FakeIntake(), channels) as url:
        answers = [await (await client.post(f"{url}/channels/shop")).json()]
        channels["shop"] = Echo("new")
        channels["added"] = Echo("added")
        answers += [await (await client.post(f"{url}/channels/{name}")).json() for name in ("shop", "added")]

    assert ["old", "new", "added"] == [answer["name"] for answer in answers]


async def test_a_channel_being_swapped_asks_to_come_again(client: aiohttp.ClientSession) -> None:
    """503 with Retry-After, never a 404 (openclaw/openclaw#137591, #138381)."""
    channels: dict[str, Any] = {"shop": None}
    async with serving(FakeIntake(), channels) as url:
        response = await client.post(f"{url}/channels/shop")
        swapped = await problem(response)
        channels["shop"] = Echo()
        again = await client.post(f"{url}/channels/shop")

    assert (503, "unavailable", "1") == (swapped["status"], swapped["code"], response.headers["Retry-After"])
    assert 200 == again.status


@pytest.mark.parametrize(
    "failure", [StoreBusy("host=db.internal", retry_after_s=9), StoreUnavailable("host=db.internal")]
)
async def test_a_store_that_is_away_asks_to_come_again(client: aiohttp.ClientSession, failure: Exception) -> None:
    """Looking at a turn or a ledger while the database restarts is no fault of ours to report: 503, without its address."""
    async with serving(FakeIntake(), {"shop": Echo(failure=failure)}) as url:
        response = await client.post(f"{url}/channels/shop")
        away = await problem(response)

    assert (503, "unavailable", "2") == (away["status"], away["code"], response.headers["Retry-After"])
    assert "db.internal" not in str(away)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/channels/nobody", 404, "unknown_channel"),
        ("GET", "/channels/nobody/turns/1", 404, "unknown_channel"),
        ("GET", "/channels/shop/turns/1", 401, "token_needed"),
        ("GET", "/channels/shop/turns/1?token=x", 404, "unknown_turn"),
        ("GET", "/channels/shop/turns/%00%F0%9F?token=x", 404, "unknown_turn"),
        ("GET", "/channels/shop/turns/1/events?token=%F0%9F%91%8B", 404, "unknown_turn"),
        ("GET", "/channels/shop", 405, "method_not_allowed"),
        ("DELETE", "/healthz", 405, "method_not_allowed"),
        ("PROPFIND", "/metrics", 405, "method_not_allowed"),
        ("GET", "/", 404, "not_found"),
        ("GET", "/chat/app.js", 404, "not_found"),
        ("GET", "/admin", 404, "not_found"),
        ("GET", "/v1/models", 404, "not_found"),
        ("GET", "/..%2f..%2fetc/passwd", 404, "not_found"),
    ],
)
async def test_what_cannot_be_served_is_a_problem(
    client: aiohttp.ClientSession, method: str, path: str, status: int, code: str
) -> None:
    """RFC 9457 everywhere (DESIGN 9)."""
    async with serving(FakeIntake(), {"shop": Echo()}) as url:
        document = await problem(await client.request(method, url + path))

    assert (status, code) == (document["status"], document["code"])


async def test_a_bug_is_a_500_without_details_and_a_logged_trace(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    """The caller learns nothing of the inside; the log holds the trace, and no query with its token."""
    async with serving(FakeIntake(), {"shop": Echo(failure=RuntimeError("db password is hunter2"))}) as url:
        response = await client.post(f"{url}/channels/shop?token=hunter3")
        text = await response.text()

    assert 500 == (await problem(response))["status"]
    assert "hunter" not in text
    assert "RuntimeError" in caplog.text
    assert "hunter3" not in caplog.text


async def test_every_response_carries_the_security_headers(client: aiohttp.ClientSession) -> None:
    """Answers and problems alike; and none says what software answers."""
    async with serving(FakeIntake(), {"shop": Echo()}) as url:
        responses = [await client.get(f"{url}{path}") for path in ("/healthz", "/nothing", "/metrics")]

    for response in responses:
        assert "nosniff" == response.headers["X-Content-Type-Options"]
        assert "no-referrer" == response.headers["Referrer-Policy"]
        assert "no-store" == response.headers["Cache-Control"]
        assert "clew" == response.headers["Server"]


async def test_health_readiness_metrics_and_the_api_document_are_served(client: aiohttp.ClientSession) -> None:
    """What an operator's tools ask for (DESIGN 9)."""
    async with serving(FakeIntake(), {"shop": Echo()}) as url:
        health, ready, metrics, openapi = [
            await client.get(f"{url}/{path}") for path in ("healthz", "readyz", "metrics", "openapi.json")
        ]

        assert {"status": "ok"} == await health.json()
        assert {
            "ready": True,
            "checks": {"store": "ok"},
            "warnings": {},
            "lag_s": None,
            "instances": None,
        } == await ready.json()
        assert "clew_turns_total 1.0\n" == await metrics.text()
        assert metrics.headers["Content-Type"].startswith("text/plain; version=")
        assert "3.1" == (await openapi.json())["openapi"][:3]


async def test_an_instance_that_is_not_ready_says_which_part_is_not(client: aiohttp.ClientSession) -> None:
    """503 takes it out of the balancer; the process itself is alive."""

    async def not_ready() -> Readiness:
        return Readiness(ready=False, checks={"store": "ok", "agent default": "no answer within 5 s"}, lag_s=12.5)

    async with serving(FakeIntake(), {}, ready=not_ready) as url:
        response = await client.get(f"{url}/readyz")

        assert 503 == response.status
        assert "no answer within 5 s" == (await response.json())["checks"]["agent default"]
        assert 200 == (await client.get(f"{url}/healthz")).status


async def test_the_console_gets_its_page_and_its_paths(client: aiohttp.ClientSession) -> None:
    """`/` and `/chat/*` are the console channel's (DESIGN 9), looked up at each request."""
    console = Echo("console")
    async with serving(FakeIntake(), {}, console=lambda: console) as url:
        answers = [await (await client.request(m, f"{url}{p}")).json() for m, p in [("GET", "/"), ("PUT", "/chat/a/b")]]

    assert ["/", "/chat/a/b"] == [answer["path"] for answer in answers]


@pytest.mark.parametrize(
    ("trusted", "forwarded", "remote"),
    [
        ((), "203.0.113.9", "127.0.0.1"),
        (("127.0.0.0/8",), "203.0.113.9", "203.0.113.9"),
        (("127.0.0.1",), "6.6.6.6, 203.0.113.9", "203.0.113.9"),
        (("127.0.0.1",), None, "127.0.0.1"),
        (("127.0.0.1",), "127.0.0.1, bogus", "unknown"),
    ],
)
async def test_only_trusted_proxies_are_believed(
    client: aiohttp.ClientSession, trusted: tuple[str, ...], forwarded: str | None, remote: str
) -> None:
    """Adapters see the caller in `request.remote`; a caller can't choose it."""
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    settings = ServerSettings(port=0, trusted_proxies=trusted, stop_s=2)
    async with serving(FakeIntake(), {"shop": Echo()}, settings=settings) as url:
        answer = await (await client.post(f"{url}/channels/shop", headers=headers, data=b"abc")).json()

    assert (remote, 3) == (answer["remote"], answer["bytes"])


async def test_a_busy_port_is_told_with_its_number_and_the_remedy() -> None:
    """An operator reads what to do, not a trace (checkpoint 6)."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(CannotListen) as caught:
            async with serving(FakeIntake(), {}, settings=ServerSettings(port=port)):
                pass

    assert str(port) in str(caught.value)
    assert "CLEW_PORT" in str(caught.value)


async def test_an_address_of_another_machine_is_told_too() -> None:
    """The remedy names the host."""
    with pytest.raises(CannotListen, match="CLEW_HOST"):
        async with serving(FakeIntake(), {}, settings=ServerSettings(host="192.0.2.1", port=0)):
            pass


@pytest.mark.parametrize("head", [b"", b"2\r\n{}\r\n"])
async def test_a_body_with_a_broken_coding_is_refused_and_the_server_goes_on(
    client: aiohttp.ClientSession, head: bytes
) -> None:
    """aiohttp never tells a handler that is reading already; body_s frees it."""
    started = asyncio.Event()

    class Reading(Echo):
        async def handle(self, request: web.Request) -> web.StreamResponse:
            started.set()
            return await shop.handle(request)

    shop = webhook(body_s=0.05, secrets=[SECRET])
    async with serving(FakeIntake(), {"shop": shop, "reading": Reading()}) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
        writer.write(b"POST /channels/reading HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        writer.write(b"Transfer-Encoding: chunked\r\n\r\n" + head)
        await started.wait()
        writer.write(b"nonsense\r\n")
        status = await reader.readline()
        writer.close()
        await writer.wait_closed()
        alive = await client.get(f"{url}/healthz")

    assert int(status.split()[1]) in (400, 408)
    assert 200 == alive.status


@pytest.mark.parametrize("body", [b"Content-Length: 9\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"])
async def test_a_caller_that_leaves_in_the_middle_of_its_body_is_no_failure(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    """Nobody is left to answer, and nothing is logged as a fault."""
    left = asyncio.Event()

    class Reading(Echo):
        async def handle(self, request: web.Request) -> web.StreamResponse:
            try:
                writer.close()
                return await super().handle(request)
            finally:
                left.set()

    async with serving(FakeIntake(), {"shop": Reading()}) as url:
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
        writer.write(b"POST /channels/shop HTTP/1.1\r\nHost: x\r\n" + body)
        await left.wait()
        alive = await client.get(f"{url}/healthz")

    assert 200 == alive.status
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01 no HTTP at all\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\n"]
)
async def test_what_is_no_request_wakes_nobody(caplog: pytest.LogCaptureFixture, sent: bytes) -> None:
    """Strangers probe every port: a 400, and no line in the log above DEBUG."""
    async with serving(FakeIntake(), {}) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
        writer.write(sent)
        status = await reader.readline()
        writer.close()

    assert b"400" in status
    assert not [record for record in caplog.records if record.levelno >= logging.INFO]


async def test_a_body_that_can_not_be_decoded_is_a_400(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    """Where a channel takes encoded bodies at all; nobody is woken for it."""
    async with serving(FakeIntake(), {"shop": Echo()}) as url:
        call = {"data": b"not gzip", "headers": {"Content-Encoding": "gzip"}}
        document = await problem(await client.post(f"{url}/channels/shop", **call))

    assert (400, "bad_body") == (document["status"], document["code"])
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_what_the_http_library_refuses_is_a_problem_too(client: aiohttp.ClientSession) -> None:
    """One form for all that is wrong."""
    async with serving(FakeIntake(), {"shop": Echo(failure=web.HTTPGone(reason="moved for good"))}) as url:
        document = await problem(await client.post(f"{url}/channels/shop"))

    assert (410, "http_error", "moved for good") == (document["status"], document["code"], document["detail"])


async def test_stopping_ends_streams_with_a_comment_and_leaves_their_turns_alone(client: aiohttp.ClientSession) -> None:
    """A reader knows to come again; nothing waits for the deadline (stop_s is 2 s here, readers would wait for ever)."""
    intake = FakeIntake()
    async with serving(intake, {"shop": webhook()}) as url:
        call = signed(message(mode="stream"))
        stream = await client.post(f"{url}/channels/shop", **call)
        first = await stream.content.readuntil(b"\n\n") + await stream.content.readuntil(b"\n\n")
        waiting = asyncio.create_task(
            client.post(f"{url}/channels/shop", **signed(message(message={"id": "m-2", "text": "x"}), delivery="msg_2"))
        )
        await intake.holding(2)
        started = asyncio.get_running_loop().time()

    rest = await stream.content.read()
    waited = await waiting

    assert b"event: turn" in first
    assert b": the gateway is stopping; come again with Last-Event-ID\n\n" == rest
    assert 202 == waited.status
    assert asyncio.get_running_loop().time() - started < 1.5
    assert ["accepted", "accepted"] == [turn.view.status for turn in intake.turns.values()]
    assert 0 == sum(turn.readers for turn in intake.turns.values())


async def test_requests_are_not_written_to_an_access_log(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    """A turn's token may stand in the URL; no log shows it."""
    with caplog.at_level(logging.DEBUG):
        async with serving(FakeIntake(), {"shop": Echo()}) as url:
            await client.get(f"{url}/channels/shop/turns/1?token=tell-nobody")

    ours = [record for record in caplog.records if not record.name.startswith(("asyncio", "aiohttp.client"))]
    assert not [record for record in ours if "tell-nobody" in record.getMessage()]
