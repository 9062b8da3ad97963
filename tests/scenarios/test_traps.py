"""The traps inside the articles (F1, F3, F5, F8) through the real process."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

import pytest
import pytest_asyncio

from memory.base import Fact, ProfileItem, Summary
from memory.coverage import coverage
from memory.ids import Ids, now_ms
from memory.stores.sqlite import SqliteStore
from tests.scenarios.conftest import HOOK
from tests.scenarios.stage import Stage, said, stage, talk, users

pytestmark = pytest.mark.asyncio(loop_scope="module")

IDS = Ids(1023)
BODY = f"""
agents: {{default: {{kind: openai, base_url: "MODEL", model: stub, system: "You sell tea. 你卖茶。"}}}}
channels: {HOOK}
  short: {{kind: webhook, secrets: ["${{HOOK}}"], memory: {{window: {{turns: 2}}}}}}
  capped: {{kind: webhook, secrets: ["${{HOOK}}"], memory: {{window: {{messages: 3}}}}}}
  tight: {{kind: webhook, secrets: ["${{HOOK}}"], memory: {{window: {{tokens: 100, keep_turns: 1}}}}}}
  chatty: {{kind: webhook, secrets: ["${{HOOK}}"], memory: {{fillers: ["tally ho", "得嘞您"]}}}}
memory: {{model: none}}  # so that no window reaches back to what a summary does not cover yet
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("traps"), BODY) as running:
        yield running


def scope_of(world: Stage, turn: dict[str, Any]) -> int:
    ((scope_id,),) = world.rows("SELECT DISTINCT scope_id FROM messages WHERE session_id = ?", turn["session"])
    return int(scope_id)


def summary(scope_id: int, turn: dict[str, Any], text: str) -> Summary:
    return Summary(
        id=IDS.next(), scope_id=scope_id, session_id=turn["session"], text=text, first_id=1, last_id=2,
        digest=coverage("", ()), tokens=9, created_ms=now_ms(),
    )  # fmt: skip


def beside(world: Stage) -> SqliteStore:
    """The gateway's store, opened once more beside it."""
    return SqliteStore(world.database, ids=IDS, write_turn=asyncio.Lock(), timeout_s=10)


async def test_f1_a_summary_survives_a_broken_message_table(world: Stage) -> None:
    """F1, A27 to A31: the session's messages can't be read any more; the summary is still injected, an answer still comes,
    and the ledger says what failed."""
    world.play(lambda prompt: "refund" if "wants a refund" in prompt[0]["content"] else "what refund?")
    hook = world.hook()
    first = await hook.say("My order is 8821 订单", conversation="f1")
    async with beside(world) as store:
        await store.put_summary(summary(scope_of(world, first), first, "Ada wants a refund 退款"))
    with closing(sqlite3.connect(world.database, timeout=10, isolation_level=None)) as broken:
        broken.execute("UPDATE messages SET steps = '{broken' WHERE session_id = ?", (first["session"],))

    turn = await hook.say("So what do I want?", conversation="f1")

    assert ("answered", "refund") == (turn["status"], turn["reply"]["text"])
    assert ["So what do I want?"] == users(world.model.prompts[-1])
    assert ["window"] == (await world.explain(turn))["failed"]


