"""An answer that was stored by an instance which died before handing it on: its readers elsewhere get all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from tests.scenarios.conftest import HOOK
from tests.scenarios.kill_at import armed
from tests.scenarios.stage import Held
from tests.scenarios.test_hot_instances import reading
from tests.scenarios.world import Hook, gateway, model_server, write_config
from tests.services import Valkey


@pytest.fixture(params=[False, True], ids=["postgres", "postgres+redis"])
async def redis(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    if request.param:
        cache: Valkey = request.getfixturevalue("valkey_server")
        yield f"redis: {cache.emptied()}\n"
    else:
        yield ""


async def test_a_reader_with_half_an_answer_gets_the_whole(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession, redis: str
) -> None:
    """At the one that takes over and at a third: the words that were there count no more, and then those of the reply stand
    there, before the end. The model is asked once (openclaw#96374)."""
    async with AsyncExitStack() as stack:
        held = Held(first="第一句 👋")
        model = await stack.enter_async_context(model_server(held))
        body = (
            f"agents: {{default: {{kind: openai, model: m-1, base_url: '{model.url}'}}}}\n"
            f"queue: {{poll_s: 0.2}}\n{redis}channels:{HOOK}"
        )
        config = write_config(tmp_path, body, storage=postgres_url)
        runs = await stack.enter_async_context(gateway(config, command=("tests.scenarios.kill_at", str(config))))
        turn = await Hook(session, runs).say("hello", mode="async")
        await Hook(session, runs).shown(turn, held.first)
        others = [await stack.enter_async_context(gateway(config)) for _ in range(2)]
        async with reading(session, others[0], turn) as page, reading(session, others[1], turn) as other:
            await page.shows(held.first)
            await other.shows(held.first)
            await armed(runs, "queues.put", "before")
            held.go_on.set()

    for reader in (page, other):
        assert "answered" == reader.ended["status"]
        assert "第一句 👋, and the rest." == reader.ended["reply"]["text"] == reader.text
    assert 1 == len(model.prompts)
