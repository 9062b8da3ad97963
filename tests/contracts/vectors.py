"""What every database must keep of fragments' vectors: the contract of `memory.embedding.Vectors`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from memory.base import Message
from memory.derived import Fragment, FullStore
from memory.embedding import Embedded, Unembedded, VectorRows
from tests.contracts.columns import Column
from tests.contracts.derived import answered, learned, person
from tests.contracts.store import NOW, item, key, opened, owner, wish

MODEL, OTHER = "small/2", "another/2"
LEASE = 60_000


def vector(x: float, y: float = 0.0) -> bytes:
    return struct.pack("<2f", x, y)


@dataclass(frozen=True)
class Place:
    """Where somebody talks."""

    user: str = "u1"
    room: str = "r1"
    chat_type: str = "private"
    namespace: str = "shared"


PRIVATE, GROUP, ELSEWHERE = Place(), Place(room="g", chat_type="group"), Place(room="g2", chat_type="group")


async def heard(store: FullStore, turn_id: int, text: str = "q", place: Place = PRIVATE) -> Message:
    """Store a turn and learn from it: the message and its reply are fragments."""
    scope = await opened(store, user=place.user, room=place.room, chat_type=place.chat_type)
    me = await person(store, place.user)
    where = {"user": place.user, "room": place.room, "chat_type": place.chat_type}
    turn = await answered(store, scope.id, turn_id, text, person_id=me, key=key(**where))
    fragments = tuple(Fragment(scope_id=row.scope_id, id=row.id, terms=((turn_id, 1),)) for row in turn)
    assert await store.derived.settle(learned(turn, person_id=me, fragments=fragments, namespace=place.namespace))
    return turn[0]


async def missing(
    store: FullStore, model: str = MODEL, *, limit: int = 100, me: str = "a", now_ms: int = NOW
) -> tuple[Unembedded, ...]:
    found = await store.vectors.missing(model, limit=limit, owner=me, now_ms=now_ms, lease_ms=LEASE)
    assert found is not None
    return found


async def embed(store: FullStore, model: str = MODEL, *, limit: int = 100) -> Sequence[Unembedded]:
    """Give whatever has no vector of the model one: its position and 1."""
    found = await missing(store, model, limit=limit)
    rows = [Embedded(of=one, vector=vector(number, 1)) for number, one in enumerate(found)]
    assert len(found) == await store.vectors.put(model, rows)
    return found


async def read(
    store: FullStore, person_id: int, model: str = MODEL, *, namespace: str = "shared", after: int = 0, first: int = 0,
    limit: int = 100,
) -> VectorRows:  # fmt: skip
    return await store.vectors.read(person_id, namespace, model, after=after, first=first, limit=limit)


async def generation(store: FullStore, person_id: int) -> int:
    scope = await opened(store)
    return (await store.load(wish(scope.id, person_id=person_id))).corpus.generation


class MissingContract:
    """What is to be embedded is found by a query: a kill loses none of it."""

    async def test_what_has_no_vector_of_the_model_is_missing(self, store: FullStore) -> None:
        message = await heard(store, 1, "我对青霉素过敏 😊")
        me = await person(store)

        first, second = await missing(store)

        assert (message.scope_id, message.id, me, "shared", "我对青霉素过敏 😊", 1) == (
            first.scope_id, first.id, first.person_id, first.namespace, first.text, first.version,
        )  # fmt: skip
        assert "reply to 我对青霉素过敏 😊" == second.text
        assert (first, second) == await missing(store), "until it is stored"

    async def test_items_are_missing_too(self, store: FullStore) -> None:
        scope, me = await opened(store), await person(store)
        turn = await answered(store, scope.id, 1, person_id=me)
        one = item(0, person_id=me, text="likes tea")
        await store.derived.settle(learned(turn, person_id=me, items=(one,), item_terms=(((5, 1),),)))

        (found,) = await missing(store)

        assert (0, "likes tea", 1) == (found.scope_id, found.text, found.version)
        assert (0, "", "", "private") == (found.turn_id, found.channel, found.conversation, found.chat_type)

    async def test_what_is_embedded_for_whom(self, store: FullStore) -> None:
        """A message's turn and place, as in its key: somebody pays for the embedder."""
        await heard(store, 77, "客服?", GROUP)

        first, _ = await missing(store)

        where = key(user=GROUP.user, room=GROUP.room, chat_type=GROUP.chat_type)
        _, channel, conversation, chat_type, _ = where.columns()
        assert "group" == chat_type
        assert (77, channel, conversation, chat_type) == (
            first.turn_id, first.channel, first.conversation, first.chat_type,
        )  # fmt: skip

    async def test_what_was_stored_is_missing_no_more(self, store: FullStore) -> None:
        """One that has no vector at all, too: it would be asked for for ever."""
        await heard(store, 1)
        first, second = await missing(store)

        await store.vectors.put(MODEL, [Embedded(of=first, vector=vector(1)), Embedded(of=second, vector=None)])

        assert () == await missing(store)
        assert 1 == (await read(store, await person(store))).total

    async def test_one_at_a_time_embeds(self, store: FullStore) -> None:
        """Of several instances one asks the embedder; its lease ends by itself."""
        await heard(store, 1)
        await missing(store, me="a")

        async def asked(me: str, now_ms: int) -> bool:
            found = await store.vectors.missing(MODEL, limit=9, owner=me, now_ms=now_ms, lease_ms=LEASE)
            return found is not None

        assert not await asked("b", NOW)
        assert await asked("a", NOW + 1)
        assert await asked("b", NOW + 1 + LEASE)
        await store.vectors.leave(owner="a")
        assert not await asked("a", NOW + 1 + LEASE)
        await store.vectors.leave(owner="b")
        assert await asked("a", NOW + 1 + LEASE)

    async def test_new_fragments_go_before_those_of_another_model(self, store: FullStore) -> None:
        """What was just said is found soon, however long a change of models takes."""
        await heard(store, 1, "old")
        await embed(store, OTHER)
        await heard(store, 2, "new")

        found = await missing(store, limit=3)

        assert ["new", "reply to new", "old"] == [one.text for one in found]

    async def test_a_change_of_models_goes_person_by_person(self, store: FullStore) -> None:
        """So that each one's old vectors serve until all of theirs are new, and that is soon."""
        for turn_id in range(1, 5):
            await heard(store, turn_id, f"t{turn_id}", Place(user=f"u{turn_id % 2}"))
        await embed(store, OTHER)

        found = await missing(store, limit=4)

        assert 1 == len({one.person_id for one in found})


