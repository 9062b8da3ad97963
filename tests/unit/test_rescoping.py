"""A changed `scope:` setting: what goes on under the new names, what begins afresh, and that it is said."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from config.loader import Configuration, load
from gateway.rescoping import rules, settle
from memory.ids import Ids
from memory.key import ScopeMode, scope_of
from memory.service import Memory
from memory.tokens import Tokenizers
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.store import NOW, key, put, rule, said, window

HEAD = """
agents: {default: {kind: demo}, other: {kind: demo}}
channels:
"""


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


class Talk:
    """Groups of one channel in which things are said under one setting after the other."""

    def __init__(self, column: Column, store: Any, folder: Path) -> None:
        self.column = column
        self.store = store
        self.folder = folder
        self.memory = Memory(store, tokenizers=Tokenizers(), clock=lambda: NOW)
        self.number = 0

    def configured(self, channels: str) -> Configuration:
        (self.folder / "my.yaml").write_text(HEAD + channels, "utf-8")
        return load(self.folder / "my.yaml", {})

    async def settled(self, channels: str) -> None:
        await settle(self.configured(channels), self.memory)

    async def scope(self, mode: ScopeMode, **parts: Any) -> int:
        scope = scope_of(key(**({"chat_type": "group", "agent": "default"} | parts)), mode=mode)
        return (await self.memory.names.find(scope, agent_change="fresh")).id

    async def say(self, text: str, mode: ScopeMode, **parts: Any) -> int:
        """Say something under a setting; return the scope."""
        self.number += 1
        scope_id = await self.scope(mode, **parts)
        spoken = said(text, self.number, key=key(**({"chat_type": "group", "agent": "default"} | parts)))
        await put(
            self.store,
            scope_id,
            spoken,
            turn_id=self.number,
            session=rule(f"s-{self.number}"),
            now_ms=NOW + self.number,
        )
        return scope_id

    async def remembered(self, mode: ScopeMode, **parts: Any) -> list[str]:
        return await window(self.store, await self.scope(mode, **parts))


@pytest.fixture
async def talk(column: Column, tmp_path: Path) -> AsyncIterator[Talk]:
    async with column.open(ids=Ids(1)) as store:
        yield Talk(column, store, tmp_path)


def web(scope: str) -> str:
    return f"  web: {{kind: console, scope: {scope}}}\n"


async def test_sharing_more_goes_on_with_what_was_last_spoken_of(talk: Talk, caplog: pytest.LogCaptureFixture) -> None:
    """conversation -> room: the thread people are in goes on for all of them, the others are kept; one line says so."""
    await talk.say("older, at the top", "conversation")
    last = await talk.say("last, in the thread 话题", "conversation", thread="t1")
    await talk.say("another room", "conversation", room="r2")
    await talk.say("in private", "conversation", chat_type="private")

    with caplog.at_level(logging.WARNING):
        await talk.settled(web("room"))
        await talk.settled(web("room"))

    assert last == await talk.scope("room") == await talk.scope("room", thread="t9")
    assert ["last, in the thread 话题"] == await talk.remembered("room", thread="t9")
    assert ["another room"] == await talk.remembered("room", room="r2")
    said_ = [(record.room, record.scope_was, record.scope) for record in caplog.records]  # type: ignore[attr-defined]
    assert [("r1", "conversation", "room"), ("r2", "conversation", "room")] == sorted(said_)


async def test_a_speakers_memory_becomes_the_conversations(talk: Talk) -> None:
    """speaker -> conversation, in each conversation for itself; speaker -> room, in all of it."""
    ann = await talk.say("ann's", "speaker", user="ann")
    bob = await talk.say("bob's", "speaker", user="bob", thread="t")
    await talk.say("ann's too", "speaker", user="ann", room="r2")
    carl = await talk.say("carl's", "speaker", user="carl", room="r2", thread="t")

    await talk.settled("  web: {kind: console, scope: conversation, rooms: {r2: {scope: room}}}\n")

    assert (ann, bob) == (await talk.scope("conversation"), await talk.scope("conversation", thread="t"))
    assert carl == await talk.scope("room", room="r2")


@pytest.mark.parametrize(
    ("was", "now", "who"),
    [("room", "conversation", {}), ("room", "speaker", {}), ("conversation", "speaker", {"thread": "t1"})],
)
async def test_sharing_less_begins_afresh(
    talk: Talk, was: ScopeMode, now: ScopeMode, who: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """What several shared is nobody's own: no scope under the new setting holds what it keeps apart (AstrBot#4331)."""
    await talk.say("ann's, in t1", was, user="ann", thread="t1")
    await talk.say("bob's, in t1 or t2", was, user="bob", **({"thread": "t2"} | who))

    with caplog.at_level(logging.WARNING):
        await talk.settled(web(now))
        await talk.settled(web(now))

    for user in ("ann", "bob"):
        for thread in (None, "t1", "t2"):
            assert [] == await talk.remembered(now, user=user, thread=thread)
    assert [] == await talk.remembered(was, thread="t1")
    assert {(was, now)} == {(record.scope_was, record.scope) for record in caplog.records}  # type: ignore[attr-defined]
    assert 1 == len(caplog.records)


