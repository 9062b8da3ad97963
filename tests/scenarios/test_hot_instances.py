"""What three gateways on one PostgreSQL share, with Redis and without: limits a minute, and replies while they are made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.scenarios.stage import Held, echo
from tests.scenarios.world import Gateway, Hook, ModelServer, gateway, model_server, rows, sse, write_config
from tests.services import Valkey, running_valkey

BODY = """
agents: {default: {kind: openai, model: m-1, base_url: "MODEL"}}
database: {shared_s: SHARED}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"], sync_s: 20, limits: {per_minute: MINUTE}}}
"""


@dataclass
class Three:
    """Three gateways, in the order in which they joined."""

    gateways: list[Gateway]
    storage: str
    model: ModelServer
    session: aiohttp.ClientSession
    valkey: Valkey | None

    def hook(self, where: Gateway) -> Hook:
        return Hook(self.session, where)

    def runs(self) -> Gateway:
        """Return who runs the one turn that there is."""
        ((owner,),) = rows(self.storage, "SELECT owner FROM inbox_lanes")
        ids = [id_ for (id_,) in rows(self.storage, "SELECT id FROM inbox_instances ORDER BY id")]
        return self.gateways[ids.index(owner)]

    def others(self, one: Gateway) -> list[Gateway]:
        return [other for other in self.gateways if other is not one]


@asynccontextmanager
async def three(
    folder: Path,
    storage: str,
    session: aiohttp.ClientSession,
    *,
    redis: bool,
    per_minute: int = 100,
    shared_s: float = 20,
) -> AsyncIterator[Three]:
    async with AsyncExitStack() as stack:
        valkey = stack.enter_context(running_valkey()) if redis else None
        model = await stack.enter_async_context(model_server(echo))
        body = BODY.replace("MODEL", model.url).replace("MINUTE", str(per_minute)).replace("SHARED", str(shared_s))
        if valkey is not None:
            body += f"redis: {valkey.url}\n"
        config = write_config(folder, body, storage=storage)
        gateways = [await stack.enter_async_context(gateway(config)) for _ in range(3)]
        yield Three(gateways, storage, model, session, valkey)


@pytest.fixture(params=[False, True], ids=["postgres", "postgres+redis"])
def redis(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@dataclass
class Page:
    """What a reader of a turn's events shows, and what came."""

    text: str
    names: list[str]
    ended: dict[str, Any]
    changed: asyncio.Event

    async def shows(self, text: str) -> None:
        async with asyncio.timeout(40):
            while self.text != text:
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def reading(session: aiohttp.ClientSession, where: Gateway, turn: dict[str, Any]) -> AsyncIterator[Page]:
    """Read a turn's events at an instance; on the way out they have come to their end."""
    page = Page("", [], {}, asyncio.Event())
    url = f"{where.url}/channels/hook/turns/{turn['turn']}/events?token={turn['token']}"

    async def read() -> None:
        async with session.get(url) as response:
            async for name, data in sse(response):
                page.names.append(name)
                match name:
                    case "delta":
                        page.text += data["text"]
                    case "reset":
                        page.text = data["text"]
                    case "done" | "failed":
                        page.ended = data
                page.changed.set()

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(read())
        yield page


async def test_a_minute_is_one_minute_on_all_instances(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession, redis: bool
) -> None:
    """Thirty messages of one person at once, ten to each of three: twenty are answered, one is told of the limit, and nine are
    passed over."""
    async with three(tmp_path, postgres_url, session, redis=redis, per_minute=20) as there:
        began = time.time()
        turns = await asyncio.gather(
            *(
                there.hook(where).say(f"{number} 号", sender="ann", conversation=f"c{number}-{where.url}", mode="async")
                for where in there.gateways
                for number in range(10)
            )
        )
        spilled = int(began // 60) != int(time.time() // 60)  # the next minute has a share of its own
        views = [await there.hook(there.gateways[0]).settled(turn) for turn in turns if turn["status"] != "ignored"]
        other = await there.hook(there.gateways[2]).say("hello", sender="bob", conversation="b")

    answered = [view["status"] for view in views].count("answered")
    assert 20 <= answered <= (22 if spilled else 20)
    assert answered + 1 == len(views), "and the notice"
    assert 30 - len(views) == [turn["status"] for turn in turns].count("ignored")
    assert "answered" == other["status"]
    assert answered + 1 == len(there.model.prompts)


async def test_a_reply_is_read_while_it_is_made_elsewhere(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession, redis: bool
) -> None:
    """Posted at one, read at the others: the words are there long before the end, which comes at once; and when the one that
    makes the reply is killed, its reader goes on where it is, with what the next one makes of it."""
    async with three(tmp_path, postgres_url, session, redis=redis) as there:
        held = Held(first="第一句 👋")
        there.model.script = held
        turn = await there.hook(there.gateways[0]).say("hello", mode="async")
        await there.hook(there.gateways[0]).shown(turn, "第一句 👋")
        runs = there.runs()
        stays, falls = there.others(runs)
        async with reading(session, stays, turn) as page, reading(session, falls, turn) as other:
            await page.shows("第一句 👋")
            await other.shows("第一句 👋")
            assert not page.ended
            held.first = "Another beginning"
            await runs.kill()
            await page.shows("Another beginning")
            held.go_on.set()

    for reader in (page, other):
        assert "Another beginning, and the rest." == reader.text
        assert "answered" == reader.ended["status"]
        assert "reset" in reader.names
    assert 2 == len(there.model.prompts)


async def test_redis_lost_in_the_middle_of_a_reply(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """It costs a moment: the rest of the words goes another way, limits go on, and so it is when Redis is back, emptied."""
    async with three(tmp_path, postgres_url, session, redis=True, shared_s=2) as there:
        assert there.valkey is not None
        held = Held(first="first words")
        there.model.script = held
        turn = await there.hook(there.gateways[0]).say("hello", mode="async")
        await there.hook(there.gateways[0]).shown(turn, "first words")
        async with reading(session, there.others(there.runs())[0], turn) as page:
            await page.shows("first words")
            there.valkey.stop()
            held.go_on.set()
            await page.shows("first words, and the rest.")
        there.model.script = echo
        without = await asyncio.gather(
            *(there.hook(where).say("without it", conversation=where.url) for where in there.gateways)
        )
        async with session.get(f"{there.gateways[0].url}/readyz") as response:
            ready = await response.json()
        there.valkey.start()
        back = await asyncio.gather(
            *(there.hook(where).say("with it", conversation=where.url) for where in there.gateways)
        )

    assert ready["ready"]
    assert "no answer within the last minute from: redis" in ready["warnings"]["shared"]
    assert "answered" == page.ended["status"]
    assert ["re: without it"] * 3 + ["re: with it"] * 3 == [view["reply"]["text"] for view in (*without, *back)]
