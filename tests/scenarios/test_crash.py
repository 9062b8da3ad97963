"""Real SIGKILL at each step from accept to reply: nothing lost, order kept, no second model call for a stored reply.

A webhook's reply is collected, so its turn ends with the step that stores it. What a kill between a send and its receipt
leaves is in tests/contracts/queue_failures.py and tests/unit/test_delivery.py.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from gateway.notices import notice
from tests.scenarios.conftest import HOOK
from tests.scenarios.world import Hook, Prompt, gateway, model_server, write_config

STEPS = [
    ("queues.claim", "after"),
    ("queues.start", "before"),
    ("queues.start", "after"),
    ("store.append_and_load", "before"),
    ("store.append_and_load", "after"),
    ("store.append", "before"),
    ("store.append", "after"),
    ("queues.put", "before"),
    ("queues.put", "after"),
]
STORED_BEFORE = {("store.append", "after"), ("queues.put", "before"), ("queues.put", "after")}


def said(prompt: Prompt) -> str:
    return prompt[-1]["content"]


# Every step on SQLite; on the servers, where each test waits for a lease to run out, those that differ.
CASES = [("sqlite", *step) for step in STEPS] + [
    ("postgres", "store.append_and_load", "after"),
    ("postgres", "queues.put", "after"),
    ("postgres+redis", "queues.start", "after"),
    ("postgres+redis", "store.append", "after"),
]


@pytest.mark.parametrize(
    ("storage", "verb", "when"), CASES, ids=["-".join(case) for case in CASES], indirect=["storage"]
)
async def test_killed_at(verb: str, when: str, storage: str, tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """The turn under way ends answered, once, in order, whatever step the process died at (openclaw#96374, openclaw#29106)."""
    async with model_server(lambda prompt: f"re: {said(prompt)}") as model:
        body = f"""
agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}
queue: {{lease_s: 1, poll_s: 0.2}}
defaults: {{busy: queue}}
channels: {HOOK}"""
        config = write_config(tmp_path, body, storage=storage)
        deadly = ("tests.scenarios.kill_at", str(config), verb, when)
        async with gateway(config, command=deadly) as first:
            one = await Hook(session, first).say("one", message_id="m1", mode="async")
            with suppress(aiohttp.ClientError):
                await Hook(session, first).say("two", message_id="m2", mode="async")
            await first.dead()
        calls_before = len(model.prompts)
        async with gateway(config) as second:
            hook = Hook(session, second)
            # A message that was not acknowledged is sent again by whoever sent it; one that was is a duplicate.
            two = await hook.say("two", message_id="m2", mode="async")
            settled = [await hook.settled(turn) for turn in (one, two)]
            again = [await hook.say(text, message_id=id_) for text, id_ in (("one", "m1"), ("two", "m2"))]

    assert ["answered", "answered"] == [turn["status"] for turn in settled]
    assert ["re: one", "re: two"] == [turn["reply"]["text"] for turn in settled]
    assert [turn["turn"] for turn in (one, two)] == [turn["turn"] for turn in again]
    calls = [said(prompt) for prompt in model.prompts]
    assert calls == sorted(calls), "order kept"
    if (verb, when) in STORED_BEFORE:
        assert 1 == calls.count("one"), "a stored reply never costs a second call"
        assert "one" not in calls[calls_before:]
    # What was said stands once in what the second prompt saw, however often its turn was begun.
    last = model.prompts[-1]
    assert ["one", "two"] == [message["content"] for message in last if message["role"] == "user"]


async def test_killed_while_accepting(storage: str, tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """Stored but not acknowledged: the sender's repeat meets the same turn and is answered once (getsentry/junior#33)."""
    async with model_server(lambda prompt: f"re: {said(prompt)}") as model:
        body = f"""
agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}
queue: {{lease_s: 1, poll_s: 0.2}}
defaults: {{busy: queue}}
channels: {HOOK}"""
        config = write_config(tmp_path, body, storage=storage)
        for when in ("before", "after"):
            deadly = ("tests.scenarios.kill_at", str(config), "queues.accept", when)
            async with gateway(config, command=deadly) as first:
                with pytest.raises(aiohttp.ClientError):
                    await Hook(session, first).say(when, message_id=when)
                await first.dead()
        async with gateway(config) as second:
            hook = Hook(session, second)
            turns = [await hook.say(when, message_id=when) for when in ("before", "after")]

    assert ["re: before", "re: after"] == [turn["reply"]["text"] for turn in turns]
    assert ["after", "before"] == sorted(said(prompt) for prompt in model.prompts)


async def test_killed_in_mid_answer(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """A call that was under way is made again, and only its second answer is kept."""
    hang = asyncio.Event()

    async def answer(prompt: Prompt) -> str:
        if len(model.prompts) == 1:
            await hang.wait()
        return f"answer {len(model.prompts)}"

    async with model_server(answer) as model:
        body = f'agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}\nchannels: {HOOK}'
        config = write_config(tmp_path, body)
        async with gateway(config) as first:
            turn = await Hook(session, first).say("hi there, bot", mode="async")
            await model.called.wait()
            await first.kill()
        hang.set()
        async with gateway(config) as second:
            settled = await Hook(session, second).settled(turn)

    assert "answer 2" == settled["reply"]["text"]
    assert 2 == len(model.prompts)


async def test_killed_when_a_code_was_used(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """The persons are one, and the turn that is taken up again says so: not that the code, which it has used up itself, is wrong.
    A wrong one is still wrong."""
    async with model_server(lambda prompt: f"re: {said(prompt)}") as model:
        body = f'agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}\nchannels: {HOOK}'
        config = write_config(tmp_path, body)
        async with gateway(config, command=("tests.scenarios.kill_at", str(config), "links.link", "after")) as first:
            hook = Hook(session, first)
            shown = await hook.say("/link", sender="ann", conversation="a")
            code = re.search(r"^/link (\S+)$", shown["reply"]["text"], re.M)
            assert code is not None
            turn = await hook.say(f"/link {code[1]}", sender="安", conversation="b", mode="async")
            await first.dead()
        async with gateway(config) as second:
            hook = Hook(session, second)
            settled = await hook.settled(turn)
            wrong = await hook.say(f"/link {code[1]}", sender="安", conversation="b")

    assert notice("link_done", "en", prefix="") == settled["reply"]["text"]
    assert notice("link_wrong", "en") == wrong["reply"]["text"]


@pytest.mark.parametrize("verb", ["store.append_and_load", "store.append"])
async def test_killed_while_a_new_conversation_begins(
    verb: str, tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """`/new WORDS` taken up again opens no second session: what follows still sees its words."""
    async with model_server(lambda prompt: f"re: {said(prompt)}") as model:
        body = f'agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}\nchannels: {HOOK}'
        config = write_config(tmp_path, body)
        async with gateway(config, command=("tests.scenarios.kill_at", str(config), verb, "after")) as first:
            turn = await Hook(session, first).say("/new a book, please", mode="async")
            await first.dead()
        async with gateway(config) as second:
            hook = Hook(session, second)
            settled = await hook.settled(turn)
            await hook.say("and a shorter one?")

    assert "re: a book, please" == settled["reply"]["text"]
    users = [message["content"] for message in model.prompts[-1] if message["role"] == "user"]
    assert ["a book, please", "and a shorter one?"] == users
