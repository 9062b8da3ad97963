"""Whatever memory leans on may fail: an answer comes, as soon as ever, and nothing that was said is lost. On every kind of
storage; the embedder of this gateway is down all the time."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.scenarios.persons import Person
from tests.scenarios.remembered import condensed, learned, notes_of, sections, whole
from tests.scenarios.stage import Stage, echo, stage, users
from tests.scenarios.world import Prompt, Refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
embedder: {kind: openai, base_url: "MODEL"}
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
learning: {wait_s: 0.1, tries: 3}
queue: {poll_s: 0.1}
defaults: {limits: {per_minute: 1000}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], memory: {summary: {enabled: false}}}
  rules: {kind: webhook, secrets: ["${HOOK}"], memory: {model: none}}
  narrow: {kind: webhook, secrets: ["${HOOK}"], memory: {window: {turns: 2}, summary: {enabled: false}}}
  condense: {kind: webhook, secrets: ["${HOOK}"], memory: {window: {turns: 4}, summary: {start_turns: 5}}}
"""
NOTHING = '{"changes": []}'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(shared_storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("failures"), BODY, storage=shared_storage) as running:
        yield running


@pytest.fixture
def world(shared: Stage) -> Stage:
    """The stage with nothing asked yet, and a small model that notes nothing and condenses nothing."""
    shared.play(echo)
    shared.model.asked_by_memory.clear()
    shared.model.notes, shared.model.summary = (lambda _: NOTHING), (lambda _: Refusal(404))
    return shared


async def test_b59_what_is_not_learned_yet_stands_in_the_window(world: Stage) -> None:
    """B59, A21, memodb-io/memobase#48: while the small model thinks, answers come and quote what was just said, though the
    window is narrower than that; the ledger says that it is pending."""
    go_on, asked = asyncio.Event(), asyncio.Event()

    async def slow(prompt: Prompt) -> str:
        asked.set()
        await go_on.wait()
        return notes_of({"42": (("set", "shoe_size", "42"),)}, prompt)

    world.model.notes = slow
    hook, who = world.hook("narrow"), {"sender": "b59", "conversation": "b59"}
    await hook.say("I take 42 in these ones", **who)
    await asked.wait()
    turns = [await hook.say(f"question {number}", **who) for number in range(3)]
    last = world.model.prompts[-1]
    told = await world.explain(turns[-1])
    go_on.set()
    await learned(world.storage or "")
    await hook.say("and now?", **who)

    assert "I take 42 in these ones" in users(last)
    assert "extraction pending: 3 turns" in told["notes"]
    assert ["question 2", "and now?"] == users(world.model.prompts[-1])
    assert "42" in sections(world.model.prompts[-1])["facts"]


async def test_an_embedder_that_is_down_costs_nothing_but_itself(world: Stage) -> None:
    """Answers come, words find, readiness warns, and what is missing is kept for later."""
    ann = Person(world, "rules")
    await ann.says("My shoe size is 42 and I mostly run on forest trails.")
    await world.gateway.logged("vectors are put off", "refused (404)")
    prompt = await ann.says("/new What is my shoe size for trails?")
    async with world.session.get(f"{world.gateway.url}/readyz") as response:
        told = await response.json()

    assert "forest trails" in sections(prompt)["recalled"]
    assert (200, True) == (response.status, "404" in told["warnings"]["embedder"])
    assert [(0,)] != world.rows("SELECT count(*) FROM fragments WHERE embedded = ''")


async def test_memory_that_fails_neither_delays_nor_breaks_an_answer(world: Stage) -> None:
    """A31, B40: the small model hangs, then refuses; three people are answered meanwhile, and what was said is learned when
    it is back: nothing of it is lost."""
    hang = asyncio.Event()

    async def stuck(_: Prompt) -> Refusal:
        await hang.wait()
        return Refusal(503)

    world.model.notes = stuck
    people = [Person(world, "hook") for _ in range(6)]
    for number, person in enumerate(people):
        turn = await person.hook.say(f"My order number is 77{number}.", sender=person.name, conversation=person.name)
        assert f"re: My order number is 77{number}." == turn["reply"]["text"]
    world.model.notes = lambda _: NOTHING
    hang.set()
    await people[0].learned()

    assert [["77" + str(number)] for number in range(6)] == [re.findall(r"\d+", await one.facts()) for one in people]


