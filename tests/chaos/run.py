"""One chaos run: start everything, let people talk while the plan is carried out, mend everything, wait until nothing moves any
more, and look at what is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import aiohttp
import psycopg

from memory.ids import now_ms
from tests.chaos.acting import Acting
from tests.chaos.by_webhook import HookWay
from tests.chaos.checker import Violation, allowed, check
from tests.chaos.cluster import Cluster, Instance, cluster
from tests.chaos.evidence import Call, canaries, tokens
from tests.chaos.gathering import evidence, still_open
from tests.chaos.people import PUBLIC, Way
from tests.chaos.plan import LINKS, Act
from tests.chaos.talk import answer, lines, places
from tests.chaos.ways import ways_of
from tests.emulators.slack.server import slack
from tests.emulators.telegram.emulator import telegram
from tests.scenarios.world import Hook, ModelServer, Prompt, model_server, write_config
from tests.services import Postgres, Valkey, as_admin

LEASE_S = 3.0
POLL_S = 0.5
MOST_S = 300.0
"""Seconds after its end that a run is given at most, however much still moves."""
MOST_QUIET_S = 70.0
"""A local platform waits so long at most before it delivers something once more."""

SETTINGS = """
agents:
  default: {kind: openai, base_url: "${MODEL}", api_key: sk-stub, model: stub, connect_s: 3, idle_s: 6, timeout_s: 30,
    system: "You are asked by people in number SYSTEM."}
queue: {lease_s: LEASE, poll_s: POLL, attempts: 8, send_s: 6, send_wait_s: 0.5, show_s: 2, restart_s: 0.5, start_s: 10}
database: {timeout_s: 3}
memory: {model: none}
defaults: {limits: {per_minute: 100000}}
channels:
"""
URLS = {
    "redis": "redis://127.0.0.1:{port}/0",
    "slack": "http://127.0.0.1:{port}/api/",
    "telegram": "http://127.0.0.1:{port}",
    "model": "http://127.0.0.1:{port}/v1",
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is run. `plan` are its acts, drawn with one trouble each `every_s` or given; `ways` by which people talk; without
    `redis` PostgreSQL has its part."""

    seed: int
    plan: Sequence[Act]
    seconds: float
    instances: int = 3
    scopes: int = 150
    ways: Sequence[str]
    redis: bool = True
    every_s: float = 3.0


@dataclass(kw_only=True)
class Report:
    """What came of a run: `violations`, none of them if all is well; the rest is for people."""

    violations: list[Violation] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    done: list[str] = field(default_factory=list)
    complaints: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


@dataclass(eq=False)
class World:
    """Everything that runs."""

    options: Options
    cluster: Cluster
    acting: Acting
    ways: dict[str, Way]
    calls: list[Call]
    storage: str


async def run(options: Options, *, postgres: Postgres, valkey: Valkey, folder: Path) -> Report:
    """Run it and judge it."""
    began = time.monotonic()
    async with world(options, postgres=postgres, valkey=valkey, folder=folder) as there:
        async with asyncio.timeout(90):
            await there.cluster.ready()
        async with asyncio.TaskGroup() as tasks:
            speaking = tasks.create_task(_speak(there), name="people")
            await there.acting.run(list(options.plan))
            await there.acting.heal()
            await _settled(there, speaking)
        report = await _judged(there)
    report.seconds = time.monotonic() - began
    _save_logs(there.cluster, folder)
    report.complaints = _complaints(there.cluster)
    for instance in there.cluster.instances:
        report.violations += [Violation("ended", fault) for fault in instance.faults]
    return report


@asynccontextmanager
async def world(options: Options, *, postgres: Postgres, valkey: Valkey, folder: Path) -> AsyncIterator[World]:
    """Start platforms, model servers, a database and the gateways."""
    calls: list[Call] = []
    async with AsyncExitStack() as stack:
        storage = stack.enter_context(postgres.database())
        with psycopg.connect(as_admin(storage), autocommit=True) as admin:
            # Numbers drawn from the sequences of a database that was copied are kept over a crash from the next checkpoint on.
            admin.execute("CHECKPOINT")
        valkey.emptied()
        platform = await stack.enter_async_context(slack())
        platform.pusher.in_order = False
        platform.pusher.retry_after_s = (0.0, 3.0, 10.0)
        tg = await stack.enter_async_context(telegram(hosts={PUBLIC: "http://127.0.0.1:9"}, reads_all=True))
        tg.flood.enforce()
        models = [
            await stack.enter_async_context(model_server(lambda prompt: answer(prompt[-1]["content"])))
            for _ in range(options.instances)
        ]
        session = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True, limit=0))
        )
        hook = Hook(session, None, "webhook")  # type: ignore[arg-type]  # of the cluster, which needs the settings first
        ways = ways_of(options.ways, hook=hook, platform=platform, tg=tg)
        change = _settings(folder, ways, redis=options.redis)
        upstreams = [
            {
                "postgres": ("127.0.0.1", postgres.port),
                "redis": ("127.0.0.1", valkey.port),
                "slack": _address(platform.url),
                "telegram": _address(tg.url),
                "model": _address(model.url),
            }
            for model in models
        ]
        assert set(LINKS) == set(upstreams[0])
        database = storage.rpartition("/")[2]
        urls = URLS | {"postgres": f"postgresql://clew@127.0.0.1:{{port}}/{database}"}
        config = folder / "clew.yaml"
        made = await stack.enter_async_context(cluster(config, options.instances, upstreams=upstreams, urls=urls))
        hook._gateway = made
        for instance, model in zip(made.instances, models, strict=True):
            model.script = partial(_asked, calls, instance, model)
        for way in ways.values():
            way.reach(made.url)
        acting = Acting(made, postgres=postgres, valkey=valkey, ways=ways, change=change)
        yield World(options, made, acting, ways, calls, storage)


