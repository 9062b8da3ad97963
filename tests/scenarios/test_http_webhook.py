"""The webhook over real HTTP: modes, tokens, duplicates, refusals. The gateway behind it is a fake intake."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from adapters.base import Address
from adapters.errors import AdapterFault
from adapters.webhook.adapter import WebhookAdapter
from config.channels.webhook import WebhookSettings
from tests.fakes import FakeIntake
from tests.serving import JWT_SETTINGS, NEXT_SECRET, SECRET, bearer, message, serving, signed, token, webhook


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield session


def echo() -> FakeIntake:
    return FakeIntake(lambda event: f"you said: {event.text}")


# Modes


async def test_a_sync_call_gets_the_answer(client: aiohttp.ClientSession) -> None:
    """200 with the whole turn, in whatever script it was written (DESIGN 9)."""
    intake = echo()
    async with serving(intake, {"shop": webhook()}) as url:
        response = await client.post(f"{url}/channels/shop", **signed(message("早上好 🌞 — صباح الخير")))
        turn = await response.json()

    assert 200 == response.status
    assert ("answered", "you said: 早上好 🌞 — صباح الخير") == (turn["status"], turn["reply"]["text"])
    assert {"turn", "status", "session", "reply", "token"} == set(turn)
    assert turn["turn"].isdigit()


async def test_a_sync_call_that_takes_too_long_gets_202_and_can_collect_later(client: aiohttp.ClientSession) -> None:
    """The gateway answers before a proxy's 504 would; the turn goes on (platform-facts 3.3)."""
    intake = FakeIntake()
    async with serving(intake, {"shop": webhook(sync_s=0.02)}) as url:
        response = await client.post(f"{url}/channels/shop", **signed(message()))
        pending = await response.json()
        await intake.delta(pending["turn"], "at last")
        await intake.end(pending["turn"])
        place = url + response.headers["Location"]
        by_header = await client.get(place, headers={"Authorization": f"Bearer {pending['token']}"})
        by_query = await client.get(place, params={"token": pending["token"]})

        assert (202, "accepted") == (response.status, pending["status"])
        assert "at last" == (await by_header.json())["reply"]["text"]
        assert await by_header.json() == await by_query.json()
        assert "token" not in await by_query.json()


async def test_a_failed_turn_is_told_as_it_ended(client: aiohttp.ClientSession) -> None:
    """The call worked, the agent did not: 200, with the turn's own error."""
    intake = FakeIntake()
    async with serving(intake, {"shop": webhook()}) as url:
        pending = await (await client.post(f"{url}/channels/shop", **signed(message(mode="async")))).json()
        await intake.end(pending["turn"], code="agent_unavailable")
        response = await client.post(f"{url}/channels/shop", **signed(message()))

        assert (200, "agent_unavailable") == (response.status, (await response.json())["error"]["code"])


async def test_an_async_call_gets_202_at_once(client: aiohttp.ClientSession) -> None:
    """The message is stored; everything else is for later."""
    async with serving(FakeIntake(), {"shop": webhook()}) as url:
        response = await client.post(f"{url}/channels/shop", **signed(message(mode="async")))

        assert (202, "accepted") == (response.status, (await response.json())["status"])


# Duplicates


async def test_the_same_message_gives_the_same_turn_in_whatever_mode(client: aiohttp.ClientSession) -> None:
    """A retry, written another way, in another mode, over another delivery, never runs twice (field-reports 1 F)."""
    intake = echo()
    body = message("你好")
    calls = [
        signed(body),
        signed(body),
        signed(body, delivery="msg_2"),
        signed(body | {"mode": "async"}, delivery="msg_3"),
        signed(json.dumps(dict(reversed(body.items())), ensure_ascii=False, indent=1).encode(), delivery="msg_4"),
        signed(body, secret=NEXT_SECRET),
    ]
    async with serving(intake, {"shop": webhook(secrets=[SECRET, NEXT_SECRET])}) as url:
        turns = [await (await client.post(f"{url}/channels/shop", **call)).json() for call in calls]
        stream = await (await client.post(f"{url}/channels/shop", **signed(body | {"mode": "stream"}))).text()

    assert 1 == len({turn["turn"] for turn in turns})
    assert 1 == len({turn["token"] for turn in turns})
    assert turns[0]["turn"] in stream
    assert 1 == len(intake.messages)


@pytest.mark.parametrize(
    ("changes", "delivery"),
    [
        ({"message": {"id": "m-1", "text": "another text"}}, "msg_2"),
        ({"conversation": "another room"}, "msg_2"),
        ({"message": {"id": "m-2", "text": "hello"}}, "msg_1"),
    ],
)
async def test_the_same_id_with_another_body_is_a_conflict(
    client: aiohttp.ClientSession, changes: dict[str, Any], delivery: str
) -> None:
    """409, for a message id as for a delivery id (platform-facts 0)."""
    async with serving(echo(), {"shop": webhook()}) as url:
        await client.post(f"{url}/channels/shop", **signed(message()))
        response = await client.post(f"{url}/channels/shop", **signed(message(**changes), delivery=delivery))

        assert (409, "conflict") == (response.status, (await response.json())["code"])


