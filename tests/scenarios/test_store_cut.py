"""The database goes away in the middle of an answer: nobody's message dies of that."""

from __future__ import annotations

import asyncio
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from tests.chaos.proxy import Proxy
from tests.scenarios.stage import stage
from tests.scenarios.world import Prompt, rows

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: m}}
queue: {attempts: 1, poll_s: 0.1}
database: {timeout_s: 0.5}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"]}}
"""


async def test_a_message_outlives_cuts_of_its_database(tmp_path: Path, postgres_url: str) -> None:
    """Twice in a row, where one try is all that it has: its starts are excused, and it is answered when the database is there: it
    was not its fault."""
    there = conninfo_to_dict(postgres_url)
    proxy = Proxy(lambda: [(str(there["host"]), int(str(there["port"])))])

    posted = asyncio.Event()
    seen = 0

    async def cut(prompt: Prompt) -> str:
        nonlocal seen
        await posted.wait()
        if len(world.model.prompts) < 3:
            seen = len(world.gateway.log)
            proxy.set("refuse")
            mending.append(asyncio.ensure_future(mended()))
        return f"answer {len(world.model.prompts)}"

    async def mended() -> None:
        await world.gateway.logged("turn broken off by the store", after=seen)
        proxy.set("pass")

    mending: list[asyncio.Task[None]] = []
    async with proxy.running():
        way = f"postgresql://{there['user']}@127.0.0.1:{proxy.port}/{there['dbname']}"
        async with stage(tmp_path, BODY, storage=way, script=cut) as world:
            turn = await world.hook().say("hello 你好", mode="async")
            posted.set()
            while len(mending) < 2 or not all(task.done() for task in mending):
                await asyncio.sleep(0.02)
            turn = await world.hook().settled(turn)
            await asyncio.gather(*mending)

    assert ("answered", "answer 3") == (turn["status"], turn["reply"]["text"])
    assert [(3, 2)] == rows(postgres_url, "SELECT attempts, excused FROM inbox_events WHERE kind = 'message'")
