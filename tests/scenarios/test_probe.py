"""The gateway's own message over everybody's way, in the real process: timed, told in /readyz, and without a trace in memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from gateway.probing import QUESTION
from tests.emulators.telegram.errors import forbidden
from tests.emulators.telegram.faults import Fault
from tests.scenarios.platforms import world
from tests.scenarios.stage import Stage, echo, stage
from tests.scenarios.world import Prompt, Refusal, in_folder
from tests.scenarios.world import rows as stored

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: one, retries: 0}
queue: {poll_s: 0.2}
probe: {every_s: 5, channel: hook, within_s: 20}
defaults: {limits: {per_minute: 1}, allow: {people: []}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"]}
"""


async def figures(world: Stage) -> dict[tuple[str, ...], float]:
    async with world.session.get(f"{world.gateway.url}/metrics") as response:
        families = text_string_to_metric_families(await response.text())
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in families
        for sample in family.samples
    }


async def warnings(session: aiohttp.ClientSession, url: str) -> dict[str, str]:
    async with session.get(f"{url}/readyz") as response:
        told: dict[str, str] = (await response.json()).get("warnings", {})
    return told


async def test_a_probe_takes_the_whole_way_and_leaves_nothing(tmp_path: Path) -> None:
    """In a channel where nobody may talk, its one word is asked and answered within the settings' time; memory holds no message,
    scope, person, ledger or fact of it. When the agent is down, /readyz says so and people are kept away by nothing."""
    asked = asyncio.Event()
    broken = False

    def answer(prompt: Prompt) -> str | Refusal:
        asked.set()
        return Refusal(500) if broken else echo(prompt)

    async with stage(tmp_path, BODY, script=answer) as running:
        async with asyncio.timeout(40):
            await asked.wait()
        async with asyncio.timeout(40):
            while not (seen := await figures(running)).get(("clew_probes_total", "hook", "answered")):
                await asyncio.sleep(0.1)
        assert {} == await warnings(running.session, running.gateway.url)
        prompts = list(running.model.prompts)

        broken = True
        await running.gateway.logged("probe not answered", "agent_unavailable")
        told = await warnings(running.session, running.gateway.url)
        spent = set(running.rows("SELECT purpose, channel, room, person, agent, model FROM usage_entries"))
        tables = ("messages", "scopes", "persons", "ledgers", "sessions")
        kept = {table: running.rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables}

    assert [[("system", QUESTION.system), ("user", "ping")]] == [
        [(message["role"], message["content"]) for message in prompt] for prompt in prompts[:1]
    ]
    assert 1 <= seen["clew_probe_seconds_count", "hook"]
    assert seen["clew_probe_seconds_sum", "hook"] < 20
    assert 1 <= seen["clew_turns_total", "default", "hook", "answered", "probe"]
    assert "agent_unavailable" in told["probe"]
    assert dict.fromkeys(tables, 0) == kept
    assert {("probe", "hook", "", 0, "default", "one")} == spent, "its call costs as any does, and is nobody's"


async def test_a_probe_that_a_platform_refuses_is_no_dead_letter(tmp_path: Path) -> None:
    """It fails each time, in the log and in the figures; nothing of it waits for an admin."""
    way = "telegram-polling"
    body = f"queue: {{poll_s: 0.2}}\nprobe: {{every_s: 5, channel: {way}, room: '-100123', within_s: 20}}\n"
    async with world(tmp_path, ways=(way,), body=body) as there:
        there.tg.faults.plan("sendMessage", *[Fault(error=forbidden("bot was kicked from the group chat"))] * 9)
        await there.gateway.logged("probe not answered", "undeliverable")
        dead = stored(in_folder(tmp_path), "SELECT dealt_ms IS NOT NULL FROM inbox_events WHERE state = 'dead'")

    assert [(1,)] == dead
