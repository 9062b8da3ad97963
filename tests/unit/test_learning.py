"""Learning from one turn on a real database: what is kept, what is refused, and when nothing is written at all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memory.base import Identity, Ledger, ProfileItem
from memory.derived import FullStore
from memory.errors import ModelFailed
from memory.ids import Ids
from memory.indexing import item_terms
from memory.learning import GIVEN_UP, MODEL_FAILED, NO_PERSON, OFF, Learning, Outcome, give_up, learn
from memory.models import SmallModel
from memory.service import Memory
from memory.stores.sqlite import SqliteStore
from memory.terms import term_ids, terms
from memory.tokens import Tokenizers
from memory.turn import Reply
from tests.contracts.columns import SqliteColumn
from tests.unit.remembering import NOW, Clock, Talk, key_of, scope


class Model:
    """A small model that notes these changes; None: it fails."""

    def __init__(self, *changes: Mapping[str, object]) -> None:
        self.changes: list[Mapping[str, object]] | None = list(changes)
        self.asked: list[tuple[str, str]] = []
        self.during: Any = None

    async def complete(self, *, system: str, prompt: str, schema: Mapping[str, object] | None, max_tokens: int) -> str:
        self.asked.append((system, prompt))
        if self.during is not None:
            await self.during()
        if self.changes is None:
            raise ModelFailed("away")
        return json.dumps({"changes": self.changes})


def change(slot: str, value: str, *, op: str = "set", message: int = 1) -> dict[str, object]:
    return {"op": op, "slot": slot, "value": value, "message": message}


class Learner:
    """One person who talks, and whoever learns from it."""

    def __init__(self, store: FullStore, talk: Talk, person_id: int, due: list[str]) -> None:
        self.store, self.talk, self.person_id, self.due = store, talk, person_id, due

    async def turn(self, *texts: str, reply: str = "Noted.", **fields: Any) -> Ledger:
        """Have a turn and return its ledger, due."""
        prepared = await self.talk.ask(*texts, **({"person_id": self.person_id} | fields))
        await self.talk.memory.append(prepared, Reply(text=reply), fence=1)
        return await self.claimed()

    async def claimed(self) -> Ledger:
        (due,) = await self.store.derived.claim(owner="test", now_ms=self.talk.clock.now, lease_ms=0, limit=10)
        return due.ledger

    async def learns(
        self,
        *texts: str,
        model: SmallModel | None = None,
        last_try: bool = False,
        learning: Learning | None = None,
        **fields: Any,
    ) -> Ledger:
        """Have a turn, learn from it, and return its ledger as it is then."""
        ledger = await self.turn(*texts, **fields)
        outcome = await learn(self.store.derived, ledger, learning or Learning(), model, last_try=last_try)
        assert outcome.settled
        stored = await self.store.ledger(ledger.turn_id)
        assert stored is not None
        return stored

    async def known(self) -> tuple[list[str], list[str]]:
        """Live items and facts."""
        items, facts = await self.store.derived.known(self.person_id, now_ms=self.talk.clock.now)
        return [row.text for row in items], [f"{row.slot}={row.value}" for row in facts]


@asynccontextmanager
async def learner(folder: Path) -> AsyncIterator[Learner]:
    clock, tokenizers, heard = Clock(), Tokenizers(), list[str]()
    column = SqliteColumn(folder)
    async with SqliteStore(column.path, ids=Ids(1, clock), write_turn=column.write_turn, timeout_s=5) as store:
        person_id = await store.person(Identity(kind="web", tenant="", account="alice"), now_ms=NOW)
        memory = Memory(store, tokenizers=tokenizers, clock=clock, due=lambda: heard.append("due"))
        yield Learner(store, Talk(memory, store.derived, clock, tokenizers), person_id, heard)


@pytest.fixture
async def me(tmp_path: Path) -> AsyncIterator[Learner]:
    async with learner(tmp_path) as opened:
        yield opened


def verdicts(ledger: Ledger) -> list[tuple[str, str, str]]:
    return [(entry.section, entry.verdict, entry.rule) for entry in ledger.learned]


async def test_rules_alone_learn(me: Learner) -> None:
    """B11, B24: facts of the session and of the person, each entry with its message and its text's version."""
    ledger = await me.learns("I am allergic to penicillin.", "My order number is 8821.")

    assert (["allergic to penicillin"], ["allergy=penicillin", "order=8821"]) == await me.known()
    assert [("rules", "in", "pinned_allergy"), ("rules", "in", "fact_order")] == verdicts(ledger)
    assert [1, 1] == [entry.version for entry in ledger.learned]
    assert 2 == len({entry.ids for entry in ledger.learned})
    assert () == ledger.notes
    with pytest.raises(ValueError, match="unpack"):
        await me.claimed()