async def test_there_and_back_keeps_threads_apart(talk: Talk) -> None:
    """conversation -> room -> conversation: what the threads said to each other meanwhile stays in no thread's memory, and
    a second change there starts from what was said since."""
    await talk.say("before", "conversation", thread="t1")
    await talk.settled(web("room"))
    await talk.say("shared, from t2", "room", thread="t2")

    await talk.settled(web("conversation"))
    assert (
        [] == await talk.remembered("conversation", thread="t1") == await talk.remembered("conversation", thread="t2")
    )
    own = await talk.say("own, in t2", "conversation", thread="t2")
    await talk.settled(web("conversation"))
    assert ["own, in t2"] == await talk.remembered("conversation", thread="t2")

    await talk.settled(web("room"))
    assert own == await talk.scope("room")


async def test_ended_talk_stays_ended(talk: Talk, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever said /new last has nothing to continue, and no older talk takes its place (openclaw#148766)."""
    await talk.say("old", "conversation", thread="t1")
    await talk.say("ended", "conversation", thread="t2")
    scope = scope_of(key(chat_type="group", agent="default", thread="t2"), mode="conversation")
    await talk.memory.end_session(scope, agent_change="fresh")

    with caplog.at_level(logging.WARNING):
        await talk.settled(web("room"))

    assert [] == await talk.remembered("room")
    assert [] == caplog.records


async def test_agents_and_channels_never_meet(talk: Talk) -> None:
    """Each agent's and each channel's talk goes on for itself (C18, C19)."""
    mine = await talk.say("to the one", "conversation")
    other = await talk.say("to the other", "conversation", agent="other", thread="t")
    elsewhere = await talk.say("elsewhere", "conversation", channel="web2")

    await talk.settled(web("room"))

    assert (mine, other) == (await talk.scope("room"), await talk.scope("room", agent="other"))
    assert elsewhere == await talk.scope("conversation", channel="web2") != await talk.scope("room", channel="web2")


async def test_what_is_in_order_is_left_alone(talk: Talk, caplog: pytest.LogCaptureFixture) -> None:
    """Every setting as it was, thread by thread: nothing ends, nothing is said, at any start."""
    channels = """  web:
    kind: console
    rooms:
      r1: {scope: room, threads: {own: {scope: conversation}, mine: {scope: speaker}}}
      r2: {threads: {all: {scope: room}}}
"""
    talks: list[tuple[ScopeMode, dict[str, Any]]] = [
        ("room", {}),
        ("conversation", {"thread": "own"}),
        ("speaker", {"thread": "mine"}),
        ("conversation", {"room": "r2"}),
        ("room", {"room": "r2", "thread": "all"}),
    ]
    for mode, parts in talks:
        await talk.say("kept", mode, **parts)

    with caplog.at_level(logging.WARNING):
        await talk.settled(channels)

    assert [] == caplog.records
    for mode, parts in talks:
        assert ["kept"] == await talk.remembered(mode, **parts)


async def test_a_change_is_told_by_the_rules_of_all_places(talk: Talk) -> None:
    """Layers that say the same in another way change nothing."""
    one = talk.configured("  web: {kind: console, scope: room}\n")
    same = talk.configured("  web: {kind: console, scope: room, observe: true}\n")
    other = talk.configured("  web: {kind: console, scope: room, rooms: {r: {scope: speaker}}}\n")

    assert rules(one) == rules(same) != rules(other)