async def test_a_model_that_stays_away_holds_up_nothing(world: Stage) -> None:
    """A31, B44: its tries are the first turn's; those behind it are learned from by rules after one each, so that facts don't
    fall behind the talk; once it answers again, it is heard again."""
    ann, bob = Person(world, "hook"), Person(world, "hook")

    def of_these() -> int:
        prompts = [json.dumps(prompt) for prompt in world.model.asked_by_memory]
        return sum("number is 66" in prompt or "the cocoa" in prompt for prompt in prompts)

    world.model.notes = lambda _: "I'd rather chat."
    for number in range(4):
        await ann.says(f"My order number is 66{number}.")
    asked = of_these()
    world.model.notes = lambda prompt: notes_of({"cocoa": (("set", "drink", "cocoa"),)}, prompt)
    await bob.says("Bring me the cocoa")
    world.model.notes = lambda _: "No."
    await ann.says("My order number is 664.")

    assert 3 + 1 + 1 + 1 == asked
    assert asked + 1 + 3 == of_these()
    assert "cocoa" in await bob.facts()
    assert "664" in await ann.facts()


@pytest.mark.parametrize(
    ("table", "failed"),
    [
        ("summaries", {"summary"}),
        ("facts", {"facts"}),
        ("profile_items", {"pinned", "profile"}),
        ("fragments", {"hits"}),
    ],
)
async def test_a_part_of_memory_that_is_gone_costs_that_part(world: Stage, table: str, failed: set[str]) -> None:
    """A28, A30, A31: its table is away for a while; the answer comes with the window, the rest of memory and a note of what
    failed; what was said meanwhile is learned when it is back."""
    ann = Person(world, "rules")
    await ann.says("My name is Ann. I am allergic to latex.")
    world.sql(f"ALTER TABLE {table} RENAME TO gone")
    try:
        turn = await ann.hook.say("我的订单号是8821", sender=ann.name, conversation=ann.name)
        prompt = world.model.prompts[-1]
        (body,) = world.rows("SELECT body FROM ledgers WHERE turn_id = ?", int(turn["turn"]))[0]
    finally:
        world.sql(f"ALTER TABLE gone RENAME TO {table}")
    await ann.learned()

    assert "answered" == turn["status"]
    assert ["My name is Ann. I am allergic to latex.", "我的订单号是8821"] == users(prompt)
    assert failed == set(json.loads(body)["failed"])
    kept = {"facts": "Ann", "pinned": "allergic to latex"}
    assert {name: text for name, text in kept.items() if name not in failed} == {
        name: text for name, text in kept.items() if text in sections(prompt).get(name, "")
    }
    assert "8821" in await ann.facts()


async def test_b49_two_speakers_of_one_group_each_get_their_own(world: Stage) -> None:
    """B49 to B52, D09, openclaw PR#85389, hermes-agent#64340, LangBot#1822, nanobot#3744, nanobot#3100: contrary likes, equal
    slots, one room, whose id other memories refuse (openclaw-memory-graphiti#25, getzep/graphiti#1319)."""
    ann, bob = Person(world, "rules"), Person(world, "rules")
    group = {"conversation": f"群:of/{ann.name}%_*", "chat_type": "group"}
    await ann.says("I like coffee. My order number is 8821.", **group)
    await bob.says("I hate coffee. My order number is 9932.", **group)
    hers, his = await ann.says("Coffee for me?", **group), await bob.says("Coffee for me?", **group)
    fresh = {"conversation": f"another of {ann.name}", "chat_type": "group"}
    hers_later, his_later = await ann.says("Any coffee?", **fresh), await bob.says("Any coffee?", **fresh)

    assert ("8821" in sections(hers)["facts"], "9932" in sections(hers)["facts"]) == (True, False)
    assert ("8821" in sections(his)["facts"], "9932" in sections(his)["facts"]) == (False, True)
    assert "- likes coffee" == sections(hers_later)["profile"]
    assert "- dislikes coffee" == sections(his_later)["profile"]
    for name, text in sections(his_later).items():
        assert "likes coffee" not in text.replace("dislikes", ""), name