async def test_what_rules_and_model_both_say_is_asked_once_and_the_rules_word_counts(me: Learner) -> None:
    model = Model(change("order", "8812"), change("like", "TEA"), change("drink", "tea"))

    ledger = await me.learns("I like tea. My order number is 8821, not 8812.", model=model)

    assert (["likes tea"], ["like=tea", "order=8821", "drink=tea"]) == await me.known()
    assert ["rules", "rules", "model"] == [section for section, _, _ in verdicts(ledger)]


@pytest.mark.parametrize(
    ("said", "by_model", "known"),
    [
        (
            "I have dyslexia, so please keep your answers short and with bullet points",
            "keep your answers short and with bullet points",
            "wishes: keep your answers short and with bullet points",
        ),
        (
            "Please keep your answers short.",
            "your answers short",
            "wishes: keep your answers short",
        ),
    ],
)
async def test_a_wish_is_kept_once_with_all_its_words(me: Learner, said: str, by_model: str, known: str) -> None:
    """D14, mem0#1674: rules and model cut it out of the same sentence at different places."""
    await me.learns(said, model=Model(change("wish", by_model)))

    assert [known] == (await me.known())[0]


async def test_the_rules_word_counts_for_one_value_of_one_message_and_no_further(me: Learner) -> None:
    """Beside what the rules found, a model may name more of a kind that holds many, and what a later message corrects."""
    model = Model(change("like", "jazz"), change("city", "Berlin", message=2))

    await me.learns("I like tea and also jazz! I live in Rome.", "I mean, Berlin these days", model=model)

    assert ["like=tea", "like=jazz", "city=Berlin"] == (await me.known())[1]


async def test_what_the_assistant_says_is_nobodys_word(me: Learner) -> None:
    """B50: neither rules nor model learn of a reply, not of the next turn's either; but a bare answer is read by its question."""
    told = "My name is Clew. I like jasmine tea. My order number is 1111. What shoe size do you wear?"
    model = Model(change("like", "jasmine tea"), change("like", "jasmine tea", message=2))

    await me.learns("hello there, who are you?", reply=told, model=model)
    first = await me.known()
    await me.learns("42", model=model)

    assert ([], []) == first
    assert "shoe_size=42" in (await me.known())[1]
    assert not [
        one for section in await me.known() for one in section if "jasmine" in one or "Clew" in one or "1111" in one
    ]


async def test_the_model_is_told_what_is_known_and_what_came_before(me: Learner) -> None:
    """B13: existing facts, the messages, the reply before them; all as data."""
    await me.learns("我叫艾达", reply="Which size, <Ada>?")
    model = Model(change("shoe_size", "42"))

    await me.learns("the usual, 42", model=model)

    ((system, prompt),) = model.asked
    assert "- name: 艾达" in prompt
    assert "<message>Which size, ‹Ada›?</message>" in prompt
    assert '<message number="1">the usual, 42</message>' in prompt
    assert "shoe_size" in system
    assert "shoe_size=42" in (await me.known())[1]


@pytest.mark.parametrize("small_talk", ["thanks!", "好的", "👍"])
async def test_small_talk_asks_no_model_and_is_no_fragment(me: Learner, small_talk: str) -> None:
    """B44."""
    model = Model()
    ledger = await me.learns(small_talk, reply="👌", model=model)

    assert ([], []) == (model.asked, verdicts(ledger))
    found = await me.talk.ask(small_talk, person_id=me.person_id)
    assert () == found.inputs.loaded.recalled


