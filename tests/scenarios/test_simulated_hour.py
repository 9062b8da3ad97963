"""A simulated hour: two busy groups under their platforms' limits. Nobody unanswered, nobody answered twice, no limit broken.

All of the gateway is real, with the real SDKs, a model behind HTTP and both local platforms; only the hour is virtual. The
platforms enforce their limits, and every call takes its time on the way to them and back.
"""

from __future__ import annotations

import asyncio
import random
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from config.loader import load
from gateway.app import run
from gateway.logs import SecretMask
from memory.ids import now_ms
from tests.emulators.slack.server import slack
from tests.emulators.telegram.clock import LoopClock
from tests.emulators.telegram.emulator import telegram
from tests.scenarios.groups import WAY_S, Group, Outcome, SlackGroup, TelegramGroup, open_numbers, words
from tests.scenarios.world import Prompt, environ, model_server, write_config
from tests.virtual_time import in_virtual_time

HOUR_S = 3600.0
AHEAD_MS = 60_000
"""By this the gateway's clock for sends is ahead of the world's: what is stored by that one is due at once."""

FLOODS = (600.0, 1800.0, 1801.0)
"""When the platforms ask to wait, whatever the limits."""

LATE_S = 2 * HOUR_S


def script(prompt: Prompt) -> AsyncIterator[str]:
    """Answer what was asked last, as a model that thinks for some seconds."""
    return _thinking(int(re.findall(r"question (\d+)", prompt[-1]["content"])[-1]))


async def _thinking(number: int) -> AsyncIterator[str]:
    chance, told = random.Random(number), words(number)
    pieces = chance.randint(2, 8)
    size = -(-len(told) // pieces)
    for start in range(0, len(told), size):
        await asyncio.sleep(chance.uniform(0.2, 1.5))
        yield "".join(told[start : start + size])


@asynccontextmanager
async def town(folder: Path) -> AsyncIterator[tuple[SlackGroup, TelegramGroup]]:
    """Both platforms with their people, and the gateway between them; at the end it stops in good order."""
    clock, way = LoopClock(), random.Random(7)
    async with (
        slack(clock=clock) as platform,
        telegram(clock=clock, reads_all=True) as tg,
        model_server(script) as model,
    ):
        platform.way_s = tg.world.way_s = lambda: way.uniform(WAY_S / 5, WAY_S)
        here, app = platform.workspace("Acme"), platform.app()
        bot = here.install(app)
        here.limits.mode = "enforce"
        tg.flood.enforce()
        tg.flood.leeway_s = 0
        members = [here.person(f"Person {number} 人", lang="en" if number % 2 else "zh") for number in range(200)]
        people = [tg.person(f"Person {number} 人") for number in range(1000)]
        channel, chat = here.channel("town", members=[*members, bot]), tg.supergroup("town", *people)
        secrets = f"bot_token: {bot.token}, signing_secrets: [{app.signing_secret}]"
        config = write_config(
            folder,
            f"agents: {{default: {{kind: openai, base_url: '{model.url}', model: stub}}}}\n"
            "queue: {poll_s: 60}\n"  # the bell is enough
            "defaults: {busy: queue}\n"  # one answer for each question
            f"channels:\n  threads: {{kind: slack, {secrets}, api_url: '{platform.api_url}'}}\n"
            f"  stream: {{kind: telegram, token: '{tg.bot.token}', api_url: '{tg.url}'}}\n",
        )
        async with gateway(config) as url:
            app.events_url = f"{url}/channels/threads"
            yield SlackGroup(here, members, channel), TelegramGroup(tg, people, chat)


@asynccontextmanager
async def gateway(config: Path) -> AsyncIterator[str]:
    """The gateway in this process; gives its URL."""
    stop, ready, begin_ms = asyncio.Event(), asyncio.get_running_loop().create_future(), now_ms() + AHEAD_MS
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(
            run(
                load(config, environ()),
                path=config,
                environ=environ(),
                stop=stop,
                announce=ready.set_result,
                mask=SecretMask(),
                clock_ms=lambda: begin_ms + int(asyncio.get_running_loop().time() * 1000),
            )
        )
        yield (await ready).split()[3].rstrip("/")
        stop.set()


def times(count: int, *, seed: int, bursts: int) -> list[float]:
    """When in the hour somebody asks; some in bursts (a meeting ends, and twenty ask at once)."""
    chance = random.Random(seed)
    found = [chance.uniform(0, HOUR_S) for _ in range(count - 20 * bursts)]
    for _ in range(bursts):
        begin = chance.uniform(0, HOUR_S - 60)
        found += [begin + chance.uniform(0, 10) for _ in range(20)]
    return sorted(found)


async def hour(folder: Path) -> list[Outcome]:
    """Ask every question at its time, every tenth told twice; return when each has its answer and some time has gone by."""
    async with town(folder) as (threads, stream):
        groups: list[Group] = [threads, stream]
        counts = [(threads, times(260, seed=1, bursts=3)), (stream, times(300, seed=2, bursts=3))]
        async with asyncio.TaskGroup() as tasks:
            for group, asking in counts:
                tasks.create_task(_asked(group, asking))
            tasks.create_task(_flooded(groups))
        async with asyncio.timeout(LATE_S):
            while any(open_numbers(group) for group in groups):
                await asyncio.sleep(5)
        await asyncio.sleep(300)
        return [Outcome(group.asked, group.said(), group.calls(), group.violations()) for group in groups]


async def _asked(group: Group, asking: list[float]) -> None:
    for number, at in enumerate(asking, 1):
        await _until(at)
        await group.ask(number, again=number % 10 == 0)


async def _flooded(groups: list[Group]) -> None:
    for at in FLOODS:
        await _until(at)
        for group in groups:
            group.floods()


async def _until(at: float) -> None:
    await asyncio.sleep(at - asyncio.get_running_loop().time())


def waited(outcome: Outcome) -> list[float]:
    """The seconds from each question to the last word of its answer."""
    whole = dict[int, float]()
    for call in outcome.calls:
        for number, _ in call.words[-1:]:
            whole[number] = call.at
    return [whole[question.number] - question.at for question in outcome.asked]


@pytest.fixture
def fast_folder() -> Iterator[Path]:
    """A folder in memory, where there is such a thing: nothing here is about disks."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def test_an_hour_of_two_busy_groups(fast_folder: Path) -> None:
    """A 200-person group with threads and a 1,000-person group with one stream of talk: every question has its one answer, in
    full, once and in its turn, within minutes; no limit is broken, and where a platform asks to wait nobody calls meanwhile."""
    outcomes = in_virtual_time(hour(fast_folder))

    for outcome in outcomes:
        assert [] == outcome.violations
        rooms = {question.room for question in outcome.asked}
        assert rooms == {one.room for one in outcome.said if one.words}
        for room in rooms:
            asked = [question.number for question in outcome.asked if question.room == room]
            told = [word for one in outcome.said if one.room == room for word in one.words]
            assert [(number, place) for number in asked for place in range(len(words(number)))] == told
        edits = [call for call in outcome.calls if call.method in ("chat.update", "editMessageText")]
        assert len(edits) > len(outcome.asked) / 4, "people saw answers come"
        waits = sorted(waited(outcome))
        assert waits[len(waits) // 2] < 30
        assert waits[-1] < 300
