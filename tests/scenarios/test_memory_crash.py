"""SIGKILL between a reply and what is learned from it, at each step: nothing is lost, nothing is learned twice."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from tests.scenarios.remembered import condensed, learned, leases_end, sections, whole
from tests.scenarios.stage import echo
from tests.scenarios.world import Hook, gateway, model_server, rows, write_config

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
learning: {lease_s: 3600}
queue: {poll_s: 0.1}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], memory: {window: {turns: 4}, summary: {start_turns: 5}}}
"""
STEPS = [
    ("derived.claim", "after"),
    ("derived.settle", "before"),
    ("derived.settle", "after"),
]
CASES = [("sqlite", STEPS), ("postgres+redis", STEPS[1:2])]


@pytest.mark.parametrize(("storage", "steps"), CASES, ids=[case[0] for case in CASES], indirect=["storage"])
async def test_a_kill_between_reply_and_extraction_loses_none(
    steps: list[tuple[str, str]], storage: str, tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """At each step somebody's name is under way; a process dies with each; the last one finds them all (A19, B11, B40, E28; the
    ledger of a turn is its place in the queue). The dead ones' leases end in an hour, which is let go by
    (redis/agent-memory-server#110: nobody's word becomes two)."""
    names = [f"Zoë-{number} 佐伊" for number in range(len(steps))]
    async with model_server(echo) as model:
        model.notes = lambda _: '{"changes": []}'
        config = write_config(tmp_path, BODY.replace("MODEL", model.url), storage=storage)
        for name, step in zip(names, steps, strict=True):
            async with gateway(config, command=("tests.scenarios.kill_at", str(config), *step)) as dying:
                with suppress(aiohttp.ClientError):
                    await Hook(session, dying).say(
                        f"My name is {name[:5]}.", sender=name, conversation=name, mode="async"
                    )
                await dying.dead()
        replies = rows(storage, "SELECT count(*) FROM messages WHERE role = 'assistant'")
        leases_end(storage)
        async with gateway(config) as last:
            await learned(storage)
            turns = [await Hook(session, last).say("Who am I?", sender=name, conversation=name) for name in names]

    assert [(len(names),)] == replies, "each was stored before"
    assert ["answered"] * len(names) == [turn["status"] for turn in turns]
    assert [f"- name: {name[:5]}" for name in names] == [
        sections(prompt)["profile"] for prompt in model.prompts[-len(names) :]
    ]
    assert [(len(names),)] == rows(storage, "SELECT count(*) FROM profile_items")


@pytest.mark.parametrize("storage", ["sqlite"], indirect=True)
async def test_a_kill_around_a_summary_leaves_no_hole(
    storage: str, tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """Before it is stored: it is made anew from the same messages; after: the next one goes on from it. Either way window and
    summary hold all that was said (A23, A41, F2)."""
    talks = ("before", "after")
    async with model_server(echo) as model:
        model.notes, model.summary = (lambda _: '{"changes": []}'), condensed
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
