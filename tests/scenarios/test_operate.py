"""A running gateway looked at from outside: readiness, figures and logs tell what is so, and nothing that people said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families

from tests.scenarios.stage import Held, Stage, echo, stage
from tests.scenarios.world import SECRET, Gateway, Hook, Prompt, Refusal, gateway, locked, model_server, write_config
from tests.services import Postgres, as_admin, running_postgres

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: one, retries: 0, api_key: "sk-canary-key-0123456789"}
  lost: {kind: openai, base_url: "http://127.0.0.1:9/v1", model: two, retries: 0}
database: {timeout_s: 3}
queue: {poll_s: 0.2}
memory: {model: none}
defaults: {limits: {per_minute: 100000, message_chars: 200}}
channels:
  hook:
    kind: webhook
    secrets: ["${HOOK}"]
    trigger: [mention]
    observe: true
    agents: [default, lost]
    rooms: {down: {agent: lost}, saved: {agent: lost, fallback: default}, busy: {trigger: [always]}}
  page: {kind: console}
"""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """A gateway that logs all it can."""
    async with stage(tmp_path_factory.mktemp("operate"), BODY, server="log_level: debug") as running:
        yield running


@pytest.fixture(autouse=True)
def _echo(request: pytest.FixtureRequest) -> None:
    if "world" in request.fixturenames:
        request.getfixturevalue("world").play(echo)


async def ready(session: aiohttp.ClientSession, gateway: Gateway) -> tuple[int, dict[str, Any]]:
    async with session.get(f"{gateway.url}/readyz") as response:
        return response.status, await response.json()


async def figures(world: Stage) -> dict[tuple[str, ...], float]:
    """Every sample, by name and label values in the order of the labels' names."""
    async with world.session.get(f"{world.gateway.url}/metrics") as response:
        assert 200 == response.status
        families = text_string_to_metric_families(await response.text())
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in families
        for sample in family.samples
    }


async def test_readiness_names_what_is_down(world: Stage) -> None:
    """One agent that can't be reached is named; the gateway stays ready while another one works."""
    status, told = await ready(world.session, world.gateway)
    async with world.session.get(f"{world.gateway.url}/healthz") as response:
        alive = response.status

    assert [200, 200] == [alive, status], told
    checks = told["checks"]
    assert ["ok"] * 5 == [checks[part] for part in ("store", "queue", "agent default", "channel hook", "channel page")]
    assert "ok" != checks["agent lost"]
    assert [line for line in world.gateway.log if "not in order" in line and '"part":"agent lost"' in line]


async def test_figures_move_and_name_nobody(world: Stage) -> None:
    """Turns, errors, tokens, times and sends are counted by channel and agent; no id and no word is a label."""
    before = await figures(world)
    hook = world.hook()
    await hook.say("canary-figure", sender="canary-person", conversation="canary-room")
    await hook.say("canary-figure", sender="canary-person", conversation="down")
    await hook.say("canary-figure", sender="canary-person", conversation="saved")
    await hook.say("overheard canary", sender="canary-person", conversation="canary-group", chat_type="group")
    after = await figures(world)

    def grown(*sample: str) -> float:
        return after[sample] - before.get(sample, 0)

    assert 1 == grown("clew_turns_total", "default", "hook", "answered", "private")
    assert 1 == grown("clew_turns_total", "lost", "hook", "failed", "agent_unavailable")
    assert 1 == grown("clew_turns_total", "lost", "hook", "answered", "private")
    assert 1 == grown("clew_turns_total", "", "hook", "observed", "observe")
    assert 2 == grown("clew_agent_errors_total", "lost", "agent_unavailable")
    assert 3 == grown("clew_delivered_seconds_count", "hook")
    assert 3 == sum(grown("clew_replied_seconds_count", agent, "hook") for agent in ("default", "lost"))
    assert 2 == grown("clew_first_token_seconds_count", "default", "hook")
    assert 0 == after["clew_inbox_waiting",]
    assert after["process_resident_memory_bytes",] > 1_000_000
    assert not [sample for sample in after if any("canary" in part for part in sample)]


