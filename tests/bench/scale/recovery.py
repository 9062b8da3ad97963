"""How long people wait when something dies: from the fault to the next reply on the platform, two gateways, ten times each.

In Slack, by HTTP: so the whole way counts, from the event to the posted answer. At the fault one turn is being answered at the
gateway that fails (the model has been asked and has not said anything); that turn's answer is one figure. The other two are what
somebody feels who writes at that moment to the gateway that lives, as a load balancer would send it there: in Slack, whose
replies go by one instance that may have been the one that failed, and by webhook, where the answer goes back in the request.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import msgspec
from aiohttp import web

from config.settings import QueueSettings
from tests.bench.scale.cluster import Helper, helper
from tests.bench.scale.driver import Load, signed
from tests.bench.slack import config_of
from tests.bench.slack_load import ABOUT_MEMORY, CHANNELS, Sink, asked_in, mention, sink
from tests.bench.tables import Cell, Table
from tests.scenarios.world import Gateway, environ, write_config
from tests.services import Postgres, Valkey, running_postgres, running_valkey

ROUNDS = 10
HOOK = '  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 100000}}\n'
MOST_S = 90.0
"""A reply that takes longer counts as lost."""


@dataclass(slots=True)
class Platform(Sink):
    """Slack and the model at once. The first question about a message that is `held` waits until `go_on`."""

    held: dict[str, asyncio.Event] = field(default_factory=dict)  # set when it is asked
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    answers: Counter[str] = field(default_factory=Counter)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        held = None if ABOUT_MEMORY in raw else self.held.get(asked_in(msgspec.json.decode(raw)))
        if held is not None and not held.is_set():
            held.set()
            await self.go_on.wait()
        return await Sink.complete(self, request)

    def answered(self, id_: str) -> None:
        self.answers[id_] += 1
        Sink.answered(self, id_)


@dataclass(slots=True)
class Pair:
    """Two gateways on one database, each behind a wire of its own; the first in the list is the one that fails."""

    platform: Platform
    session: aiohttp.ClientSession
    server: Postgres
    valkey: Valkey
    config: Path
    url: str
    living: list[tuple[Gateway, Helper]]
    stack: AsyncExitStack
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def start(self) -> None:
        """Add a gateway, last in the list."""
        wire = await self.stack.enter_async_context(helper("tests.bench.scale.wire", str(self.server.port)))
        storage = self.url.replace(f":{self.server.port}/", f":{await wire.line()}/")
        gateway = Gateway(self.config, environ(STORAGE=storage), forked=False)
        self.stack.push_async_callback(gateway.kill)
        await gateway.start()
        self.living.append((gateway, wire))

    def number(self) -> int:
        """Return the next message's number."""
        return next(self._numbers)

    def message(self) -> str:
        """Return the id of a new message, in a thread of its own."""
        number = self.number()
        id_ = f"{number}-{time.monotonic_ns()}"
        self.platform.awaited[id_] = asyncio.Event()
        return id_

    async def send(self, id_: str, gateway: Gateway) -> None:
        """Deliver the message as Slack does: again after a moment, where that fails."""
        path, raw, headers = mention(int(id_.split("-")[0]) + CHANNELS, id_)
        while True:
            try:
                limit = aiohttp.ClientTimeout(total=5)
                async with self.session.post(
                    f"{gateway.url}{path}", data=raw, headers=headers, timeout=limit
                ) as answer:
                    if answer.status == 200:
                        return
            except (aiohttp.ClientError, TimeoutError):
                pass
            await asyncio.sleep(0.05)

    async def asked(self, id_: str, gateway: Gateway, since: float) -> float | None:
        """Say something by webhook; return how long after `since` the answer came, or None: it did not."""
        load = Load(urls=[gateway.url], turns=1, in_flight=1, conversations=1, name=id_)
        raw, headers = signed(load, 0)
        limit = aiohttp.ClientTimeout(total=MOST_S)
        while time.perf_counter() - since < MOST_S:
            try:
                url = f"{gateway.url}/channels/hook"
                async with self.session.post(url, data=raw, headers=headers, timeout=limit) as answer:
                    if "reply" in msgspec.json.decode(await answer.read()):
                        return time.perf_counter() - since
            except (aiohttp.ClientError, TimeoutError):
                pass
            await asyncio.sleep(0.05)
        return None

    async def well(self) -> None:
        """Have a turn with each gateway."""
        for gateway, _ in self.living:
            id_ = self.message()
            await self.send(id_, gateway)
            assert await self.reply(id_, 0) is not None

    async def reply(self, id_: str, since: float) -> float | None:
        """Return how long after `since` the answer came; None: it did not."""
        try:
            await asyncio.wait_for(self.platform.awaited[id_].wait(), MOST_S)
        except TimeoutError:
            return None
        return time.perf_counter() - since


Act = Callable[[Pair], Coroutine[None, None, None]]


