"""From one machine's file to many machines' database, by the command line, with what people were just saying."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import psycopg
import pytest

from tests.copies import fill, make
from tests.forks import fork
from tests.scenarios.conftest import HOOK
from tests.scenarios.remembered import learned, whole
from tests.scenarios.stage import users
from tests.scenarios.world import Hook, Prompt, command, environ, gateway, in_folder, model_server, rows, write_config
from tests.services import as_admin

SAID = ("订单尾号 8821，还没发货 😀", "what did I say?", "naïve\t“quotes” and \\backslashes\\")


async def test_a_gateway_goes_on_with_a_copied_conversation(
    bare_postgres_url: str, tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """A killed gateway's file is copied: its talk goes on over PostgreSQL, what ran and what waited is answered once, every
    prompt comes out byte for byte the same, and a person is who they were."""
    held, asked = asyncio.Event(), asyncio.Event()

    async def answer(prompt: Prompt) -> str | AsyncIterator[str]:
        if "hold" in prompt[-1]["content"] and not held.is_set():
            asked.set()
            await held.wait()
        return f"re: {prompt[-1]['content']}"

    async with model_server(answer) as model:
        body = f"""
agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}
defaults: {{busy: queue}}
channels: {HOOK}"""
        config = write_config(tmp_path, body)
        async with gateway(config) as first:
            hook = Hook(session, first)
            turns = [await hook.say(text, name="李雷") for text in SAID]
            running = await hook.say("hold this", mode="async", message_id="m-held")
            waiting = await hook.say("and this", mode="async")
            await asyncio.wait_for(asked.wait(), 30)
            refused = await command("db", "copy", "--to", bare_postgres_url, "--config", config)
            first.tell(signal.SIGKILL)
            await first.dead()
        held.set()
        code, out, err = await command("db", "copy", "--to", bare_postgres_url, "--config", config, "--json")
        again = await command("db", "copy", "--from", in_folder(tmp_path), "--to", bare_postgres_url)
        told = json.loads(out)
        (tmp_path / "many").mkdir()
        many = write_config(tmp_path / "many", body, storage=bare_postgres_url)
        before = len(model.prompts)
        async with gateway(many) as second:
            hook = Hook(session, second)
            ended = [await hook.settled(turn) for turn in (running, waiting)]
            repeated = await hook.say("hold this", message_id="m-held")
            went_on = await hook.say("and now?", name="李雷")
            replays = [await command("replay", turn["turn"], "--config", many) for turn in turns]
            people = json.loads((await command("people", "list", "--json", "--config", many))[1])
        calls = model.prompts[before:]

    assert 1 == refused[0]
    assert "is using" in refused[2]
    assert (0, False) == (code, told["resumed"]), err
    assert "100%" in err
    assert len(SAID) <= told["rows"]["ledgers"]
    assert 7 <= told["rows"]["messages"]
    assert 1 == again[0]
    assert "the database is not empty" in again[2]
    assert ["re: hold this", "re: and this"] == [turn["reply"]["text"] for turn in ended]
    assert running["turn"] == repeated["turn"]
    assert "re: and now?" == went_on["reply"]["text"]
    assert [*SAID, "hold this", "and this", "and now?"] == users(calls[-1])
    assert 3 == len(calls)
    assert [(0, "identical: the prompt comes out byte for byte as it was\n", "")] * len(SAID) == replays
    assert 1 == len(people)
    assert [(len(SAID) + 3,)] == rows(bare_postgres_url, "SELECT count(*) FROM messages WHERE role = 'user'")


async def test_what_is_known_of_people_is_the_same(
    bare_postgres_url: str, tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """What was learned stands behind row-level security then: each person's document, with its sources, is the same to the byte,
    and in another conversation they are known, and found by their words; nobody else's is there."""
    async with model_server(lambda prompt: f"re: {prompt[-1]['content']}") as model:
        body = f"""
agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}
memory: {{model: none}}
channels: {HOOK}"""
        config = write_config(tmp_path, body)
        async with gateway(config) as first:
            hook = Hook(session, first)
            await hook.say("I live in Berlin, and I am allergic to peanuts", sender="alice", conversation="a1")
            await hook.say("我住在成都，我喜欢围棋 😀", sender="李雷", conversation="b1")
            await learned(in_folder(tmp_path))
            assert 0 == await first.stop()
        code, _, err = await command("db", "copy", "--to", bare_postgres_url, "--config", config)
        (tmp_path / "many").mkdir()
        many = write_config(tmp_path / "many", body, storage=bare_postgres_url)
        accounts = ("webhook:hook:alice", "webhook:hook:李雷")
        here = [await command("people", "export", account, "--config", config) for account in accounts]
        there = [await command("people", "export", account, "--config", many) for account in accounts]
        async with gateway(many) as second:
            hook = Hook(session, second)
            await hook.say("what may I eat?", sender="alice", conversation="a2")
            await hook.say("what do I play?", sender="李雷", conversation="b2")
        alice, lilei = map(whole, model.prompts[-2:])

    assert 0 == code, err
    assert here == there
    assert [0, 0] == [code for code, _, _ in there]
    assert "Berlin" in there[0][1]
    assert "成都" in there[1][1]
    assert "peanuts" in alice
    assert "成都" in lilei
    assert "peanuts" not in lilei
    assert "成都" not in alice


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--to", "postgresql://127.0.0.1:1/x"), 1, "there is no file at"),
        (("--from", "postgresql://u:geheim@127.0.0.1:1/x"), 2, "--from 'postgresql://u:***@127.0.0.1:1/x' is not a SQLite file"),
        (("--to", "sqlite:///other.db"), 2, "--to 'sqlite:///other.db' is not a PostgreSQL database"),
    ],
)  # fmt: skip
async def test_what_cannot_be_copied(arguments: tuple[str, ...], code: int, said: str, tmp_path: Path) -> None:
    """Usage ends with 2, what is otherwise than it has to be with 1; no password is repeated."""
    config = write_config(tmp_path, "agents: {default: {kind: demo}}\nchannels: {page: {kind: console}}")
    ended, out, err = await command("db", "copy", *arguments, "--config", config)

    assert (code, "") == (ended, out)
    assert said in err
    assert "geheim" not in err


async def test_broken_off_by_hand_it_goes_on(postgres_url: str, tmp_path: Path) -> None:
    """Ctrl-C ends it at once and says what to do; the next call takes up what stands."""
    config = write_config(tmp_path, "agents: {default: {kind: demo}}\nchannels: {page: {kind: console}}")
    await asyncio.to_thread(make, tmp_path / "clew.db")
    await asyncio.to_thread(fill, tmp_path / "clew.db")
    call = ("gateway", "db", "copy", "--to", postgres_url, "--config", str(config), "--json")
    with psycopg.connect(as_admin(postgres_url)) as other:
        other.execute("LOCK TABLE vault IN SHARE MODE")  # it gets as far as that
        process = await fork(*call, env=environ())
        async with asyncio.timeout(30):
            while not rows(postgres_url, "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'vault'::regclass"):
                await asyncio.sleep(0.05)  # nothing tells that somebody waits for a lock
        process.send_signal(signal.SIGINT)
        out, err = await asyncio.wait_for(process.communicate(), 30)
        code = await process.wait()
    again = await command(*call[1:])

    assert (1, b"") == (code, out)
    assert "broken off; call it again" in err.decode()
    assert 0 == again[0], again
    assert json.loads(again[1])["resumed"]
