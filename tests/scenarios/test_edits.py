"""An edit changes what is answered, a deletion ends it, whenever they come; neither asks for an answer of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from gateway.notices import notice
from tests.scenarios.edits import BODY, Talk, how
from tests.scenarios.stage import Stage, echo, said, stage, talk, users
from tests.scenarios.world import Answer, Prompt, gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

STORY = "First words, and the rest."
RELAY = "tests.scenarios.relay"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(shared_storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("edits"), BODY, storage=shared_storage, module=RELAY) as running:
        yield running


def room(world: Stage, channel: str, name: str, **fields: Any) -> Talk:
    return Talk(world.session, world.gateway, channel, name, world=world, **fields)


async def later(world: Stage, place: Talk, message: str = "later", **fields: Any) -> Prompt:
    """Ask one more thing and return what the model saw."""
    await place.ended(await place.say(message, "and now, 现在?", **fields))
    return world.model.prompts[-1]


async def test_a_waiting_message_is_answered_in_its_new_form(world: Stage) -> None:
    """Edited twice while another answer is made: one answer, to the last text, under the same turn; no prompt, now or later,
    has an older one."""
    place = room(world, "queue", "waiting")
    first = await place.begin()
    turn = await place.say("m1", "the old question")
    edits = [await place.edit("m1", text) for text in ("a better question", "最好的问题 🙂")]
    place.held.go_on.set()
    ended = await place.ended(first, turn)

    assert [("applied", "edit")] * 2 == edits
    assert [STORY, "re: 最好的问题 🙂"] == [view["reply"]["text"] for view in ended]
    assert turn["turn"] == ended[1]["turn"]
    assert ["a story", "最好的问题 🙂", "and now, 现在?"] == users(await later(world, place))
    assert not [text for prompt in place.prompts for text in users(prompt) if "question" in text]


async def test_a_waiting_message_that_is_deleted_is_never_answered(world: Stage) -> None:
    """No model call, no notice, in sight; those around it are answered as if it had not been (platform-facts 1.3)."""
    place = room(world, "queue", "gone")
    turns = [await place.begin()] + [await place.say(f"m{number}", f"question {number}") for number in (1, 2)]
    deleted = await place.delete("m1")
    told = await place.hook.turn(turns[1])
    again = await place.delete("m1")
    place.held.go_on.set()
    ended = await place.ended(*turns)

    assert ("applied", "delete") == deleted
    assert ("applied", "delete_unknown_message") == again
    assert ("ignored", "deleted_before_answer") == how(told) == how(ended[1])
    assert "reply" not in ended[1]
    assert [STORY, "re: question 2"] == [view["reply"]["text"] for view in (ended[0], ended[2])]
    assert 2 == len(place.prompts)
    assert ["a story", "question 2", "and now, 现在?"] == users(await later(world, place))


async def test_a_message_edited_to_no_words_is_as_one_deleted(world: Stage) -> None:
    """One that waits ends unanswered, in sight; of one that was answered nothing is left in any prompt; one that comes after
    its edit is not answered; and what was said before it stands."""
    place = room(world, "queue", "emptied")
    first = await place.begin("a caption of mine")
    waiting = await place.say("m1", "a caption 图说")
    edits = [await place.edit("m1", ""), await place.edit("m2", " \n")]
    late = await place.say("m2", "a caption told late")
    place.held.go_on.set()
    ended = await place.ended(first, waiting, late)
    edits.append(await place.edit("m0", ""))
    again = await place.edit("m0", "words again")
    prompt = await later(world, place)

    assert [("applied", "edit"), ("applied", "edit_unknown_message"), ("applied", "edit")] == edits
    assert ("applied", "edit_unknown_message") == again
    assert STORY == ended[0]["reply"]["text"]
    assert [("ignored", "deleted_before_answer")] * 2 == [how(view) for view in ended[1:]]
    assert not [text for text in users(prompt) if "caption" in text or "words" in text]
    assert 2 == len(place.prompts)


async def test_an_edit_makes_no_message_longer_than_one_may_be(world: Stage) -> None:
    """Neither one that waits nor one that was answered: both ends of the new text are there, and nothing of the old one."""
    place = room(world, "short", "long")
    first = await place.begin("a tale 故事")
    waiting = await place.say("m1", "a question")
    await place.edit("m1", "beginning" + " long 长" * 1000 + " end")
    place.held.go_on.set()
    await place.ended(first, waiting)
    await place.edit("m0", "beginning" + " long 长" * 1000 + " end")
    prompt = await later(world, place)

    texts = users(prompt)[:2]
    assert [True] * 2 == [len(text) <= 80 for text in texts]
    assert [("beginning", "end")] * 2 == [(text[:9], text[-3:]) for text in texts]


async def test_an_edit_may_come_before_its_message(world: Stage) -> None:
    """It is kept, and the message that comes later is answered in its new form (platform-facts 2.2); a deletion that comes
    first ends it."""
    place = room(world, "collect", "overtaken", chat_type="group")
    world.play(echo)
    edited = await place.edit("m1", "as I meant it")
    deleted = await place.delete("m2")
    turns = [await place.say("m1", "as I wrote it"), await place.say("m2", "never mind")]
    answered, gone = await place.ended(*turns)

    assert [("applied", "edit_unknown_message"), ("applied", "delete_unknown_message")] == [edited, deleted]
    assert "re: [Ada]: as I meant it" == answered["reply"]["text"]
    assert ("ignored", "deleted_before_answer") == how(gone)
    assert ["[Ada]: as I meant it", "[Ada]: and now, 现在?"] == users(await later(world, place))


async def test_what_came_early_outlives_the_process(tmp_path: Path) -> None:
    """The gateway is killed between an edit and its message."""
    async with stage(tmp_path, BODY, module=RELAY) as world:
        place = room(world, "collect", "killed")
        await place.edit("m1", "as I meant it")
        await world.gateway.kill()
        async with gateway(world.gateway.config, command=(RELAY, str(world.gateway.config))) as second:
            world.play(echo)
            place.gateway = second
            (answered,) = await place.ended(await place.say("m1", "as I wrote it"))

    assert "re: as I meant it" == answered["reply"]["text"]


async def test_an_edit_while_it_is_answered_makes_no_second_answer(world: Stage) -> None:
    """The answer goes on; memory has the new text from then on, as a version of its own (openclaw#28834)."""
    place = room(world, "queue", "running")
    turn = await place.begin("how old is Rome?")
    edited = await place.edit("m0", "how old is 罗马?")
    place.held.go_on.set()
    (ended,) = await place.ended(turn)
    prompt = await later(world, place)

    assert ("applied", "edit") == edited
    assert STORY == ended["reply"]["text"]
    assert ["how old is 罗马?", "and now, 现在?"] == users(prompt)
    assert 2 == len(place.prompts)
    assert [2, 1, 1, 1] == versions(world, "running")


async def test_an_edit_after_the_answer_changes_memory_only(world: Stage) -> None:
    """No answer to it; the text that memory has already is no edit, whatever the platform says (tdlib/telegram-bot-api#388,
    tdlib/telegram-bot-api#773)."""
    place = room(world, "collect", "answered")
    world.play(echo)
    await place.ended(await place.say("m1", "how old is Rome?"))
    same = await place.edit("m1", "how old is Rome?")
    unchanged = versions(world, "answered")
    edited = await place.edit("m1", "how old is Athens?")
    prompt = await later(world, place)
    deleted = await place.delete("m1")
    after = await later(world, place, "last")

    assert [("applied", "edit")] * 2 + [("applied", "delete")] == [same, edited, deleted]
    assert [1, 1] == unchanged
    assert ["how old is Athens?", "and now, 现在?"] == users(prompt)
    assert not [text for text in users(after) if "how old" in text]
    assert 3 == len(place.prompts)


def versions(world: Stage, name: str) -> list[int]:
    """The versions of the texts in a conversation, oldest message first."""
    query = "SELECT version FROM messages WHERE conversation = ? ORDER BY id"
    return [version for (version,) in world.rows(query, name)]


async def test_an_edit_of_what_nobody_asked_about_opens_no_scope(world: Stage) -> None:
    """Nothing was kept of the message, and nothing is of its edit and its deletion."""
    place = room(world, "unheard", "nobody", chat_type="group")
    said_ = await place.say("m1", "lunch?")
    told = [await place.edit("m1", "lunch at one?"), await place.edit("m1", ""), await place.delete("m1")]

    assert ("ignored", "not_addressed") == how(said_)
    assert [*[("applied", "edit_unknown_message")] * 2, ("applied", "delete_unknown_message")] == told
    assert [] == world.rows("SELECT id FROM scopes WHERE conversation = ?", "nobody")


async def test_deleting_what_is_answered_ends_the_answer(world: Stage) -> None:
    """As /stop would: what was said so far stands, marked. The message's text is in no later prompt."""
    place = room(world, "queue", "cut-short")
    turn = await place.begin("tell me about my illness")
    deleted = await place.delete("m0")
    (ended,) = await place.ended(turn)
    prompt = await later(world, place)

    assert ("applied", "delete") == deleted
    assert ("answered", f"First words\n\n{notice('stopped_mark', 'en')}") == (ended["status"], ended["reply"]["text"])
    assert not [text for _, text in talk(prompt) if "illness" in text]
    assert 2 == len(place.prompts)


async def test_deleting_before_the_first_word_ends_it_without_one(world: Stage) -> None:
    """Nothing was shown, so nothing is said: no notice, no empty reply, and the message behind it is answered."""
    silent = asyncio.Event()

    async def answer(prompt: Prompt) -> Answer:
        if len(world.model.prompts) == 1:
            await silent.wait()
        return echo(prompt)

    place = room(world, "queue", "silent")
    world.play(answer)
    world.model.called.clear()
    turn = await place.say("m1", "a secret 秘密")
    await world.model.called.wait()
    behind = await place.say("m2", "something else")
    deleted = await place.delete("m1")
    ended = await place.ended(turn, behind)
    silent.set()

    assert ("applied", "delete") == deleted
    assert ("ignored", "deleted_before_answer") == how(ended[0])
    assert not {"reply", "error"} & ended[0].keys()
    assert "re: something else" == ended[1]["reply"]["text"]
    assert ["something else"] == users(place.prompts[-1])


async def test_messages_answered_together_are_edited_and_deleted_apart(world: Stage) -> None:
    """Of three that wait for one answer one is edited, one deleted: the answer is to the two that are left."""
    place = room(world, "collect", "together")
    first = await place.begin()
    turns = [await place.say(f"m{number}", text) for number, text in enumerate(("one", "two", "three 三"), 1)]
    await place.edit("m3", "four 四")
    await place.delete("m1")
    place.held.go_on.set()
    _, gone, head, joined = await place.ended(first, *turns)

    assert ("ignored", "deleted_before_answer") == how(gone)
    assert ["re: two\n\nfour 四"] * 2 == [head["reply"]["text"], joined["reply"]["text"]]
    assert head["turn"] == joined["part_of"]
    assert 2 == len(place.prompts)


@pytest.mark.parametrize("gone", ["m1", "m2"])
async def test_deleting_one_of_those_being_answered_begins_again_with_the_others(world: Stage, gone: str) -> None:
    """Each of the others still gets its answer, and what is gone has no part in it."""
    texts = {"m1": "the first question", "m2": "the second question", "m3": "the third question"}
    place = room(world, "collect", f"again-{gone}")
    released = asyncio.Event()

    async def answer(prompt: Prompt) -> Answer:
        if len(world.model.prompts) == 1:
            await released.wait()
        elif len(world.model.prompts) == 2:
            return await place.held(prompt)
        return echo(prompt)

    world.play(answer)
    world.model.called.clear()
    turns = [await place.say("m0", "hello there, bot")]
    await world.model.called.wait()
    turns += [await place.say(message, text) for message, text in texts.items()]
    released.set()
    await place.hook.shown(turns[-1], place.held.first)
    deleted = await place.delete(gone)
    ended = dict(zip(["m0", *texts], await place.ended(*turns), strict=True))

    left = [message for message in texts if message != gone]
    both = "\n\n".join(texts[message] for message in left)
    assert ("applied", "delete") == deleted
    assert ("ignored", "deleted_before_answer") == how(ended[gone])
    assert [f"re: {both}"] * 2 == [ended[message]["reply"]["text"] for message in left]
    assert [both, 3] == [said(place.prompts[-1]), len(place.prompts)]
    assert both in users(await later(world, place))[-2]


async def test_an_edit_reaches_a_message_that_was_answered_together_with_others(world: Stage) -> None:
    """Each has kept its own platform id."""
    place = room(world, "collect", "together-after")
    first = await place.begin()
    turns = [await place.say(f"m{number}", text) for number, text in enumerate(("one", "two"), 1)]
    place.held.go_on.set()
    await place.ended(first, *turns)
    await place.edit("m2", "three")

    assert ["a story", "one\n\nthree", "and now, 现在?"] == users(await later(world, place))


async def test_talk_edited_into_a_command_among_others_stays_talk(world: Stage) -> None:
    """Alone it is one, as it has not been carried out before; among others it would take their answers away
    (NousResearch/hermes-agent#81183)."""
    place = room(world, "collect", "commands")
    first = await place.begin()
    turns = [await place.say("m1", "one"), await place.say("m2", "two")]
    await place.edit("m1", "/new")
    place.held.go_on.set()
    _, one, two = await place.ended(first, *turns)
    place = room(world, "queue", "commands-alone")
    first = await place.begin()
    alone = await place.say("m1", "/nwe")
    await place.edit("m1", "/new")
    place.held.go_on.set()
    _, new = await place.ended(first, alone)

    assert ["re: /new\n\ntwo"] * 2 == [one["reply"]["text"], two["reply"]["text"]]
    assert notice("new", "en") == new["reply"]["text"]


async def test_observed_talk_is_edited_and_deleted_in_both_orders(world: Stage) -> None:
    """The next answer's background has what stands there now."""
    place = room(world, "heard", "background", chat_type="group")
    world.play(echo)
    await place.edit("m1", "lunch at one")
    await place.delete("m2")
    turns = [
        await place.say("m1", "lunch at noon"),
        await place.say("m2", "a slip"),
        await place.say("m3", "who pays?"),
    ]
    await place.edit("m3", "Zed pays 泽德")
    prompt = await later(world, place, mentions_bot=True)

    assert [("observed", "observe"), ("ignored", "deleted_before_answer"), ("observed", "observe")] == [
        how(turn) for turn in turns
    ]
    assert ["lunch at one", "Zed pays 泽德"] == [
        text
        for text in ("lunch at one", "lunch at noon", "a slip", "who pays?", "Zed pays 泽德")
        if text in prompt[0]["content"]
    ]
