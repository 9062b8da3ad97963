"""Groups through the real process: who is answered among people and bots, what is followed, what is background, who is nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from gateway.notices import notice
from tests.scenarios.edits import Platform, account, how
from tests.scenarios.stage import Stage, echo, stage, users

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: stub}
  other: {kind: openai, base_url: "MODEL", model: other}
defaults: {limits: {per_minute: 1000}, trigger: [mention]}
channels:
  plain: {kind: webhook, secrets: ["${HOOK}"], trigger: [mention], agents: [default, other]}
  threads: {kind: webhook, secrets: ["${HOOK}"], trigger: [mention, thread]}
  shared: {kind: webhook, secrets: ["${HOOK}"], trigger: [mention, thread], scope: room}
  bots: {kind: webhook, secrets: ["${HOOK}"], trigger: [mention], bots: answer, bot_depth: 2}
  heard: {kind: webhook, secrets: ["${HOOK}"], trigger: [mention], observe: true, memory: {observed: {messages: 3}}}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("groups"), BODY, module="tests.scenarios.relay") as running:
        yield running


def room(world: Stage, channel: str, name: str) -> Platform:
    world.play(echo)
    return Platform(world.session, world.gateway, channel, name, chat_type="group")


async def reply(place: Platform, turn: dict[str, Any]) -> str:
    (ended,) = await place.ended(turn)
    return str(ended["reply"]["text"])


@pytest.mark.parametrize("channel", ["threads", "shared"])
async def test_a_thread_is_followed_after_the_first_answer(world: Stage, channel: str) -> None:
    """Without a mention, whoever speaks there; other threads and the room itself are not. It is known from the memory, not
    from this process's."""
    place = room(world, channel, "follow")
    before = await place.say("m1", "hello all", thread="t 话题")
    asked = await place.say("m2", "and you?", thread="t 话题", mentions_bot=True)
    assert "re: [Ada]: and you?" == await reply(place, asked)

    on = await place.say("m3", "那我呢", sender="bob", thread="t 话题")
    assert "re: [Bob]: 那我呢" == await reply(place, on)
    elsewhere = [await place.say(f"e{thread}", "psst", sender="bob", thread=thread) for thread in ("t2", None)]

    assert [("ignored", "not_addressed")] * 3 == [how(before), *(how(turn) for turn in elsewhere)]
    assert 2 == len(world.model.prompts)


async def test_a_thread_that_the_bot_began_is_followed(world: Stage) -> None:
    place = room(world, "threads", "root")
    turn = await place.say("m1", "what do you mean?", thread="ours", reply_to_bot=True)

    assert "re: [Ada]: what do you mean?" == await reply(place, turn)


async def test_bots_among_themselves_come_to_an_end(world: Stage) -> None:
    """The third in a row is not answered; a person's word, whether for the bot or not, lets them go on
    (NousResearch/hermes-agent#91481, slackapi/bolt-python#946)."""
    place, bot = room(world, "bots", "loop"), account("jira", is_bot=True)

    async def says(number: int) -> tuple[str, str | None]:
        turn = await place.say(f"b{number}", f"ping {number}", mentions_bot=True, sender=bot)
        return how((await place.ended(turn))[0])

    rounds = [await says(number) for number in range(4)]
    await place.say("m1", "enough, 够了")
    rounds.append(await says(4))

    answered, deep = ("answered", None), ("ignored", "bot_depth")
    assert [answered, answered, deep, deep, answered] == rounds
    assert 3 == len(world.model.prompts)


async def test_two_tellings_of_a_bots_message_count_once(world: Stage) -> None:
    place, bot = room(world, "bots", "twice"), account("jira", is_bot=True)
    for number in range(2):
        for telling in ("message", "mention"):
            ids = [f"twice:{telling}:{number}", f"twice:{number}"]
            turn = await place.say(f"b{number}", "ping", mentions_bot=True, sender=bot, dedupe_ids=ids)
            (ended,) = await place.ended(turn)
            assert "answered" == ended["status"]