async def test_f2_a_failed_summary_changes_nothing(world: Stage) -> None:
    """F2, s2b-dev/smart-second-brain#435, earendil-works/pi PR#1585: refused, empty, an excuse: no row, no watermark; the
    window holds what no summary has; the next one covers everything from the first message on."""
    ann = Person(world, "condense")
    answers: Iterator[str | Refusal] = iter([Refusal(400), "", "I'm sorry, I can't do that."])

    def failing(prompt: Prompt) -> str | Refusal:
        return next(answers, condensed(prompt))

    world.model.summary = failing
    prompts = [await ann.says(f"f2-{number} 第{number}句") for number in range(1, 8)]
    before = world.rows("SELECT count(*) FROM summaries WHERE text LIKE '%f2-%'")
    pending = await ann.says("f2-8 第8句")
    after = await ann.says("f2-9 第9句")

    assert [] == list(answers)
    assert [(0,)] == before
    for prompt in (prompts[6], pending):
        assert "summary" not in sections(prompt)
        assert [] == [n for n in range(1, 8) if f"f2-{n} " not in whole(prompt)]
    assert "f2-1 第1句" in sections(after)["summary"]
    assert [] == [n for n in range(1, 10) if f"f2-{n} " not in whole(after)]


async def test_f1_the_summary_is_there_though_the_messages_cannot_be_read(world: Stage) -> None:
    """A29, A30, F1: their rows are damaged; summary and facts still stand in the prompt, and the ledger says what is
    missing."""
    world.model.summary = condensed
    ann = Person(world, "condense")
    await ann.says("My order number is 8821.")
    for number in range(5):
        await ann.says(f"question {number}")
    world.sql(f"UPDATE messages SET quote = '{{}}' WHERE speaker_name = '{ann.name}'")
    prompt = await ann.says("and now?")
    told = await world.explain(ann.turn)

    assert ["and now?"] == users(prompt)
    assert "My order number is 8821." in sections(prompt)["summary"]
    assert "8821" in sections(prompt)["facts"]
    assert ["window"] == told["failed"]


async def test_earlier_talk_that_cannot_be_read_is_not_recalled(world: Stage) -> None:
    """A31: what a question finds is damaged; its answer comes without it, and the ledger says so."""
    ann = Person(world, "rules")
    await ann.says("Somebody told us of a kayak rental along the Rhine, 莱茵河.")
    world.sql(f"UPDATE messages SET quote = '{{}}' WHERE speaker_name = '{ann.name}'")
    prompt = await ann.says("/new Which kayak rental along the Rhine was that?")
    (body,) = world.rows("SELECT body FROM ledgers WHERE turn_id = ?", int(ann.turn["turn"]))[0]

    assert ["Which kayak rental along the Rhine was that?"] == users(prompt)
    assert ["recalled"] == json.loads(body)["failed"]
    assert "莱茵河" not in whole(prompt)


async def test_an_answer_does_not_wait_for_a_summary(world: Stage) -> None:
    """A21: it is being made while three answers come."""
    go_on, asked = asyncio.Event(), asyncio.Event()

    async def slow(prompt: Prompt) -> str:
        asked.set()
        await go_on.wait()
        return condensed(prompt)

    world.model.summary = slow
    hook, who = world.hook("condense"), {"sender": "slow", "conversation": "slow"}
    for number in range(1, 6):
        await hook.say(f"t{number:02}", **who)
    await asked.wait()
    turns = [await hook.say(f"t{number:02}", **who) for number in range(6, 9)]
    last = world.model.prompts[-1]
    go_on.set()
    await learned(world.storage or "")

    assert ["answered"] * 3 == [turn["status"] for turn in turns]
    assert [f"t{number:02}" for number in range(1, 9)] == users(last), "till then the window reaches back"
