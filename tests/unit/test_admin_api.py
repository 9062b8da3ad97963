"""The REST door: what comes in becomes a request, what goes wrong a problem, all of it documented."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from openapi_spec_validator import validate

from adapters.errors import AdapterFault
from adapters.problems import CONTENT_TYPE, as_problem
from adapters.sse import CLOSING
from gateway.admin.api import routes, streamed
from gateway.admin.openapi import document
from gateway.admin.operations import Stream
from gateway.admin.rights import Actor, Role
from tests.unit.admin_acts import Kept, actor, made

Client = TestClient[web.Request, web.Application]


@web.middleware
async def _edge(request: web.Request, handler: object) -> web.StreamResponse:
    try:
        return await handler(request)  # type: ignore[operator, no-any-return]
    except AdapterFault as fault:
        problem = as_problem(fault)
        headers = {"Content-Type": CONTENT_TYPE} | problem.headers
        return web.Response(status=problem.status, headers=headers, body=problem.body())


async def _caller(request: web.Request) -> Actor | None:
    role = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return actor(role) if role in ("viewer", "operator", "admin") else None  # type: ignore[arg-type]


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    app = web.Application(middlewares=[_edge])
    app[CLOSING] = asyncio.Event()
    app.router.add_routes(routes(made(Kept()), _caller, version="1"))
    async with TestClient(TestServer(app)) as opened:
        yield opened


async def _ask(
    client: Client, method: str, path: str, *, role: Role = "admin", **more: object
) -> aiohttp.ClientResponse:
    return await client.request(method, f"/api/v1{path}", headers={"Authorization": f"Bearer {role}"}, **more)  # type: ignore[arg-type]


async def test_a_query_becomes_a_request(client: Client) -> None:
    """Numbers and truth values are read from texts, a field that takes several takes them all, the path's part is decoded."""
    got = await _ask(client, "GET", "/channels/ac%2Fme/things?words=订单&words=b&limit=7&open=true")

    assert {"channel": "ac/me", "words": ["订单", "b"], "limit": 7, "open": True, "next": None} == await got.json()


async def test_a_body_becomes_a_request(client: Client) -> None:
    """What the path says need not be in the body."""
    got = await _ask(client, "PUT", "/things/7", json={"text": "x", "weights": {"a": 1.5}})

    assert (200, {"number": 7, "text": "x", "kind": "a", "weights": {"a": 1.5}}) == (got.status, await got.json())


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"text": 5}, "text", "Expected `str`, got `int`"),
        ({}, "text", "missing required field"),
        ({"text": "x", "kind": "c"}, "kind", "Invalid enum value"),
        ({"text": "x", "weights": {"a": "b"}}, "weights[...]", "Expected `float`, got `str`"),
        ({"text": "x", "typo": 1}, "typo", "is not known here"),
        ({"text": "x", "number": 8}, "number", "is not what the path says"),
        ([], None, "not a JSON object"),
    ],
)
async def test_a_body_that_does_not_fit_names_its_field(
    client: Client, body: object, field: str | None, said: str
) -> None:
    """Each mistake is told with its field; unknown fields are mistakes."""
    got = await _ask(client, "PUT", "/things/7", json=body)
    told = await got.json()

    assert (422, "invalid", field) == (got.status, told["code"], told.get("field"))
    assert said in told["detail"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("limit=0", ">= 1"),
        ("limit=x", "Expected `int`"),
        ("limit=1&limit=2", "given twice"),
        ("typo=1", "is not known"),
    ],
)
async def test_a_query_that_does_not_fit_names_its_field(client: Client, query: str, said: str) -> None:
    """Bounds hold, and nothing is guessed."""
    got = await _ask(client, "GET", f"/channels/acme/things?{query}")
    told = await got.json()

    assert 422 == got.status
    assert said in told["detail"]


async def test_a_broken_body_is_told(client: Client) -> None:
    """No JSON, another content type, or a query beside a body."""
    broken = await _ask(client, "PUT", "/things/7", data=b"{", skip_auto_headers=["Content-Type"])
    other = await _ask(client, "PUT", "/things/7", data=b"text=x")
    nested = await _ask(client, "PUT", "/things/7", data=b"[" * 100_000, skip_auto_headers=())
    aside = await _ask(client, "PUT", "/things/7?text=x", json={"text": "x"})

    assert [415, 415, 415, 422] == [broken.status, other.status, nested.status, aside.status]


