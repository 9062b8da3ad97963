"""The webhook through the whole gateway: a real process, its store, and a model that answers as the test lets it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.scenarios.world import SECRET, Gateway, Hook, ModelServer, gateway, model_server, numbered, sse, write_config
from tests.serving import JWT_SECRET, bearer, message, signed, token

CHANNELS = """
agents: {{default: {{kind: openai, base_url: "{model}", api_key: "${{KEY}}"}}}}
defaults: {{limits: {{per_minute: 100000}}}}
channels:
  hook: {{kind: webhook, secrets: ["${{HOOK}}"], sync_s: {sync_s}}}
  api: {{kind: webhook, jwt: {{algorithms: [HS256], issuer: "https://id.example", audience: clew, secret: "${{JWT}}"}}}}
"""


class Gate:
    """A model that says "one ", waits until it is let on, and says "two"."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def pieces(self) -> AsyncIterator[str]:
        yield "一 one "
        await self.open.wait()
        yield "two 二"


@pytest.fixture
async def gate() -> Gate:
    return Gate()


@pytest.fixture
async def model(gate: Gate) -> AsyncIterator[ModelServer]:
    async with model_server(lambda request: gate.pieces()) as server:
        yield server


@pytest.fixture
async def running(tmp_path: Path, model: ModelServer) -> AsyncIterator[Gateway]:
    config = write_config(tmp_path, CHANNELS.format(model=model.url, sync_s=0.3))
    async with gateway(config, KEY="k", JWT=JWT_SECRET) as process:
        yield process


async def read(response: aiohttp.ClientResponse) -> list[tuple[str, Any]]:
    return [event async for event in sse(response)]


async def test_one_message_in_every_mode_is_one_turn_and_one_model_call(
    running: Gateway, model: ModelServer, gate: Gate, session: aiohttp.ClientSession
) -> None:
    """Posted, waited for, followed, cut off, resumed, collected; the same turn throughout (DESIGN 9)."""
    url = f"{running.url}/channels/hook"
    streaming = await session.post(url, **signed(message(mode="stream"), secret=SECRET))
    events = numbered(streaming)
    first = [await anext(events) for _ in range(2)]
    turn, token_ = first[0][2]["turn"], first[0][2]["token"]
    waited = await session.post(url, **signed(message(), secret=SECRET, delivery="msg_2"))
    pending = await waited.json()
    streaming.close()
    resumed = await session.get(f"{url}/turns/{turn}/events?token={token_}", headers={"Last-Event-ID": first[-1][0]})
    gate.open.set()
    rest = await read(resumed)
    collected = await session.get(
        f"{running.url}{waited.headers['Location']}", headers={"Authorization": f"Bearer {token_}"}
    )
    again = await session.post(url, **signed(message(mode="async"), secret=SECRET, delivery="msg_3"))
    conflict = await session.post(url, **signed(message("another"), secret=SECRET, delivery="msg_4"))

    assert [("turn", True), ("delta", True)] == [(name, bool(data)) for _, name, data in first]
    assert (202, turn, token_) == (waited.status, pending["turn"], pending["token"])
    assert ("done", "一 one two 二") == (rest[-1][0], rest[-1][1]["reply"]["text"])
    assert "two 二" == "".join(data["text"] for name, data in rest if name == "delta")
    assert "一 one two 二" == (await collected.json())["reply"]["text"]
    assert (200, turn) == (again.status, (await again.json())["turn"])
    assert 409 == conflict.status
    assert 1 == len(model.prompts)


async def test_a_token_of_one_turn_or_channel_opens_no_other(
    running: Gateway, gate: Gate, session: aiohttp.ClientSession
) -> None:
    """Wrong id, channel and token look alike."""
    gate.open.set()
    hook = Hook(session, running)
    one, two = await hook.say("hi", sender="alice"), await hook.say("hi", sender="bob")
    paths = [
        f"hook/turns/{one['turn']}",
        f"hook/turns/{two['turn']}",
        f"api/turns/{one['turn']}",
        "hook/turns/1",
        "hook/turns/x",
    ]
    answers = [await session.get(f"{running.url}/channels/{path}?token={one['token']}") for path in paths]

    assert [200, 404, 404, 404, 404] == [answer.status for answer in answers]
    assert 1 == len({await answer.text() for answer in answers[1:]})


async def test_a_bearers_private_room_is_its_own(
    running: Gateway, gate: Gate, model: ModelServer, session: aiohttp.ClientSession
) -> None:
    """Two subjects name one private room: two memories (field-reports 1 A, openclaw/openclaw#7215; B33)."""
    gate.open.set()
    for number, (who, text) in enumerate(
        [("alice", "my code is 1234"), ("bob", "what is my code?"), ("alice", "and now?")]
    ):
        body = message(text, sender=None, message={"id": f"m-{number}", "text": text})
        response = await session.post(f"{running.url}/channels/api", **bearer(body, token(sub=who)))
        assert response.status == 200

    prompts = [json.dumps(prompt) for prompt in model.prompts]
    assert "1234" not in prompts[1]
    assert "1234" in prompts[2]


async def test_a_changed_channel_is_swapped_without_a_dropped_call(
    running: Gateway, gate: Gate, session: aiohttp.ClientSession
) -> None:
    """Calls go on through a reload; a removed channel is gone, a secret that was withdrawn stops working
    (openclaw/openclaw#137591, #70524)."""
    gate.open.set()
    hook = Hook(session, running)
    statuses: list[int] = []
    swapped = asyncio.Event()

    async def talk() -> None:
        """Say something, again and again, until a few calls after the swap."""
        after = 0
        while after < 5:
            after += swapped.is_set()
            said = {"id": f"n-{len(statuses)}", "text": "hi"}
            call = message(message=said, mode="async", sender={"id": f"u{len(statuses)}"})
            statuses.append((await hook.post(call))[0])

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(talk())
        text = running.config.read_text("utf-8").replace("sync_s: 0.3", "sync_s: 5")
        kept = "\n".join(line for line in text.splitlines() if not line.startswith("  api:"))
        running.config.write_text(kept + "\n", "utf-8")
        while (await session.post(f"{running.url}/channels/api")).status != 404:
            await asyncio.sleep(0.05)  # the gateway tells nobody that it has taken a change over
        swapped.set()

    assert {202} == set(statuses)


async def test_a_stopping_gateway_lets_readers_hear_the_end(
    running: Gateway, gate: Gate, session: aiohttp.ClientSession
) -> None:
    """A turn that runs gets `server.stop_s` to finish, and its reader the rest of it (openclaw/openclaw#66130)."""
    streaming = await session.post(f"{running.url}/channels/hook", **signed(message(mode="stream"), secret=SECRET))
    events = sse(streaming)
    await anext(events)
    await anext(events)
    stopping = asyncio.create_task(running.stop())
    await asyncio.sleep(0)  # the signal is sent
    gate.open.set()
    rest = [event async for event in events]

    assert 0 == await stopping
    assert ("done", "一 one two 二") == (rest[-1][0], rest[-1][1]["reply"]["text"])
