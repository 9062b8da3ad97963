"""What a person is told in chat of what is known of them, and how they have it forgotten: through the real application, by rules
alone, in both languages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import date, timedelta
from typing import Any

import pytest
import pytest_asyncio

from gateway.notices import Language, notice
from tests.scenarios.remembered import learned
from tests.scenarios.stage import Stage, echo, said, stage
from tests.scenarios.world import in_folder

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}, memory: {model: none}}
  other: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}, memory: {model: none}}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("known"), BODY) as running:
        running.play(echo)
        yield running


class Person:
    """Somebody with a private conversation, and ways to talk in groups."""

    def __init__(self, world: Stage, name: str, channel: str = "hook") -> None:
        self.world = world
        self.hook = world.hook(channel)
        self.name = name

    async def says(self, text: str, *, group: str = "", **more: Any) -> str:
        place = {"conversation": group, "chat_type": "group"} if group else {"conversation": f"with {self.name}"}
        turn = await self.hook.say(text, sender=self.name, name=self.name, **place, **more)
        return str(turn["reply"]["text"])

    async def tells(self, *texts: str, group: str = "") -> None:
        """Say these, and wait until they are learned from."""
        for text in texts:
            await self.says(text, group=group)
        await learned(self.world.storage or in_folder(self.world.folder))

    async def known(self, command: str = "/memory", *, group: str = "") -> list[str]:
        """Return the numbered lines."""
        told = await self.says(command, group=group)
        return [line for line in told.splitlines() if re.match(r"\d+\. ", line)]

    async def in_prompt(self) -> str:
        """Return what the model is given of the person's memory."""
        await self.says("what do you know about me?")
        return str(self.world.model.prompts[-1][0]["content"])


@pytest.mark.parametrize(
    ("language", "memory", "texts", "expected"),
    [
        (
            "en",
            "/memory",
            ("I like oolong tea", "I am allergic to peanuts", "my order number is 8821"),
            ["1. allergic to peanuts – always minded (said on DAY, in private)", "2. likes oolong tea (said on DAY, in private)",
             "3. order 8821 (said on DAY, in private)"],
        ),
        (
            "zh",
            "/记忆",
            ("我喜欢乌龙茶", "我对花生过敏", "我的订单号是8821"),
            ["1. 对花生过敏——始终留意（DAY，私聊）", "2. 喜欢乌龙茶（DAY，私聊）", "3. 订单 8821（DAY，私聊）"],
        ),
    ],
)  # fmt: skip
async def test_what_is_known_is_listed_with_its_source(
    language: Language, memory: str, texts: tuple[str, ...], expected: list[str], world: Stage
) -> None:
    """Numbered, what is always minded first, then what lasts, then what only this session knows; with the day and the place
    (C21)."""
    ann = Person(world, f"ann-{language}")
    assert notice("known_nothing", language) in await ann.says(memory)

    await ann.tells(*texts)

    told = await ann.says(memory)
    listed = [re.sub(r"\d{4}-\d\d-\d\d", "DAY", line) for line in told.splitlines()[1:4]]
    assert notice("known_head", language) == told.splitlines()[0]
    assert expected == listed
    assert notice("known_foot", language, prefix="") in told


@pytest.mark.parametrize(
    ("language", "memory", "forget", "texts", "gone", "word"),
    [
        ("en", "/memory", "/forget 2", ("I like oolong tea", "I am allergic to peanuts"), "likes oolong tea", "oolong"),
        ("zh", "/记忆", "/忘记 2", ("我喜欢乌龙茶", "我对花生过敏"), "喜欢乌龙茶", "乌龙"),
    ],
)
async def test_one_thing_is_forgotten(
    language: Language, memory: str, forget: str, texts: tuple[str, ...], gone: str, word: str, world: Stage
) -> None:
    """By its number: told what, and it is in no prompt's memory any more, nor in the database (B46); the rest stays."""
    bob = Person(world, f"bob-{language}")
    await bob.tells(*texts)
    assert 2 == len(await bob.known(memory))

    told = await bob.says(forget)
    again = await bob.says(forget)

    assert f"{notice('forgotten', language)}\n– {gone}\n{notice('unlearn_stays', language, prefix='')}" == told
    assert notice("forget_gone", language) == again
    assert [True] == ["1." in line and word not in line for line in await bob.known(memory)]
    await bob.says("/new")
    assert word not in await bob.in_prompt()
    kept = "SELECT 1 FROM {} WHERE {} LIKE ? AND person_id = (SELECT person_id FROM messages WHERE speaker_name = ? LIMIT 1)"
    for table, column in (("profile_items", "text"), ("profile_items", "value"), ("facts", "value")):
        assert [] == world.rows(kept.format(table, column), f"%{word}%", bob.name)


