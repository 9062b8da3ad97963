"""What a turn recalls of earlier talk, through the whole memory on every database: once, by its claim, and again in a replay."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from memory.base import LedgerEntry
from memory.choosing import NAMED, WORDS
from memory.derived import FullStore
from memory.ids import Ids
from memory.learning import Learning, item_terms, learn
from memory.policy import Policy
from memory.service import Memory
from memory.tokens import Tokenizers
from memory.turn import Prepared, Reply
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.derived import answered, learned
from tests.contracts.links import joined, moved, somebody
from tests.contracts.store import item, opened
from tests.unit.remembering import NOW, Clock, Talk, scope

POLICY = Policy(down_weight="none", tokenizer="estimate")


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


class Learner(Talk):
    """A talk whose turns are learned from, by rules alone."""

    store: FullStore

    async def answer(self, prepared: Prepared, text: str, **fields: Any) -> Any:
        stored = await self.memory.append(prepared, Reply(text=text, **fields), fence=1)
        for due in await self.derived.claim(owner="test", now_ms=self.clock.now, lease_ms=0, limit=1000):
            await learn(self.derived, due.ledger, Learning(), None, last_try=True)
        return stored


@asynccontextmanager
async def learning(column: Column) -> AsyncIterator[Learner]:
    clock, tokenizers = Clock(), Tokenizers()
    async with column.open(ids=Ids(1, clock)) as store:
        talk = Learner(Memory(store, tokenizers=tokenizers, clock=clock), store.derived, clock, tokenizers)
        talk.store = store
        yield talk


@pytest.fixture
async def talk(column: Column) -> AsyncIterator[Learner]:
    async with learning(column) as opened:
        yield opened


def section(prepared: Prepared, name: str = "recalled") -> list[LedgerEntry]:
    return [entry for entry in prepared.ledger.entries if entry.section == name]


def whole(prepared: Prepared) -> str:
    return "\n".join((prepared.context.system, *(message.text for message in prepared.context.messages)))


PARROT = "My parrot Coco speaks fluent Portuguese."
ASKED = "Which language does my parrot Coco speak?"


async def small_talk(talk: Learner, me: int, turns: int, *, words: int = 1, **fields: Any) -> None:
    for number in range(turns):
        await talk.say(f"Day {number} of rain. {'It pours again. ' * words}", "Yes.", person_id=me, **fields)


async def test_what_a_long_window_shows_is_not_brought_again(talk: Learner) -> None:
    """While no summary covers older turns the window reaches back for them, beyond its own turns."""
    policy = Policy(down_weight="none", summarised=True, turns=4)
    me = await somebody(talk.store, "ann")
    await talk.say(PARROT, "Lovely.", policy=policy, person_id=me)
    await small_talk(talk, me, 5, policy=policy)

    prepared = await talk.ask(ASKED, policy=policy, person_id=me)

    assert 1 == whole(prepared).count(PARROT)


async def test_what_the_budget_took_from_the_window_is_recalled(talk: Learner) -> None:
    """However new it is: it stands nowhere else."""
    policy = Policy(down_weight="none", tokens=120)
    me = await somebody(talk.store, "ann")
    await talk.say(PARROT, "Lovely.", policy=policy, person_id=me)
    await small_talk(talk, me, 4, words=10, policy=policy)

    prepared = await talk.ask(ASKED, policy=policy, person_id=me)

    assert [1, ("in", WORDS)] == [whole(prepared).count(PARROT), _verdict(section(prepared)[-1])]


async def test_where_there_is_no_room_the_best_one_stays(talk: Learner) -> None:
    """Not the newest one; what stays is in the order in which it was said, and the ledger names the others (C13)."""
    policy = Policy(down_weight="none", recall_tokens=110)
    me = await somebody(talk.store, "ann")
    await talk.say(PARROT, "Lovely.", policy=policy, person_id=me)
    for number in range(3):
        await talk.say(
            f"The parrot language school number {number} {'is rather far away ' * 4}", "I see.", person_id=me
        )
    await talk.memory.end_session(scope(), agent_change="fresh")

    prepared = await talk.say(ASKED, "Portuguese.", policy=policy, person_id=me)
    again = await talk.memory.replay(prepared.turn.turn_id, policy, was=policy)

    assert PARROT in prepared.context.system
    assert {("in", WORDS), ("out", "recalled_budget")} == {_verdict(entry) for entry in section(prepared)}
    assert again is not None
    assert (True, ()) == (again.identical, again.difference)


async def test_what_is_left_out_is_named_and_a_replay_can_show_it(talk: Learner) -> None:
    """The three best are shown, a few more named with the reason; under other settings as many as these say (C13)."""
    me = await somebody(talk.store, "ann")
    for number in range(6):
        await talk.say(f"Parrot {number} speaks language {number}.", f"Noted: {number}.", policy=POLICY, person_id=me)
    await talk.memory.end_session(scope(), agent_change="fresh")

    prepared = await talk.say(ASKED, "Several.", policy=POLICY, person_id=me)
    shown = {}
    for most in (0, 3, 5):
        replay = await talk.memory.replay(prepared.turn.turn_id, msgspec.structs.replace(POLICY, fragments=most))
        assert replay is not None
        shown[most] = replay.context.system.count("this person]: Parrot")

    rules = [_verdict(entry) for entry in section(prepared)]
    assert {0: 0, 3: 3, 5: 5} == shown
    assert (3, NAMED - 3) == (rules.count(("in", WORDS)), rules.count(("out", "recalled_limit")))


async def test_what_was_brought_from_a_linked_account_is_replayed(talk: Learner) -> None:
    """Messages keep their person, whoever that is one with now; and so do ledgers (C13)."""
    ann, bob = await somebody(talk.store, "ann"), await somebody(talk.store, "bob")
    await talk.say(PARROT, "Lovely.", policy=POLICY, person_id=bob, user="U2", room="r2")
    await talk.memory.end_session(scope(user="U2", room="r2"), agent_change="fresh")
    before = await talk.say(ASKED, "P.", policy=POLICY, person_id=bob, user="U2", room="r2")
    await joined(talk.store, ann, bob)
    await moved(talk.store)
    after = await talk.say(ASKED, "P.", policy=POLICY, person_id=ann)

    for prepared in (before, after):
        again = await talk.memory.replay(prepared.turn.turn_id, POLICY, was=POLICY)
        assert PARROT in prepared.context.system
        assert again is not None
        assert (True, ()) == (again.identical, again.difference)


async def test_what_has_changed_since_is_marked_and_its_successor_is_there(talk: Learner) -> None:
    """However many newer items there are, and though the question shares no word with the new value's own; a replay marks it
    again (B47, C13). What was taken back alone is marked, too."""
    me = await somebody(talk.store, "ann")
    for text in (
        "我住在武汉，离江边很近。",
        "我住在南京。",
        "I like coffee.",
        "I no longer like coffee.",
        *(f"I like tea {n}." for n in range(5)),
    ):
        await talk.say(text, "…", policy=POLICY, person_id=me)
        await talk.memory.end_session(scope(), agent_change="fresh")

    moved_on = await talk.say("我住在离江边很近的哪里？", "南京", policy=POLICY, person_id=me, language="zh")
    await talk.memory.end_session(scope(), agent_change="fresh")
    tasted = await talk.ask("Do I like coffee?", policy=POLICY, person_id=me)
    again = await talk.memory.replay(moved_on.turn.turn_id, POLICY, was=POLICY)

    assert "此人，之后有变]: 我住在武汉" in moved_on.context.system
    assert "此人]: 我住在南京" in moved_on.context.system
    assert "南京" in "".join(re.findall(r'section="profile">(.*?)</memory>', moved_on.context.system, re.S))
    assert ", changed since]: I like coffee." in tasted.context.system
    assert again is not None
    assert (True, ()) == (again.identical, again.difference)


async def test_where_it_cannot_be_read_what_has_changed_recall_goes_on(talk: Learner, column: Column) -> None:
    """Without marks, and the record says that recall was not whole (A27 to A31)."""
    me = await somebody(talk.store, "ann")
    await talk.say(PARROT, "Lovely.", policy=POLICY, person_id=me)
    await talk.memory.end_session(scope(), agent_change="fresh")
    await column.sql("ALTER TABLE facts RENAME TO gone")

    prepared = await talk.ask(ASKED, policy=POLICY, person_id=me)

    assert PARROT in prepared.context.system
    assert {"facts", "recalled"} == set(prepared.ledger.failed)


async def test_an_item_that_is_over_is_not_found_by_its_words(talk: Learner) -> None:
    """Nor one that is not valid yet, however many newer ones there are."""
    me = await somebody(talk.store, "ann")
    rows = [
        item(0, person_id=me, slot="", text=text, valid_from_ms=begins, valid_to_ms=ends)
        for text, begins, ends in (
            ("parking pass 17", NOW, NOW + 1), ("parking pass 18", NOW + 10**9, None), ("parking pass 19", NOW, None),
            *[(f"note {number}", NOW, None) for number in range(60)],
        )
    ]  # fmt: skip
    turn = await answered(talk.store, (await opened(talk.store)).id, 7, "Hello there", person_id=me)
    made = learned(turn, person_id=me, items=tuple(rows), item_terms=tuple(item_terms(row, me) for row in rows))
    assert await talk.store.derived.settle(made)

    prepared = await talk.ask("Which parking pass do I have?", policy=POLICY, person_id=me)

    assert "parking pass 19" in prepared.context.system
    assert "parking pass 17" not in prepared.context.system
    assert "parking pass 18" not in prepared.context.system


def _verdict(entry: LedgerEntry) -> tuple[str, str]:
    return entry.verdict, entry.rule
