"""What of a person's memory a question brings: by its words, by its meaning, and by neither."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from memory.base import Hit, Loaded, Message, ProfileItem
from memory.choosing import (
    ALWAYS,
    MEANING,
    RECENT,
    SUCCESSOR,
    THRESHOLD,
    UNKNOWN,
    WORDS,
    Near,
    claimed,
    fitting,
    in_window,
    outdated,
)
from memory.derived import Ended
from memory.ids import Ids
from memory.meaning import Meaning
from memory.policy import Policy
from memory.ranking import Ranked
from memory.service import Memory
from memory.tokens import Tokenizers
from tests.contracts.columns import SqliteColumn
from tests.contracts.store import NOW, item, owner
from tests.fakes import FakeEmbedder
from tests.unit.remembering import Clock, Talk

ME = 1


def ranked(id_: int, *, words: float = 0.0, meaning: float = 0.0) -> Ranked:
    return Ranked(scope_id=0, id=id_, words=words, meaning=meaning, neighbours=0, session=0)


def hit(id_: int, *terms: int, scope_id: int = 7) -> Hit:
    return Hit(scope_id=scope_id, id=id_, session_id="s", position=id_, length=9, terms=dict.fromkeys(terms, 1))


def said(id_: int, *, turn_id: int = 1) -> Message:
    return Message(
        id=id_, scope_id=7, session_id="s", turn_id=turn_id, event_id=1, role="user", text="q", user="u", channel="c",
        conversation="r", chat_type="private", agent="a",
    )  # fmt: skip


def ended(slot: str, value: str, *sources: int, lasting: bool = True) -> Ended:
    return Ended(lasting=lasting, scope_id=7, slot=slot, value=value, source_ids=sources)


def profile(*ids: int, **fields: str) -> tuple[ProfileItem, ...]:
    return tuple(item(id_, person_id=ME, slot="", **fields) for id_ in ids)


class TestClaimed:
    """Why a profile item is in the prompt, or out."""

    def test_words_and_meaning_go_before_what_is_merely_new(self) -> None:
        """By their score together: neither gates the other."""
        found = [ranked(1, words=2.0), ranked(2, meaning=5.0), ranked(3, words=1.0, meaning=8.0)]

        rows, claims = claimed(profile(4, 3, 2, 1), found, UNKNOWN)

        assert [3, 2, 1, 4] == [row.id for row in rows]
        assert {1: WORDS, 2: MEANING, 3: WORDS, 4: RECENT} == claims

    def test_what_was_compared_and_is_not_related_goes_last(self) -> None:
        """What nobody has compared yet may still be what is asked for (B26)."""
        rows, claims = claimed(profile(3, 2, 1), [], Near(compared=frozenset({3, 1})))

        assert [2, 3, 1] == [row.id for row in rows]
        assert {1: THRESHOLD, 2: RECENT, 3: THRESHOLD} == claims

    def test_how_to_call_the_person_is_always_there(self) -> None:
        name = item(1, person_id=ME, slot="name")

        _, claims = claimed((name,), [], Near(compared=frozenset({1})))

        assert {1: ALWAYS} == claims

    def test_what_a_message_says_now_goes_where_the_message_went(self) -> None:
        """People ask in the words that they used first; of a slot with many values none is another's successor."""
        rows = tuple(
            item(id_, person_id=ME, slot=slot) for id_, slot in ((4, "like"), (3, "like"), (2, "city"), (1, ""))
        )

        found, claims = claimed(rows, [ranked(1, words=2.0)], UNKNOWN, slots={"city": 5.0, "like": 9.0})

        assert [2, 1, 4, 3] == [row.id for row in found]
        assert {1: WORDS, 2: SUCCESSOR, 3: RECENT, 4: RECENT} == claims


class TestOutdated:
    """Which turns told of something that has changed since."""

    def test_what_ended_and_is_not_said_again(self) -> None:
        fetched = tuple(said(id_, turn_id=id_ * 100) for id_ in (1, 2, 3, 4))
        over = [
            ended("city", "Lisbon", 1),
            ended("city", "Porto", 2),
            ended("service", "refund", 3),
            ended("like", "tea", 9),
        ]
        loaded = Loaded(profile=(item(7, person_id=ME, slot="city", value="Porto"),))

        assert {100: {"city"}} == outdated(fetched, over, loaded, owner(7, person_id=ME))

    def test_a_group_is_told_of_no_private_change(self) -> None:
        """Only where the new value may be shown there, or what changed is of the group itself."""
        fetched = tuple(said(id_, turn_id=id_ * 100) for id_ in (1, 2, 3))
        over = [ended("city", "Lisbon", 1), ended("role", "nurse", 2), ended("order", "8821", 3, lasting=False)]
        loaded = Loaded(profile=(item(7, person_id=ME, slot="role", value="midwife"),))
        here = owner(7, person_id=ME, chat_type="group")

        assert {200: {"role"}, 300: {"order"}} == outdated(fetched, over, loaded, here)
        allowed = owner(7, person_id=ME, chat_type="group", private_in_group=True)
        assert {100, 200, 300} == outdated(fetched, over, loaded, allowed).keys()


