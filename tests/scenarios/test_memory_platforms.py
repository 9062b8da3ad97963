"""Memory of people on Slack and Telegram: what they edit and delete is unlearned, and a group's people are kept apart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.scenarios.platforms import Room, SlackRoom, World, words, world
from tests.scenarios.remembered import condensed, learned, notes_of, sections, stored, whole
from tests.scenarios.world import Prompt, in_folder, rows

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAYS = ("slack-http", "telegram-polling")
MEMORY = "memory: {window: {turns: 3}, summary: {start_turns: 4}}"
NOTES = {"lemonade": (("set", "drink", "lemonade"),), "柠檬水": (("set", "drink", "柠檬水"),)}


@dataclass
class Here:
    there: World
    storage: str

    async def says(self, room: Room, text: str, *, by: str = "") -> tuple[Any, Prompt]:
        """Say something and wait until it was answered and learned from; return the message and the prompt."""
        before = len(room.replies())
        message = await room.says(text, by=by)
        await room.until(lambda replies: len(replies) > before and replies[-1].startswith("Fine"))
        await learned(self.storage)
        return message, next(prompt for prompt in reversed(self.there.model.prompts) if words(prompt) == text)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    folder: Path = tmp_path_factory.mktemp("platforms")
    async with world(folder, ways=WAYS, memory=MEMORY) as there:
        there.play(lambda _: "Fine.")
        there.model.notes, there.model.summary = (lambda prompt: notes_of(NOTES, prompt)), condensed
        yield Here(there, in_folder(folder))


EVERYWHERE = """SELECT value FROM facts WHERE value LIKE ? UNION ALL SELECT text FROM profile_items WHERE text LIKE ?
  UNION ALL SELECT text FROM summaries WHERE text LIKE ? UNION ALL SELECT title FROM scopes WHERE title LIKE ?"""


def traces(here: Here, words: str) -> list[tuple[str]]:
    """What is left of words outside the messages themselves."""
    return rows(here.storage, EVERYWHERE, *[f"%{words}%"] * 4)


@pytest.mark.parametrize("way", WAYS)
async def test_an_edit_reaches_what_was_learned(way: str, here: Here) -> None:
    """Facts (by rules and by the model), profile, summary and recall follow the new text; of the old one nothing is left in any
    prompt (getzep/graphiti#1489, CaviraOSS/LongMemory#186, openclaw/openclaw#28834)."""
    room = here.there.sides[way].private(f"Edith {way}")
    tag = way.partition("-")[0]
    said, _ = await here.says(room, f"I like {tag} lemonade. My order number is 8821.")
    for number in range(4):
        _, before = await here.says(room, f"{tag} question {number}")
    await room.edits(said, f"I like {tag} cider. My order number is 8812.")
    await stored(here.storage, "SELECT 1 FROM messages WHERE text LIKE ? AND version > 1", f"%{tag} cider%")
    await learned(here.storage)
    _, after = await here.says(room, f"{tag} anything new?")
    _, later = await here.says(room, f"Do I like lemonade or cider from {tag}?")

    assert "lemonade" in sections(before)["summary"]
    assert {"- drink: lemonade", "- order 8821", f"- likes {tag} lemonade"} == set(
        sections(before)["facts"].splitlines()
    )
    for prompt in (after, later):
        assert {"- order 8812", f"- likes {tag} cider"} == set(sections(prompt)["facts"].splitlines())
    assert "lemonade" not in whole(after)
    assert "lemonade" not in "".join(sections(later).values())
    assert f"{tag} cider" in sections(later)["summary"]
    assert [] == traces(here, f"{tag} lemonade")


async def test_a_deletion_reaches_what_was_learned(here: Here) -> None:
    """As an edit, with nothing in its place: mem0ai/mem0#3245, #3040, getzep/graphiti PR#1491, PR#1130,
    redis/agent-memory-server PR#184. Telegram tells no bot of a deletion (platform-facts 2)."""
    room = here.there.sides["slack-http"].private("Delia")
    assert isinstance(room, SlackRoom)
    said, _ = await here.says(room, "我喜欢柠檬水。我的订单号是8821")
    for number in range(4):
        _, before = await here.says(room, f"问题 {number}")
    await room.people["Delia"].deletes(room.channel, said)
    await stored(here.storage, "SELECT 1 FROM messages WHERE deleted_ms IS NOT NULL")
    await learned(here.storage)
    _, after = await here.says(room, "我喜欢什么？柠檬水吗？")

    assert "柠檬水" in sections(before)["summary"]
    assert "订单 8821" in sections(before)["facts"]
    assert "facts" not in sections(after)
    assert "profile" not in sections(after)
    assert "柠檬水" not in whole(after).replace("我喜欢什么？柠檬水吗？", "")
    assert [] == traces(here, "喜欢柠檬水。")


@pytest.mark.parametrize("way", WAYS)
async def test_two_speakers_of_a_group_each_get_their_own(way: str, here: Here) -> None:
    """B49 to B52, D09: contrary likes, the same slot, one room; each answer's prompt holds its own speaker's, and the words of
    both are told apart (nanobot#1091, hermes-agent#17989, LangBot#1822)."""
    room = here.there.sides[way].group(f"coffee {way}", "Ann", "Bob")
    await here.says(room, "I like coffee. My order number is 8821.", by="Ann")
    await here.says(room, "I hate coffee. My order number is 9932.", by="Bob")
    _, hers = await here.says(room, "Coffee for me, please?", by="Ann")
    _, his = await here.says(room, "And what about me?", by="Bob")

    assert {"- order 8821 (Ann)", "- likes coffee (Ann)"} == set(sections(hers)["facts"].splitlines())
    assert {"- order 9932 (Bob)", "- dislikes coffee (Bob)"} == set(sections(his)["facts"].splitlines())
    assert "likes coffee" not in sections(his).get("profile", "").replace("dislikes", "")
    assert "[Ann]: I like coffee." in whole(his)
    assert "[Bob]: I hate coffee." in whole(his)


async def test_one_person_has_another_memory_on_another_platform(here: Here) -> None:
    """C17, C19: the same name is not the same person; only linking makes it one."""
    slack_room, telegram_room = (here.there.sides[way].private("Zoe") for way in WAYS)
    await here.says(slack_room, "I am allergic to latex.")
    _, told = await here.says(telegram_room, "Am I allergic to latex?")
    _, own = await here.says(slack_room, "What am I allergic to?")

    assert {} == sections(told)
    assert "allergic to latex" in sections(own)["pinned"]