class PutContract:
    """Vectors are stored for what is still there, and go with it."""

    async def test_vectors_come_back_as_they_were(self, store: FullStore) -> None:
        message, grouped = await heard(store, 1), await heard(store, 2, place=GROUP)
        await embed(store)

        found = await read(store, await person(store))

        assert 4 == found.total == len(found.rows)
        by_id = {row.id: row for row in found.rows}
        assert (message.scope_id, False) == (by_id[message.id].scope_id, by_id[message.id].group)
        assert (grouped.scope_id, True) == (by_id[grouped.id].scope_id, by_id[grouped.id].group)
        assert {vector(n, 1) for n in range(4)} == {row.vector for row in found.rows}
        assert sorted(found.rows) == found.rows

    async def test_every_change_makes_another_generation(self, store: FullStore) -> None:
        """Caches compare it."""
        await heard(store, 1)
        me = await person(store)
        before = await generation(store, me)

        await embed(store)

        assert before < await generation(store, me)

    async def test_a_vector_of_a_text_that_changed_is_passed_over(self, store: FullStore) -> None:
        """Embedding takes time, and an edit or a deletion in between must not be undone by it. The reply went along."""
        message = await heard(store, 1, "old words")
        late = await missing(store)
        await store.edit(message.scope_id, "m1", by=key(), text="new", tokens=1, low_value=False, now_ms=NOW)

        stored = await store.vectors.put(MODEL, [Embedded(of=one, vector=vector(1)) for one in late])

        assert (0, (0, [])) == (stored, await read(store, await person(store)))

    async def test_an_edited_text_that_was_learned_again_waits_for_its_own_vector(self, store: FullStore) -> None:
        message = await heard(store, 1, "old words")
        me = await person(store)
        late = await missing(store)
        await store.edit(message.scope_id, "m1", by=key(), text="new", tokens=1, low_value=False, now_ms=NOW)
        turn = await store.turn_messages(owner(message.scope_id, person_id=me), 1)
        again = tuple(Fragment(scope_id=row.scope_id, id=row.id, terms=((1, 1),)) for row in turn)
        assert await store.derived.settle(learned(turn, person_id=me, fragments=again))

        stored = await store.vectors.put(MODEL, [Embedded(of=late[0], vector=vector(1))])

        assert 0 == stored
        assert "new" in [one.text for one in await missing(store)]

    async def test_vectors_go_with_what_they_stand_for(self, store: FullStore, column: Column) -> None:
        """An edit, a deletion, a retraction and an erasure leave no vector behind: from one a text can be guessed (B46). A reply
        goes with what it answers."""
        scope, me = await opened(store), await person(store)
        turn = await answered(store, scope.id, 9, person_id=me)
        one = item(0, person_id=me, text="likes tea")
        await store.derived.settle(learned(turn, person_id=me, items=(one,), item_terms=(((5, 1),),)))
        edited, deleted = await heard(store, 1), await heard(store, 2)
        await embed(store)
        (kept,), _ = await store.derived.known(me, now_ms=NOW)

        counts = [(await read(store, me)).total]
        await store.edit(edited.scope_id, "m1", by=key(), text="new", tokens=1, low_value=False, now_ms=NOW)
        counts.append((await read(store, me)).total)
        await store.delete(deleted.scope_id, "m2", by=key(), now_ms=NOW)
        counts.append((await read(store, me)).total)
        await store.forgetting.forget(me, items=[kept.id], facts=[], withhold=(), now_ms=NOW)
        counts.append((await read(store, me)).total)
        await store.persons.erase(me, accounts=await store.persons.accounts(me), posted=(), now_ms=NOW)

        assert [5, 3, 1, 0] == counts
        assert [(0,)] == await column.sql("SELECT count(*) FROM vectors")

    async def test_late_work_for_an_erased_person_stores_nothing(self, store: FullStore, column: Column) -> None:
        """redis/agent-memory-server#184."""
        await heard(store, 1)
        me = await person(store)
        late = await missing(store)
        await store.persons.erase(me, accounts=await store.persons.accounts(me), posted=(), now_ms=NOW)

        assert 0 == await store.vectors.put(MODEL, [Embedded(of=one, vector=vector(1)) for one in late])
        assert [(0,)] == await column.sql("SELECT count(*) FROM vectors")

    async def test_old_vectors_serve_until_all_of_the_persons_are_new(self, store: FullStore) -> None:
        """A change of models has no moment without vectors (mem0ai/mem0#5405), and leaves none of the old behind: two
        spaces stand side by side meanwhile (E12)."""
        await heard(store, 1)
        await heard(store, 2, place=Place(user="u2"))
        me, other = await person(store), await person(store, "u2")
        await embed(store, OTHER)
        first, second, *_ = await missing(store)
        assert first.person_id == second.person_id

        await store.vectors.put(MODEL, [Embedded(of=first, vector=vector(1))])
        half = [(await read(store, first.person_id, model)).total for model in (MODEL, OTHER)]
        await store.vectors.put(MODEL, [Embedded(of=second, vector=vector(1))])
        whole = [(await read(store, first.person_id, model)).total for model in (MODEL, OTHER)]

        assert ([1, 2], [2, 0]) == (half, whole)
        others = other if first.person_id == me else me
        assert [0, 2] == [(await read(store, others, model)).total for model in (MODEL, OTHER)]