async def test_f3_one_system_block_holds_every_section(world: Stage) -> None:
    """F3: role, rules, pinned constraints, profile, summary and facts stand in one system message, in this order; no later
    one displaces the role."""
    world.play(lambda prompt: "noted")
    hook = world.hook()
    first = await hook.say("hello there, shop", sender="f3", conversation="f3")
    scope_id = scope_of(world, first)
    ((person_id,),) = world.rows("SELECT person_id FROM identities WHERE account = 'f3'")
    item = ProfileItem(
        id=IDS.next(), person_id=person_id, namespace="shared", kind="constraint", slot="", text="allergic to nuts",
        pinned=True, chat_type="private", source_ids=(), status="active", valid_from_ms=0, valid_to_ms=None,
    )  # fmt: skip
    liked = ProfileItem(
        id=IDS.next(), person_id=person_id, namespace="shared", kind="preference", slot="", text="喜欢乌龙茶",
        pinned=False, chat_type="private", source_ids=(), status="active", valid_from_ms=0, valid_to_ms=None,
    )  # fmt: skip
    fact = Fact(
        id=IDS.next(), scope_id=scope_id, session_id=first["session"], person_id=person_id, speaker_name="f3",
        slot="budget", value="200", source_ids=(), status="active", created_ms=now_ms(), expires_ms=now_ms() + 10**7,
    )  # fmt: skip
    async with beside(world) as store:
        await store.put_profile([item, liked])
        await store.put_summary(summary(scope_id, first, "They greeted. 打过招呼。"))
        await store.put_facts([fact])

    await hook.say("what do you know?", sender="f3", conversation="f3")

    system, *others = world.model.prompts[-1]
    assert "system" == system["role"]
    assert "system" not in {message["role"] for message in others}
    parts = [
        "You sell tea. 你卖茶。",
        "Rules about memory",
        "allergic to nuts",
        "喜欢乌龙茶",
        "They greeted.",
        "budget: 200",
    ]
    places = [system["content"].find(part) for part in parts]
    assert sorted(places) == places
    assert -1 not in places


@pytest.mark.parametrize(
    ("asked", "yes", "done", "thanks"),
    [
        ("Shall I cancel the order?", "OK", "It is cancelled.", "ok"),
        ("要我帮您取消订单吗？", "好的", "订单已取消。", "好的"),
    ],
)
async def test_f5_a_filler_that_answers_a_question_stays(
    asked: str, yes: str, done: str, thanks: str, world: Stage
) -> None:
    """F5, C06: the same word is a decision behind a question, and goes as small talk behind a statement."""
    replies = iter([asked, done, "You are welcome.", "noted"])
    world.play(lambda prompt: next(replies))
    hook = world.hook()

    for text in ("order 8821 订单", yes, thanks):
        await hook.say(text, conversation=asked)
    last = await hook.say("What did I decide?", conversation=asked)

    assert ["order 8821 订单", yes, "What did I decide?"] == users(world.model.prompts[-1])
    entries = (await world.explain(last))["entries"]
    assert ["low_value"] == [
        each["rule"] for each in entries if (each["verdict"], each["section"]) == ("out", "window")
    ]


async def test_f8_the_settings_decide_how_much_is_kept(world: Stage) -> None:
    """F8: turns, messages and tokens of the window are each channel's own; unset is eight turns."""
    long = "a long tale of tea 茶的故事 " * 12
    world.play(lambda prompt: "ok then")
    for channel in ("hook", "short", "capped", "tight"):
        for number in range(4):
            await world.hook(channel).say(f"{number} {long if channel == 'tight' else ''}".strip())

    shown = dict(zip(("hook", "short", "capped", "tight"), world.model.prompts[3::4], strict=True))

    assert ["0", "1", "2", "3"] == users(shown["hook"])
    assert ["2", "3"] == users(shown["short"])
    assert [("user", "2"), ("user", "3")] == [line for line in talk(shown["capped"]) if line[0] == "user"]
    assert 3 == len(talk(shown["capped"]))
    assert [f"3 {long}".strip()] == users(shown["tight"])


async def test_f8_a_channel_may_know_more_fillers(world: Stage) -> None:
    """F8, C06: small talk of a house's own goes in its channel, and stays in the others."""
    world.play(lambda prompt: "Noted.")
    for channel in ("chatty", "hook"):
        for text in ("tea, please", "Tally ho!", "得嘞您", "and milk"):
            await world.hook(channel).say(text, conversation="fillers")

    assert ["tea, please", "and milk"] == users(world.model.prompts[3])
    assert ["tea, please", "Tally ho!", "得嘞您", "and milk"] == users(world.model.prompts[7])
    assert "and milk" == said(world.model.prompts[7])
