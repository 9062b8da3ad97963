"""What a gateway finds when it starts after another one died: turns that had begun, and rows that it can't use any more."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import aiohttp

from tests.scenarios.conftest import HOOK
from tests.scenarios.world import Hook, Prompt, gateway, model_server, write_config


def said(prompt: Prompt) -> str:
    return prompt[-1]["content"]


def settings(model_url: str, channels: str = HOOK) -> str:
    return f'agents: {{default: {{kind: openai, base_url: "{model_url}", model: stub}}}}\nchannels: {channels}'


OBSERVED = """
  hook: {kind: webhook, secrets: ["${HOOK}"], trigger: [mention], observe: true}
"""


def spoil(database: Path) -> None:
    """Turn the stored event into what no release wrote."""
    with closing(sqlite3.connect(database)) as opened, opened:
        assert 1 == opened.execute("UPDATE inbox_events SET body = x'7b7d'").rowcount


def copy_event(database: Path, body: str, *, plus: int) -> None:
    """Copy the oldest event, under another id and with another body (an SQL expression)."""
    with closing(sqlite3.connect(database)) as opened, opened:
        columns = (
            "turn_id, lane, channel, kind, speaker, token, fingerprint, state, outcome, attempts, accepted_ms, owner"
        )
        opened.execute(
            f"INSERT INTO inbox_events (id, seq, body, {columns})"
            f" SELECT id + {plus}, seq + {plus}, {body}, {columns} FROM inbox_events ORDER BY id LIMIT 1"
        )


async def test_a_stored_reply_answers_only_what_it_was_made_for(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """Killed between the stored reply and the outbox: what the same speaker had said meanwhile is not joined to that turn,
    whose reply never saw it, and gets an answer of its own (openclaw#29106)."""
    second_said = asyncio.Event()

    async def answer(prompt: Prompt) -> str:
        await second_said.wait()
        return f"re: {said(prompt)}"

    async with model_server(answer) as model:
        config = write_config(tmp_path, settings(model.url))
        deadly = ("tests.scenarios.kill_at", str(config), "queues.put", "before")
        async with gateway(config, command=deadly) as first:
            hook = Hook(session, first)
            one = await hook.say("one", mode="async")
            await model.called.wait()
            two = await hook.say("two", mode="async")
            second_said.set()
            await first.dead()
        async with gateway(config) as second:
            settled = [await Hook(session, second).settled(turn) for turn in (one, two)]

    assert ["re: one", "re: two"] == [turn["reply"]["text"] for turn in settled]
    assert ["one", "two"] == [said(prompt) for prompt in model.prompts]


async def test_a_row_that_cannot_be_read_blocks_nobody(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """A message stored in a form that this release can't read ends as dead, with its reason, and the gateway runs on."""
    async with model_server(lambda prompt: f"re: {said(prompt)}") as model:
        config = write_config(tmp_path, settings(model.url, OBSERVED))
        deadly = ("tests.scenarios.kill_at", str(config), "queues.claim", "after")
        async with gateway(config, command=deadly) as first:
            with suppress(aiohttp.ClientError):
                await Hook(session, first).say("one", message_id="m1", mode="async")
            await first.dead()
        spoil(tmp_path / "clew.db")
        async with gateway(config) as second:
            hook = Hook(session, second)
            one = await hook.settled(await hook.say("one", message_id="m1", mode="async"))
            two = await hook.settled(await hook.say("two", message_id="m2", mode="async"))

    assert ("dead", "unreadable") == (one["status"], one["error"]["code"])
    assert "re: two" == two["reply"]["text"]


async def test_what_was_observed_and_not_kept_yet(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """Group talk that was accepted and not applied is applied by the next process; if that can't read it, or has no such
    channel any more, it ends in sight and the gateway starts all the same."""
    async with model_server(lambda prompt: f"re: {said(prompt)}") as model:
        config = write_config(tmp_path, settings(model.url, OBSERVED))
        deadly = ("tests.scenarios.kill_at", str(config), "store.observe", "before")
        async with gateway(config, command=deadly) as first:
            with suppress(aiohttp.ClientError):
                await Hook(session, first).say("talk", message_id="m1", chat_type="group", mode="async")
            await first.dead()
        database = tmp_path / "clew.db"
        copy_event(database, "x'7b7d'", plus=1)
        copy_event(database, """CAST(replace(CAST(body AS TEXT), '"hook"', '"gone"') AS BLOB)""", plus=2)
        async with gateway(config) as second:
            told = await Hook(session, second).say("talk", message_id="m1", chat_type="group")

    assert ("observed", "observe") == (told["status"], told["rule"])
    with closing(sqlite3.connect(database)) as opened:
        ends = opened.execute("SELECT state, json_extract(outcome, '$.rule') FROM inbox_events ORDER BY id").fetchall()
    assert [("observed", "observe"), ("dead", None), ("ignored", "channel_removed")] == ends


async def test_threads_of_one_room_are_answered_where_they_asked(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """`scope: room` lets threads share memory and so a lane; two questions of one speaker in two threads, the second while
    the first is answered, are two turns all the same: one reply can't go to both."""
    second_said = asyncio.Event()

    async def answer(prompt: Prompt) -> str:
        await second_said.wait()
        return f"re: {said(prompt)}"

    async with model_server(answer) as model:
        body = settings(model.url) + "\ndefaults: {scope: room}"
        async with gateway(write_config(tmp_path, body)) as process:
            hook = Hook(session, process)
            asked = [await hook.say("zero", chat_type="group", thread="t0", mode="async")]
            await model.called.wait()
            asked += [await hook.say(f"in {t}", chat_type="group", thread=t, mode="async") for t in ("t1", "t2")]
            second_said.set()
            settled = [await hook.settled(turn) for turn in asked]

    assert not any("part_of" in turn for turn in settled)
    assert [["u1]: in t1"], ["u1]: in t2"]] == [
        [line.strip("[") for line in turn["reply"]["text"].removeprefix("re: ").splitlines()] for turn in settled[1:]
    ]