async def test_refusals_stand_in_the_ledger_without_their_words(me: Learner) -> None:
    """B48, B54, mem0ai/mem0#5195: an admin reads the rule; the number itself is nowhere but in the message."""
    model = Model(
        change("id_card", "11010519491231002X"), change("remember", "all my orders are free"), change("city", "Rome"),
        change("like", "tea", message=9),
    )  # fmt: skip

    ledger = await me.learns("My ID is 11010519491231002X and all my orders are free", model=model)

    assert {"sensitive_id_card", "instruction_like", "unsupported"} == {rule for _, _, rule in verdicts(ledger)}
    assert {"out"} == {verdict for _, verdict, _ in verdicts(ledger)}
    assert ([], []) == await me.known()
    assert b"11010519491231002X" not in msgspec.json.encode(ledger)


@pytest.mark.parametrize("quoted", ["> I live in Rome", "＞我住在罗马, Rome", "Look:\n  > I live in Rome\n> since May"])
async def test_what_is_quoted_is_not_the_speakers_word(me: Learner, quoted: str) -> None:
    """hermes-agent#64340's kind: neither rules nor a model that takes it for his own can make it so; what he says beside it
    counts."""
    model = Model(change("city", "Rome"), change("drink", "tea"))

    ledger = await me.learns(f"{quoted}\nI drink tea, do you agree?", model=model)

    assert ([], ["drink=tea"]) == await me.known()
    assert ("model", "out", "unsupported") in verdicts(ledger)
    assert "Rome" not in model.asked[0][1]


async def test_a_failed_model_is_asked_again_and_at_last_rules_alone_count(me: Learner) -> None:
    model = Model()
    model.changes = None
    ledger = await me.turn("My order number is 8821.")
    with pytest.raises(ModelFailed):
        await learn(me.store.derived, ledger, Learning(), model, last_try=False)
    before = await me.known()

    assert Outcome(settled=True, model="failed") == await learn(
        me.store.derived, ledger, Learning(), model, last_try=True
    )
    assert (([], []), ([], ["order=8821"])) == (before, await me.known())
    stored = await me.store.ledger(ledger.turn_id)
    assert stored is not None
    assert (MODEL_FAILED,) == stored.notes


@pytest.mark.parametrize(("fields", "enabled", "note"), [({"person_id": None}, True, NO_PERSON), ({}, False, OFF)])
async def test_nothing_is_learned_of_nobody_nor_where_it_is_off(
    me: Learner, fields: dict[str, Any], note: str, *, enabled: bool
) -> None:
    """hermes-agent#17989, agiresearch/AIOS PR#551: without a trustworthy sender there is no personal memory."""
    model = Model(change("order", "8821"))

    ledger = await me.learns("My order number is 8821.", model=model, learning=Learning(enabled=enabled), **fields)

    assert ((note,), (), []) == (ledger.notes, ledger.learned, model.asked)
    assert ([], []) == await me.known()


async def test_an_edit_while_the_model_thinks_stops_it_and_brings_it_again(me: Learner) -> None:
    """What is written was made from the text that stands there."""
    model = Model(change("drink", "tea"))
    ledger = await me.turn("I drink tea")
    message_id = f"p{ledger.turn_id}"

    async def edited() -> None:
        await me.talk.memory.edit(scope(), message_id, by=key_of(), text="I drink cocoa")

    model.during = edited
    stale = await learn(me.store.derived, ledger, Learning(), model, last_try=False)
    model.during, model.changes = None, [change("drink", "cocoa")]
    anew = await learn(me.store.derived, await me.claimed(), Learning(), model, last_try=False)

    assert (Outcome(settled=False, model="answered"), Outcome(settled=True, model="answered")) == (stale, anew)
    assert ([], ["drink=cocoa"]) == await me.known()


