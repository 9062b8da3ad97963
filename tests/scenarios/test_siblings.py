"""A platform tells of one message twice, and only one telling shows that it asks for an answer: it gets one, in any order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.scenarios.edits import BODY, Platform, how
from tests.scenarios.stage import Stage, echo, stage, users

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(shared_storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    folder = tmp_path_factory.mktemp("siblings")
    async with stage(folder, BODY, storage=shared_storage, module="tests.scenarios.relay") as running:
        yield running


def ids(room: str, telling: str) -> list[str]:
    return [f"{room}:{telling}", f"{room}:m1"]


@pytest.mark.parametrize("order", ["mention last", "mention first", "at once"])
@pytest.mark.parametrize("channel", ["unheard", "heard"])
async def test_one_answer_in_any_order(world: Stage, channel: str, order: str) -> None:
    """Ignored or overheard first and then a mention, the other way round, or both at once: one turn, one call, one answer,
    to the mention's text, which differs (openclaw/openclaw#34859, openclaw/openclaw#32190)."""
    room = f"{channel} {order}"
    world.play(echo)
    place = Platform(world.session, world.gateway, channel, room, chat_type="group")

    async def message() -> dict[str, str]:
        return await place.say("m1", "hi <@B> 帮我", dedupe_ids=ids(room, "message"))

    async def mention() -> dict[str, str]:
        return await place.say("m1", "hi, help me", mentions_bot=True, dedupe_ids=ids(room, "mention"))

    if order == "at once":
        views = await asyncio.gather(message(), mention())
    else:
        views = [await mention(), await message()] if order == "mention first" else [await message(), await mention()]
    ended = await place.ended(*views)
    again = [how(await telling()) for telling in (message, mention, message)]

    assert 1 == len({view["turn"] for view in views}) == len({view["token"] for view in views})
    assert ["re: [Ada]: hi, help me"] * 2 == [view["reply"]["text"] for view in ended]
    assert 1 == len(world.model.prompts)
    assert "帮我" not in world.model.prompts[0][0]["content"], "what is asked is no background of itself"
    assert {"answered"} == {status for status, _ in again}


async def test_a_repeat_is_no_second_telling(world: Stage) -> None:
    """What nobody asked to answer stays so, however often the platform delivers it."""
    world.play(echo)
    place = Platform(world.session, world.gateway, "unheard", "repeat", chat_type="group")
    first = await place.say("m1", "hi all", dedupe_ids=ids("repeat", "message"))
    again = await place.say("m1", "hi all", mentions_bot=True, dedupe_ids=ids("repeat", "message"))

    assert [("ignored", "not_addressed")] * 2 == [how(first), how(again)]
    assert first["turn"] == again["turn"]


async def test_what_was_stopped_is_not_revived(world: Stage) -> None:
    """/stop came between the two tellings: the second one asks for nothing any more."""
    go_on = asyncio.Event()

    async def answer(prompt: list[dict[str, str]]) -> str:
        await go_on.wait()
        return echo(prompt)

    world.play(answer)
    world.model.called.clear()
    place = Platform(world.session, world.gateway, "unheard", "stopped", chat_type="group")
    running = await place.say("m0", "a story", sender="bob", mentions_bot=True)
    await world.model.called.wait()
    first = await place.say("m1", "hi", mentions_bot=True, dedupe_ids=ids("stopped", "mention"))
    stop = await place.say("m2", "/stop", mentions_bot=True)
    second = await place.say("m1", "hi", mentions_bot=True, dedupe_ids=ids("stopped", "message"))
    go_on.set()
    ended = await place.ended(running, first)

    assert ("applied", "stop") == how(stop)
    assert [("ignored", "stopped")] * 2 == [how(second), how(ended[1])]
    assert ["[Bob]: a story"] == [text for prompt in world.model.prompts for text in users(prompt)]