def _asked(calls: list[Call], instance: Instance, model: ModelServer, prompt: Prompt) -> AsyncIterator[str]:
    """Note a question, and answer it."""
    asked = prompt[-1]["content"]
    words = canaries(json.dumps([message["content"] for message in prompt], ensure_ascii=False))
    at_ms = instance.links["model"].said_ms(model.port)
    calls.append(Call(at_ms=at_ms, instance=instance.number, tokens=tuple(tokens(asked)), words=words))
    return answer(asked)


def _settings(folder: Path, ways: dict[str, Way], *, redis: bool) -> Change:
    channels = "".join(f"  {name}: {{{way.settings()}}}\n" for name, way in ways.items())
    return Change(folder, channels, storage="${POSTGRES}\nredis: ${REDIS}" if redis else "${POSTGRES}")


class Change:
    """Writes the settings file; each call another one, in which a channel and the agent are changed."""

    def __init__(self, folder: Path, channels: str, *, storage: str) -> None:
        self._folder = folder
        self._storage = storage
        self._channels = channels
        self._number = 0
        self()

    def __call__(self) -> None:
        self._number += 1
        body = (
            SETTINGS.replace("SYSTEM", str(self._number))
            .replace("LEASE", f"{LEASE_S:g}")
            .replace("POLL", f"{POLL_S:g}")
        )
        changed = self._channels.replace("first_use_notice", f"body_s: {2 + self._number % 2}, first_use_notice", 1)
        beside = self._folder / "next"
        beside.mkdir(exist_ok=True)
        written = write_config(
            beside, body + changed, storage=self._storage, server=f"public_url: '{PUBLIC}', stop_s: 5"
        )
        os.replace(written, self._folder / "clew.yaml")


def _address(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").partition("/")[0].partition(":")
    return host, int(port)


async def _speak(there: World) -> None:
    """Let everybody say what they say, at its time."""
    began, options = time.monotonic(), there.options
    spoken = lines(options.seed, places(options.scopes, options.ways), seconds=options.seconds)
    async with asyncio.TaskGroup() as tasks:
        for line in spoken:
            await asyncio.sleep(max(0.0, line.at_s - (time.monotonic() - began)))
            tasks.create_task(there.ways[line.place.way].say(line), name=line.token)


async def _settled(there: World, speaking: asyncio.Task[None]) -> None:
    """Wait until all is over, or nothing has moved for four leases, what was put off until later aside."""
    last, since = None, time.monotonic()
    until = since + MOST_S + there.options.seconds
    while True:
        await asyncio.sleep(POLL_S)
        waiting = sum(way.waiting() for way in there.ways.values())
        try:
            left = await still_open(there.storage)
        except psycopg.OperationalError:
            continue
        if speaking.done() and not waiting and not left.events and not left.chunks:
            return
        moved = (waiting, left, len(there.calls), speaking.done())
        if moved != last:
            last, since = moved, time.monotonic()
            there.acting.note(f"{waiting} to come, {left.events} messages and {left.chunks} pieces open")
        # What was put off, by us or by a platform, moves when its time has come.
        put_off_s = max(0.0, (left.due_ms - now_ms()) / 1000) if left.chunks else 0.0
        quiet_s = 4 * LEASE_S + (MOST_QUIET_S if waiting else 0.0)
        if (put_off_s <= 0 and time.monotonic() - since > quiet_s) or time.monotonic() > until:
            for way in there.ways.values():
                if isinstance(way, HookWay):
                    way.over = True
            return


async def _judged(there: World) -> Report:
    logs = (line for instance in there.cluster.instances for line in instance.log)
    found = await evidence(there.storage, there.ways, there.calls, logs)
    violations = check(found)
    for name, way in there.ways.items():
        broken = way.broken()
        if isinstance(way, HookWay):
            violations += [Violation("seen by programs", fault) for fault in broken]
        else:
            limits = ", ".join(f"{rule} ({times})" for rule, times in Counter(broken).most_common(5))
            there.acting.log.append(f"# {name}: {len(broken)} times a limit was broken: {limits}")
    counts = allowed(found)
    counts["said"] = len(found.said)
    counts["model calls"] = len(there.calls)
    return Report(violations=violations, counts=counts, done=there.acting.log)


def _save_logs(made: Cluster, folder: Path) -> None:
    for instance in made.instances:
        (folder / f"instance-{instance.number}.log").write_text("\n".join(instance.log), "utf-8")


def _complaints(made: Cluster) -> Counter[str]:
    """Count what the gateways logged as errors, by what they said."""
    found: Counter[str] = Counter()
    for line in (line for instance in made.instances for line in instance.log):
        try:
            told = json.loads(line)
        except ValueError:
            found[f"no log line: {line[:100]}"] += 1
            continue
        if told.get("level") in ("error", "critical"):
            found[f"{told['event']}: {str(told.get('error', told.get('reason', '')))[:110]}"] += 1
    return found