async def test_logs_hold_ids_and_no_content(world: Stage) -> None:
    """A whole conversation with commands, groups, refusals and failures: every line is JSON; a turn's lines carry its id,
    channel and agent; no text, name, token or secret stands anywhere, at debug level either."""
    seen = len(world.gateway.log)

    def script(prompt: Prompt) -> str | Refusal:
        said = prompt[-1]["content"]
        if "refuse" in said:
            return Refusal(400, code="canary code " + said)
        return "" if "silent" in said else f"canary-reply 回复 {said}"

    world.play(script)
    hook, turns = world.hook(), []
    words = ("canary-text 你好 🙂", "canary refuse", "canary silent", "/memory", "/agent lost", "/agent nobody-canary",
             "canary-text again", "/agent default", "/new canary-text", "x canary" * 50, "/帮助")  # fmt: skip
    for text in words:
        turns.append(await hook.say(text, sender="u1", name="canary-name 小博", conversation="c9"))
    for mode in ("sync", "async", "stream"):
        body = message(f"canary {mode}", mode, room="busy")
        await posted(world, body)
    await posted(world, message("overheard canary", "sync", room="elsewhere"))
    broken = {"conversation": "c", "canary-field": 1}
    assert 422 == (await hook.post(broken))[0]
    async with world.session.get(f"{world.gateway.url}/channels/hook/turns/1?token=canary-token") as response:
        assert 404 == response.status

    logged = world.gateway.log[seen:]
    lines = [json.loads(line) for line in logged]
    text = "\n".join(logged)
    for secret in ("canary", "你好", "小博", SECRET, *(turn["token"] for turn in turns)):
        assert secret not in text, [line for line in logged if secret in line][:3]
    replied = {line["turn"]: line for line in lines if line["event"] == "turn replied"}
    for turn in turns:
        line = replied[int(turn["turn"])]
        assert {"channel": "hook", "level": "info"} == {name: line[name] for name in ("channel", "level")}
        assert line["agent"] in ("default", "lost")
    failed = [line for line in lines if line["event"] == "agent failed"]
    assert failed
    assert all({"turn", "channel", "agent", "code"} <= line.keys() for line in failed)
    loads = [line for line in lines if line["event"] == "memory loaded"]
    assert loads
    assert all({"turn", "channel", "agent"} <= line.keys() for line in loads)


def message(text: str, mode: str, *, room: str) -> dict[str, Any]:
    return {
        "conversation": room, "chat_type": "private" if room == "busy" else "group", "mode": mode,
        "sender": {"id": "u2", "name": "canary-name"}, "message": {"id": text, "text": text},
    }  # fmt: skip


async def posted(world: Stage, body: dict[str, Any]) -> None:
    """Post, and read whatever comes to its end."""
    with suppress(aiohttp.ContentTypeError):  # a stream
        await world.hook().post(body)


async def test_the_lag_is_told(world: Stage) -> None:
    """What waits is counted, with the age of the oldest, by readiness and by the figures alike."""
    held = Held()
    world.play(held)
    hook = world.hook()
    first = await hook.say("one", conversation="lag", mode="async")
    await hook.shown(first, held.first)
    second = await hook.say("two", conversation="lag", mode="async")
    status, told = await ready(world.session, world.gateway)
    now = await figures(world)
    held.go_on.set()
    await hook.settled(first)
    await hook.settled(second)
    _, after = await ready(world.session, world.gateway)

    assert 200 == status
    assert told["lag_s"] >= 0
    assert (1, 1) == (now["clew_inbox_waiting",], now["clew_inbox_running",])
    assert after.get("lag_s") is None


async def test_a_store_that_takes_no_writes(world: Stage) -> None:
    """Readiness fails and says why, messages are refused with a time to come again; when the store is back all is well."""
    hook = world.hook()
    await hook.say("before", conversation="locked")
    with locked(world.database):
        status, told = await ready(world.session, world.gateway)
        refused, problem = await hook.post(
            {"conversation": "locked", "chat_type": "private", "sender": {"id": "u1"},
             "message": {"id": "again", "text": "while locked"}, "mode": "sync"}
        )  # fmt: skip
    turn = await hook.say("while locked", conversation="locked", message_id="again")
    status_after, _ = await ready(world.session, world.gateway)

    assert (503, False) == (status, told["ready"])
    assert "ok" != told["checks"]["store"]
    assert (503, "unavailable") == (refused, problem["code"])
    assert ("answered", 200) == (turn["status"], status_after)


