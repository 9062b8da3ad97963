"""The webhook's front: who may speak, and what is answered. Every answer that is not 2xx brings the update again for a day."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from adapters.problems import Problem
from adapters.telegram.front import SECRET as HEADER
from adapters.telegram.front import decoded, webhook_url
from tests.unit.telegram.samples import message, update
from tests.unit.telegram.world import SECRET, World, world


@pytest.fixture
async def there() -> AsyncIterator[World]:
    async with world(mode="webhook", body_bytes=4096, body_s=0.3) as opened:
        yield opened


async def post(there: World, body: object, *, headers: Any = None) -> tuple[int, str]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {HEADER: SECRET} if headers is None else headers
    async with aiohttp.ClientSession() as client, client.post(there.url, data=raw, headers=given) as answer:
        return answer.status, await answer.text()


async def test_the_answer_is_empty(there: World) -> None:
    """A JSON answer with a `method` would be done by the platform."""
    assert (200, "") == await post(there, update(message=message("你好")))
    assert ["你好"] == there.texts


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {HEADER: ""},
        {HEADER: "a-secret_Toke"},
        {HEADER: "a-secret_Token "[:-1] + "x"},
        [(HEADER, SECRET), (HEADER, SECRET)],
        {HEADER: "é"},
    ],
    ids=["none", "empty", "shorter", "longer", "twice", "not-ascii"],
)
async def test_without_the_secret_nobody_is_heard(there: World, headers: Any) -> None:
    """Nothing is read before that is known; openclaw/openclaw#32599."""
    status, told = await post(there, update(message=message()), headers=headers)

    assert 401 == status
    assert SECRET not in told
    assert [] == there.texts


@pytest.mark.parametrize(
    ("body", "headers", "status", "reason"),
    [
        (b"{}", {}, 401, "X-Telegram-Bot-Api-Secret-Token is not this channel's secret_token"),
        (b"[]", None, 400, "the body is not a JSON object"),
    ],
)
async def test_what_is_refused_is_told_of_now_and_then(
    there: World, body: bytes, headers: Any, status: int, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A proxy that drops the header looks like a quiet day; strangers who knock all day must not fill the log."""
    for _ in range(3):
        await post(there, body, headers=headers)

    told = [vars(record) for record in caplog.records if record.message == "update refused"]
    assert [("acme", status, reason)] == [(one["channel"], one["status"], one["reason"]) for one in told]


@pytest.mark.parametrize("body", [b"", b"[]", b"{" * 5000, b"null", b"\xff"])
async def test_what_is_no_update_is_refused(there: World, body: bytes) -> None:
    assert (await post(there, body))[0] in (400, 413)
    assert 200 == (await post(there, update(message=message())))[0]


@pytest.mark.parametrize("body", [update(message=5), {}, update(message=message(chat=None)), update(x={})])
async def test_an_update_that_cannot_be_read_is_acknowledged(there: World, body: Any) -> None:
    """It will not be better the next time, and its chat would wait for it."""
    assert (200, "") == await post(there, body)


async def test_a_body_too_large_is_refused(there: World) -> None:
    assert 413 == (await post(there, b" " * 5000))[0]


async def test_a_body_too_slow_is_given_up(there: World) -> None:
    """And one of no announced length is counted as it comes."""

    async def trickling() -> AsyncIterator[bytes]:
        yield b'{"update_id":'
        await asyncio.Event().wait()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 1000

    async with aiohttp.ClientSession() as client:
        for body, status in ((trickling(), 408), (endless(), 413)):
            async with client.post(there.url, data=body, headers={HEADER: SECRET}) as answer:
                assert status == answer.status


async def test_what_cannot_be_stored_is_not_acknowledged(there: World) -> None:
    there.intake.overloaded = True

    assert 503 == (await post(there, update(message=message())))[0]


async def test_a_channel_that_polls_has_no_webhook() -> None:
    async with world() as there:
        assert 404 == (await post(there, update(message=message())))[0]


def test_text_that_is_no_unicode_is_read_all_the_same() -> None:
    """Refused, it would come again and again."""
    assert {"a": "\ud800"} == decoded(b'{"a": "\\ud800"}')
    assert {"a": "\ufffd"} == decoded(b'{"a": "\xff"}')
    with pytest.raises(Problem):
        decoded(b"[" * 100_000)


def test_the_address_tells_a_changed_secret_and_not_the_secret() -> None:
    one, two = (webhook_url("https://x.example/", "acme", secret=secret, token=b"1:t") for secret in (b"s", b"t"))

    assert one.startswith("https://x.example/channels/acme?secret=")
    assert one != two
    assert one == webhook_url("https://x.example", "acme", secret=b"s", token=b"1:t")
