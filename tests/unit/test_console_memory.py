"""What is remembered of the page's people, over HTTP: read, forgotten, corrected; the gateway behind it is a fake."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.chat import FakeRemembers, console
from tests.fakes import FakeIntake
from tests.serving import serving


@asynccontextmanager
async def page(remembers: FakeRemembers, **settings: Any) -> AsyncIterator[aiohttp.ClientSession]:
    adapter = console(remembers=remembers, **settings)
    async with (
        serving(FakeIntake(), {"console": adapter}, console=lambda: adapter) as url,
        aiohttp.ClientSession(url) as client,
    ):
        yield client


async def test_it_is_read_with_its_source_and_what_waits() -> None:
    """Each thing with its kind, day, place and value, ids as strings, and what is still to be learned from; never cached."""
    async with page(FakeRemembers()) as client, client.get("/chat/memory?person=alice&language=zh") as response:
        assert (200, "no-store") == (response.status, response.headers["Cache-Control"])
        told = await response.json()

    assert ["pinned", "profile", "session"] == [one["kind"] for one in told["kept"]]
    first = {
        "id": "i1",
        "text": "allergic to peanuts",
        "value": "peanuts",
        "channel": "console",
        "room": "private-alice",
    }
    assert first.items() <= told["kept"][0].items()
    assert [{"text": "My cat is called Momo", "said_ms": 1_790_000_100_000}] == told["waits"]


async def test_one_thing_or_all_is_forgotten() -> None:
    """For the named person of this channel, and the answer is what is remembered then."""
    remembers = FakeRemembers()
    async with page(remembers) as client:
        async with client.post("/chat/memory/forget", json={"person": "小博 🐚", "id": "i2.f7"}) as response:
            assert ["i1", "f8"] == [one["id"] for one in (await response.json())["kept"]]
        async with client.post("/chat/memory/forget-all", json={"person": "小博 🐚", "language": "zh"}) as response:
            assert (200, []) == (response.status, (await response.json())["kept"])

    who = ("console", "console", "小博 🐚")
    assert [(*who, "i2.f7"), (*who, None)] == remembers.calls


async def test_a_correction_is_taken_or_refused_in_words() -> None:
    """422 `refused` with the rule's words where it is not kept; else what is remembered then."""
    remembers = FakeRemembers()
    body = {"person": "alice", "id": "i1", "value": "核桃", "language": "zh"}
    async with page(remembers) as client:
        async with client.post("/chat/memory/correct", json=body) as response:
            assert ["核桃", True] == [(await response.json())["kept"][0][field] for field in ("value", "entered")]
        remembers.refusal = "内容含有密码、密钥或令牌。"
        async with client.post("/chat/memory/correct", json=body) as response:
            assert 422 == response.status
            problem = await response.json()

    assert ("refused", "内容含有密码、密钥或令牌。", "value") == (problem["code"], problem["detail"], problem["field"])
    assert [("console", "console", "alice", "i1", "核桃", "zh")] * 2 == remembers.calls


@pytest.mark.parametrize(
    ("status", "path", "arguments"),
    [
        (422, "forget", {"json": {"person": "alice"}}),  # no id is not everything
        (422, "forget", {"json": {"person": "alice", "id": ""}}),
        (422, "forget-all", {"json": {"person": "alice", "id": "i1"}}),
        (422, "forget-all", {"json": {"person": "a\x00"}}),
        (422, "forget-all", {"json": {"person": "alice", "channel": "other"}}),
        (422, "correct", {"json": {"person": "alice", "id": "i1", "value": "\x00"}}),
        (422, "correct", {"json": {"person": "alice", "id": "i1", "value": "x", "language": "fr"}}),
        (413, "correct", {"json": {"person": "alice", "id": "i1", "value": "x" * 3000}}),
        (415, "forget-all", {"data": b'{"person": "alice"}', "headers": {"Content-Type": "text/plain"}}),
        (403, "forget-all", {"json": {"person": "alice"}, "headers": {"Origin": "https://attacker.example"}}),
        (403, "forget-all", {"json": {"person": "alice"}, "headers": {"Host": "attacker.example"}}),
        (404, "learn", {"json": {"person": "alice"}}),
    ],
)
async def test_what_can_not_be_taken_changes_nothing(status: int, path: str, arguments: dict[str, Any]) -> None:
    """Problem details with their status, and nothing was asked of the gateway."""
    remembers = FakeRemembers()
    async with (
        page(remembers, body_bytes=2000) as client,
        client.post(f"/chat/memory/{path}", **arguments) as response,
    ):
        assert (status, "application/problem+json") == (response.status, response.content_type)

    assert [] == remembers.calls


@pytest.mark.parametrize(
    ("status", "query", "headers"),
    [
        (422, "", {}),
        (422, "?person=%00", {}),
        (422, "?person=alice&language=fr", {}),
        (403, "?person=alice", {"Sec-Fetch-Site": "cross-site"}),
        (403, "?person=alice", {"Host": "attacker.example"}),
    ],
)
async def test_what_can_not_be_shown(status: int, query: str, headers: dict[str, str]) -> None:
    """Nobody named, no language of the page's, or somebody who is not let in."""
    async with page(FakeRemembers()) as client, client.get(f"/chat/memory{query}", headers=headers) as response:
        assert status == response.status


async def test_the_token_guards_it() -> None:
    """With a token set, nothing is read or changed without it."""
    remembers = FakeRemembers()
    async with page(remembers, token="opensesame") as client:
        async with client.get("/chat/memory?person=alice") as response:
            assert 401 == response.status
        async with client.post("/chat/memory/forget-all", json={"person": "alice"}) as response:
            assert 401 == response.status
        headers = {"Authorization": "Bearer opensesame"}
        async with client.get("/chat/memory?person=alice", headers=headers) as response:
            assert 200 == response.status

    assert [] == remembers.calls
