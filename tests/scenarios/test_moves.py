"""Scopes that get another name while people talk: a change of agent, of who shares the memory, of a room's id. Through the real
process, with turns in flight."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.scenarios.edits import Platform, Talk, how
from tests.scenarios.stage import Stage, echo, stage, users
from tests.scenarios.world import gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
agents:
  one: {kind: openai, base_url: "MODEL", model: one}
  two: {kind: openai, base_url: "MODEL", model: two}
defaults: {agent: one, trigger: [always], limits: {per_minute: 1000}}
channels:
  hook:
    kind: webhook
    secrets: ["${HOOK}"]
    rooms:
      alias: {agent: AGENT, agent_change: alias}
      there-and-back: {scope: SHARED}
      wider: {scope: SHARED}
      "-100": {agent: two}
"""


def body(agent: str = "one", shared: str = "conversation") -> str:
    return BODY.replace("AGENT", agent).replace("SHARED", shared)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("moves"), body(), module="tests.scenarios.relay") as running:
        yield running


def place(world: Stage, room: str) -> Platform:
    return Platform(world.session, world.gateway, "hook", room, chat_type="group")


def talk(world: Stage, room: str) -> Talk:
    return Talk(world.session, world.gateway, "hook", room, chat_type="group", world=world)


async def move(world: Stage, room: str, now_room: str, *, told: str = "") -> tuple[str, str | None]:
    """Let the platform tell that a room has another id."""
    telling = {"new_room": now_room, "dedupe_ids": [f"{room}:{now_room}:{told}"]}
    return how(await place(world, room).tell("move", "", **telling))


def quiet(world: Stage, since: int) -> bool:
    """Whether no turn was fenced off, lost its lane or broke off since then."""
    lines = world.gateway.log[since:]
    return not any(word in line for line in lines for word in ("taken over", "broke off", "Fenced", "lane lost"))


async def test_another_agent_goes_on_in_the_same_lane(world: Stage) -> None:
    """`agent_change: alias` with turns in flight: one lane, in order, one call for each turn, by the agent that was asked;
    nothing is fenced off and asked again."""
    room, since = talk(world, "alias"), len(world.gateway.log)
    turns = [await room.begin("a0", sender="ann")]
    for n, sender in enumerate(("bob", "cem", "ann"), start=1):
        turns.append(await room.say(f"m{n}", f"b{n} 你好", sender=sender))
    await world.change(body(agent="two"))
    for n, sender in enumerate(("ann", "dan", "bob"), start=4):
        turns.append(await room.say(f"m{n}", f"b{n}", sender=sender))
    assert 1 == len(room.prompts)
    room.held.go_on.set()
    ended = await room.ended(*turns)

    texts = ["a0", "b1 你好", "b2 你好", "b3 你好", "b4", "b5", "b6"]
    assert ["answered"] * 7 == [turn["status"] for turn in ended]
    assert ["one"] * 4 + ["two"] * 3 == world.model.models
    assert texts == [users(prompt)[-1].split(": ", 1)[1] for prompt in room.prompts]
    assert len(texts) == len(users(room.prompts[-1])), "all of it stands in one memory"
    assert quiet(world, since)
    assert 1 == len(set(world.rows("SELECT lane FROM inbox_events WHERE lane LIKE '%:alias:%'")))
    await world.change(body())


async def test_a_wider_memory_goes_on_with_the_last_talk(world: Stage) -> None:
    """`scope: conversation` to `room` while a turn runs: it ends where it began, and every thread goes on with that talk; one
    line says so."""
    room, since = talk(world, "wider"), len(world.gateway.log)
    other = await room.say("m", "other thread", sender="bob", thread="t0")
    await room.hook.shown(other, room.held.first)
    room.held.go_on.set()
    await room.ended(other)
    turn = await room.say("m0", "the vault is blue 蓝色", sender="ann", thread="t1")
    await room.ended(turn)

    await world.change(body(shared="room"))
    (last,) = await room.ended(await room.say("m2", "what colour?", sender="bob", thread="t2"))

    assert "answered" == last["status"]
    assert ["[Ann]: the vault is blue 蓝色", "[Bob]: what colour?"] == users(room.prompts[-1])
    assert 1 == len([line for line in world.gateway.log[since:] if "shared otherwise" in line and '"wider"' in line])
    assert quiet(world, since)
    await world.change(body())


