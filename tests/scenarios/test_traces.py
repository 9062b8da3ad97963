"""A turn as an OpenTelemetry collector sees it: whole, found again over the stored rows, and without a word of what was said."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.traces import root_id, trace_id
from tests.emulators.collector import Collector, collector
from tests.scenarios.stage import Held, Stage, echo, stage
from tests.scenarios.world import Refusal, gateway

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: one, retries: 0}
telemetry: {traces_url: "COLLECTOR", headers: {x-key: "secret-of-the-collector"}, service_name: test-clew, timeout_s: 2}
queue: {poll_s: 0.2}
memory: {model: none}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 100000}}
"""
ALL = ("accept", "turn", "load", "ask", "append", "store", "learn")

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Watched:
    stage: Stage
    collector: Collector


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Watched]:
    async with collector() as watching:
        body = BODY.replace("COLLECTOR", watching.url)
        async with stage(tmp_path_factory.mktemp("traces"), body, server="log_level: debug") as running:
            yield Watched(running, watching)


@pytest.fixture(autouse=True)
def _echo(world: Watched) -> None:
    world.stage.play(echo)


async def test_a_turn_is_one_trace(world: Watched) -> None:
    """Accepting is the root, its ids come from the turn's; what the turn did stands below it, in order and in time."""
    before_ns = time.time_ns()
    turn = await world.stage.hook().say("how long does this take?")

    spans = await world.collector.seen(*ALL, turn=turn["turn"])
    number = int(turn["turn"])
    accept = spans["accept"]
    assert (f"{trace_id(number):032x}", f"{root_id(number):016x}", "") == (accept.trace, accept.span, accept.parent)
    assert {accept.trace} == {span.trace for span in spans.values()}
    assert {accept.span} == {spans[name].parent for name in ("turn", "learn")}
    assert {spans["turn"].span} == {spans[name].parent for name in ("load", "ask", "append", "store")}
    assert before_ns <= accept.start_ns <= accept.end_ns <= spans["turn"].end_ns
    starts = [spans[name].start_ns for name in ("turn", "load", "ask", "append", "store")]
    assert starts == sorted(starts)
    assert ("hook", "default", "one", "stop") == (
        accept.about["clew.channel"],
        spans["turn"].about["clew.agent"],
        spans["ask"].about["clew.model"],
        spans["ask"].about["clew.finish"],
    )
    assert "test-clew" == world.collector.service["service.name"]
    assert not any(span.failed for span in spans.values())


async def test_no_word_name_or_secret_leaves(world: Watched) -> None:
    """Spans hold ids and names out of the settings: not what people say, who they are, or a key; the key goes out as a header
    and is in no log line."""
    turn = await world.stage.hook().say("my canary word is 鹦鹉xyzzy", sender="canary-account", name="Canary Name")
    await world.collector.seen(*ALL, turn=turn["turn"])

    sent = b"".join(world.collector.raw)
    for secret in ("xyzzy", "鹦鹉", "canary-account", "Canary Name", "secret-of-the-collector", "whsec_"):
        assert secret.encode() not in sent, secret
        assert not [line for line in world.stage.gateway.log if secret in line and "鹦鹉" != secret], secret
    assert {"secret-of-the-collector"} == {headers["x-key"] for headers in world.collector.headers}


async def test_what_fails_is_marked_by_its_type(world: Watched) -> None:
    """An agent that refuses leaves a failed span: its error's type and no word of the service's."""
    world.stage.play(lambda prompt: Refusal(500, "canary-of-the-service"))
    turn = await world.stage.hook().say("fail, please")

    ask = (await world.collector.seen("accept", "turn", "ask", "store", turn=turn["turn"]))["ask"]
    assert (True, "AgentUnavailable") == (ask.failed, ask.about["error.type"])
    assert b"canary-of-the-service" not in b"".join(world.collector.raw)


