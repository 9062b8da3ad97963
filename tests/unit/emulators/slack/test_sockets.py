"""The local Slack's Socket Mode, as the real SDK's client and Bolt meet it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from tests.emulators.slack.apps import App, Bot
from tests.emulators.slack.clock import SteppedClock
from tests.emulators.slack.server import Slack, slack
from tests.unit.emulators.slack.world import World, client, world

Frame = dict[str, Any]


@pytest.fixture
async def here(monkeypatch: pytest.MonkeyPatch, clock: SteppedClock) -> AsyncIterator[World]:
    async with world(monkeypatch, clock=clock, socket_mode=True) as built:
        yield built


@asynccontextmanager
async def connected(
    here: World, *, ping_s: float = 10
) -> AsyncIterator[tuple[SocketModeClient, list[SocketModeRequest]]]:
    """The SDK's client, connected; the requests it got and acknowledged. `ping_s`: its watchdog looks so often."""
    got: list[SocketModeRequest] = []

    async def take(client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        got.append(request)
        await client.send_socket_mode_response(SocketModeResponse(request.envelope_id))

    sdk = SocketModeClient(app_token=here.app.app_token, web_client=app_level(here), ping_interval=ping_s)
    sdk.socket_mode_request_listeners.append(take)
    try:
        await sdk.connect()  # type: ignore[no-untyped-call]
        yield sdk, got
    finally:
        await sdk.close()  # type: ignore[no-untyped-call]


def app_level(here: World) -> AsyncWebClient:
    return AsyncWebClient(base_url=here.platform.api_url)


@asynccontextmanager
async def by_hand(here: World) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A bare socket, past its `hello`."""
    url = (await app_level(here).apps_connections_open(app_token=here.app.app_token))["url"]
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        assert "hello" == (await socket.receive_json())["type"]
        yield socket


async def test_an_event_goes_over_the_socket_and_is_acknowledged(here: World) -> None:
    """The SDK's client gets the envelope; nothing goes to the URL."""
    async with connected(here) as (_, got):
        await here.ann.says(here.general, f"{here.bot.mention} 你好")
        await here.platform.settled()

    assert ["events_api", "events_api"] == [request.type for request in got]
    assert ["message", "app_mention"] == [request.payload["event"]["type"] for request in got]
    assert [0, 0] == [request.retry_attempt for request in got]
    assert all(delivery.acked for delivery in here.app.deliveries)
    assert [] == here.heard.received


async def test_frames_have_the_fields_of_known_ones(here: World) -> None:
    """`hello` tells how many are connected; an envelope has what the SDK's own test server sends."""
    url = (await app_level(here).apps_connections_open(app_token=here.app.app_token))["url"]
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        hello = await socket.receive_json()
        await here.ann.says(here.general, "hi")
        envelope = await socket.receive_json()
        await socket.send_json({"envelope_id": envelope["envelope_id"]})
        await here.platform.settled()

    assert (1, here.app.id) == (hello["num_connections"], hello["connection_info"]["app_id"])
    assert {
        "envelope_id",
        "payload",
        "type",
        "accepts_response_payload",
        "retry_attempt",
        "retry_reason",
    } == set(envelope)
    assert envelope["envelope_id"] == here.app.deliveries[0].envelope_id


async def test_a_ticket_is_good_once(here: World) -> None:
    """A used or invented one, and a host that is leaving, are refused; the next ticket works."""
    url = (await app_level(here).apps_connections_open(app_token=here.app.app_token))["url"]
    statuses = []
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url):
            pass
        for again in (url, url.replace("ticket=", "ticket=x"), url.replace(here.app.id, "A0NOBODY")):
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await session.ws_connect(again)
            statuses.append(caught.value.status)
    here.app.sockets.refuse = 1
    fresh = (await app_level(here).apps_connections_open(app_token=here.app.app_token))["url"]
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(fresh)
        async with session.ws_connect(fresh) as socket:
            assert "hello" == (await socket.receive_json())["type"]

    assert [408, 408, 404] == statuses
    assert [True, False, False, False, True] == [let_in for _, let_in in here.app.sockets.handshakes]


