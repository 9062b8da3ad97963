"""Stopping in good order: what runs is finished, what waits is answered after the next start, nobody is left without a word."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import aiohttp

from tests.scenarios.conftest import HOOK
from tests.scenarios.stage import Held, echo
from tests.scenarios.world import Gateway, Hook, gateway, model_server, write_config


def body(model: str) -> str:
    return f"""
agents: {{default: {{kind: openai, base_url: "{model}", model: stub}}}}
queue: {{poll_s: 0.2}}
defaults: {{busy: queue}}
channels: {HOOK}"""


def config_of(folder: Path, model: str, *, stop_s: float, storage: str | None = None) -> Path:
    """Settings with a deadline for the end."""
    return write_config(folder, body(model), storage=storage, server=f"stop_s: {stop_s}")


async def draining(session: aiohttp.ClientSession, gateway: Gateway) -> dict[str, Any]:
    """Wait until the gateway says that it is about to stop."""
    async with asyncio.timeout(30):
        while True:
            async with session.get(f"{gateway.url}/readyz") as response:
                told: dict[str, Any] = await response.json()
                if response.status == 503:
                    return told


async def test_stopping_under_load(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """Turns that run are answered to those who wait for them; the others are told 202 and answered after the next start."""
    held, rooms = Held(), [f"房间 {number}" for number in range(10)]
    async with model_server(held) as model:
        config = config_of(tmp_path, model.url, stop_s=30)
        async with gateway(config) as first:
            hook = Hook(session, first)
            running = [asyncio.create_task(hook.say(f"first in {room}", conversation=room)) for room in rooms]
            while len(model.prompts) < len(rooms):
                model.called.clear()
                await model.called.wait()
            waiting = [asyncio.create_task(hook.say(f"second in {room}", conversation=room)) for room in rooms]
            await waits(session, first, len(rooms))
            first.tell(signal.SIGTERM)
            stopping = await draining(session, first)
            held.go_on.set()
            code = await first.ended()
            answered, told = await asyncio.gather(*running), await asyncio.gather(*waiting)
        model.script = echo
        async with gateway(config) as second:
            settled = [await Hook(session, second).settled(turn) for turn in told]

    assert 0 == code
    assert "stopping" == stopping["checks"]["gateway"]
    assert {held.first + held.rest} == {turn["reply"]["text"] for turn in answered}
    assert {"accepted"} == {turn["status"] for turn in told}
    assert [f"re: second in {room}" for room in rooms] == [turn["reply"]["text"] for turn in settled]
    assert 2 * len(rooms) == len(model.prompts), "one call for each message"


async def waits(session: aiohttp.ClientSession, gateway: Gateway, count: int) -> None:
    """Wait until so many messages wait in the queue."""
    async with asyncio.timeout(30):
        while True:
            async with session.get(f"{gateway.url}/metrics") as response:
                if f"clew_inbox_waiting {count}.0" in await response.text():
                    return


async def test_a_turn_that_is_too_slow(storage: str, tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """Past `stop_s` a turn is broken off and begun again at the next start; its caller is told 202 meanwhile, a reader's stream
    ends with a word, and what waits behind it keeps its order (openclaw#66130)."""
    held = Held()
    async with model_server(held) as model:
        config = config_of(tmp_path, model.url, stop_s=0.3, storage=storage)
        async with gateway(config) as first:
            hook = Hook(session, first)
            sync = asyncio.create_task(hook.say("slow"))
            await model.called.wait()
            behind = await hook.say("behind it", mode="async")
            first.tell(signal.SIGTERM)
            code, slow = await first.ended(), await sync
        held.go_on.set()  # for the server's sake: its caller is gone
        model.script = echo
        async with gateway(config) as second:
            hook = Hook(session, second)
            settled = [await hook.settled(turn) for turn in (slow, behind)]

    assert 0 == code
    assert any("cancelled at the deadline" in line for line in first.log)
    assert slow["status"] in ("accepted", "running")
    assert ["re: slow", "re: behind it"] == [turn["reply"]["text"] for turn in settled]
    assert ["slow", "slow", "behind it"] == [prompt[-1]["content"] for prompt in model.prompts]
    said = [message["content"] for message in model.prompts[-1] if message["role"] == "user"]
    assert ["slow", "behind it"] == said, "said once, however often begun"


async def test_an_idle_gateway_stops_at_once(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """Nothing to finish: open connections and the deadline do not hold it up, nothing is logged as wrong."""
    async with model_server(echo) as model:
        config = config_of(tmp_path, model.url, stop_s=300)
        async with gateway(config) as running:
            await Hook(session, running).say("hello")
            code = await running.stop()

    assert 0 == code
    assert not [line for line in running.log if '"level":"info"' not in line]


async def test_a_second_signal_changes_nothing(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """Ctrl-C ends as orderly as SIGTERM, and an impatient second one does not cost the answer that is being written."""
    held = Held()
    async with model_server(held) as model:
        config = config_of(tmp_path, model.url, stop_s=30)
        async with gateway(config) as running:
            sync = asyncio.create_task(Hook(session, running).say("hello"))
            await model.called.wait()
            running.tell(signal.SIGINT)
            await draining(session, running)
            running.tell(signal.SIGTERM)
            running.tell(signal.SIGINT)
            held.go_on.set()
            code, turn = await running.ended(), await sync

    assert 0 == code
    assert "answered" == turn["status"]
