"""A turn's events over real HTTP: as they come, resumed, reset, idle, left and stalled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import aiohttp
import pytest

from adapters.base import StreamEvent
from tests.fakes import FakeIntake
from tests.serving import message, serving, signed, webhook


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield session


def parsed(text: str) -> list[tuple[str | None, str, Any]]:
    """The events of a stream as (id, name, data); comments and `retry` left out."""
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line and not line.startswith(":"))
        if "event" in fields:
            events.append((fields.get("id"), fields["event"], json.loads(fields["data"])))
    return events


async def begun(client: aiohttp.ClientSession, url: str, **changes: Any) -> dict[str, Any]:
    """A turn that is accepted and not yet answered."""
    response = await client.post(f"{url}/channels/shop", **signed(message(mode="async", **changes)))
    turn: dict[str, Any] = await response.json()
    return turn


def place(url: str, turn: dict[str, Any]) -> str:
    return f"{url}/channels/shop/turns/{turn['turn']}/events?token={turn['token']}"


async def test_a_stream_call_gets_the_reply_as_it_grows(client: aiohttp.ClientSession) -> None:
    """turn (with the token), delta, reset, done; every character in its place, in one response (DESIGN 9)."""
    intake = FakeIntake()
    async with serving(intake, {"shop": webhook()}) as url:
        response = await client.post(f"{url}/channels/shop", **signed(message(mode="stream")))
        (turn,) = await intake.holding(1)
        for piece in ("你", "好\n", "👨‍👩‍👧"):
            await intake.delta(turn, piece)
        await intake.reset(turn, "start again: ")
        await intake.delta(turn, "x")
        await intake.end(turn)
        events = parsed(await response.text())

    assert (200, "text/event-stream") == (response.status, response.content_type)
    assert "no" == response.headers["X-Accel-Buffering"]
    assert "no-cache" in response.headers["Cache-Control"]
    assert ["turn", "delta", "delta", "delta", "reset", "delta", "done"] == [name for _, name, _ in events]
    assert ["你", "好\n", "👨‍👩‍👧", "start again: ", "x"] == [data["text"] for _, _, data in events[1:6]]
    assert {"turn", "token"} < set(events[0][2])
    assert ("answered", "start again: x") == (events[-1][2]["status"], events[-1][2]["reply"]["text"])
    assert [str(number) for number in range(7)] == [event_id for event_id, _, _ in events]


async def test_a_failed_turn_ends_its_stream_with_failed(client: aiohttp.ClientSession) -> None:
    """The terminal event is explicit (platform-facts 3.3)."""
    intake = FakeIntake()
    async with serving(intake, {"shop": webhook()}) as url:
        response = await client.post(f"{url}/channels/shop", **signed(message(mode="stream")))
        (turn,) = await intake.holding(1)
        await intake.end(turn, code="agent_timeout")
        events = parsed(await response.text())

    assert ("failed", "agent_timeout") == (events[-1][1], events[-1][2]["error"]["code"])


async def test_a_reader_resumes_after_the_last_event_it_has(client: aiohttp.ClientSession) -> None:
    """Nothing twice, nothing missing; what is no number is passed over."""
    intake = FakeIntake()
    async with serving(intake, {"shop": webhook()}) as url:
        turn = await begun(client, url)
        for piece in "abc":
            await intake.delta(turn["turn"], piece)
        await intake.end(turn["turn"])
        texts = {}
        for last in ("2", "", "x", "²", "9" * 30):
            response = await client.get(place(url, turn), headers={"Last-Event-ID": last})
            texts[last] = "".join(data["text"] for _, name, data in parsed(await response.text()) if name == "delta")

    assert {"2": "c", "": "abc", "x": "abc", "²": "abc", "9" * 30: "abc"} == texts


async def test_the_token_is_shown_to_the_one_who_posted_only(client: aiohttp.ClientSession) -> None:
    """A URL that was passed on gives no more than it holds."""
    intake = FakeIntake(lambda event: "hi")
    async with serving(intake, {"shop": webhook()}) as url:
        turn = await (await client.post(f"{url}/channels/shop", **signed(message()))).json()
        text = await (await client.get(place(url, turn))).text()

    assert turn["token"] not in text


async def test_several_readers_follow_one_turn(client: aiohttp.ClientSession) -> None:
    """The one who posted, and whoever holds the token."""
    intake = FakeIntake()
    async with serving(intake, {"shop": webhook()}) as url:
        turn = await begun(client, url)
        responses = [await client.get(place(url, turn)) for _ in range(3)]
        await intake.followed(turn["turn"], readers=3)
        await intake.delta(turn["turn"], "for all")
        await intake.end(turn["turn"])
        texts = [await response.text() for response in responses]

    assert 1 == len(set(texts))
    assert "for all" in texts[0]


async def test_an_idle_stream_is_kept_open_by_comments(client: aiohttp.ClientSession) -> None:
    """Proxies cut silent connections; comments say that somebody is there, and disturb no event."""
    intake = FakeIntake()
    async with serving(intake, {"shop": webhook(heartbeat_s=0.01)}) as url:
        turn = await begun(client, url)
        response = await client.get(place(url, turn))
        beats = 0
        while beats < 3:
            beats += (await response.content.readuntil(b"\n\n")).startswith(b":")
        await intake.delta(turn["turn"], "still here")
        await intake.end(turn["turn"])
        events = parsed(await response.text())

    assert ["delta", "done"] == [name for _, name, _ in events]


async def test_a_reader_that_leaves_does_not_touch_the_turn(client: aiohttp.ClientSession) -> None:
    """Its subscription ends; the turn goes on and can be collected (A06's neighbour: platform-facts 3.2)."""
    intake = FakeIntake()
    async with serving(intake, {"shop": webhook(heartbeat_s=0.01)}) as url:
        response = await client.post(f"{url}/channels/shop", **signed(message(mode="stream")))
        (turn,) = await intake.holding(1)
        await intake.followed(turn, readers=1)
        response.close()
        await intake.followed(turn, readers=0)
        await intake.delta(turn, "unheard")
        await intake.end(turn)
        collected = await (await client.post(f"{url}/channels/shop", **signed(message()))).json()

    assert ("answered", "unheard") == (collected["status"], collected["reply"]["text"])


async def test_a_reader_that_stops_reading_is_let_go() -> None:
    """A stalled reader holds nothing of ours for longer than two heartbeats."""
    intake = FakeIntake()
    async with serving(intake, {"shop": webhook(heartbeat_s=0.05)}) as url:
        async with aiohttp.ClientSession() as session:
            turn = await begun(session, url)
        host, port = "127.0.0.1", int(url.rsplit(":", 1)[1])
        _, writer = await asyncio.open_connection(host, port, limit=1024)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(f"GET {place('', turn)} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await intake.followed(turn["turn"], readers=1)
        for _ in range(40):
            await intake.delta(turn["turn"], "x" * 1_000_000)
        async with asyncio.timeout(10):
            await intake.followed(turn["turn"], readers=0)
        writer.transport.abort()

    assert "accepted" == intake.turns[turn["turn"]].view.status


async def test_a_stream_that_breaks_inside_ends_without_done(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    """The status is out already; the reader sees no end and comes again, the log has the trace."""

    class Broken(FakeIntake):
        async def events(
            self, channel: str, turn_id: str, *, after: int | None = None
        ) -> AsyncGenerator[StreamEvent, None]:
            yield StreamEvent(id=0, name="turn", data=b'{"turn":"1","status":"running"}')
            raise RuntimeError("lost the thread")

    async with serving(Broken(), {"shop": webhook()}) as url:
        response = await client.post(f"{url}/channels/shop", **signed(message(mode="stream")))
        events = parsed(await response.text())

    assert ["turn"] == [name for _, name, _ in events]
    assert "lost the thread" in caplog.text
