"""SIGKILL between a reply and what is learned from it, at each step: nothing is lost, nothing is learned twice."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from tests.scenarios.remembered import condensed, learned, leases_end, sections, whole
from tests.scenarios.stage import echo
from tests.scenarios.world import Hook, Prompt, gateway, model_server, rows, write_config

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
learning: {lease_s: 3600}
queue: {poll_s: 0.1}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], memory: {window: {turns: 4}, summary: {start_turns: 5}}}
"""
MODEL = ("model", "during")
STEPS = [("derived.claim", "after"), MODEL, ("derived.settle", "before"), ("derived.settle", "after")]
CASES = [("sqlite", STEPS), ("postgres", STEPS[1:]), ("postgres+redis", STEPS[::2])]


def nothing(_: Prompt) -> str:
    return '{"changes": []}'


@pytest.mark.parametrize(("storage", "steps"), CASES, ids=[case[0] for case in CASES], indirect=["storage"])
async def test_a_kill_between_reply_and_extraction_loses_none(
    steps: list[tuple[str, str]], storage: str, tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """At each step somebody's name is under way; a process dies with each; the last one finds them all (A19, B11, B40, E28; the
    ledger of a turn is its place in the queue). While the dead one's lease lasts, nobody else learns from that talk: the next
    turn shows what was said and notes that it is pending (B59). The lease ends in an hour, which is let go by
    (redis/agent-memory-server#110: nobody's word becomes two)."""
    names = [f"Zoë-{number} 佐伊" for number in range(len(steps))]
    asked = asyncio.Event()

    async def thinking(_: Prompt) -> str:
        asked.set()
        return await asyncio.Future[str]()

    async with model_server(echo) as model:
        config = write_config(tmp_path, BODY.replace("MODEL", model.url), storage=storage)
        for name, step in zip(names, steps, strict=True):
            model.notes = thinking if step == MODEL else nothing
            async with gateway(config, command=("tests.scenarios.kill_at", str(config), *step)) as dying:
                with suppress(aiohttp.ClientError):
                    await Hook(session, dying).say(
                        f"My name is {name[:5]}.", sender=name, conversation=name, mode="async"
                    )
                if step == MODEL:
                    await asked.wait()
                    await dying.kill()
                await dying.dead()
        model.notes = nothing
        replies = rows(storage, "SELECT count(*) FROM messages WHERE role = 'assistant'")
        async with gateway(config) as last:
            hook = Hook(session, last)
            meanwhile = [await hook.say("Still there?", sender=name, conversation=name) for name in names]
            ledgers = [
                rows(storage, "SELECT body FROM ledgers WHERE turn_id = ?", int(one["turn"])) for one in meanwhile
            ]
            leases_end(storage)
            await hook.say("Is anybody there?", sender="somebody", conversation="else")
            await learned(storage)
            turns = [await hook.say("Who am I?", sender=name, conversation=name) for name in names]

    assert [(len(names),)] == replies, "each was stored before"
    assert [step != ("derived.settle", "after") for step in steps] == [
        "extraction pending: 1 turns" in json.loads(body)["notes"] for ((body,),) in ledgers
    ]
    assert ["answered"] * len(names) == [turn["status"] for turn in turns]
    told = [sections(prompt)["facts"] for prompt in model.prompts[-len(names) :]]
    assert [[name[:5]] for name in names] == [re.findall(r"Zoë-\d", facts) for facts in told]
    assert [(len(names),)] == rows(storage, "SELECT count(*) FROM profile_items")


@pytest.mark.parametrize("storage", ["sqlite", "postgres"], indirect=True)
async def test_a_kill_around_a_summary_leaves_no_hole(
    storage: str, tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """Before it is stored: it is made anew from the same messages; after: the next one goes on from it. Either way window and
    summary hold all that was said (A23, A41, F2)."""
    talks = ("before", "after")
    async with model_server(echo) as model:
        model.notes, model.summary = nothing, condensed
        config = write_config(tmp_path, BODY.replace("MODEL", model.url), storage=storage)
        for when in talks:
            command = ("tests.scenarios.kill_at", str(config), "derived.put_summary", when)
            async with gateway(config, command=command) as dying:
                with suppress(aiohttp.ClientError):
                    for number in range(1, 6):
                        await Hook(session, dying).say(f"{when}-{number}", sender=when, conversation=when)
                await dying.dead()
        rows_then = rows(storage, "SELECT count(*) FROM summaries")
        leases_end(storage)
        async with gateway(config) as last:
            hook = Hook(session, last)
            for number in range(6, 10):
                for when in talks:
                    await hook.say(f"{when}-{number}", sender=when, conversation=when)
            await learned(storage)
            for when in talks:
                await hook.say(f"{when}-10", sender=when, conversation=when)

    assert [(1,)] == rows_then
    for when, prompt in zip(talks, model.prompts[-2:], strict=True):
        assert [] == [number for number in range(1, 11) if f"{when}-{number}" not in whole(prompt)], when