async def test_an_envelope_without_ack_comes_again_with_another_id(here: World, clock: SteppedClock) -> None:
    """Same event id, new envelope id, its number and the reason (slackapi/bolt-js#2487, #2188)."""
    async with by_hand(here) as socket:
        await here.ann.says(here.general, "hello?")
        first = await socket.receive_json()
        await clock.advance(3)
        second = await socket.receive_json()
        await socket.send_json({"envelope_id": first["envelope_id"]})
        await socket.send_json({"envelope_id": second["envelope_id"]})
        await here.platform.pusher.settled(late=True)

    assert first["payload"]["event_id"] == second["payload"]["event_id"]
    assert first["envelope_id"] != second["envelope_id"]
    assert [(0, ""), (1, "timeout")] == [(one["retry_attempt"], one["retry_reason"]) for one in (first, second)]
    assert [("timeout", True), (None, False)] == [(one.failed, one.late) for one in here.app.deliveries]


async def test_an_acknowledged_envelope_can_come_twice(here: World) -> None:
    """At least once, by option."""
    here.app.twice = 1
    async with connected(here) as (_, got):
        await here.ann.says(here.general, "once")
        await here.platform.settled()

    assert 2 == len(got) == len({request.envelope_id for request in got})
    assert 1 == len({request.payload["event_id"] for request in got})


async def test_without_a_socket_an_event_waits_for_its_next_try(here: World, clock: SteppedClock) -> None:
    """A gateway that comes back within the schedule misses nothing."""
    await here.ann.says(here.general, "anybody?")
    await here.platform.pusher.resting()
    async with connected(here) as (_, got):
        await here.app.sockets.connected()
        await clock.advance(60)
        await here.platform.settled()

    assert ["anybody?"] == [request.payload["event"]["text"] for request in got]
    assert ["connection_failed", "connection_failed", None] == [one.failed for one in here.app.deliveries]


@pytest.mark.parametrize("how", ["refresh_requested", "warning", "cut"])
async def test_the_client_connects_anew(here: World, how: str) -> None:
    """Asked to, warned, or simply cut off: a new ticket, and events go on."""
    async with connected(here, ping_s=0.3) as (_, got):
        [old] = await here.app.sockets.connected()
        if how == "cut":
            old.cut()
        else:
            await old.disconnect("warning" if how == "warning" else "refresh_requested")
        await asyncio.wait_for(old.closed.wait(), 5)
        await here.app.sockets.connected()
        await here.ann.says(here.general, "still there?")
        await here.platform.settled()

    assert ["still there?"] == [request.payload["event"]["text"] for request in got]
    assert 2 <= len({ticket for ticket, let_in in here.app.sockets.handshakes if let_in})


async def test_a_half_closed_socket_is_dead_without_saying_so(here: World) -> None:
    """Pings are not answered; the SDK's watchdog gives it up after a while (slackapi/python-slack-sdk#1110)."""
    async with connected(here, ping_s=0.3) as (_, got):
        [old] = await here.app.sockets.connected()
        old.half_close()
        await here.app.sockets.connected(2)
        old.cut()
        await here.app.sockets.connected(1)
        await here.ann.says(here.general, "hello again")
        await here.platform.settled()

    assert ["hello again"] == [request.payload["event"]["text"] for request in got]


async def test_what_is_sent_to_a_deaf_socket_comes_again(here: World, clock: SteppedClock) -> None:
    """It is lost on the way, twice; the next try finds the socket that has come instead."""
    async with by_hand(here):
        [deaf] = await here.app.sockets.connected()
        deaf.half_close()
        await here.ann.says(here.general, "lost?")
        for _ in range(2):
            await clock.asleep()
            await clock.advance(3)
        await here.platform.pusher.resting()
        deaf.cut()
        await here.app.sockets.connected(0)
    async with connected(here) as (_, got):
        await here.app.sockets.connected()
        await clock.advance(60)
        await here.platform.settled()

    assert ["timeout", "timeout", None] == [one.failed for one in here.app.deliveries]
    assert [2] == [request.retry_attempt for request in got]


