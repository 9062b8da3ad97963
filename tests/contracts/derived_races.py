"""What must hold when several write what is known of one person, and what can't be read: part of the contract of
`memory.derived.Derived`."""

from __future__ import annotations

import asyncio
import logging

import msgspec
import pytest

from memory.base import ProfileItem
from memory.derived import FullStore, Learned
from memory.errors import StoreUnavailable
from memory.forgetting import Worded
from tests.contracts.columns import Column, SqliteColumn
from tests.contracts.derived import LEASE, answered, due, learned, live, person
from tests.contracts.store import NOW, fact, item, key, ledger, opened

PORTO = Worded(id=21, fresh_id=2**61, value="Porto", text="Porto")
"""A correction of the item 21."""


def city(person_id: int, id_: int = 0, value: str = "Lyon") -> ProfileItem:
    return item(id_, person_id=person_id, slot="city", text=value, value=value)


async def decided(store: FullStore, turn: tuple[int, int, str], person_id: int, *ended: int) -> Learned:
    """Return what is learned of a turn (turn, scope, session): a city, in place of the items `ended`, by what is known now."""
    turn_id, scope_id, session_id = turn
    of = ledger(turn_id, scope_id, person_id=person_id, session_id=session_id)
    read = await store.derived.material(of, namespace="shared")
    made = {"items": (city(person_id),), "item_terms": ((),), "superseded_items": ended}
    return learned(read.messages, person_id=person_id, material=read, **made)


class RacesContract:
    """Slots with one value have one, whoever writes when: B45, B47, mem0ai/mem0#5867, getzep/graphiti#1728."""

    async def test_what_it_was_decided_on_must_still_be_what_is_live(self, store: FullStore) -> None:
        """A correction that came in between would be outdone by an older word: it is decided anew."""
        scope, me = await opened(store), await person(store)
        await store.put_profile([city(me, 21, "Paris"), item(22, person_id=me, namespace="x")])
        await store.put_facts([fact(11, scope.id, person_id=me), fact(12, scope.id, person_id=me, session_id="s-9")])
        await answered(store, scope.id, 1, person_id=me)
        made = await decided(store, (1, scope.id, "s-1"), me, 21)
        await store.forgetting.correct(me, items=(PORTO,), facts=(), withhold=(), now_ms=NOW)

        assert not await store.derived.settle(made)
        assert (["item 22", "Porto"], ["order=8821", "order=8821"]) == await live(store, me)
        assert [1] == await due(store)
        assert await store.derived.settle(await decided(store, (1, scope.id, "s-1"), me, 2**61))
        assert ["item 22", "Lyon"] == (await live(store, me))[0]

    async def test_a_fact_that_was_forgotten_is_not_built_on(self, store: FullStore) -> None:
        scope, me = await opened(store), await person(store)
        await store.put_facts([fact(11, scope.id, person_id=me)])
        await answered(store, scope.id, 1, person_id=me)
        made = await decided(store, (1, scope.id, "s-1"), me)
        await store.forgetting.forget(me, items=(), facts=(11,), withhold=(), now_ms=NOW)

        assert not await store.derived.settle(made)
        assert ([], []) == await live(store, me)

    async def test_of_two_rooms_at_once_one_is_decided_anew(self, store: FullStore) -> None:
        """Learned from by two instances, neither of which saw a value."""
        scope, other, me = await opened(store), await opened(store, user="u2"), await person(store)
        await answered(store, scope.id, 1, person_id=me)
        await answered(store, other.id, 2, person_id=me, key=key(user="u2"))
        turns = [(1, scope.id, "s-1"), (2, other.id, f"s-{other.id}")]
        made = [await decided(store, turn, me) for turn in turns]

        done = await asyncio.gather(*(store.derived.settle(one) for one in made))

        assert [False, True] == sorted(done)
        ((kept,), _) = await store.derived.known(me, now_ms=NOW)
        left = await decided(store, turns[done.index(False)], me, kept.id)
        words = msgspec.structs.replace(PORTO, id=kept.id)
        await asyncio.gather(
            store.forgetting.correct(me, items=(words,), facts=(), withhold=(), now_ms=NOW), store.derived.settle(left)
        )
        assert (await live(store, me))[0] in (["Porto"], ["Lyon"])

    async def test_of_a_correction_and_a_turn_at_once_one_stands(self, store: FullStore) -> None:
        scope, me = await opened(store), await person(store)
        await store.put_profile([city(me, 21, "Paris")])
        for number in range(1, 9):
            await answered(store, scope.id, number, person_id=me)
            ((kept,), _) = await store.derived.known(me, now_ms=NOW)
            made = await decided(store, (number, scope.id, "s-1"), me, kept.id)
            words = Worded(id=kept.id, fresh_id=2**61 + number, value="Porto", text="Porto")
            corrected, settled = await asyncio.gather(
                store.forgetting.correct(me, items=(words,), facts=(), withhold=(), now_ms=NOW),
                store.derived.settle(made),
            )
            assert [["Porto"], ["Lyon"]][settled] == (await live(store, me))[0]
            assert settled != bool(corrected.items)

    async def test_words_for_a_row_that_is_gone_are_found_by_nobody(self, store: FullStore) -> None:
        """Nothing of them enters the index of recall."""
        me = await person(store)

        await store.forgetting.correct(me, items=(PORTO,), facts=(), withhold=(), now_ms=NOW)

        assert ((), ()) == await store.derived.known(me, now_ms=NOW)
        assert 0 == (await store.size())["profile_items"]


class UnreadableContract:
    """A ledger that is damaged, or of a release that wrote another form."""

    async def test_it_holds_up_nobody(self, store: FullStore, column: Column, caplog: pytest.LogCaptureFixture) -> None:
        """Its turn is set aside in sight; those behind it, and other scopes', go on at once."""
        scope, other = await opened(store), await opened(store, user="u2")
        for number in (1, 2, 3):
            await answered(store, scope.id, number)
        await answered(store, other.id, 4, key=key(user="u2"))
        odd = "x'7b'" if isinstance(column, SqliteColumn) else r"'\x7b'"
        await column.sql(f"UPDATE ledgers SET body = {odd} WHERE turn_id IN (1, 2)")
        caplog.set_level(logging.ERROR)

        assert [3, 4] == sorted(await due(store))

        logged = [record for record in caplog.records if record.getMessage() == "a turn is not learned from"]
        assert [1, 2] == [vars(record)["turn"] for record in logged]
        assert NOW + LEASE == await store.derived.next_due(), "what is held is all that is due"
        with pytest.raises(StoreUnavailable, match=r"ledger of turn 1 can't be read: .*nothing was learned"):
            await store.ledger(1)

    async def test_one_alone_leaves_nothing_due(self, store: FullStore, column: Column) -> None:
        scope = await opened(store)
        await answered(store, scope.id, 1)
        odd = "x''" if isinstance(column, SqliteColumn) else "''"
        await column.sql(f"UPDATE ledgers SET body = {odd}")

        assert [] == await due(store)
        assert None is await store.derived.next_due()
        await answered(store, scope.id, 2)
        assert [2] == await due(store)