async def test_equal_ids_of_two_people_or_channels_are_different_messages(client: aiohttp.ClientSession) -> None:
    """Nobody can occupy another's message ids (DESIGN 9: of the same sender)."""
    intake = echo()
    async with serving(intake, {"shop": webhook(), "help": webhook("help")}) as url:
        turns = [
            (await (await client.post(f"{url}/channels/{channel}", **signed(message(sender={"id": who})))).json())[
                "turn"
            ]
            for channel in ("shop", "help")
            for who in ("alice", "Alice", "爱丽丝")
        ]

    assert 6 == len(set(turns))


# Who calls


async def test_nothing_is_parsed_before_the_caller_is_known(client: aiohttp.ClientSession) -> None:
    """A forged call learns nothing about its body (field-reports 1 N: openclaw/openclaw#32599)."""
    intake = echo()
    json_headers = {"Content-Type": "application/json"}
    async with serving(intake, {"shop": webhook(), "api": webhook("api", secrets=[], jwt=JWT_SETTINGS)}) as url:
        forged = [
            await client.post(f"{url}/channels/shop", data=b"{not json", headers=json_headers),
            await client.post(f"{url}/channels/shop", **bearer(b"{not json", token())),
            await client.post(f"{url}/channels/shop", **signed(b"{not json", secret=NEXT_SECRET)),
            await client.post(f"{url}/channels/api", **signed(b"{not json")),
            await client.post(f"{url}/channels/api", data=b"{not json", headers=json_headers),
            await client.post(f"{url}/channels/api", data=b"", headers=json_headers | {"Authorization": "Basic YTpi"}),
            await client.post(f"{url}/channels/api", **bearer(b"{not json", token("x" * 40))),
        ]
        known = await client.post(f"{url}/channels/shop", **signed(b"{not json"))

    assert [401] * 7 == [response.status for response in forged]
    assert ["Signature", "Bearer"] == [forged[0].headers["WWW-Authenticate"], forged[3].headers["WWW-Authenticate"]]
    assert 400 == known.status
    assert [] == intake.messages


async def test_a_token_speaks_for_its_subject_only(client: aiohttp.ClientSession) -> None:
    """B33: the user comes from the token, never from the body."""
    intake = echo()
    async with serving(intake, {"api": webhook("api", secrets=[], jwt=JWT_SETTINGS, tenant="acme")}) as url:
        own = await client.post(f"{url}/channels/api", **bearer(message(sender=None), token(name="Alice A.")))
        another = await client.post(f"{url}/channels/api", **bearer(message(sender={"id": "bob"}), token()))

    assert [200, 403] == [own.status, another.status]
    (event,) = intake.messages
    assert ("alice", "acme", "Alice A.") == (event.sender.user, event.sender.tenant, event.sender.name)


@pytest.mark.parametrize(
    ("claims", "members", "status"),
    [
        ({"groups": ["room-7"]}, None, 200),
        ({"groups": ["room-8"]}, ["alice"], 403),
        ({}, ["alice"], 200),
        ({}, ["bob"], 403),
        ({}, None, 403),
    ],
)
async def test_a_group_conversation_is_for_its_members(
    client: aiohttp.ClientSession, claims: dict[str, Any], members: list[str] | None, status: int
) -> None:
    """The membership claim of the token, or the endpoint's list, else 403 (DESIGN 2)."""
    channel = webhook("api", secrets=[], jwt=JWT_SETTINGS, members=members)
    async with serving(echo(), {"api": channel}) as url:
        group = await client.post(f"{url}/channels/api", **bearer(message(chat_type="group"), token(**claims)))
        private = await client.post(f"{url}/channels/api", **bearer(message(message={"id": "2", "text": "x"}), token()))

    assert [status, 200] == [group.status, private.status]


async def test_both_kinds_of_credentials_work_side_by_side(client: aiohttp.ClientSession) -> None:
    """A channel may move from the one to the other; each call is judged by what it carries."""
    async with serving(echo(), {"shop": webhook(jwt=JWT_SETTINGS)}) as url:
        by_signature = await client.post(f"{url}/channels/shop", **signed(message()))
        by_token = await client.post(f"{url}/channels/shop", **bearer(message(), token()))
        bad = await client.post(f"{url}/channels/shop", **bearer(message(), token(exp=1)))

    assert [200, 200, 401] == [by_signature.status, by_token.status, bad.status]


def test_a_channel_without_credentials_does_not_start() -> None:
    """An open endpoint would let anybody speak as anybody (LangBot S1)."""
    with pytest.raises(AdapterFault, match="'shop'"):
        WebhookAdapter("shop", settings=WebhookSettings(), members=lambda room, thread: None)


# What is refused