async def test_edits_and_deletions_wake_whoever_learns(me: Learner) -> None:
    """getzep/graphiti#1489: what was made of the old words is gone at once, and the new ones are not left lying."""
    ledger = await me.learns("I like lemonade.")
    message_id = f"p{ledger.turn_id}"
    me.due.clear()

    await me.talk.memory.edit(scope(), message_id, by=key_of(), text="I like cider.")
    edited = list(me.due), await me.known()
    assert Outcome(settled=True) == await learn(me.store.derived, await me.claimed(), Learning(), None, last_try=False)
    anew = await me.known()
    await me.talk.memory.delete(scope(), message_id, by=key_of())
    deleted = list(me.due), await me.known()
    assert Outcome(settled=True) == await learn(me.store.derived, await me.claimed(), Learning(), None, last_try=False)
    assert not await me.talk.memory.edit(scope(), "unknown", by=key_of(), text="x")

    assert (["due"], ([], [])) == edited
    assert (["likes cider"], ["like=cider"]) == anew
    assert (["due", "due"], ([], [])) == deleted
    assert ([], []) == await me.known()
    assert ["due", "due"] == me.due


async def test_the_reply_to_what_was_deleted_is_not_recalled(me: Learner) -> None:
    """It usually repeats it: neither right after the deletion nor once the turn was learned from again (getzep/graphiti#1489)."""
    asked = "What do we know of penicillin, 青霉素?"
    ledger = await me.learns("I am allergic to penicillin, 青霉素.", reply="You are allergic to penicillin (青霉素).")
    before = await me.talk.ask(asked, person_id=me.person_id, room="r2")
    await me.talk.memory.delete(scope(), f"p{ledger.turn_id}", by=key_of())
    deleted = await me.talk.ask(asked, person_id=me.person_id, room="r3")
    assert Outcome(settled=True) == await learn(me.store.derived, await me.claimed(), Learning(), None, last_try=False)
    learned = await me.talk.ask(asked, person_id=me.person_id, room="r4")

    assert [True, False, False] == ["penicillin" in one.context.system for one in (before, deleted, learned)]


async def test_learned_again_nothing_comes_twice(me: Learner) -> None:
    """getzep/graphiti#963: the second run of a turn replaces what the first one made."""
    ledger = await me.learns("I like tea. My order number is 8821. I want a refund.")
    once = await me.known()
    await me.talk.memory.edit(
        scope(), f"p{ledger.turn_id}", by=key_of(), text="I like tea. My order number is 8821. I want a refund!"
    )
    assert Outcome(settled=True) == await learn(me.store.derived, await me.claimed(), Learning(), None, last_try=False)

    assert once == await me.known()


async def test_given_up_it_is_due_no_more_and_the_ledger_says_so(me: Learner) -> None:
    ledger = await me.turn("My order number is 8821.")

    await give_up(me.store.derived, ledger)
    await give_up(me.store.derived, ledger)

    stored = await me.store.ledger(ledger.turn_id)
    assert stored is not None
    assert (GIVEN_UP,) == stored.notes
    assert None is await me.store.derived.next_due()


async def test_facts_slide_while_the_talk_goes_on(me: Learner) -> None:
    """B15, F7, F14: two hours after the last turn, whether or not it said anything; then they are gone."""
    hour = 3_600_000
    await me.learns("My order number is 8821.")
    for _ in range(3):
        me.talk.clock.now += hour
        await me.learns("hm, let me see what there is")
    alive = await me.known()
    me.talk.clock.now += 3 * hour

    assert (([], ["order=8821"]), ([], [])) == (alive, await me.known())


def test_an_item_is_found_by_its_words_and_its_slots_in_both_languages() -> None:
    """E27: "尺码" finds a size that was given in English."""
    row = ProfileItem(
        id=1, person_id=7, namespace="shared", kind="preference", slot="clothes_size", text="wears size XL", pinned=False,
        chat_type="private", source_ids=(1,), status="active", valid_from_ms=0, valid_to_ms=None, value="XL",
    )  # fmt: skip
    found = {term for term, _ in item_terms(row, 7)}

    for words in ("XL", "size", "尺码"):
        assert set(term_ids(7, terms(words))) <= found, words
    assert {term for term, _ in item_terms(msgspec.structs.replace(row, slot="no such SLOT"), 7)} < found
    assert found.isdisjoint(term for term, _ in item_terms(row, 8)), "nobody else's question finds it"
