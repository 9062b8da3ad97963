"""Quotas through a real gateway: who has used up theirs is told so once, in their language, and all the others are answered."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.scenarios.conftest import HOOK
from tests.scenarios.stage import Held, Stage, echo, stage
from tests.scenarios.world import Hook, gateway, model_server, rows, write_config

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
agents:
  default: {kind: openai, base_url: "MODEL", model: stub, retries: 0}
  few: {kind: openai, base_url: "MODEL", model: stub, retries: 0, quota: {tokens: {day: 300}}}
prices: {currency: EUR, models: {stub: {input: 1, output: 4}}}
usage: {time_zone: Asia/Shanghai}
defaults: {limits: {per_minute: 1000}, memory: {model: none}}
channels:
  person: {kind: webhook, secrets: ["${HOOK}"], quota: {person: {messages: {day: 3}}}}
  told: {kind: webhook, secrets: ["${HOOK}"], quota: {tell: true, soft: 0.5, person: {messages: {month: 4}}}}
  many: {kind: webhook, secrets: ["${HOOK}"], quota: {channel: {messages: {month: 30}}}}
  room: {kind: webhook, secrets: ["${HOOK}"], trigger: [always], allow: {members: [u1, u2]}, quota: {room: {messages: {day: 2}}}}
  money: {kind: webhook, secrets: ["${HOOK}"], busy: queue, quota: {person: {money: {month: 0.0005}}}}
  agent: {kind: webhook, secrets: ["${HOOK}"], agent: few}
  learns: {kind: webhook, secrets: ["${HOOK}"], memory: {model: auto}}
"""
PERSON_EN = "You have used up what I may do for you today. From "


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("quotas"), BODY) as running:
        yield running


def outcome(turn: dict[str, Any]) -> tuple[str, str | None]:
    return turn["status"], turn.get("error", {}).get("code") or turn.get("rule")


async def test_who_has_used_up_theirs_is_told_once(world: Stage) -> None:
    """In the language of what they wrote, with the time from which on they are answered; then nothing, until a while later.
    Others are answered, and so are commands."""
    world.play(echo)
    hook = world.hook("person")
    answered = [await hook.say(f"question {number}", sender="en") for number in range(3)]
    told = await hook.say("one more", sender="en")
    silent = await hook.say("and one more", sender="en")
    command = await hook.say("/memory", sender="en")
    other = await hook.say("may I?", sender="other")

    assert ["answered"] * 3 == [turn["status"] for turn in answered]
    assert ("failed", "quota_person_messages_day") == outcome(told)
    assert told["error"]["message"].startswith(PERSON_EN)
    assert "00:00 (Asia/Shanghai) on I can answer you again." in told["error"]["message"]
    assert ("ignored", "quota_person_messages_day") == outcome(silent)
    assert ("answered", "answered") == (command["status"], other["status"])
    assert 4 == len(world.model.prompts)


async def test_people_who_write_chinese_are_told_in_chinese(world: Stage) -> None:
    """The quota is the person's, in all conversations together."""
    world.play(echo)
    hook = world.hook("person")
    for number in range(3):
        await hook.say("你好，请问今天几号？", sender="zh", conversation=f"对话{number}")

    told = await hook.say("还有一个问题", sender="zh", conversation="另一个 👩‍👩‍👧")

    assert told["error"]["message"].startswith("您今天的用量已经用完。")
    assert told["error"]["message"].endswith("（Asia/Shanghai）起我可以继续回答您。")


async def test_who_has_used_up_much_may_be_told_beside_an_answer(world: Stage) -> None:
    """Once, where the place wants it; what memory keeps of the answer is the agent's."""
    world.play(echo)
    hook = world.hook("told")

    replies = [(await hook.say(text, sender="ada"))["reply"]["text"] for text in ("one", "two", "three")]

    assert [
        "re: one",
        "re: two\n\n(You have used up 50 % of what I may do for you this month.)",
        "re: three",
    ] == replies
    assert any(message["content"].endswith("re: two") for message in world.model.prompts[-1])


async def test_of_many_at_once_as_many_pass_as_may(world: Stage) -> None:
    """A hundred people at one moment, thirty of them answered: not one more, and not one less."""
    world.play(echo)
    hook = world.hook("many")

    turns = await asyncio.gather(
        *(hook.say(f"hi {number}", sender=f"p{number}", conversation=f"c{number}") for number in range(100))
    )

    assert {"answered": 30, "failed": 70} == Counter(turn["status"] for turn in turns)
    assert 30 == len(world.model.prompts)