async def kill(pair: Pair) -> None:
    await pair.living[0][0].kill()


async def another(pair: Pair) -> None:
    del pair.living[0]
    await pair.start()


async def stop(pair: Pair) -> None:
    pair.living[0][0].tell(signal.SIGSTOP)


async def go_on(pair: Pair) -> None:
    pair.living[0][0].tell(signal.SIGCONT)
    pair.living.reverse()


async def cut(pair: Pair) -> None:
    os.kill(pair.living[0][1].pid, signal.SIGSTOP)


async def mend(pair: Pair) -> None:
    os.kill(pair.living[0][1].pid, signal.SIGCONT)
    pair.living.reverse()


async def restart_postgres(pair: Pair) -> None:
    await asyncio.to_thread(pair.server.stop)
    await asyncio.to_thread(pair.server.start)


async def restart_redis(pair: Pair) -> None:
    await asyncio.to_thread(pair.valkey.stop)
    await asyncio.to_thread(pair.valkey.start)


async def nothing(pair: Pair) -> None:
    """What there is to do where nothing happened."""


FAULTS: dict[str, tuple[Act, Act]] = {
    "none": (nothing, nothing),
    "kill -9": (kill, another),
    "stopped (SIGSTOP)": (stop, go_on),
    "cut off from PostgreSQL": (cut, mend),
    "PostgreSQL killed and started": (restart_postgres, nothing),
    "Redis killed and started": (restart_redis, nothing),
}


async def measure(quick: bool) -> AsyncIterator[Table]:
    faults = {name: FAULTS[name] for name in (("none", "kill -9") if quick else FAULTS)}
    rows: list[list[Cell]] = []
    async with _pair() as pair:
        for name, (fault, mended) in faults.items():
            begun, fresh, hooked, took, twice = [], [], [], [], 0
            for _ in range(1 if quick else ROUNDS):
                figures = await _round(pair, fault, mended)
                begun.append(figures[0])
                fresh.append(figures[1])
                hooked.append(figures[2])
                took.append(figures[3])
                twice += figures[4]
            rows.append([name, *_spread(begun), *_spread(fresh), *_spread(hooked), statistics.median(took), twice])
    queue = QueueSettings()
    yield Table(
        title=f"seconds from the fault to the reply in Slack, two gateways, median of {1 if quick else ROUNDS} [least..most]",
        columns=(
            "fault", "the turn being answered", "lost", "a message to the other gateway", "lost",
            "one by webhook, answered there", "lost", "the act itself took", "answered twice",
        ),
        rows=rows,
        notes=(
            f"`queue.lease_s` {queue.lease_s:g}, `queue.poll_s` {queue.poll_s:g}: how long a silent instance is believed in, and "
            "how often each looks.",
            "Cut off, killed or restarted: without a word to the gateway, which goes on as far as it can.",
        ),
    )  # fmt: skip


def _spread(times: list[float | None]) -> tuple[str, int]:
    came = [one for one in times if one is not None]
    text = f"{statistics.median(came):.2f} [{min(came):.2f}..{max(came):.2f}]" if came else "-"
    return text, len(times) - len(came)


async def _round(pair: Pair, fault: Act, mended: Act) -> tuple[float | None, float | None, float | None, float, int]:
    platform = pair.platform
    failing, other = pair.living[0][0], pair.living[1][0]
    platform.go_on.clear()
    begun, fresh = pair.message(), pair.message()
    asked = platform.held[begun] = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(pair.send(begun, failing))
        async with asyncio.timeout(MOST_S):
            await asked.wait()
        since = time.perf_counter()
        acting = tasks.create_task(fault(pair))
        await asyncio.sleep(0)  # it has begun
        tasks.create_task(pair.send(fresh, other))
        both = [tasks.create_task(pair.reply(id_, since)) for id_ in (begun, fresh)]
        hooked = tasks.create_task(pair.asked(f"hook-{pair.number()}", other, since))
        await acting
        took = time.perf_counter() - since
        platform.go_on.set()
        times = [await one for one in both]
    await mended(pair)
    await pair.well()
    return times[0], times[1], await hooked, took, sum(platform.answers[id_] > 1 for id_ in (begun, fresh))


@asynccontextmanager
async def _pair() -> AsyncIterator[Pair]:
    with running_postgres() as server, running_valkey() as valkey, server.database() as url:
        async with AsyncExitStack() as stack:
            platform = Platform()
            await stack.enter_async_context(sink(platform))
            session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="clew-bench-")))
            storage = f'"${{STORAGE}}"\nredis: {valkey.url}'
            config = write_config(folder, config_of(platform.url, channels=CHANNELS) + HOOK, storage=storage)
            pair = Pair(platform, session, server, valkey, config, url, [], stack)
            for _ in range(2):
                await pair.start()
            await pair.well()
            yield pair
