"""Settings changed on one of two instances while people talk to both: in force on both, nothing dropped or answered twice."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

from gateway.admin.rights import Grant
from gateway.admin.tokens import Tokens
from memory.ids import now_ms
from tests.contracts.admin_database import open_admin_database
from tests.scenarios.stage import echo, said
from tests.scenarios.world import Gateway, Hook, gateway, model_server, write_config

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: one}
  second: {kind: openai, base_url: "MODEL", model: two}
defaults: {agent: default, limits: {per_minute: 100000}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], sync_s: 20}
  still: {kind: webhook, secrets: ["${HOOK}"], sync_s: 20}
"""


def set_(path: str, value: Any) -> dict[str, Any]:
    return {"path": path, "act": "set", "value": value}


async def test_a_change_under_load_on_two_instances(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """An agent for all, a channel made anew, one added (at both at once: it is one) and removed, a refused change in between,
    and the way back: both instances follow each, every message is answered exactly once, what did not change is not touched,
    and at the end all is as at first, digest included."""
    async with model_server(echo) as model:
        config = write_config(tmp_path, BODY.replace("MODEL", model.url), storage=postgres_url)
        async with gateway(config) as one, gateway(config) as other:
            async with open_admin_database(postgres_url) as database:
                made = await Tokens(database, clock=now_ms).make(
                    "test", user_id=None, parent=None, grants=[Grant(role="admin")], ends_ms=now_ms() + 600_000
                )
            headers = {"Authorization": f"Bearer {made.secret}"}

            async def ask(where: Gateway, method: str, path: str, **body: Any) -> tuple[int, Any]:
                sent = {"json": body} if body else {}
                url = f"{where.url}/api/v1{path}"
                async with session.request(method, url, headers=headers, **sent) as response:
                    return response.status, await response.json()

            async def in_force(number: int) -> float:
                began = time.monotonic()
                async with asyncio.timeout(15):
                    for where in (one, other):
                        while number != (await ask(where, "GET", "/settings"))[1]["number"]:
                            await asyncio.sleep(0.02)  # looked at from outside: nothing tells it there
                return time.monotonic() - began

            async def added_at_both() -> tuple[int, Any]:
                """Add one channel at both instances at once; one of them does."""
                answers = await asyncio.gather(
                    *(ask(where, "POST", "/channels", channel="chat", kind="console") for where in (one, other))
                )
                done, (late, said) = sorted(answers, key=lambda answer: answer[0])
                assert late in (409, 422), said
                return done

            before = [(await ask(where, "GET", "/settings"))[1]["digest"] for where in (one, other)]
            done, texts = asyncio.Event(), list[str]()
            talks = [
                asyncio.create_task(talk(Hook(session, where, channel), f"{channel}{n} 人", done, texts))
                for n, (where, channel) in enumerate([(one, "hook"), (other, "hook"), (one, "still"), (other, "still")])
            ]
            steps: list[Callable[[], Awaitable[tuple[int, Any]]]] = [
                lambda: ask(one, "POST", "/settings/revisions", changes=[set_("defaults.agent", "second")]),
                lambda: ask(other, "POST", "/settings/revisions", changes=[set_("channels.hook.sync_s", 19)]),
                added_at_both,
                lambda: ask(other, "DELETE", "/channels/chat"),
                lambda: ask(one, "POST", "/settings/rollbacks", number=0),
            ]
            took = []
            for number, step in enumerate(steps, 1):
                status, told = await step()
                assert (200, number) == (status, told.get("number")), told
                took.append(await in_force(number))
                bad = await ask(other, "POST", "/settings/revisions", changes=[set_("defaults.agent", "nobody")])
                assert 422 == bad[0]
            done.set()
            await asyncio.gather(*talks)
            after = [(await ask(where, "GET", "/settings"))[1]["digest"] for where in (one, other)]
            log = [json.loads(line) for line in (*one.log, *other.log)]

    answered = [said(prompt) for prompt in model.prompts]
    assert sorted(texts) == sorted(answered)
    assert len(texts) == len(set(texts))
    assert {"one", "two"} == set(model.models)
    assert before == after
    assert before[0] == before[1]
    assert {"hook"} == {line["channel"] for line in log if line["event"] == "channel replaced"}
    assert not [line for line in log if line["event"] == "agent replaced"]
    assert not [line for line in log if line["level"] in ("error", "critical")]
    assert max(took) < 10, took  # two seconds on a machine that does nothing else


async def talk(hook: Hook, who: str, done: asyncio.Event, texts: list[str]) -> None:
    """Say one thing after the other until done; each is answered."""
    number = 0
    while not done.is_set():
        number += 1
        text = f"{who} says {number}"
        texts.append(text)
        turn = await hook.say(text, sender=who, conversation=who)
        assert ("answered", f"re: {text}") == (turn["status"], turn.get("reply", {}).get("text")), turn
