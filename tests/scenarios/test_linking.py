"""One person on two channels: joined by a one-time code in chat and taken apart again, through the real application."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gateway.notices import Language, notice
from tests.scenarios.stage import Stage, echo, stage
from tests.scenarios.test_known_chat import BODY, Person

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("linking"), BODY) as running:
        running.play(echo)
        yield running


async def code_of(person: Person, command: str = "/link") -> str:
    found = re.search(r"^/link (\S+)$", await person.says(command), re.M)
    assert found is not None
    return found[1]


async def values(person: Person, memory: str = "/memory") -> set[str]:
    return {line.partition(". ")[2].partition(" (")[0].partition("（")[0] for line in await person.known(memory)}


@pytest.mark.parametrize(
    ("language", "memory", "link", "unlink", "texts"),
    [
        ("en", "/memory", "/link", "/unlink", ("I like rye bread", "I like oolong tea", "I live in Oslo")),
        ("zh", "/记忆", "/关联", "/解除关联", ("我喜欢黑麦面包", "我喜欢乌龙茶", "我住在奥斯陆")),
    ],
)
async def test_joined_and_taken_apart(
    language: Language, memory: str, link: str, unlink: str, texts: tuple[str, ...], world: Stage
) -> None:
    """What was said on either channel is known, listed and in the prompt on both; afterwards each has its own again (C21)."""
    here, there = Person(world, f"ann-{language}"), Person(world, f"anna-{language}", "other")
    await here.tells(texts[0])
    await there.tells(texts[1])
    mine, theirs = await values(here, memory), await values(there, memory)
    code = await code_of(here, link)

    assert notice("link_done", language, prefix="") == await there.says(f"{link} {code.lower()}")

    assert mine | theirs == await values(here, memory) == await values(there, memory)
    assert any("other" in line for line in await here.known()), "said there"
    await there.tells(texts[2])
    joined = await values(here, memory)
    assert 3 == len(joined)
    for value in joined:
        assert value in await here.in_prompt(), "of both, on either channel"
    assert notice("link_wrong", language) == await there.says(f"{link} {code}"), "used up"
    assert notice("unlink_done", language) == await there.says(unlink)
    assert theirs == await values(there, memory)
    assert joined - theirs == await values(here, memory)
    assert notice("unlink_none", language) == await there.says(unlink)


async def test_in_a_group_a_code_is_burnt(world: Stage) -> None:
    """Neither shown nor taken there; one that was written there is worth nothing any more, in private either."""
    bob, eve = Person(world, "bob"), Person(world, "eve", "other")
    assert notice("link_private", "en", prefix="") == await bob.says("/link", group="table")
    code = await code_of(bob)

    assert notice("link_private", "en", prefix="") == await bob.says(f"/link {code}", group="table")
    assert notice("link_private", "en", prefix="") == await bob.says("/unlink", group="table")

    assert notice("link_wrong", "en") == await eve.says(f"/link {code}")


async def test_guessing_is_limited(world: Stage) -> None:
    """After five wrong codes not even the right one is taken from the same person; nor are codes given without end."""
    cat, mallory = Person(world, "cat"), Person(world, "mallory", "other")
    code = await code_of(cat)
    for number in range(5):
        assert notice("link_wrong", "en") == await mallory.says(f"/link WRNG-CDE{number}")

    assert notice("link_limited", "en") == await mallory.says(f"/link {code}")
    for _ in range(4):
        await code_of(cat)
    assert notice("link_limited", "en") == await cat.says("/link")


async def test_ones_own_code_and_hostile_ones(world: Stage) -> None:
    """One's own joins nothing; what is no code is a wrong one, whatever it is made of."""
    dan = Person(world, "dan")
    code = await code_of(dan)

    assert notice("link_same", "en") == await dan.says(f"/link {code}")
    for text in ("🙂🙂", "验证码", "' OR 1=1 --", "x" * 5000):
        assert await dan.says(f"/link {text}") in {notice("link_wrong", language) for language in ("en", "zh")}


async def test_what_is_recalled_goes_along(world: Stage) -> None:
    """Earlier talk of the one account is found from the other, once it has been moved, and no more after it was taken apart."""
    fay, fritz = Person(world, "fay"), Person(world, "fritz", "other")
    await fay.tells("the spare key of the zeppelin hangar hangs behind the barometer")
    await fay.says("/new")
    assert notice("link_done", "en", prefix="") == await fritz.says(f"/link {await code_of(fay)}")

    async def recalled() -> bool:
        await fritz.says("/new")
        await fritz.says("where does the spare key of the zeppelin hangar hang?")
        return "barometer" in str(world.model.prompts[-1])

    while not await recalled():
        pass  # it is moved behind the answers
    assert notice("unlink_done", "en") == await fritz.says("/unlink")
    assert not await recalled(), "at once: nobody is found under another person's words"


async def test_links_are_logged_without_codes(world: Stage) -> None:
    """Who was joined with whom, by ids; neither code nor name."""
    gus, ida = Person(world, "gus-cäsar"), Person(world, "ida-cäsar", "other")
    code = await code_of(gus)
    await ida.says(f"/link {code}")
    await ida.says("/unlink")

    await world.gateway.logged("persons parted")
    log = "\n".join(world.gateway.log)
    assert "persons linked" in log
    assert code not in log
    assert code.replace("-", "") not in log