class TestFitting:
    """Which hits say enough."""

    def test_one_word_of_many_is_enough_with_the_meaning(self) -> None:
        question = {1: 1.0, 2: 1.0, 3: 1.0}
        loaded = Loaded(hits=(hit(1, 1), hit(2, 1), hit(3, 1, 2), hit(4), hit(5, scope_id=0)))

        found = fitting(loaded, set(), question, {(7, 2): 0.5, (7, 4): 0.6})

        assert [2, 3, 4, 5] == [one.id for one in found]

    def test_what_the_window_shows_is_not_brought_again(self) -> None:
        loaded = Loaded(hits=(hit(1, 1, 2), hit(2, 1, 2)), window=(said(1),))

        assert [2] == [one.id for one in fitting(loaded, in_window(loaded, Policy()), {1: 1.0, 2: 1.0}, {(7, 1): 0.9})]


@asynccontextmanager
async def talking(folder: Path, embedder: FakeEmbedder, *texts: str) -> AsyncIterator[tuple[Talk, Meaning]]:
    """A memory whose person has profile items of these texts, found by no words, from 11 on."""
    clock, tokenizers, column = Clock(), Tokenizers(), SqliteColumn(folder)
    async with column.open(ids=Ids(1, clock)) as store:
        meaning = Meaning([embedder], store.vectors, cache_bytes=1_000_000, question_s=1)
        memory = Memory(store, tokenizers=tokenizers, clock=clock, meaning=meaning)
        for id_, text in enumerate(texts, 11):
            await store.put_profile([item(id_, person_id=ME, slot="", text=text)])
            await column.sql(
                "INSERT INTO fragments (scope_id, id, person_id, namespace, chat_type, session_id, position, length, terms)"
                f" VALUES (0, {id_}, {ME}, 'shared', 'private', '', -1, 1, x'')"
            )
        await column.sql(f"INSERT INTO corpora VALUES ({ME}, 'shared', {len(texts)}, 1, 1)")
        yield Talk(memory, store.derived, clock, tokenizers), meaning


async def test_the_ledger_says_what_the_threshold_kept_out_and_a_replay_agrees(tmp_path: Path) -> None:
    """Byte for byte, without asking the embedder again (C13)."""
    embedder = FakeEmbedder("small", [("tea", "茶"), ("shoe", "鞋")])
    async with talking(tmp_path, embedder, "green tea", "shoe 42") as (talk, meaning):
        await meaning.open()
        assert 2 == await meaning.embed_some(owner="a", now_ms=NOW, lease_ms=1000)

        prepared = await talk.ask("我的鞋?")
        await talk.answer(prepared, "42.")
        asked = len(embedder.asked)
        again = await talk.memory.replay(prepared.turn.turn_id, prepared.turn.policy)

    entries = {one.ids[0]: (one.verdict, one.rule) for one in prepared.ledger.entries if one.section == "profile"}
    assert {11: ("out", THRESHOLD), 12: ("in", MEANING)} == entries
    assert "shoe 42" in prepared.context.system
    assert "green tea" not in prepared.context.system
    assert again is not None
    assert again.identical
    assert asked == len(embedder.asked)


async def test_an_item_that_is_older_than_those_loaded_is_found(tmp_path: Path) -> None:
    """However much was learned since."""
    embedder = FakeEmbedder("small", [("tea", "茶"), ("shoe", "鞋")])
    async with talking(tmp_path, embedder, "shoe 42", *["green tea"] * 55) as (talk, meaning):
        await meaning.open()
        await meaning.embed_some(owner="a", now_ms=NOW, lease_ms=1000)

        prepared = await talk.ask("我的鞋?")

    assert "shoe 42" in prepared.context.system
    assert "green tea" not in prepared.context.system


async def test_nobody_known_has_nothing_near(tmp_path: Path) -> None:
    embedder = FakeEmbedder("small", [("shoe", "鞋")])
    async with talking(tmp_path, embedder, "shoe 42") as (talk, meaning):
        await meaning.open()
        await meaning.embed_some(owner="a", now_ms=NOW, lease_ms=1000)

        prepared = await talk.ask("我的鞋?", person_id=None)

    assert "shoe 42" not in prepared.context.system


async def test_a_fallback_of_another_namespace_is_shown_nothing_near(tmp_path: Path) -> None:
    """Its question is compared with what that agent may know, and with nothing else."""
    embedder = FakeEmbedder("small", [("shoe", "鞋")])
    async with talking(tmp_path, embedder, "shoe 42") as (talk, meaning):
        await meaning.open()
        await meaning.embed_some(owner="a", now_ms=NOW, lease_ms=1000)
        prepared = await talk.ask("我的鞋?")

        other = await talk.memory.handed_over(prepared, policy=Policy(namespace="apart"), revision="r")

    assert "shoe 42" in prepared.context.system
    assert "shoe 42" not in other.context.system


async def test_a_question_that_could_not_be_compared_is_told_in_the_ledger(tmp_path: Path) -> None:
    """And the profile comes as it does without an embedder (A27 to A31)."""
    async with talking(tmp_path, FakeEmbedder("small", [("tea", "茶")]), "green tea") as (talk, _):
        prepared = await talk.ask("What now?")

    assert "meaning" in prepared.ledger.failed
    assert "green tea" in prepared.context.system
