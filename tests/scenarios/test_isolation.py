"""Nothing said in one place is seen in another: one test per part of the key, and hostile ids (C18, C19, F10)."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.scenarios.conftest import HOOK
from tests.scenarios.stage import Stage, stage, users

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = f"""
agents:
  default: {{kind: openai, base_url: "MODEL", model: one}}
  other: {{kind: openai, base_url: "MODEL", model: two}}
channels: {HOOK}
  hook2: {{kind: webhook, secrets: ["${{HOOK}}"]}}
  hook-other: {{kind: webhook, secrets: ["${{HOOK}}"], agent: other}}
  rooms:
    kind: webhook
    secrets: ["${{HOOK}}"]
    limits: {{per_minute: 1000}}
    rooms: {{apart: {{scope: speaker}}, joined: {{scope: room}}}}
  choice: {{kind: webhook, secrets: ["${{HOOK}}"], agents: [default, other]}}
memory: {{model: none, facts: {{enabled: false}}}}  # short-term memory alone: what a person is known by goes along, by design
"""

CANARY = itertools.count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(shared_storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("isolation"), BODY, storage=shared_storage) as running:
        yield running


async def say(world: Stage, place: dict[str, Any], text: str) -> dict[str, Any]:
    place = dict(place)
    return await world.hook(place.pop("channel", "hook")).say(text, **place)


async def whole_prompts(world: Stage, place: dict[str, Any], text: str) -> str:
    """Say something and return every word the model was shown for it."""
    world.model.prompts.clear()
    await say(world, place, text)
    return "\n".join(message["content"] for prompt in world.model.prompts for message in prompt)


BASE: dict[str, Any] = {"sender": "ada", "conversation": "c1", "chat_type": "private"}
GROUP = BASE | {"conversation": "g1", "chat_type": "group"}
PAIRS = {
    "user": (BASE, BASE | {"sender": "bob"}),
    "user, in a room of separate speakers": (
        GROUP | {"channel": "rooms", "conversation": "apart"},
        GROUP | {"channel": "rooms", "conversation": "apart", "sender": "bob"},
    ),
    "channel": (BASE, BASE | {"channel": "hook2"}),
    "channel, group": (GROUP, GROUP | {"channel": "hook2"}),
    "conversation": (BASE, BASE | {"conversation": "c2"}),
    "conversation, group": (GROUP, GROUP | {"conversation": "g2"}),
    "thread": (GROUP, GROUP | {"thread": "t1"}),
    "two threads": (GROUP | {"thread": "t1"}, GROUP | {"thread": "t2"}),
    "private/group": (BASE, BASE | {"chat_type": "group"}),
    "agent": (BASE, BASE | {"channel": "hook-other"}),
}


@pytest.mark.parametrize("part", PAIRS)
async def test_what_differs_in_one_part_of_the_key_shares_nothing(part: str, world: Stage) -> None:
    """C18, C19: a secret said in one place is in no prompt of the other, either way round (openclaw#7215, nanobot#1482,
    AstrBot#1766, rasa#7941)."""
    world.play(lambda prompt: "kept")
    for here, there in (PAIRS[part], PAIRS[part][::-1]):
        canary = f"canary-{next(CANARY)}-金丝雀"

        await say(world, here, f"Keep this to yourself: {canary}")

        assert canary not in await whole_prompts(world, there, "What was I told?")
        assert canary in await whole_prompts(world, here, "What was I told?"), "its own place remembers"


async def test_agents_share_no_scope_even_for_one_person_in_one_place(world: Stage) -> None:
    """C19: who switches agents in mid-talk is not read to the other one, and finds the first one's memory again."""
    world.play(lambda prompt: "kept")
    place = BASE | {"channel": "choice"}
    await say(world, place, "canary-of-the-first 金丝雀")

    await say(world, place, "/agent other")
    other = await whole_prompts(world, place, "What did I say?")
    await say(world, place, "/agent default")
    first = await whole_prompts(world, place, "What did I say?")

    assert "canary-of-the-first" not in other
    assert "canary-of-the-first" in first
    assert ["two", "one"] == world.model.models[-2:]


async def test_the_rooms_own_setting_decides_who_shares(world: Stage) -> None:
    """A group's scope is set by room: threads together, speakers apart, or the conversation (AstrBot#4195, AstrBot#978)."""
    world.play(lambda prompt: "kept")
    for room, thread, seen in (("joined", "t1", True), ("apart", None, False), ("usual", None, True)):
        place = GROUP | {"channel": "rooms", "conversation": room}
        await say(world, place | ({"thread": thread} if thread else {}), f"in {room}: canary")
        asked = place | {"sender": "bob"} | ({"thread": "t2"} if thread else {})
        assert seen == (f"in {room}: canary" in await whole_prompts(world, asked, "What was said?")), room


HOSTILE = [
    "a", "A", "a:b", "a/b", "a%3Ab", "a%2Fb", "a*", "*", "%", "%%", "a%", "a_b", "a-b", "a\\b", "a'b", 'a"b', "a b", " a",
    "a ", "null", "..", "../a", "é", "e\u0301", "Ａ", "🧑‍🚀", "🧑", "\u202ea", "שלום", "مرحبا", "中文:房间/一", "中文",
    "x" * 127 + "1", "x" * 127 + "2", "0", "00", "1e0",
]  # fmt: skip


@pytest.mark.parametrize("part", ["sender", "conversation", "thread"])
async def test_f10_hostile_ids_keep_apart(part: str, world: Stage) -> None:
    """F10: separators, wildcards, case, compositions, emoji and writing from right to left make no two ids one
    (langchain-ai/langgraph#8300, langchain-ai/langgraphjs#2721)."""
    world.play(lambda prompt: "kept")
    place = {"sender": "mallory", "conversation": "place", "thread": "t", "chat_type": "private", "channel": "rooms"}
    for index, hostile in enumerate(HOSTILE):
        await say(world, place | {part: hostile}, f"first {index}")

    for index, hostile in enumerate(HOSTILE):
        await say(world, place | {part: hostile}, f"second {index}")
        assert [f"first {index}", f"second {index}"] == users(world.model.prompts[-1]), hostile


async def test_f10_parts_do_not_run_into_each_other(world: Stage) -> None:
    """F10: room `a/b` is no thread `b` of room `a`; what looks like a joined key is one id."""
    world.play(lambda prompt: "kept")
    places: list[dict[str, Any]] = [
        {"conversation": "a", "thread": "b"},
        {"conversation": "a/b"},
        {"conversation": "a%2Fb"},
        {"conversation": "b", "sender": "ada:hook:b:private:default"},
        {"conversation": "b", "sender": "ada"},
        {"conversation": "b:private:default", "sender": "ada"},
    ]
    for index, place in enumerate(places):
        await world.hook().say(f"first {index}", **place)

    for index, place in enumerate(places):
        await world.hook().say("second", **place)
        assert [f"first {index}", "second"] == users(world.model.prompts[-1])


@pytest.mark.parametrize("field", ["conversation", "thread", "sender.id", "message.id"])
async def test_an_id_too_long_is_refused_not_cut(field: str, world: Stage) -> None:
    """F10, F12: 500 characters are a 422 that names the field; nothing is stored under a shortened id."""
    body: dict[str, Any] = {
        "conversation": "c", "thread": "t", "chat_type": "private", "sender": {"id": "long"},
        "message": {"id": "m-long", "text": "hello"},
    }  # fmt: skip
    where = body
    *path, last = field.split(".")
    for name in path:
        where = where[name]
    where[last] = "长" * 500

    status, problem = await world.hook().post(body)

    assert (422, field) == (status, problem["field"])