async def test_a_room_has_its_own(world: Stage) -> None:
    """Whoever speaks there, in whichever thread; the next room, and private talk, have not."""
    world.play(echo)
    hook = world.hook("room")
    place = {"chat_type": "group", "conversation": "客服"}
    turns = [await hook.say("hi", sender=sender, **place) for sender in ("u1", "u2", "u1")]
    elsewhere = await hook.say("hi", sender="u1", chat_type="group", conversation="other")
    private = await hook.say("hi", sender="u1", conversation="客服")

    assert ["answered", "answered", "failed"] == [turn["status"] for turn in turns]
    assert "quota_room_messages_day" == turns[2]["error"]["code"]
    assert ("answered", "answered") == (elsewhere["status"], private["status"])


async def test_money_is_counted_by_the_price_table(world: Stage) -> None:
    """300 tokens in at 1, 50 out at 4 a million: 0.0005, which is all that this person may spend. What waits in line then is
    not asked for either."""
    world.play(echo)
    world.model.usage = (300, 50)
    hook = world.hook("money")
    sent = [await hook.say(f"q{number}", sender="rich", conversation="one", mode="async") for number in range(3)]
    settled = [await hook.settled(turn) for turn in sent]
    late = await hook.say("q3", sender="rich", conversation="two")
    world.model.usage = None

    rule = "quota_person_money_month"
    assert ["answered", "failed", "ignored"] == sorted(turn["status"] for turn in settled)
    assert {rule} == {outcome(turn)[1] for turn in settled if turn["status"] != "answered"}
    assert ("ignored", rule) == outcome(late)
    assert 1 == len(world.model.prompts)


async def test_an_agent_has_its_own(world: Stage) -> None:
    """Whatever its service does not report is estimated, so that nothing is free."""
    world.play(lambda _: "word " * 400)
    hook = world.hook("agent")

    first = await hook.say("tell me", sender="a")
    second = await hook.say("tell me more", sender="b")

    assert ("answered", "failed") == (first["status"], second["status"])
    assert "quota_agent_tokens_day" == second["error"]["code"]
    assert "What may be asked here today is used up." in second["error"]["message"]


async def test_what_memory_asks_counts_for_the_talk_it_learns_from(world: Stage) -> None:
    """Its calls stand beside the answer's, for the same person and channel."""
    world.play(echo)
    world.model.usage = (100, 10)
    turn = await world.hook("learns").say("My name is Ada and I like quince jelly.", sender="ada")

    async def counted() -> list[tuple[Any, ...]]:
        query = (
            f"SELECT purpose, channel, prompt, money FROM usage_entries WHERE turn_id = {turn['turn']} ORDER BY purpose"
        )
        return world.rows(query)

    async with asyncio.timeout(20):
        while len(found := await counted()) < 3:
            await asyncio.sleep(0.05)  # another process's writes tell nobody
    world.model.usage = None

    assert [("answer", "learns", 100, 140), ("memory", "learns", 100, 140), ("message", "learns", 0, None)] == found
    persons = world.rows(f"SELECT DISTINCT person FROM usage_entries WHERE turn_id = {turn['turn']}")
    assert 1 == len(persons)
    assert persons != [(0,)]


async def test_what_memory_was_asking_as_the_gateway_stopped_is_counted(tmp_path: Path) -> None:
    """No ledger has it, so nobody would find it later; what came so far is estimated."""
    body = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub, retries: 0}}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"]}}
"""
    async with stage(tmp_path, body) as running:
        running.model.notes = Held(first='{"changes": [')
        await running.hook().say("My name is Ada and I like quince jelly.", sender="ada")
        async with asyncio.timeout(20):
            while not running.model.asked_by_memory:
                await asyncio.sleep(0.05)  # another process's questions tell nobody

    asked = "SELECT purpose, channel, model, failed FROM usage_entries WHERE purpose = 'memory'"
    assert [("memory", "hook", "stub", 1)] == rows(f"sqlite:///{tmp_path / 'clew.db'}", asked)


async def test_what_a_crash_left_uncounted_is_found(tmp_path: Path) -> None:
    """The process dies between the model's answer, which is stored, and its count: the answer is delivered once, and counted
    once by who comes next."""
    async with model_server(echo) as model, aiohttp.ClientSession() as session:
        model.usage = (300, 50)
        body = f"""
agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}
prices: {{models: {{stub: {{input: 1, output: 4}}}}}}
queue: {{lease_s: 1, poll_s: 0.2}}
retention: {{every_s: 1}}
defaults: {{memory: {{model: none}}}}
channels: {HOOK}"""
        config = write_config(tmp_path, body)
        async with gateway(config) as before:
            await Hook(session, before).say("zero", sender="ada")
        async with gateway(config, command=("tests.scenarios.kill_at", str(config), "store.append", "after")) as first:
            with suppress(aiohttp.ClientError):
                await Hook(session, first).say("one", message_id="m1", sender="ada")
            await first.dead()
        async with gateway(config) as second:
            again = await Hook(session, second).say("one", message_id="m1", sender="ada")
            await second.logged("calls counted that a crash had left")

    assert ("answered", 2) == (again["status"], len(model.prompts))
    database = f"sqlite:///{tmp_path / 'clew.db'}"
    sums = rows(database, "SELECT sum(calls), sum(prompt), sum(money), count(DISTINCT person) FROM usage_days")
    assert [(2, 600, 1000, 1)] == sums


@pytest.mark.parametrize("storage", ["postgres"], indirect=True)
async def test_two_instances_have_one_quota(storage: str, tmp_path: Path) -> None:
    """What was used up at one is used up at the other."""
    async with model_server(echo) as model, aiohttp.ClientSession() as session:
        body = f"""
agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}
defaults: {{memory: {{model: none}}, quota: {{person: {{messages: {{day: 3}}}}}}}}
channels: {HOOK}"""
        config = write_config(tmp_path, body, storage=storage)
        async with gateway(config) as one, gateway(config) as other:
            turns = [await Hook(session, one).say(f"q{n}", sender="ada") for n in range(3)]
            counts = "SELECT coalesce(max(messages), 0) FROM usage_counts WHERE kind = 'person' AND span = 'day'"
            async with asyncio.timeout(10):
                while rows(storage, counts) != [(3,)]:
                    await asyncio.sleep(0.05)  # another process's writes tell nobody
            turns.append(await Hook(session, other).say("q3", sender="ada"))

    assert ["answered"] * 3 + ["failed"] == [turn["status"] for turn in turns]


@pytest.mark.parametrize("storage", ["postgres", "postgres+redis"], indirect=True)
async def test_a_burst_at_three_instances_is_bounded_and_then_over(storage: str, tmp_path: Path) -> None:
    """None passes the quota by its own count, whatever the others have let in, or have answered of what it let in. Soon all of
    them know of all, and what is counted is what was answered."""
    async with model_server(echo) as model, aiohttp.ClientSession() as session, AsyncExitStack() as running:
        body = f"""
agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}
defaults: {{memory: {{model: none}}, quota: {{person: {{messages: {{day: 3}}}}}}}}
channels: {HOOK}"""
        config = write_config(tmp_path, body, storage=storage)
        hooks = [Hook(session, await running.enter_async_context(gateway(config))) for _ in range(3)]
        burst = await asyncio.gather(
            *(hook.say(f"q{n} 问", sender="ada", conversation=f"c{n}") for hook in hooks for n in range(5))
        )
        answered = [sum(turn["status"] == "answered" for turn in burst[5 * at : 5 * at + 5]) for at in range(3)]
        for at, hook in enumerate(hooks):  # who has let in fewer knows of the others' within a second or so
            while (await hook.say("and now? 现在呢？", sender="ada"))["status"] == "answered":
                answered[at] += 1
        counts = "SELECT coalesce(max(messages), 0) FROM usage_counts WHERE kind = 'person' AND span = 'day'"
        async with asyncio.timeout(10):
            while rows(storage, counts) != [(sum(answered),)]:
                await asyncio.sleep(0.05)  # another process's writes tell nobody
        after = [(await hook.say("again 再来", sender="ada"))["status"] for hook in hooks]

    assert max(answered) <= 3 <= sum(answered)
    assert not {"answered"} & set(after)