async def test_a_repeat_joins_its_message(world: Watched) -> None:
    """A message that comes again is a span of the same trace, below its first acceptance."""
    hook = world.stage.hook()
    first = await hook.say("once", message_id="again-1")
    again = await hook.say("once", message_id="again-1")
    await hook.say("something after it", conversation="other")  # so that both have been exported
    await world.collector.seen("accept", "learn", turn=first["turn"])

    async with asyncio.timeout(30):
        while len(accepts := [one for one in world.collector.spans if one.about.get("clew.turn") == first["turn"] and one.name == "accept"]) < 2:  # noqa: E501  # fmt: skip
            await hook.say("more", conversation="other")
    assert first["turn"] == again["turn"]
    assert 1 == len({one.trace for one in accepts})
    assert {"", f"{root_id(int(first['turn'])):016x}"} == {one.parent for one in accepts}


async def test_messages_answered_together_are_linked(world: Watched) -> None:
    """What a turn collected has traces of its own, to which the turn's span links."""
    held = Held()
    world.stage.play(held)
    world.stage.model.called.clear()
    hook = world.stage.hook()
    running = await hook.say("first", conversation="joined", mode="async")
    async with asyncio.timeout(30):
        await world.stage.model.called.wait()
    second = await hook.say("second", conversation="joined", mode="async")
    third = await hook.say("third", conversation="joined", mode="async")
    held.go_on.set()

    await world.collector.seen("turn", "learn", turn=running["turn"])
    turn = (await world.collector.seen("turn", turn=second["turn"]))["turn"]
    number = int(third["turn"])
    assert ((f"{trace_id(number):032x}", f"{root_id(number):016x}"),) == turn.links


async def test_a_restart_goes_on_with_the_trace(tmp_path: Path) -> None:
    """A turn that was cut off by a kill is answered by the next process, in the trace that the first one began: nothing but the
    stored row carries it over."""
    async with collector() as watching:
        held = Held()
        body = BODY.replace("COLLECTOR", watching.url)
        async with stage(tmp_path, body, script=held) as running:
            turn = await running.hook().say("before the kill", mode="async")
            await watching.seen("accept", turn=turn["turn"])
            async with asyncio.timeout(30):
                await running.model.called.wait()
            await running.gateway.kill()
            running.play(echo)
            async with gateway(running.gateway.config):
                spans = await watching.seen(*ALL, turn=turn["turn"])

    assert 1 == len({span.trace for span in spans.values()})
    assert spans["accept"].span == spans["turn"].parent


async def test_a_collector_that_is_away_costs_no_answer(tmp_path: Path) -> None:
    """Refusing, hanging or gone: people are answered, lost spans are counted, the log says it once, and the gateway ends in
    time."""
    async with collector() as watching:
        watching.status = 400
        body = BODY.replace("COLLECTOR", watching.url)
        async with stage(tmp_path, body) as running:
            for n in (1, 2):
                assert "answered" == (await running.hook().say("while it refuses"))["status"]
                await watching.called(n)
            watching.held = asyncio.Event()
            assert "answered" == (await running.hook().say("while it hangs"))["status"]
            await watching.called(3)
            async with running.session.get(f"{running.gateway.url}/metrics") as response:
                metrics = await response.text()
            began = time.monotonic()
            code = await running.gateway.stop()
            took_s = time.monotonic() - began
            watching.held.set()
            log = [json.loads(line) for line in running.gateway.log]
            complaints = Counter(line["event"] for line in log if line["logger"].startswith("opentelemetry"))

    assert 'clew_spans_total{outcome="failed"}' in metrics
    assert 0 == code
    assert took_s < 15
    assert {1} == set(complaints.values())


async def test_nothing_of_it_is_loaded_unless_asked_for(world: Watched, tmp_path: Path) -> None:
    """Without the setting there are no spans, and OpenTelemetry (whose messages are a library of their own) is not imported."""
    body = "\n".join(line for line in BODY.splitlines() if not line.startswith("telemetry"))
    async with stage(tmp_path, body) as running:
        await running.hook().say("hello")
        loaded = [await asyncio.to_thread(_libraries, one.gateway.pid) for one in (world.stage, running)]

    assert [True, False] == ["_upb" in libraries for libraries in loaded]


def _libraries(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()