async def test_other_bots_are_ignored_unless_the_room_wants_them(world: Stage) -> None:
    place = room(world, "plain", "bots")
    turn = await place.say("b1", "ping", mentions_bot=True, sender=account("jira", is_bot=True))

    assert ("ignored", "bot") == how(turn)


async def test_an_account_that_hides_somebody_changes_nothing_for_others(world: Stage) -> None:
    """It stands for every anonymous admin of the group (tdlib/telegram-bot-api#667): it is answered, and nobody's profile is
    kept; but it neither ends the group's conversation nor chooses its agent."""
    place, nobody = room(world, "plain", "anonymous"), account("-100", trusted=False)
    await reply(place, await place.say("m0", "my order is 8821", mentions_bot=True))

    async def says(message: str, text: str) -> str:
        return await reply(place, await place.say(message, text, mentions_bot=True, sender=nobody))

    refused = [await says(f"n{number}", text) for number, text in enumerate(("/new", "/new hi", "/agent other"))]
    assert [notice("unknown_sender", "en")] * 3 == refused
    assert notice("agent_is", "en", agent="default", agents="default, other") == await says("n4", "/agent")
    assert "re: [-100]: which order?" == await says("n5", "which order?")

    assert "8821" in str(world.model.prompts[-1]), "the conversation went on"
    assert [(None,)] == world.rows("SELECT DISTINCT person_id FROM messages WHERE role = 'user' AND \"user\" = '-100'")
    assert notice("agent_set", "en", agent="other") == await reply(
        place, await place.say("m1", "/agent other", mentions_bot=True)
    ), "who is somebody may"


async def test_the_bots_coming_and_going_is_on_record(world: Stage) -> None:
    """Also where nothing can be sent; a repeat is no second coming."""
    place = room(world, "plain", "come and go")

    async def told(name: str, **fields: Any) -> tuple[str, str | None]:
        body = {"event": "presence", "channel": "plain", "room": place.room, "chat_type": "group"}
        body |= {"sender": account("ann"), "dedupe_ids": [name]} | fields
        async with world.session.post(f"{world.gateway.url}/channels/plain", json=body) as response:
            assert 200 == response.status, await response.text()
            return how(await response.json())

    assert ("applied", "joined") == await told("come", present=True)
    assert ("applied", "left") == await told("go", present=False) == await told("go", present=False)
    assert 2 == len(world.rows("SELECT id FROM inbox_events WHERE CAST(body AS TEXT) LIKE '%come and go%'"))
    assert [] == world.model.prompts


async def test_background_is_bounded_attributed_and_no_turn(world: Stage) -> None:
    """The newest of it, with names; bots' talk is not in it, an edit is, what was deleted is not; the window has turns only."""
    place = room(world, "heard", "background")
    for number in range(5):
        await place.say(f"o{number}", f"remark {number} 备注", sender=("ann", "bob")[number % 2])
    await place.say("bot", "remark of a bot", sender=account("jira", is_bot=True))
    assert ("applied", "edit") == await place.edit("o4", "remark 4, mended", sender="ann")
    assert ("applied", "delete") == await place.delete("o3", sender="bob")
    await reply(place, await place.say("m1", "what was said?", mentions_bot=True))
    await place.say("o6", "later remark", sender="bob")
    await reply(place, await place.say("m2", "and now?", mentions_bot=True))

    first, second = (prompt[0]["content"] for prompt in world.model.prompts)
    assert "[Ann]: remark 2 备注" in first
    assert "[Ann]: remark 4, mended" in first
    assert "remark 0" not in first
    assert "remark 3" not in first
    assert "of a bot" not in first
    assert "[Bob]: later remark" in second
    assert ["[Ada]: what was said?", "[Ada]: and now?"] == users(world.model.prompts[-1])


async def test_help_tells_a_group_what_the_bot_hears(world: Stage) -> None:
    place = room(world, "heard", "help")
    told = await reply(place, await place.say("m1", "/帮助", mentions_bot=True, language="zh"))

    assert notice("heard_mention", "zh") in told
    assert notice("help_observed", "zh") in told