@pytest.mark.parametrize(
    ("thing", "status", "code"),
    [("none", 404, "missing"), ("changed", 409, "disagrees"), ("odd", 422, "invalid"), ("away", 503, "unavailable")],
)
async def test_what_a_service_refuses_is_a_problem(client: Client, thing: str, status: int, code: str) -> None:
    """Every way in which an act can fail has its status, and a field at fault is named."""
    got = await _ask(client, "GET", f"/things/{thing}")
    told = await got.json()

    assert (status, code, CONTENT_TYPE) == (got.status, told["code"], got.content_type)
    if thing == "odd":
        assert [{"path": "thing", "value": "odd", "problem": "is odd", "remedy": "give another"}] == told["problems"]


async def test_who_is_not_known_is_told_how_to_be(client: Client) -> None:
    """Without a token nothing is done; with too small a one it is said which right is missing."""
    unknown = await client.get("/api/v1/things/x")
    viewer = await _ask(client, "GET", "/things/x", role="viewer")

    assert (401, "Bearer") == (unknown.status, unknown.headers["WWW-Authenticate"])
    assert 403 == viewer.status
    assert "needs the right 'read'" in (await viewer.json())["detail"]


async def test_nothing_is_a_204(client: Client) -> None:
    """An act that gives nothing has no body."""
    assert (204, b"") == ((got := await _ask(client, "DELETE", "/things/x")).status, await got.read())


async def test_a_stream_comes_piece_by_piece(client: Client) -> None:
    """A fixed path is found before one with a part that could be anything; a stream has its own media type."""
    got = await _ask(client, "GET", "/things/tail")

    assert ("text/event-stream", "data: 0\n\ndata: 1\n\ndata: 2\n\n") == (got.content_type, await got.text())


async def test_the_document_is_valid_and_whole(client: Client) -> None:
    """OpenAPI 3.1, with every operation, its rights and its parameters."""
    told = await (await client.get("/api/v1/openapi.json")).json()
    validate(told)

    assert {"things.find", "things.put", "things.read", "things.drop", "things.follow"} == {
        one["operationId"] for path in told["paths"].values() for one in path.values()
    }
    assert "operator, admin, owner" in told["paths"]["/api/v1/things/{thing}"]["get"]["description"]
    assert told == json.loads(msgspec.json.encode(document(made().operations, version="1")))


class Flood:
    """A stream that never ends, and a reader that takes nothing of it."""

    def __init__(self) -> None:
        self.ended, self.revoked = asyncio.Event(), asyncio.Event()
        self.sent = 0

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            while True:
                self.sent += 1
                yield b"x" * 65_536
        finally:
            self.ended.set()

    async def lost(self) -> None:
        await self.revoked.wait()

    @asynccontextmanager
    async def unread(self, *, stalled_s: float) -> AsyncIterator[None]:
        async def serve(request: web.Request) -> web.StreamResponse:
            stream = Stream(self.pieces(), media="text/event-stream")
            return await streamed(request, stream, lost=self.lost, stalled_s=stalled_s)

        app = web.Application()
        app[CLOSING] = asyncio.Event()
        app.router.add_get("/flood", serve)
        async with TestServer(app) as server:
            reader, writer = await asyncio.open_connection(server.host, server.port, limit=1024)
            writer.write(b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200" in await reader.readline()
            yield
            writer.close()

    async def stands_still(self) -> None:
        """Wait until what was sent fills all buffers."""
        seen = -1
        while seen != self.sent:
            seen = self.sent
            await asyncio.sleep(0.1)  # the line between has no event for it


async def test_a_reader_that_takes_nothing_is_cut_off() -> None:
    """It holds a place that somebody else may want: not for ever."""
    flood = Flood()
    async with asyncio.timeout(20), flood.unread(stalled_s=0.3):
        await flood.ended.wait()


async def test_a_reader_that_takes_nothing_loses_its_right_all_the_same() -> None:
    """What was revoked ends a stream also while it waits for its reader."""
    flood = Flood()
    async with asyncio.timeout(20), flood.unread(stalled_s=600):
        await flood.stands_still()
        assert not flood.ended.is_set()
        flood.revoked.set()
        await flood.ended.wait()