async def test_a_number_means_what_was_listed(world: Stage) -> None:
    """A list that has changed meanwhile never makes somebody forget another thing; unlisted numbers are refused."""
    cat = Person(world, "cat")
    assert notice("forget_list_first", "en", prefix="") == await cat.says("/forget 1")
    await cat.tells("I like rye", "I like barley")
    assert ["1. likes rye", "2. likes barley"] == [line.partition(" (")[0] for line in await cat.known()]
    await cat.tells("I am allergic to nuts")  # would be number 1 now

    await cat.says("/new")
    assert "Forgotten:\n– likes rye" == (await cat.says("/forget 1")).partition("\nIt stands")[0]
    assert "Forgotten:\n– likes barley" == (await cat.says("/forget no. 2")).partition("\nIt stands")[0]
    assert notice("forget_no_such", "en", number=3, count=2, prefix="") == await cat.says("/forget 3")
    assert notice("forget_help", "en", prefix="") == await cat.says("/forget")
    assert notice("forget_help", "en", prefix="") == await cat.says("/forget my tea")
    assert ["1. allergic to nuts – always minded"] == [line.partition(" (")[0] for line in await cat.known()]


@pytest.mark.parametrize(
    ("language", "wish", "texts", "gone"),
    [
        ("en", "Please forget my address.", ("I live in Oslo", "I like rye"), "lives in Oslo"),
        ("zh", "忘掉我的地址", ("我住在上海", "我喜欢黑麦"), "所在地：上海"),
    ],
)
async def test_a_thing_is_forgotten_by_what_it_is_called(
    language: Language, wish: str, texts: tuple[str, ...], gone: str, world: Stage
) -> None:
    """In plain words, by code and not by a model that would only say so (B46): also what has not been learned yet. The rest
    stays, and where nothing of the kind is known, that is said."""
    ned = Person(world, f"ned-{language}")
    await ned.tells(*texts)
    world.model.prompts.clear()

    told = await ned.says(wish)

    assert [] == world.model.prompts
    assert f"{notice('forgotten', language)}\n– {gone}\n{notice('unlearn_stays', language, prefix='')}" == told
    assert notice("forget_unknown", language, prefix="") == await ned.says(wish)
    await ned.says(texts[0])
    await ned.says(wish)
    await ned.tells("hello again, what now?")
    assert 1 == len(await ned.known())
    assert gone not in await ned.in_prompt()


@pytest.mark.parametrize(
    ("language", "forget", "texts"),
    [("en", "/forget all", ("I like rye", "I live in Oslo")), ("zh", "/忘记 全部", ("我喜欢黑麦", "我住在奥斯陆"))],
)
async def test_everything_is_forgotten_after_a_confirmation(
    language: Language, forget: str, texts: tuple[str, ...], world: Stage
) -> None:
    """Asked first, with what it means; then all that was learned goes, nobody else's, and a new conversation begins (B46)."""
    dan, eve = Person(world, f"dan-{language}"), Person(world, f"eve-{language}")
    for person in (dan, eve):
        await person.tells(*texts)

    unasked = await dan.says(f"{forget} yes")
    assert notice("forget_all_ask", language if language == "zh" else "en", count=2, prefix="") == unasked
    assert 2 == len(await dan.known())
    wish = "忘掉关于我的一切" if language == "zh" else "Forget everything you know about me."
    for asked in (wish, forget):
        assert notice("forget_all_ask", language, count=2, prefix="") == await dan.says(asked)
    confirmed = await dan.says(f"{forget} 确定" if language == "zh" else f"{forget} yes")

    assert notice("forget_all_done", language, count=2) == confirmed
    assert [] == await dan.known()
    assert "<memory section" not in await dan.in_prompt()
    assert "what do you know about me?" == said(world.model.prompts[-1])
    assert 2 == len(world.model.prompts[-1]), "a new conversation: the system block and the question"
    assert 2 == len(await eve.known())


@pytest.mark.parametrize(
    ("language", "wish", "texts", "gone"),
    [
        ("en", "Forget that, please.", ("I live in Oslo", "I like rye bread"), "likes rye bread"),
        ("zh", "忘掉我刚才说的", ("我住在奥斯陆", "我喜欢黑麦面包"), "喜欢黑麦面包"),
    ],
)
async def test_what_was_just_said_is_forgotten_in_plain_words(
    language: Language, wish: str, texts: tuple[str, ...], gone: str, world: Stage
) -> None:
    """By code, so it is done and not only said to be: no model is asked (B46). What was said before stays; said anew, it is
    learned again."""
    fay = Person(world, f"fay-{language}")
    await fay.tells(*texts)
    world.model.prompts.clear()

    told = await fay.says(wish)

    assert [] == world.model.prompts
    assert f"{notice('forgotten', language)}\n– {gone}\n{notice('unlearn_stays', language, prefix='')}" == told
    assert 1 == len(await fay.known())
    await fay.tells(texts[1])
    assert 2 == len(await fay.known())


