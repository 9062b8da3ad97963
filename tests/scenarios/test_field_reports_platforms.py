"""Faults of other gateways, reported in public, played through the real process on the platforms themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.emulators.telegram import rooms
from tests.scenarios.platforms import SLACK, WAYS, World, asks, echo, shows, words, world
from tests.scenarios.stage import Held, users

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("reports")) as there:
        yield there


@pytest.fixture
def there(shared: World) -> World:
    shared.play(echo)
    return shared


# A, B: who, where, and what was said


async def test_a_quoted_reply_in_private_opens_no_conversation_of_its_own(there: World) -> None:
    """It carries the id of a thread that is no topic (openclaw/openclaw#75975)."""
    side = there.telegram()
    room = side.private()
    await asks(room, "my order is 8821")
    (answer,) = room.ours()
    room.people["Ann"].says(room.chat, "which one?", reply_to=answer, message_thread_id=answer.id)
    await room.until(lambda replies: len(replies) == 2)

    first, second = users(there.model.prompts[-1])
    assert "my order is 8821" == first
    assert second.endswith("which one?")


async def test_reply_chains_of_a_plain_supergroup_are_one_conversation(there: World) -> None:
    """Each has a thread id, and none is a topic (NousResearch/hermes-agent#13195)."""
    side = there.telegram()
    ann, bob = there.tg.person("Ann"), there.tg.person("Bob")
    chat = there.tg.supergroup("Team", ann, bob, bots=(side.bot,))
    ann.says(chat, f"@{side.bot.username} the code is 4711")
    first = await chat.wait_for(lambda one: one.bot is not None and "4711" in one.text)
    bob.says(chat, "and who asked?", reply_to=first)
    second = await chat.wait_for(lambda one: one.bot is not None and "who asked" in one.text)

    assert ["[Ann]: the code is 4711", "[Bob, replying to you: “re: the code is 4711”]: and who asked?"] == users(
        there.model.prompts[-1]
    )
    assert not second.body.get("is_topic_message")


async def test_a_mention_in_a_thread_is_answered_in_the_thread_alone(there: World) -> None:
    """Not in the channel as well, and by one memory (openclaw/openclaw#23103, openclaw/openclaw#24417)."""
    side = there.slack()
    room = side.group("general", "Ann", "Bob")
    root = await room.people["Bob"].says(room.channel, "shall we?")
    room.thread = root
    await asks(room, "what do you say?", by="Ann")
    await there.platform.settled()

    assert [root] == [message.thread_ts for message in room.ours()]
    assert 1 == len(there.model.prompts)


async def test_people_without_a_public_name_are_called_by_their_own(there: World) -> None:
    """And two of one name stay two (AstrBotDevs/AstrBot#495, langbot-app/LangBot#1822)."""
    side = there.telegram()
    li, same = there.tg.person("李雷", last_name="🦊"), there.tg.person("李雷", last_name="🦊")
    chat = there.tg.supergroup("群", li, same, bots=(side.bot,))
    for number, person in enumerate((li, same)):
        person.says(chat, f"@{side.bot.username} 我是 {number}")
        await chat.wait_for(lambda one, end=f"{number}": one.bot is not None and one.text.endswith(end))

    speakers = [text.partition("]: ")[0] for text in users(there.model.prompts[-1])]
    assert 2 == len(set(speakers))
    assert all(speaker.startswith("[李雷 🦊") for speaker in speakers)


async def test_what_is_quoted_comes_with_its_author(there: World) -> None:
    """A reply to a third person's message, and one to the bot's (HKUDS/nanobot#1875, HKUDS/nanobot#2605)."""
    side = there.telegram()
    ann, bob = there.tg.person("Ann"), there.tg.person("Bob 鲍勃")
    chat = there.tg.supergroup("Team", ann, bob, bots=(side.bot,))
    said = bob.says(chat, "Guten Morgen allerseits")
    ann.says(chat, f"@{side.bot.username} translate this", reply_to=said)
    answer = await chat.wait_for(lambda one: one.bot is not None)
    prompt = str(there.model.prompts[-1])
    ann.says(chat, "shorter?", reply_to=answer)
    await chat.until(lambda room: len(room.replies()) == 2)

    assert "Guten Morgen allerseits" in prompt
    assert "Bob 鲍勃" in prompt
    assert "shorter?" in users(there.model.prompts[-1])[-1]


# E: said while an answer is made


@pytest.mark.parametrize("way", ["telegram-polling", "telegram-webhook"])
async def test_a_picture_without_a_word_in_mid_turn_harms_nothing(way: str, there: World) -> None:
    """It is nothing that we can hear, and is not taken for heard; its album's caption is answered, once
    (openclaw/openclaw#126375, openclaw/openclaw#110690)."""
    held = Held()
    there.play(held)
    room = there.telegram(way).private()
    await room.says("look")
    await there.model.called.wait()
    room.people["Ann"].sends(room.chat, "photo")
    there.model.script = echo
    await room.people["Ann"].sends_album(room.chat, 3, caption="which is best?")
    held.go_on.set()
    await shows(room, held.first + held.rest, "re: which is best?")
    await asks(room, "thanks for that")

    assert [held.first + held.rest, "re: which is best?", "re: thanks for that"] == room.replies()
    assert ["look", "which is best?", "thanks for that"] == users(there.model.prompts[-1])


# G: out


async def test_a_room_that_is_closed_is_given_up_and_no_other_waits(there: World) -> None:
    """Archived, kicked out: dead, with the reason, not tried for ever (openclaw/openclaw#23777)."""
    held = Held()
    there.play(held)
    slack, telegram = there.slack(), there.telegram()
    closed, kicked = slack.group("old", "Ann", "Bob"), telegram.group("team", "Ann", "Bob")
    await closed.says("hello?")
    await kicked.says("hello?")
    await shows(closed, held.first)
    await shows(kicked, held.first)
    seen = len(there.gateway.log)
    closed.channel.archived = True
    rooms.remove(kicked.chat, telegram.bot, by=kicked.people["Ann"])
    there.model.script = echo
    held.go_on.set()
    for side in (slack, telegram):
        await asks(side.private(), "all well?")
    await there.gateway.logged("is_archived", after=seen)
    # Refused, or not even tried: the platform may have told first that the bot is out.
    await there.gateway.logged("send given up", telegram.name, after=seen)


# H, I: answers that grow, long ones, what platforms make of text


@pytest.mark.parametrize("way", WAYS)
async def test_a_long_answer_grows_and_goes_on_in_more_messages(way: str, there: World) -> None:
    """The first part is finished where it was shown, the others follow behind it, in the topic (AstrBotDevs/AstrBot#2838,
    AstrBotDevs/AstrBot#1646, NousResearch/hermes-agent#13077); its last piece is one character (AstrBotDevs/AstrBot#9439)."""
    lines = [f"{number} 行：hello world 👩‍👩‍👧‍👦 and so on and on" for number in range(400)]
    held = Held(first="start\n\n", rest="\n\n".join(lines) + "\n\n!")
    there.play(held)
    room = there.sides[way].group("long", "Ann", "Bob")
    await room.says("a long one")
    await room.until(lambda replies: len(replies) == 1)
    shown = room.ours()[0]
    held.go_on.set()
    await room.until(lambda replies: replies[-1].endswith("!"))

    assert shown is room.ours()[0]
    assert 2 <= len(room.replies())
    told = [line for reply in room.replies() for line in reply.split("\n") if line]
    assert ["start", *lines, "!"] == told


@pytest.mark.parametrize("way", SLACK)
async def test_addresses_in_answers_call_nobody(way: str, there: World) -> None:
    """Nor do accounts and broadcasts that a model writes out (vercel/chat#610, vercel/chat#618)."""
    side = there.slack(way)
    room = side.group("team", "Ann", "Bob")
    bob = room.people["Bob"]
    text = f"mail bob@example.com or see https://example.com/@bob, <@{bob.id}> and <!channel> @here"
    there.play(lambda prompt: text)
    await room.says("whom do I ask?")
    await room.until(lambda replies: bool(replies) and replies[0].endswith("here"))
    (answer,) = room.ours()

    assert not answer.pings
    assert "bob@example.com" in answer.shown
    assert "https://example.com/@bob" in answer.shown


# J: edits


@pytest.mark.parametrize("way", WAYS)
async def test_an_edited_command_does_not_run_again(way: str, there: World) -> None:
    """Nor is what it is edited into answered (NousResearch/hermes-agent#81183, openclaw/openclaw#28834)."""
    room = there.sides[way].private()
    await asks(room, "my order is 8821")
    command = await room.says("/help")
    await room.until(lambda replies: len(replies) == 2)
    await room.edits(command, "/new")
    await room.edits(command, "and now?")
    await asks(room, "which order?")

    assert 3 == len(room.replies())
    assert "my order is 8821" in users(there.model.prompts[-1])
    assert ["my order is 8821", "which order?"] == [words(prompt) for prompt in there.model.prompts]
