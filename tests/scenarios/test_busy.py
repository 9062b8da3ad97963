"""What a message does that comes while the turn before it runs: collect, queue, interrupt, and /stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from gateway.notices import Language, notice
from tests.scenarios.stage import Held, Stage, echo, said, stage, talk, users
from tests.scenarios.world import Answer, Prompt

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: stub}
  hasty: {kind: openai, base_url: "MODEL", model: stub, timeout_s: 1.5}
channels:
  collect: {kind: webhook, secrets: ["${HOOK}"], collect_max: 3, limits: {per_minute: 1000}}
  queue: {kind: webhook, secrets: ["${HOOK}"], busy: queue}
  interrupt: {kind: webhook, secrets: ["${HOOK}"], busy: interrupt}
  hasty: {kind: webhook, secrets: ["${HOOK}"], agent: hasty}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("busy"), BODY) as running:
        yield running


class Talk:
    """One conversation, whose first answer is held until the test lets it go on; the others are echoes."""

    def __init__(self, world: Stage, channel: str, conversation: str, *, chat_type: str = "group") -> None:
        self.world, self.hook = world, world.hook(channel)
        self.place = {"conversation": conversation, "chat_type": chat_type}
        self.held = Held()
        self.turns: list[dict[str, Any]] = []
        world.play(self._answer)

    async def _answer(self, prompt: Prompt) -> Answer:
        return await self.held(prompt) if len(self.world.model.prompts) == 1 else echo(prompt)

    async def begin(self, text: str = "tell me a story", sender: str = "ada") -> dict[str, Any]:
        """Say the first thing and wait until its answer has begun to show."""
        turn = await self.say(text, sender)
        await self.hook.shown(turn, self.held.first)
        return turn

    async def say(self, text: str, sender: str = "ada") -> dict[str, Any]:
        turn = await self.hook.say(text, sender=sender, name=sender.title(), mode="async", **self.place)
        self.turns.append(turn)
        return turn

    async def end(self) -> list[dict[str, Any]]:
        """Let the held answer go on, and return every turn as it ended."""
        self.held.go_on.set()
        return await self.ended()

    async def ended(self) -> list[dict[str, Any]]:
        """Return every turn as it ended, although the held answer never goes on."""
        return await asyncio.gather(*map(self.hook.settled, self.turns))

    @property
    def prompts(self) -> list[Prompt]:
        return self.world.model.prompts


def texts(turns: list[dict[str, Any]]) -> list[str]:
    return [turn["reply"]["text"] for turn in turns]


STORY = "First words, and the rest."


async def test_collect_answers_what_waits_together(world: Stage) -> None:
    """What one person adds meanwhile becomes one next turn; each message still gets its answer (openclaw#121831)."""
    room = Talk(world, "collect", "together", chat_type="private")
    await room.begin()
    await room.say("with a dragon 龙")
    await room.say("and a happy end")

    ended = await room.end()

    both = "with a dragon 龙\n\nand a happy end"
    assert [STORY, f"re: {both}", f"re: {both}"] == texts(ended)
    assert ["answered"] * 3 == [turn["status"] for turn in ended]
    assert [["tell me a story"], ["tell me a story", both]] == [users(prompt) for prompt in room.prompts]
    assert ended[2]["part_of"] == ended[1]["turn"]


async def test_collect_joins_one_speakers_only(world: Stage) -> None:
    """Ada, Ada, Bob, Ada: three turns, none with two people's words in its question (LangBot#1100; LangBot, aggregator)."""
    room = Talk(world, "collect", "apart")
    await room.begin("story", "cyd")
    for text, sender in (("one", "ada"), ("two", "ada"), ("three", "bob"), ("four", "ada")):
        await room.say(text, sender)

    await room.end()

    assert ["[Ada]: one\n\n[Ada]: two", "[Bob]: three", "[Ada]: four"] == [said(prompt) for prompt in room.prompts[1:]]


async def test_collect_is_bounded(world: Stage) -> None:
    """Five wait and three at most go together: the other two are the turn behind."""
    room = Talk(world, "collect", "bounded", chat_type="private")
    await room.begin()
    for text in ("1", "2", "3", "4", "5"):
        await room.say(text)

    ended = await room.end()

    assert ["1\n\n2\n\n3", "4\n\n5"] == [said(prompt) for prompt in room.prompts[1:]]
    assert ["answered"] * 6 == [turn["status"] for turn in ended]


async def test_queue_answers_one_by_one(world: Stage) -> None:
    """Each message is a turn of its own, in order."""
    room = Talk(world, "queue", "line", chat_type="private")
    await room.begin()
    for text in ("一", "two", "3"):
        await room.say(text)

    assert [STORY, "re: 一", "re: two", "re: 3"] == texts(await room.end())
    assert 4 == len(room.prompts)


async def test_interrupt_begins_again_with_both_messages(world: Stage) -> None:
    """A speaker's new message cuts short the answer to the same speaker; one answer to both follows, nothing is lost
    (openclaw#121831)."""
    room = Talk(world, "interrupt", "again", chat_type="private")
    await room.begin("story, please")
    await room.say("no, a poem 一首诗")

    ended = await room.ended()

    assert ["re: story, please\n\nno, a poem 一首诗"] * 2 == texts(ended)
    assert 2 == len(room.prompts)
    assert ["story, please\n\nno, a poem 一首诗"] == users(room.prompts[-1]), "what was broken off is not remembered"


async def test_nobody_interrupts_another_speaker(world: Stage) -> None:
    """Bob writes while Ada is answered: her answer goes on to its end and to her, then he gets his
    (openclaw#76777, openclaw#106483, openclaw#77292)."""
    room = Talk(world, "interrupt", "polite")
    await room.begin("my question", "ada")
    await room.say("and mine", "bob")

    assert [STORY, "re: [Bob]: and mine"] == texts(await room.end())


@pytest.mark.parametrize(("command", "language", "text"), [("/stop", "en", "a tale"), ("/停止", "zh", "讲个故事吧")])
async def test_stop_keeps_what_was_said_so_far(command: str, language: Language, text: str, world: Stage) -> None:
    """The text so far is the reply, marked; what the speaker had said behind it is ignored, by rule; the next question
    sees the marked text."""
    room = Talk(world, "queue", command, chat_type="private")
    await room.begin(text)
    await room.say("and then?")

    stop = await room.say(command)
    first, waiting, stopped = await room.ended()
    after = await room.hook.say("go on", sender="ada", **room.place)

    marked = f"First words\n\n{notice('stopped_mark', language)}"
    assert ("answered", marked) == (first["status"], first["reply"]["text"])
    assert ("ignored", "stopped") == (waiting["status"], waiting["rule"])
    assert ("applied", "stop") == (stopped["status"], stopped["rule"]) == (stop["status"], stop["rule"])
    assert "re: go on" == after["reply"]["text"]
    (_, question), (_, partial), (_, last) = talk(room.prompts[-1])
    assert (text, "go on") == (question, last)
    assert partial.endswith(marked)


async def test_stop_is_for_ones_own_turn_only(world: Stage) -> None:
    """Cyd's /stop touches neither Ada's answer nor Bob's message that waits behind it; Ada's own ends hers, and Bob is
    answered (openclaw#106483)."""
    room = Talk(world, "collect", "whose")
    await room.begin("my question", "ada")
    bob = await room.say("and mine", "bob")
    refused = await room.say("/stop", "cyd")
    accepted = await room.say("/stop", "ada")

    ended = await room.ended()

    assert ("applied", "nothing_to_stop") == (refused["status"], refused["rule"])
    assert ("applied", "stop") == (accepted["status"], accepted["rule"])
    assert "First words\n\n(stopped)" == ended[0]["reply"]["text"]
    assert ("answered", "re: [Bob]: and mine") == (ended[1]["status"], ended[1]["reply"]["text"])
    assert bob["turn"] == ended[1]["turn"]


async def test_stop_reaches_what_waits_behind_another_speaker(world: Stage) -> None:
    """Bob takes back, while Ada is answered, what he has asked: both of his questions end, his later one is answered, and
    Ada's answer goes on."""
    room = Talk(world, "collect", "behind")
    await room.begin("my question", "ada")
    for text, sender in (("mine", "bob"), ("hers", "cyd"), ("mine too 还有这个", "bob")):
        await room.say(text, sender)
    stop = await room.say("/停止", "bob")
    await room.say("another one", "bob")

    ada, first, cyd, second, stopped, later = await room.end()

    assert (STORY, "re: [Cyd]: hers", "re: [Bob]: another one") == (
        ada["reply"]["text"], cyd["reply"]["text"], later["reply"]["text"],
    )  # fmt: skip
    assert [("ignored", "stopped")] * 2 == [(turn["status"], turn["rule"]) for turn in (first, second)]
    assert ("applied", "stop") == (stop["status"], stop["rule"]) == (stopped["status"], stopped["rule"])
    assert 3 == len(room.prompts)
    assert not [text for prompt in room.prompts for text in users(prompt) if "mine" in text]


async def test_stop_before_the_first_word(world: Stage) -> None:
    """Nothing was said yet: the turn ends with a word about it, and no empty reply is remembered."""
    silent = asyncio.Event()

    async def answer(prompt: Prompt) -> Answer:
        if len(world.model.prompts) == 1:
            await silent.wait()
        return echo(prompt)

    world.play(answer)
    world.model.called.clear()
    hook = world.hook("collect")
    turn = await hook.say("a long one", conversation="silent", mode="async")
    await world.model.called.wait()
    await hook.say("/stop", conversation="silent")
    ended = await hook.settled(turn)
    silent.set()
    await hook.say("hello again, you", conversation="silent")

    assert ("failed", "stopped", notice("stopped", "en")) == (
        ended["status"], ended["error"]["code"], ended["error"]["message"],
    )  # fmt: skip
    assert [("user", "a long one\n\nhello again, you")] == talk(world.model.prompts[-1])


async def test_what_waits_outlives_a_turn_that_fails(world: Stage) -> None:
    """The first answer is given up at its time limit, half said; the message behind it is answered, and the half is not
    taken for a reply (openclaw#5951, openclaw#29497, openclaw#67173)."""
    room = Talk(world, "hasty", "late", chat_type="private")
    await room.begin("slow question")
    await room.say("second question")
    first, second = await room.ended()

    assert ("failed", "agent_timeout") == (first["status"], first["error"]["code"])
    assert ("answered", "re: slow question\n\nsecond question") == (second["status"], second["reply"]["text"])


async def test_a_repeat_while_its_turn_runs_is_the_same_turn(world: Stage) -> None:
    """A sender that tires of waiting sends the message again, twice: one turn, one call, one answer
    (LangBot#1100, openclaw#22242, openclaw#83521)."""
    room = Talk(world, "collect", "repeat", chat_type="private")
    first = await room.hook.say("only once", message_id="m-1", mode="async", **room.place)
    await room.hook.shown(first, room.held.first)
    repeats = [await room.hook.say("only once", message_id="m-1", mode="async", **room.place) for _ in range(2)]
    room.held.go_on.set()
    ended = await asyncio.gather(*map(room.hook.settled, [first, *repeats]))

    assert {first["turn"]} == {turn["turn"] for turn in ended}
    assert {STORY} == set(texts(ended))
    assert 1 == len(room.prompts)


async def test_more_than_can_wait_is_refused_and_the_rest_answered(tmp_path: Path) -> None:
    """With three waiting a fourth is refused with 503 and a time to come back, before it is accepted; whatever was accepted
    is answered (LangBot, pool: the oldest discarded without notice; openclaw#121831)."""
    async with stage(tmp_path, f"queue: {{accept_max: 3}}\n{BODY}") as world:
        room = Talk(world, "queue", "full", chat_type="private")
        await room.begin("first")
        for number in range(3):
            await room.say(f"number {number}")
        body = {
            "conversation": "full",
            "chat_type": "private",
            "sender": {"id": "ada"},
            "message": {"id": "m", "text": "?"},
        }
        status, problem = await room.hook.post(body)
        ended = await room.end()
        again, turn = await room.hook.post(body)

    assert (503, "unavailable") == (status, problem["code"])
    assert [STORY, *(f"re: number {number}" for number in range(3))] == texts(ended)
    assert (200, "re: ?") == (again, turn["reply"]["text"])