async def test_an_english_command_in_chinese_talk_is_answered_in_chinese(world: Stage) -> None:
    """It has no other name in most platforms' menus."""
    oki = Person(world, "oki")
    await oki.tells("我喜欢乌龙茶")

    assert notice("known_head", "zh") == (await oki.says("/memory")).splitlines()[0]
    assert notice("forget_all_ask", "zh", count=1, prefix="") == await oki.says("/forget all")
    assert notice("forget_all_done", "zh", count=1) == await oki.says("/forget all yes")


@pytest.mark.parametrize(("language", "forget"), [("en", "/forget me"), ("zh", "/忘记 我的数据")])
async def test_an_erasure_is_asked_for_and_due(language: Language, forget: str, world: Stage) -> None:
    """A request with its day, noted once; nothing goes yet, and the bot does not pretend that it had (GDPR Art. 12(3), B46)."""
    pat = Person(world, f"pat-{language}")
    await pat.tells("I like rye bread" if language == "en" else "我喜欢黑麦面包")

    first, again = await pat.says(forget), await pat.says(forget)

    assert first == again
    days = re.findall(r"\d{4}-\d\d-\d\d", first)
    assert timedelta(days=30) == date.fromisoformat(days[1]) - date.fromisoformat(days[0])
    number = re.findall(r"(?:number|编号) (\d+)", first)
    assert notice("erasure_asked", language, asked=days[0], due=days[1], id=number[0]) == first
    assert 1 == len(await pat.known())


async def test_what_is_not_learned_yet_is_never_learned(world: Stage) -> None:
    """Forgetting while learning is under way: whichever is first, in the end it is forgotten (getzep/graphiti#1489)."""
    gil = Person(world, "gil")
    for number in range(8):
        await gil.says(f"I like music of kind{number}")
        told = await gil.says("forget that")
        assert told.startswith(("Forgotten:", notice("unlearn_unknown", "en")))
    await gil.tells("hello again, what now?")

    assert [] == await gil.known()


async def test_nothing_to_forget(world: Stage) -> None:
    """Nothing was said, or nothing learned from it."""
    hal = Person(world, "hal")
    assert notice("unlearn_nothing", "en") == await hal.says("forget that")
    await hal.tells("what is the weather like?")

    expected = f"{notice('unlearn_unknown', 'en')}\n{notice('unlearn_stays', 'en', prefix='')}"
    assert expected == await hal.says("forget that")


async def test_in_a_group_there_is_a_count_and_ones_own(world: Stage) -> None:
    """Where all would read it, /memory counts, and /forget tells no words; nobody sees or changes what is another's
    (NousResearch/hermes-agent#28279)."""
    ida, jon = Person(world, "ida"), Person(world, "jon")
    await ida.tells("I like rye", group="table")
    await ida.tells("I am allergic to nuts")
    await jon.tells("I like wine", group="table")

    for person, count in ((ida, 2), (jon, 1)):
        told = await person.says("/memory", group="table")
        assert notice("known_count", "en", count=count, prefix="") == told.splitlines()[0]
        assert not re.search("rye|nuts|wine", told)
    assert ["1. likes wine (said on DAY, in the group table on hook)"] == [
        re.sub(r"\d{4}-\d\d-\d\d", "DAY", line) for line in await jon.known()
    ]
    assert 2 == len(await ida.known())
    told = await jon.says("/forget 1", group="table")
    assert notice("forgotten_count", "en", count=1) == told.splitlines()[0]
    assert "wine" not in told
    assert [] == await jon.known()
    assert 2 == len(await ida.known())
    assert "Nothing" not in await ida.says("forget that", group="table")
    assert ["1. allergic to nuts – always minded"] == [line.partition(" (")[0] for line in await ida.known()]


async def test_another_tenants_person_of_the_same_name_is_another(world: Stage) -> None:
    """The same account name on another channel is nobody's that is known (C19)."""
    kim, other = Person(world, "kim"), Person(world, "kim", "other")
    await kim.tells("I like rye")

    assert [] == await other.known()
    assert notice("forget_list_first", "en", prefix="") == await other.says("/forget 1")
    assert 1 == len(await kim.known())