async def test_switching_socket_mode_off_ends_it(here: World) -> None:
    """Every socket is told, and no more tickets are given."""
    async with by_hand(here) as socket:
        await here.app.sockets.connected()
        await here.app.sockets.turn_off()
        told = await socket.receive_json()

    assert ("disconnect", "link_disabled") == (told["type"], told["reason"])
    with pytest.raises(SlackApiError):
        await app_level(here).apps_connections_open(app_token=here.app.app_token)


async def test_each_event_goes_to_one_of_the_sockets(here: World) -> None:
    """Ten at most; a random one gets each event, so replicas share the stream and see none twice."""
    here.platform.pusher.in_order = False
    url = (await app_level(here).apps_connections_open(app_token=here.app.app_token))["url"]
    async with connected(here) as (_, one), connected(here) as (_, two):
        await here.app.sockets.connected(2)
        for number in range(20):
            await here.ann.says(here.general, str(number))
        await here.platform.settled()
        async with aiohttp.ClientSession() as session:
            extra = [await session.ws_connect(await _fresh(here)) for _ in range(8)]
            await here.app.sockets.connected(10)
            eleventh = await session.ws_connect(url)
            await eleventh.receive_json()
            told = await eleventh.receive_json()
            for socket in extra:
                await socket.close()

    assert sorted(map(str, range(20))) == sorted(request.payload["event"]["text"] for request in one + two)
    assert one
    assert two
    assert "too_many_websockets" == told["reason"]


async def test_a_slash_command_takes_an_answer_in_its_ack(here: World) -> None:
    """`accepts_response_payload`: what the acknowledgement carries is the command's answer."""
    async with by_hand(here) as socket:
        running = asyncio.ensure_future(here.ann.runs(here.app, here.general, "/clew", "help"))
        envelope = await socket.receive_json()
        await socket.send_json({"envelope_id": envelope["envelope_id"], "payload": {"text": "Ask me anything"}})
        delivery = await running

    assert ("slash_commands", True) == (envelope["type"], envelope["accepts_response_payload"])
    assert ("/clew", "help") == (envelope["payload"]["command"], envelope["payload"]["text"])
    assert {"text": "Ask me anything"} == json.loads(delivery.body)


async def test_bolt_answers_over_a_socket(here: World) -> None:
    """slack-bolt's own handler, connected, hears and answers."""
    bolt = AsyncApp(signing_secret="unused", client=here.web)

    async def echo(event: dict[str, Any], say: Any) -> None:
        await say(text=f"echo: {event['text']}", thread_ts=event["ts"])

    bolt.event("message")(echo)
    handler = AsyncSocketModeHandler(bolt, here.app.app_token, web_client=app_level(here))
    try:
        await handler.connect_async()  # type: ignore[no-untyped-call]
        ts = await here.ann.says(here.general, "hello")
        reply = await here.general.reply(here.bot, after=ts)
        await here.platform.settled()
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]

    assert ("echo: hello", ts) == (reply.shown, reply.thread_ts)


async def _fresh(here: World) -> str:
    url: str = (await app_level(here).apps_connections_open(app_token=here.app.app_token))["url"]
    return url


async def test_the_readmes_scene_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the README shows to the next channel's author runs as it stands there."""

    @asynccontextmanager
    async def my_bot(platform: Slack, app: App, bot: Bot) -> AsyncIterator[None]:
        async def answer(sdk: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
            await sdk.send_socket_mode_response(SocketModeResponse(request.envelope_id))
            event = request.payload["event"]
            if event["type"] == "app_mention":
                await client(bot).chat_postMessage(channel=event["channel"], text="No.", thread_ts=event["ts"])

        web = AsyncWebClient(base_url=platform.api_url)
        sdk = SocketModeClient(app_token=app.app_token, web_client=web)
        sdk.socket_mode_request_listeners.append(answer)
        await sdk.connect()  # type: ignore[no-untyped-call]
        try:
            yield
        finally:
            await sdk.close()  # type: ignore[no-untyped-call]

    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    readme = (Path(__file__).parents[3] / "emulators" / "slack" / "README.md").read_text()
    names: dict[str, Any] = {"slack": slack, "my_bot": my_bot}
    exec(readme.split("```python\n")[1].split("```")[0], names)
    await names["scene"]()