async def test_bodies_that_are_encoded_mistyped_or_too_large_are_refused(client: aiohttp.ClientSession) -> None:
    """415 for what a signature can't be over, 413 at the channel's own limit, announced or not (platform-facts 3.2)."""
    intake = echo()
    large = signed(message("x" * 2000))

    async def pieces() -> AsyncIterator[bytes]:
        yield large["data"]

    zipped = signed(message())
    zipped = {"data": gzip.compress(zipped["data"]), "headers": zipped["headers"] | {"Content-Encoding": "gzip"}}
    text = signed(message())
    text["headers"] |= {"Content-Type": "text/plain"}
    async with serving(intake, {"shop": webhook(body_bytes=1024)}) as url:
        responses = [
            await client.post(f"{url}/channels/shop", **call)
            for call in (zipped, text, large, large | {"data": pieces()}, signed(message("x" * 500)))
        ]

    assert [415, 415, 413, 413, 200] == [response.status for response in responses]
    assert 1 == len(intake.messages)


async def test_a_body_that_does_not_arrive_in_time_is_a_408() -> None:
    """A slow sender holds a connection for body_s at most."""
    import asyncio

    async with serving(echo(), {"shop": webhook(body_s=0.05)}) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
        writer.write(
            b"POST /channels/shop HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
        )
        status = await reader.readline()
        writer.close()

    assert b" 408 " in status


async def test_one_malformed_message_does_not_stop_the_next(client: aiohttp.ClientSession) -> None:
    """Each is refused by itself (platform-facts 0.10)."""
    async with serving(echo(), {"shop": webhook()}) as url:
        statuses = [
            (await client.post(f"{url}/channels/shop", **signed(body, delivery=f"msg_{number}"))).status
            for number, body in enumerate([b"[" * 9999, message(chat_type="x"), b"\xc3\xa9", message()])
        ]

    assert [400, 422, 400, 200] == statuses


async def test_a_full_queue_asks_to_come_again(client: aiohttp.ClientSession) -> None:
    """503 with Retry-After; the same call is accepted later (LangBot S4: never discarded without a word)."""
    intake = echo()
    intake.overloaded = True
    async with serving(intake, {"shop": webhook()}) as url:
        refused = await client.post(f"{url}/channels/shop", **signed(message()))
        intake.overloaded = False
        accepted = await client.post(f"{url}/channels/shop", **signed(message()))

    assert (503, "3") == (refused.status, refused.headers["Retry-After"])
    assert 200 == accepted.status


async def test_a_fault_of_the_gateway_is_a_500_that_tells_nothing(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    """Content and causes stay inside; the log has the trace."""
    intake = echo()
    intake.bug = RuntimeError("disk full")
    async with serving(intake, {"shop": webhook()}) as url:
        response = await client.post(f"{url}/channels/shop", **signed(message("tell nobody")))

        assert 500 == response.status
        assert "disk" not in await response.text()
    assert "disk full" in caplog.text
    assert "tell nobody" not in caplog.text


async def test_an_adapter_that_is_not_running_asks_to_come_again(client: aiohttp.ClientSession) -> None:
    """A request that meets an adapter before it is open, or after it was closed, loses nothing."""
    intake = echo()
    channels: dict[str, Any] = {}
    async with serving(intake, channels) as url:
        channels["shop"] = webhook()
        before = await client.post(f"{url}/channels/shop", **signed(message()))
        async with channels["shop"].running(intake):
            during = await client.post(f"{url}/channels/shop", **signed(message()))
        after = await client.post(f"{url}/channels/shop", **signed(message()))

    assert [503, 200, 503] == [before.status, during.status, after.status]


async def test_tokens_open_their_own_turn_only(client: aiohttp.ClientSession) -> None:
    """A wrong id, channel or token are told apart by nobody."""
    async with serving(echo(), {"shop": webhook(), "help": webhook("help")}) as url:
        one, two = [
            await (await client.post(f"{url}/channels/shop", **signed(message(sender={"id": who})))).json()
            for who in ("alice", "bob")
        ]
        paths = [f"shop/turns/{one['turn']}", f"shop/turns/{two['turn']}", f"help/turns/{one['turn']}", "shop/turns/1"]
        answers = [
            await client.get(f"{url}/channels/{path}{tail}", params={"token": one["token"]})
            for tail in ("", "/events")
            for path in paths
        ]
        bodies = {await answer.text() for answer in answers if answer.status == 404}

    assert [200, 404, 404, 404] * 2 == [answer.status for answer in answers]
    assert 1 == len(bodies)


# Sending


async def test_a_reply_is_delivered_by_standing_ready() -> None:
    """A webhook's caller collects the reply: the receipt comes at once, and the text is never split."""
    channel = webhook()
    text = "段落\n\n```python\nprint(1)\n```\n" * 1000

    assert [text] == channel.chunks(text)
    assert None is (await channel.send(Address(channel="shop", room="r"), text, chunk_id="1")).message_id
    await channel.probe()
