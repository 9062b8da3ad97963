"""What people are told of themselves, forget and join in chat on Slack and Telegram, by rules alone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.notices import Language, notice
from tests.scenarios.platforms import Room, SlackRoom, World, echo, shows, world
from tests.scenarios.remembered import learned
from tests.scenarios.world import in_folder

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAYS = ("slack-http", "telegram-polling")


class Here:
    def __init__(self, there: World, storage: str) -> None:
        self.there = there
        self.storage = storage

    async def says(self, room: Room, text: str, *, by: str = "") -> str:
        """Say something and return the answer."""
        before = len(room.replies())
        await room.says(text, by=by)
        await room.until(lambda replies: len(replies) > before)
        return room.replies()[-1]

    async def tells(self, room: Room, *texts: str, by: str = "") -> None:
        """Say these, each answered, and wait until they are learned from."""
        for text in texts:
            await room.says(text, by=by)
            await shows(room, f"re: {text}")
        await learned(self.storage)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    folder: Path = tmp_path_factory.mktemp("known")
    async with world(folder, ways=WAYS, memory="memory: {model: none}") as there:
        there.play(echo)
        yield Here(there, in_folder(folder))


@pytest.mark.parametrize(
    ("language", "memory", "wish", "texts", "said"),
    [
        (
            "en",
            "/memory",
            "Forget that!",
            ("I like rye bread", "I like oolong tea"),
            ("likes rye bread", "likes oolong tea"),
        ),
        ("zh", "/记忆", "忘了我刚才说的", ("我喜欢黑麦面包", "我喜欢乌龙茶"), ("喜欢黑麦面包", "喜欢乌龙茶")),
    ],
)
@pytest.mark.parametrize("way", WAYS)
async def test_in_private(
    way: str, language: Language, memory: str, wish: str, texts: tuple[str, ...], said: tuple[str, ...], here: Here
) -> None:
    """Listed, forgotten by number and in plain words, and gone (B46, C21)."""
    room = here.there.sides[way].private(f"Ann {language}")
    await here.tells(room, *texts)

    listed = await here.says(room, memory)
    unlearned = await here.says(room, wish)
    forgotten = await here.says(room, "/forget 1" if language == "en" else "/忘记 1")
    left = await here.says(room, memory)

    assert said[0] in listed
    assert said[1] in listed
    assert said[1] in unlearned
    assert notice("forgotten", language) in unlearned
    assert said[0] in forgotten
    assert notice("known_nothing", language) in left


async def test_in_a_group_that_whispers_one_sees_ones_own(here: Here) -> None:
    """On Slack the asker alone sees the list: what they said in groups; of the rest there is a count."""
    side = here.there.slack()
    group = side.group("table", "Bob", "Cat")
    private = SlackRoom(side.here.dm(group.people["Bob"], side.bot), side.bot, {"Bob": group.people["Bob"]})
    await here.tells(private, "I am allergic to nuts")
    await here.tells(group, "I like rye bread", by="Bob")
    await here.tells(group, "I like wine", by="Cat")
    before = group.replies()

    await group.says("/memory", by="Bob")
    await group.channel.wait_for(lambda _: len(group.channel.ephemerals) == 1, 20)

    who, told = group.channel.ephemerals[0]
    assert group.people["Bob"].id == who
    assert "likes rye bread" in told.shown
    assert notice("known_more", "en", count=1) in told.shown
    assert not re.search("nuts|wine", told.shown)
    assert before == group.replies()


async def test_in_a_group_where_all_would_see_it_there_is_a_count(here: Here) -> None:
    """On Telegram, which can't whisper: no words of anybody's memory (NousResearch/hermes-agent#28279)."""
    group = here.there.sides["telegram-polling"].group("table", "Dan", "Eve")
    await here.tells(group, "I like rye bread", by="Dan")
    await here.tells(group, "I like wine", by="Eve")

    told = await here.says(group, "/memory", by="Dan")

    assert notice("known_count", "en", count=1, prefix="") in told
    assert not re.search("rye|wine", told)


async def test_a_kind_of_thing_is_forgotten_where_others_listen(here: Here) -> None:
    """In plain words behind a mention: on Slack the asker alone sees what went, on Telegram all see a count, and no model is
    asked (B46)."""
    slack = here.there.slack().group("desk", "Gil", "Hal")
    await here.tells(slack, "我住在上海", by="Gil")
    await slack.says("忘掉我的地址", by="Gil")
    await slack.channel.wait_for(lambda _: len(slack.channel.ephemerals) == 1, 20)
    telegram = here.there.sides["telegram-polling"].group("desk", "Gil", "Hal")
    await here.tells(telegram, "I live in Oslo", by="Hal")
    told = await here.says(telegram, "Forget my address, please", by="Hal")

    assert "– 所在地：上海" in slack.channel.ephemerals[0][1].shown
    assert notice("forgotten_count", "en", count=1) in told
    assert "Oslo" not in told


async def test_one_person_on_both_platforms(here: Here) -> None:
    """What was said on the one is known on the other, until the accounts are taken apart (C21)."""
    slack = here.there.sides["slack-http"].private("Fay")
    telegram = here.there.sides["telegram-polling"].private("Fay")
    await here.tells(slack, "I like rye bread")
    await here.tells(telegram, "我喜欢乌龙茶")
    code = re.search(r"/link (\S{4}-\S{4})", await here.says(slack, "/link"))
    assert code is not None

    assert notice("link_done", "zh", prefix="") == await here.says(telegram, f"/link {code[1]}"), "as they wrote there"

    for room in (slack, telegram):
        told = await here.says(room, "/memory")
        assert "rye bread" in told
        assert "乌龙茶" in told
    assert notice("unlink_done", "en") == await here.says(slack, "/unlink")
    told = await here.says(slack, "/memory")
    assert "likes rye bread" in told
    assert "乌龙茶" not in told