class ReadContract:
    """Whose vectors, and which."""

    async def test_they_are_their_owners_only(self, store: FullStore) -> None:
        """The same words of another person, in another namespace, or of another model, are other vectors."""
        await heard(store, 1, "same")
        await heard(store, 2, "same", Place(user="u2"))
        await heard(store, 3, "same", Place(namespace="hr"))
        await embed(store)
        me = await person(store)

        assert 2 == (await read(store, me)).total
        assert 2 == (await read(store, me, namespace="hr")).total
        for person_id, namespace, model in ((me, "x", MODEL), (me, "shared", OTHER), (me + 1, "shared", MODEL)):
            assert (0, []) == await read(store, person_id, model, namespace=namespace)

    async def test_what_was_added_is_read_behind_what_is_known(self, store: FullStore) -> None:
        """And the count from the first one known tells whether something in between is gone."""
        message = await heard(store, 1)
        await embed(store)
        me = await person(store)
        known = (await read(store, me)).rows
        await heard(store, 2)
        await embed(store)

        added = await read(store, me, after=known[-1].seq, first=known[0].seq)
        await store.delete(message.scope_id, "m1", by=key(), now_ms=NOW)
        without = await read(store, me, after=known[-1].seq, first=known[0].seq)

        assert (4, 2) == (added.total, len(added.rows))
        assert (2, 2) == (without.total, len(without.rows))

    async def test_a_place_in_the_order_is_never_given_twice(self, store: FullStore) -> None:
        """Not even when the newest vector was deleted: who read up to there would miss the next one."""
        message = await heard(store, 1)
        newest, *_ = await missing(store)
        await store.vectors.put(MODEL, [Embedded(of=newest, vector=vector(1))])
        me = await person(store)
        (known,) = (await read(store, me)).rows
        await store.delete(message.scope_id, "m1", by=key(), now_ms=NOW)
        await heard(store, 2)

        await embed(store)

        assert known.seq < (await read(store, me)).rows[0].seq

    async def test_only_the_newest_are_read(self, store: FullStore) -> None:
        for turn_id in (1, 2):
            await heard(store, turn_id)
            await embed(store)
        me = await person(store)
        every = (await read(store, me)).rows

        found = await read(store, me, limit=3)

        assert (4, every[1:]) == (found.total, found.rows)

    async def test_places_are_told_to_their_owner_where_they_may_be_shown(self, store: FullStore) -> None:
        """The same rule as for words: private sayings stay out of groups, one group's out of another."""
        private, group = await heard(store, 1), await heard(store, 2, place=GROUP)
        me, other = await person(store), await person(store, "u2")
        here, elsewhere = (
            await opened(store, room="g", chat_type="group"),
            await opened(store, room="g2", chat_type="group"),
        )
        wanted = [(row.scope_id, row.id) for row in (private, group)]

        async def placed(scope_id: int, person_id: int | None, **fields: object) -> list[int]:
            reader = owner(scope_id, person_id=person_id, **fields)
            return sorted(hit.id for hit in await store.vectors.placed(reader, wanted))

        assert sorted([private.id, group.id]) == await placed(private.scope_id, me)
        assert [group.id] == await placed(here.id, me, chat_type="group")
        assert [] == await placed(elsewhere.id, me, chat_type="group")
        assert [] == await placed(here.id, me, chat_type="group", namespace="hr")
        assert [] == await placed(here.id, other, chat_type="group")
        assert [] == await placed(private.scope_id, other)
        assert [] == await placed(private.scope_id, None)

    async def test_a_place_is_a_hit_without_terms(self, store: FullStore) -> None:
        """It counts in its session, so that what stands beside it is found with it."""
        first = await heard(store, 1)
        second = await heard(store, 2)

        (hit,) = await store.vectors.placed(
            owner(first.scope_id, person_id=await person(store)), [(second.scope_id, second.id)]
        )

        assert (second.id, second.session_id, 2, {}) == (hit.id, hit.session_id, hit.position, hit.terms)