async def test_every_agent_down(tmp_path: Path) -> None:
    """Nobody can answer: not ready, and each agent is named with its reason."""
    body = BODY.replace("MODEL", "http://127.0.0.1:9/v1")
    async with gateway(write_config(tmp_path, body)) as running, aiohttp.ClientSession() as session:
        status, told = await ready(session, running)

    assert (503, False) == (status, told["ready"])
    assert "ok" == told["checks"]["store"]
    assert "ok" not in (told["checks"]["agent default"], told["checks"]["agent lost"])


@pytest.fixture(scope="module")
def own_postgres() -> Any:
    with running_postgres() as server:
        yield server


async def test_postgres_restarts_under_the_gateway(own_postgres: Postgres, tmp_path: Path) -> None:
    """While it is away the gateway is not ready and takes nothing; when it is back, the turn under way is answered, what
    waited too, and nothing was lost or said twice."""
    held = Held()
    async with model_server(held) as model, aiohttp.ClientSession() as session:
        body = BODY.replace("MODEL", model.url).replace("trigger: [mention]", "busy: queue")
        config = write_config(tmp_path, body, storage=own_postgres.url("postgres"))
        async with gateway(config) as running:
            hook = Hook(session, running)
            first = await hook.say("one", conversation="pg", mode="async")
            await hook.shown(first, held.first)
            second = await hook.say("two", conversation="pg", mode="async")
            own_postgres.stop()
            status, told = await ready(session, running)
            refused, _ = await hook.post(
                {"conversation": "pg", "chat_type": "private", "sender": {"id": "u1"}, "mode": "async",
                 "message": {"id": "m3", "text": "three"}}
            )  # fmt: skip
            own_postgres.start()
            held.go_on.set()
            model.script = echo
            async with asyncio.timeout(60):
                while (await ready(session, running))[0] != 200:
                    pass
            third = await hook.say("three", conversation="pg", message_id="m3")
            settled = [await hook.settled(turn) for turn in (first, second)]
            code = await running.stop()

    assert (503, 503) == (status, refused)
    assert "ok" not in (told["checks"]["store"], told["checks"]["queue"])
    assert ["answered"] * 3 == [turn["status"] for turn in (*settled, third)]
    assert ["one", "two", "three"] == [message["content"] for message in model.prompts[-1] if message["role"] == "user"]
    assert 0 == code


async def test_a_role_above_row_level_security_is_warned_of(postgres_url: str, tmp_path: Path) -> None:
    """The second wall holds for plain roles only; the gateway works without it, and says so."""
    told = {}
    async with aiohttp.ClientSession() as session:
        for url in (postgres_url, as_admin(postgres_url)):
            config = write_config(tmp_path, "agents: {default: {kind: demo}}\ndefaults: {agent: default}", storage=url)
            async with gateway(config) as running:
                told[url] = await ready(session, running)

    (status, plain), (status_above, above) = told.values()
    assert (200, 200) == (status, status_above)
    assert {} == plain.get("warnings", {})
    assert "'postgres' is above row-level security" in above["warnings"]["store"]


async def test_retention_runs_as_it_is_set(tmp_path: Path) -> None:
    """Finished rows and ledgers whose days are over are deleted, and counted; what people said stays (openclaw#88005)."""
    retention = "retention: {queue_days: 0.000001, ledger_days: 0.000001, every_s: 0.1}"
    async with stage(tmp_path, f"{BODY}\n{retention}") as own:
        await own.hook().say("kept for ever", conversation="old")
        async with asyncio.timeout(30):
            while not (await figures(own)).get(("clew_retention_deleted_total", "ledger")):
                pass
        turn = await own.hook().say("what did I say?", conversation="old")

    assert "answered" == turn["status"]
    assert ["kept for ever", "what did I say?"] == [
        message["content"] for message in own.model.prompts[-1] if message["role"] == "user"
    ]