async def test_a_narrower_memory_begins_afresh(world: Stage) -> None:
    """And said at the start, too (AstrBot#4331): nothing of what the threads shared meanwhile is left in one of them; at the
    next start there is nothing to say any more."""
    world.play(echo)
    room = place(world, "there-and-back")
    await room.ended(await room.say("m0", "before", thread="t1"))
    await world.change(body(shared="room"))
    await room.ended(await room.say("m1", "shared from t2", thread="t2"))
    await world.gateway.stop()
    world.gateway.config.write_text(world.gateway.config.read_text().replace("scope: room", "scope: conversation"))
    since = len(world.gateway.log)
    await world.gateway.start()
    told = [line for line in world.gateway.log[since:] if "shared otherwise" in line and "there-and-back" in line]
    for thread in ("t1", "t2"):
        await room.ended(await room.say(f"m-{thread}", f"after in {thread}", thread=thread))
    await world.gateway.stop()
    since = len(world.gateway.log)
    await world.gateway.start()

    assert 1 == len(told)
    assert [["[Ada]: after in t1"], ["[Ada]: after in t2"]] == [users(prompt) for prompt in world.model.prompts[-2:]]
    assert not [line for line in world.gateway.log[since:] if "shared otherwise" in line]


async def test_a_room_moves_in_mid_turn(world: Stage) -> None:
    """Talk, settings and what waits go along; told by both rooms, twice, in any order; nothing is asked twice, and a restart
    changes nothing of it."""
    room, since = talk(world, "-100"), len(world.gateway.log)
    turns = [await room.begin("first", sender="ann"), await room.say("m1", "second", sender="bob")]
    moves = await asyncio.gather(*(move(world, "-100", "-1001", told=told) for told in ("old", "new", "new")))
    new = place(world, "-1001")
    turns.append(await new.say("m2", "第三", sender="cem"))
    room.held.go_on.set()
    ended = await room.ended(*turns)
    await world.gateway.stop()
    await world.gateway.start()
    later = [await new.say("m3", "fourth", sender="ann"), await room.say("m4", "late", sender="bob")]
    ended += [(await new.ended(turn))[0] for turn in later]

    assert [("applied", "move")] * 3 == moves
    assert ["answered"] * 5 == [turn["status"] for turn in ended]
    assert ["two"] * 5 == world.model.models, "the settings written under the former id"
    assert ["[Ann]: first", "[Bob]: second", "[Cem]: 第三", "[Ann]: fourth", "[Bob]: late"] == users(room.prompts[-1])
    assert quiet(world, since)


async def test_what_was_said_in_the_new_room_before(world: Stage) -> None:
    """Messages overtake the word of the move: what waits in the new room's lane goes on in the old one's, in order, with the
    old room's memory; what had begun ends where it began."""
    world.play(echo)
    old = place(world, "群")
    await old.ended(await old.say("m0", "before the move"))
    new, since = talk(world, "新群"), len(world.gateway.log)
    begun = await new.begin("early", sender="ann")
    waiting = await new.say("m2", "waiting", sender="bob")

    assert ("applied", "move") == await move(world, "群", "新群")
    after = await new.say("m3", "after", sender="cem")
    (third,) = await new.ended(after)
    new.held.go_on.set()
    ended = await new.ended(begun, waiting)

    assert ["answered"] * 3 == [turn["status"] for turn in (third, *ended)]
    by_text: dict[str, Any] = {users(prompt)[-1]: users(prompt) for prompt in new.prompts}
    assert ["[Ada]: before the move", "[Cem]: after", "[Bob]: waiting"] == by_text["[Bob]: waiting"]
    assert 3 == len(new.prompts)
    assert quiet(world, since)


async def test_an_instance_that_has_not_heard_of_the_move(tmp_path: Path, postgres_url: str) -> None:
    """Two gateways on one database: what the other one accepts for the new room, in the lane that it remembers, is answered
    once, out of the old room's memory."""
    relay = "tests.scenarios.relay"
    async with (
        stage(tmp_path, body(), storage=postgres_url, module=relay) as one,
        gateway(one.gateway.config, command=(relay, str(one.gateway.config))) as second,
    ):
        old, here = place(one, "old"), place(one, "new")
        there = Platform(one.session, second, "hook", "new", chat_type="group", tellings=100)
        await old.ended(await old.say("m0", "before"))
        await there.ended(await there.say("m1", "early"))
        one.play(echo)
        moved = await move(one, "old", "new")
        turns = [await there.say(f"t{n}", f"there {n}", sender=f"s{n}") for n in range(3)]
        turns += [await here.say(f"h{n}", f"here {n}", sender=f"h{n}") for n in range(3)]
        ended = await there.ended(*turns)
        told = [*one.gateway.log, *second.log]

    assert ("applied", "move") == moved
    assert ["answered"] * 6 == [turn["status"] for turn in ended]
    asked = [f"{where} {n}" for where in ("here", "there") for n in range(3)]
    assert asked == sorted(users(prompt)[-1].split(": ")[1] for prompt in one.model.prompts)
    assert {"[Ada]: before"} == {users(prompt)[0] for prompt in one.model.prompts}
    assert 7 == max(len(users(prompt)) for prompt in one.model.prompts)
    assert not [line for line in told if "taken over" in line or "broke off" in line]
