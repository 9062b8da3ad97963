"""Slash commands in rooms that the app is not in: answered to whoever gave them, as long as their URL is good."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from adapters.base import Address, MessageEvent
from adapters.errors import Refused, SendFailed, Throttled, Unknown, Unreachable
from adapters.slack.response_urls import LIFE_S, ResponseUrls
from adapters.slack.web import ApiRefused
from gateway.hot.process import ProcessShelf
from tests.emulators.slack.channels import Channel
from tests.unit.slack.world import World, adapter, world


@pytest.fixture
async def there() -> AsyncIterator[World]:
    async with world(timeout_s=0.5) as opened:
        yield opened


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.5)) as opened:
        yield opened


async def given(there: World, place: Channel) -> Address:
    """Let Ann give a command; return where it is answered."""
    delivery = await there.ann.runs(there.app, place, "/memory")
    assert delivery.acked
    said = there.intake.messages[-1]
    assert isinstance(said, MessageEvent)
    return there.to(place, reply_to=said.message_id)


@pytest.mark.parametrize("personal", [False, True], ids=["for-all", "personal"])
@pytest.mark.parametrize("kind", ["channel", "dm"])
async def test_a_command_is_answered_where_the_app_is_not(there: World, kind: str, personal: bool) -> None:
    """Slack offers commands everywhere; silence would be taken for a fault."""
    place = (
        there.here.channel("other", members=[there.ann, there.bob])
        if kind == "channel"
        else there.here.dm(there.ann, there.bob)
    )
    address = await given(there, place)
    address = there.to(place, reply_to=address.reply_to, only_for=there.ann.id if personal else None)
    receipt = await there.adapter.send(address, "**你好** <!here>", chunk_id="1")

    assert receipt.message_id is None
    assert [(there.ann.id, "**你好** &lt;!here>")] == [(who, message.shown) for who, message in place.ephemerals]
    assert [] == place.messages()


async def test_where_the_app_is_a_command_is_answered_as_a_message_is(there: World) -> None:
    address = await given(there, there.general)
    receipt = await there.adapter.send(address, "hello", chunk_id="1")

    assert [receipt.message_id] == [message.ts for message in there.general.messages()]


async def test_a_url_that_is_used_up_is_told(there: World) -> None:
    place = there.here.channel("other", members=[there.ann])
    address = await given(there, place)
    for number in range(5):
        await there.adapter.send(address, "hello", chunk_id=str(number))
    with pytest.raises(Refused, match="response_url: Slack answered 404"):
        await there.adapter.send(address, "hello", chunk_id="6")


async def test_what_is_no_command_s_is_refused_as_before(there: World) -> None:
    place = there.here.channel("other", members=[there.ann])
    with pytest.raises(Refused, match="not_in_channel"):
        await there.adapter.send(there.to(place, reply_to="1700000000.000100"), "hello", chunk_id="1")


def kept(session: aiohttp.ClientSession, api_url: str = "https://slack.com/api/", **more: Any) -> ResponseUrls:
    """Response URLs of a channel, on a shelf of their own unless told otherwise."""
    return ResponseUrls(
        session, api_url=api_url, **{"channel": "acme", "secret": "xoxb-1", "shelf": ProcessShelf()} | more
    )


async def test_a_url_is_forgotten_when_it_is_no_longer_good(session: aiohttp.ClientSession) -> None:
    now = 0.0
    urls = kept(session, "http://127.0.0.1:9/api/", shelf=ProcessShelf(clock=lambda: now))
    await urls.keep("1.2.a", "http://127.0.0.1:9/hooks/x")
    now = LIFE_S

    assert not await urls.answer("1.2.a", {"text": "hello"})
    assert not await urls.answer(None, {"text": "hello"})


@pytest.mark.parametrize(
    "url",
    ["", "https://evil.example/x", "https://slack.com.evil.example/", "https://xslack.com/x", "http://[::1", "/x"],
)
async def test_only_slacks_own_urls_are_believed(session: aiohttp.ClientSession, url: str) -> None:
    urls = kept(session)
    await urls.keep("1.2.a", url)

    assert not await urls.answer("1.2.a", {"text": "hello"})


async def test_another_instance_answers_a_command() -> None:
    """It took no part in hearing it: what it needs lies on the shelf."""
    shelf = ProcessShelf()
    async with world(timeout_s=0.5, shelf=shelf) as there:
        place = there.here.channel("other", members=[there.ann])
        address = await given(there, place)
        second = adapter(there.bot, timeout_s=0.5, shelf=shelf)
        async with second.running(there.intake):
            receipt = await second.send(address, "**你好**", chunk_id="1")

    assert receipt.message_id is None
    assert [(there.ann.id, "**你好**")] == [(who, message.shown) for who, message in place.ephemerals]


@pytest.mark.parametrize(
    ("change", "answers"),
    [({}, True), ({"secret": "xoxb-2"}, False), ({"channel": "other"}, False)],
    ids=["same", "other-token", "other-channel"],
)
async def test_who_has_the_shelf_alone_has_no_url(
    session: aiohttp.ClientSession, change: dict[str, str], answers: bool
) -> None:
    """It is sealed with the bot's token, and another channel's trigger of the same number is another one's."""
    lying = Lying()
    await kept(session, "http://127.0.0.1:9/api/", shelf=lying).keep("1.2.a", "http://127.0.0.1:9/hooks/secret")
    other = kept(session, "http://127.0.0.1:9/api/", shelf=lying, **change)
    lying.values = dict.fromkeys([*lying.values, "response_url other 1.2.a"], *lying.values.values())

    assert b"secret" not in b"".join(lying.values.values())
    if answers:
        with pytest.raises(Unreachable):
            await other.answer("1.2.a", {"text": "hello"})
    else:
        assert not await other.answer("1.2.a", {"text": "hello"})


async def test_a_torn_value_is_none(session: aiohttp.ClientSession) -> None:
    lying = Lying()
    urls = kept(session, "http://127.0.0.1:9/api/", shelf=lying)
    for value in (b"", b"x", bytes(12), bytes(40)):
        lying.values = {"response_url acme 1.2.a": value}

        assert not await urls.answer("1.2.a", {"text": "hello"})


@dataclass
class Lying:
    """A shelf whose values a test looks at, and puts."""

    values: dict[str, bytes] = field(default_factory=dict)

    async def put(self, key: str, value: bytes, *, life_s: float) -> None:
        self.values[key] = value

    async def get(self, key: str) -> bytes | None:
        return self.values.get(key)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (None, Unreachable),
        (b"", Unknown),
        (b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", Unknown),
        (b"HTTP/1.1 429 Wait\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", Throttled),
        (b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", ApiRefused),
    ],
    ids=["away", "cut", "broken", "throttled", "used-up"],
)
async def test_what_a_failed_answer_means_is_told_without_the_url(
    session: aiohttp.ClientSession, answer: bytes | None, kind: type[SendFailed]
) -> None:
    """Whoever has it can write there."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer or b"")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1] if answer is not None else 9
        urls = kept(session, f"http://127.0.0.1:{port}/api/")
        await urls.keep("1.2.a", f"http://127.0.0.1:{port}/hooks/secret")
        with pytest.raises(kind) as caught:
            await urls.answer("1.2.a", {"text": "hello"})

    assert "secret" not in f"{caught.value!r} {caught.value.__cause__!r}"
