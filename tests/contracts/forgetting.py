"""What every database must keep of forgetting: the contract of `memory.forgetting.Forgetting`."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from memory.base import Message
from memory.derived import Covered, Fragment, FullStore
from memory.forgetting import Entry, Listing, Place, Worded
from memory.indexing import item_terms
from tests.contracts.derived import answered, due, learned, live, person
from tests.contracts.store import (
    HOUR,
    NOW,
    fact,
    item,
    key,
    ledger,
    opened,
    owner,
    put,
    rule,
    said,
    summary,
    texts,
    wish,
)


async def known(store: FullStore, turn: tuple[Message, ...], person_id: int, *values: str, slot: str = "like") -> None:
    """Learn each value from the turn, as an item and as a fact, with the turn's fragment."""
    head = turn[0]
    of: dict[str, Any] = {"scope_id": head.scope_id, "person_id": person_id, "source_ids": (head.id,), "slot": slot}
    items = tuple(item(0, text=f"likes {value}", value=value, **of) for value in values)
    facts = tuple(fact(0, value=value, session_id=head.session_id, **of) for value in values)
    fragments = (Fragment(scope_id=head.scope_id, id=head.id, terms=((5, 1),)),)
    made = learned(
        turn,
        person_id=person_id,
        items=items,
        facts=facts,
        fragments=fragments,
        item_terms=tuple(((9, 1),) for _ in items),
    )
    assert await store.derived.settle(made)


async def ids(store: FullStore, person_id: int) -> tuple[list[int], list[int]]:
    items, facts = await store.derived.known(person_id, now_ms=NOW)
    return [row.id for row in items], [row.id for row in facts]


class ForgetContract:
    """What is named goes, words and all, and nothing brings it back."""

    async def test_named_rows_go_with_their_words(self, store: FullStore) -> None:
        """Item and fact end, are not found any more, and what they said is told once."""
        me, scope = await person(store), await opened(store)
        await known(store, await answered(store, scope.id, 1, "tea 茶🍵", person_id=me), me, "茶🍵")
        await known(store, await answered(store, scope.id, 2, "rye", person_id=me), me, "rye")
        items, facts = await ids(store, me)

        gone = await store.forgetting.forget(me, items=items[:1], facts=facts[:1], withhold=(), now_ms=NOW)

        assert (["茶🍵"], ["茶🍵"]) == ([row.value for row in gone.items], [row.value for row in gone.facts])
        assert (["likes rye"], ["like=rye"]) == await live(store, me)
        assert () == await store.derived.items(owner(scope.id, person_id=me), items[:1])
        again = await store.forgetting.forget(me, items=items[:1], facts=facts[:1], withhold=(), now_ms=NOW)
        assert ((), ()) == (again.items, again.facts)

    async def test_what_it_came_from_is_not_brought_back(self, store: FullStore) -> None:
        """Neither the message that said it nor the reply to that is recalled, and the summary over it is made anew, without it;
        asked about tea a session later, nobody is told of it (getzep/graphiti#1489)."""
        me, scope = await person(store), await opened(store)
        turn = await answered(store, scope.id, 1, "tea", person_id=me)
        rows = turn + await answered(store, scope.id, 2, "rye", person_id=me)
        fragments = [Fragment(scope_id=scope.id, id=row.id, terms=((5, 1),)) for row in rows]
        of: dict[str, Any] = {"scope_id": scope.id, "person_id": me, "source_ids": (turn[0].id,)}
        tea = item(0, text="likes tea", value="tea", slot="like", **of)
        for said_then, items in ((turn, (tea,)), (rows[2:], ())):
            made = [one for one in fragments if one.id in {row.id for row in said_then}]
            new = learned(
                said_then, person_id=me, items=items, item_terms=tuple(((9, 1),) for _ in items), fragments=tuple(made)
            )
            assert await store.derived.settle(new)
        await store.put_summary(summary(1, scope.id, first_id=turn[0].id, last_id=rows[3].id))
        items, _ = await store.derived.known(me, now_ms=NOW)

        await store.forgetting.forget(me, items=[row.id for row in items], facts=(), withhold=(), now_ms=NOW)

        loaded = await store.load(wish(scope.id, terms=(5, 9), person_id=me))
        assert {row.id for row in rows[2:]} == {hit.id for hit in loaded.hits}
        assert ["tea", "reply to tea", "rye", "reply to rye"] == texts(loaded.window), "what was said stands"
        assert None is (await store.derived.covered(scope.id, "s-1")).summary

    async def test_what_once_said_the_same_goes_too(self, store: FullStore) -> None:
        """Past rows with the forgotten value lose their words, or taking accounts apart would bring them back; others' values
        in the slot stay history."""
        me, scope = await person(store), await opened(store)
        of: dict[str, Any] = {"person_id": me, "slot": "city"}
        past: dict[str, Any] = {"status": "superseded", "valid_to_ms": NOW}
        await store.put_profile([
            item(1, value="Oslo", text="lives in Oslo", **of, **past),
            item(2, value="Bergen", text="lives in Bergen", **of, **past),
        ])  # fmt: skip
        await store.put_facts([fact(3, scope.id, value="ＯＳＬＯ", expires_ms=NOW + HOUR, **of)])

        gone = await store.forgetting.forget(me, items=(), facts=[3], withhold=(), now_ms=NOW)

        assert ((), 1) == (gone.items, len(gone.facts))
        exported = str(await store.persons.items(me, after_id=0, limit=99))
        assert "Oslo" not in exported
        assert "Bergen" in exported

    async def test_all_of_a_kind_goes(self, store: FullStore) -> None:
        """Live and past rows of the slots, in every namespace; what waits and is named is withheld; nobody else's, no other
        slot's."""
        me, you, scope = await person(store), await person(store, "u2"), await opened(store)
        of: dict[str, Any] = {"slot": "city", "person_id": me}
        await store.put_profile([
            item(1, value="Oslo", text="lives in Oslo", **of),
            item(2, value="上海", text="所在地：上海", namespace="b", **of),
            item(3, value="Bergen", text="lives in Bergen", status="superseded", valid_to_ms=NOW, **of),
            item(4, value="tea", text="likes tea", slot="like", person_id=me),
            item(5, value="Oslo", text="lives in Oslo", slot="city", person_id=you),
        ])  # fmt: skip
        await store.put_facts([fact(6, scope.id, value="Oslo", expires_ms=NOW + HOUR, **of)])
        await answered(store, scope.id, 1, "I live in Oslo", person_id=me)
        theirs = await answered(store, scope.id, 2, "I live in Oslo", person_id=you)
        mine, others = await store.forgetting.waiting(me), await store.forgetting.waiting(you)

        gone = await store.forgetting.forget_slots(me, slots=["city"], withhold=[*mine, *others], now_ms=NOW)

        assert (["Oslo", "上海"], ["Oslo"]) == ([row.value for row in gone.items], [row.value for row in gone.facts])
        assert [theirs[0].id] == [row.id for row in await store.forgetting.waiting(you)]
        assert () == await store.forgetting.waiting(me)
        items, facts = await store.derived.known(me, now_ms=NOW)
        assert (["tea"], []) == ([row.value for row in items], list(facts))
        assert "Bergen" not in str(await store.persons.items(me, after_id=0, limit=99))
        assert ["Oslo"] == [row.value for row in (await store.derived.known(you, now_ms=NOW))[0]]
        again = await store.forgetting.forget_slots(me, slots=["city"], withhold=(), now_ms=NOW)
        assert ((), (), 0) == (again.items, again.facts, again.withheld)

    async def test_another_persons_rows_stay(self, store: FullStore) -> None:
        """Whatever ids are named: one changes only one's own (NousResearch/hermes-agent#28279)."""
        me, you = await person(store), await person(store, "u2")
        scope = await opened(store)
        turn = await answered(store, scope.id, 1, "tea", person_id=me)
        await known(store, turn, me, "tea")
        items, facts = await ids(store, me)

        gone = await store.forgetting.forget(you, items=items, facts=facts, withhold=turn, now_ms=NOW)

        assert ((), (), 0) == (gone.items, gone.facts, gone.withheld)
        assert await live(store, me) == (["likes tea"], ["like=tea"])
        assert None is await store.forgetting.forget_turn(scope.id, person_id=you, user="u2", now_ms=NOW)
        assert (["likes tea"], ["like=tea"]) == await live(store, me)

    async def test_a_turn_that_waits_does_not_bring_it_back(self, store: FullStore) -> None:
        """What was said in a turn not yet learned from is withheld: it is learned from as if deleted, also by who has read it
        before (getzep/graphiti#1489)."""
        me, scope = await person(store), await opened(store)
        await known(store, await answered(store, scope.id, 1, "tea", person_id=me), me, "tea")
        turn = await answered(store, scope.id, 2, "tea again", person_id=me)
        items, facts = await ids(store, me)
        waiting = await store.forgetting.waiting(me)
        assert ["tea again"] == texts(waiting)

        gone = await store.forgetting.forget(me, items=items, facts=facts, withhold=waiting, now_ms=NOW)
        stale = learned(turn, person_id=me, items=(item(0, person_id=me, source_ids=(turn[0].id,), scope_id=scope.id),))

        assert 2 == gone.withheld
        assert not await store.derived.settle(stale), "read before it was withheld"
        material = await store.derived.material(ledger(2, scope.id, person_id=me), namespace="shared")
        assert ["", "reply to tea again"] == texts(material.messages)
        assert [NOW, None] == [row.deleted_ms for row in material.messages]
        rest = learned(turn[1:], person_id=me, ledger=ledger(2, scope.id, person_id=me))
        assert await store.derived.settle(rest), "the turn itself is done with"
        assert () == await store.forgetting.waiting(me)
        assert ([], []) == await live(store, me)

    async def test_what_was_learned_meanwhile_goes_too(self, store: FullStore) -> None:
        """Learned from a withheld message since it was looked for, it says the same, and goes; what else it said stays."""
        me, scope = await person(store), await opened(store)
        await known(store, await answered(store, scope.id, 1, "tea", person_id=me), me, "tea")
        items, facts = await ids(store, me)
        turn = await answered(store, scope.id, 2, "TEA and rye", person_id=me)
        waiting = await store.forgetting.waiting(me)
        await known(store, turn, me, "TEA", "rye")

        gone = await store.forgetting.forget(me, items=items, facts=facts, withhold=waiting, now_ms=NOW)

        assert ["tea", "TEA"] == [row.value for row in gone.items]
        assert (["likes rye"], ["like=rye"]) == await live(store, me)

    async def test_a_withheld_message_stays_so_when_it_is_edited(self, store: FullStore) -> None:
        """The edit makes its turn due again, and nothing is learned of it."""
        me, scope = await person(store), await opened(store)
        await known(store, await answered(store, scope.id, 1, "tea", person_id=me), me, "tea")
        items, facts = await ids(store, me)
        await store.forgetting.forget(me, items=items, facts=facts, withhold=(), now_ms=NOW)

        assert await store.edit(scope.id, "m1", by=key(), text="black tea", tokens=2, low_value=False, now_ms=NOW)

        assert [1] == await due(store)
        material = await store.derived.material(ledger(1, scope.id, person_id=me), namespace="shared")
        assert ["", "reply to tea"] == texts(material.messages)
        assert () == await store.forgetting.waiting(me)


class CorrectContract:
    """Other words for what is known: the old ones go as if forgotten, the new ones stand in their place."""

    async def test_the_new_words_take_the_place_of_the_old(self, store: FullStore) -> None:
        """Item and fact live on as they were, with new ids, from no message, and recall finds the item by its new words
        (B10, B24); the message they came from is not learned from again."""
        me, scope = await person(store), await opened(store)
        await known(store, turn := await answered(store, scope.id, 1, "tea", person_id=me), me, "tea")
        ((was,), (told,)) = await store.derived.known(me, now_ms=NOW)
        items = (Worded(id=was.id, fresh_id=2**61, value="茶🍵\x00", text="likes 茶🍵"),)
        facts = (Worded(id=told.id, fresh_id=2**62, value="茶🍵"),)

        gone = await store.forgetting.correct(me, items=items, facts=facts, withhold=(), now_ms=NOW + 1)

        assert (["tea"], ["tea"], 1) == (
            [row.value for row in gone.items],
            [row.value for row in gone.facts],
            gone.withheld,
        )
        anew = {"source_ids": (), "value": "茶🍵"}
        item_now = msgspec.structs.replace(was, **(anew | {"id": 2**61, "value": "茶🍵\ufffd"}), text="likes 茶🍵")
        item_now = msgspec.structs.replace(item_now, scope_id=0, valid_from_ms=NOW + 1)
        fact_now = msgspec.structs.replace(told, id=2**62, created_ms=NOW + 1, **anew)
        assert ((item_now,), (fact_now,)) == await store.derived.known(me, now_ms=NOW + 1)
        assert (item_now,) == await store.derived.items(owner(scope.id, person_id=me), [was.id, 2**61])
        wanted = tuple(term for term, _ in item_terms(item_now, me))
        found = await store.load(wish(scope.id, terms=(*wanted, 9), person_id=me))
        assert {(0, 2**61)} == {(hit.scope_id, hit.id) for hit in found.hits}
        material = await store.derived.material(ledger(1, scope.id, person_id=me), namespace="shared")
        assert "" == material.messages[0].text
        assert turn[0].id == material.messages[0].id

    async def test_only_live_rows_of_the_persons_have_a_successor(self, store: FullStore) -> None:
        """Others' rows stay, gone ones stay gone, and a row that another one doubles simply goes."""
        me, you = await person(store), await person(store, "u2")
        scope = await opened(store)
        await known(store, await answered(store, scope.id, 1, "tea", person_id=me), me, "tea", "rye")
        items, facts = await ids(store, me)

        def words(number: int, *, fresh: int | None) -> dict[str, Any]:
            one = {"fresh_id": fresh, "value": "x", "text": "likes x"}
            return {
                "items": (Worded(id=items[number], **one),),
                "facts": (Worded(id=facts[number], **one),),
                "withhold": (),
                "now_ms": NOW,
            }

        others = await store.forgetting.correct(you, **words(0, fresh=2**61))
        assert ((), ()) == (others.items, others.facts)
        assert (["likes tea", "likes rye"], ["like=tea", "like=rye"]) == await live(store, me)

        await store.forgetting.correct(me, **words(0, fresh=None))
        assert (["likes rye"], ["like=rye"]) == await live(store, me)
        await store.forgetting.correct(me, **words(0, fresh=2**61))
        assert (["likes rye"], ["like=rye"]) == await live(store, me)
        assert ([], []) == await live(store, you)


class ForgetTurnContract:
    """ "Forget that": what somebody said last."""

    async def test_all_of_the_last_turn_goes(self, store: FullStore) -> None:
        """What was learned of it, its place in recall, and the summary that covers it; what was said before stays."""
        me, scope = await person(store), await opened(store)
        await known(store, await answered(store, scope.id, 1, "rye", person_id=me), me, "rye")
        turn = await answered(store, scope.id, 2, "tea", person_id=me)
        await known(store, turn, me, "tea", "茶")
        await store.put_summary(summary(1, scope.id, first_id=1, last_id=turn[1].id))

        gone = await store.forgetting.forget_turn(scope.id, person_id=me, user="u1", now_ms=NOW)

        assert gone is not None
        assert ({"tea", "茶"}, {"tea", "茶"}) == ({row.value for row in gone.items}, {row.value for row in gone.facts})
        assert 2 == gone.withheld
        assert (["likes rye"], ["like=rye"]) == await live(store, me)
        loaded = await store.load(wish(scope.id, terms=(5, 9), person_id=me))
        assert 2 == len(loaded.hits), "the earlier message, and its item"
        assert ["rye", "reply to rye", "tea", "reply to tea"] == texts(loaded.window), "what was said stands"
        assert Covered(summary=None, turns=2, tokens=0) == await store.derived.covered(scope.id, "s-1")
        rows = await store.derived.stretch(scope.id, "s-1", after_id=0, limit=9)
        assert ["rye", "reply to rye", "", ""] == texts(rows), "and is not summarised"

    async def test_a_summary_that_was_under_way_is_not_stored(self, store: FullStore) -> None:
        """It was made from the words."""
        me, scope = await person(store), await opened(store)
        turn = await answered(store, scope.id, 1, "tea", person_id=me)
        assert [1] == await due(store)
        await store.forgetting.forget_turn(scope.id, person_id=me, user="u1", now_ms=NOW)

        made = summary(1, scope.id, first_id=turn[0].id, last_id=turn[1].id)
        versions = [(row.id, row.version) for row in turn]

        assert not await store.derived.put_summary(made, replaces=None, versions=versions, owner="a", now_ms=NOW)

    async def test_whoever_is_first_it_is_forgotten(self, store: FullStore) -> None:
        """Forgotten while it is being stored: before or behind, in the end it is not known (getzep/graphiti#1489)."""
        me, scope = await person(store), await opened(store)
        for number in range(1, 7):
            turn = await answered(store, scope.id, number, f"tea {number}", person_id=me)
            of: dict[str, Any] = {"scope_id": scope.id, "person_id": me, "source_ids": (turn[0].id,)}
            made = learned(turn, person_id=me, items=(item(0, **of),), item_terms=(((9, 1),),))
            settled = store.derived.settle(made)
            forgotten = store.forgetting.forget_turn(scope.id, person_id=me, user="u1", now_ms=NOW)
            await asyncio.gather(*((settled, forgotten) if number % 2 else (forgotten, settled)))

            assert ([], []) == await live(store, me)

    async def test_it_is_ones_own_last_turn(self, store: FullStore) -> None:
        """In a group others have spoken since; theirs stays as it is, as does what was said before a new session."""
        me, you = await person(store), await person(store, "ü:2")
        place = {"room": "g1", "chat_type": "group"}
        scope = await opened(store, **place)
        mine = await answered(store, scope.id, 1, "tea", person_id=me, key=key(**place))
        await known(store, mine, me, "tea")
        yours = await answered(store, scope.id, 2, "rye", person_id=you, key=key(user="ü:2", **place))
        await known(store, yours, you, "rye")

        gone = await store.forgetting.forget_turn(scope.id, person_id=me, user="u1", now_ms=NOW)

        assert gone is not None
        assert (["tea"], 2) == ([row.value for row in gone.items], gone.withheld)
        assert (["likes rye"], ["like=rye"]) == await live(store, you)
        assert await store.end_session(scope.id, now_ms=NOW)
        assert None is await store.forgetting.forget_turn(scope.id, person_id=you, user="ü:2", now_ms=NOW)

    async def test_nothing_was_said(self, store: FullStore) -> None:
        """None; by somebody whom nobody knows, neither."""
        me, scope = await person(store), await opened(store)
        assert None is await store.forgetting.forget_turn(scope.id, person_id=me, user="u1", now_ms=NOW)
        await put(store, scope.id, said("tea", 1), turn_id=1, session=rule())
        assert None is await store.forgetting.forget_turn(scope.id, person_id=me, user="u1", now_ms=NOW)


class ForgetAllContract:
    """Everything that is known of a person, and nobody else's."""

    async def test_everything_goes(self, store: FullStore) -> None:
        """Past values, expired facts and the index of recall, too; what is waiting is withheld, what was said stands."""
        me, you, scope = await person(store), await person(store, "u2"), await opened(store)
        await known(store, await answered(store, scope.id, 1, "tea", person_id=me), me, "tea")
        await store.put_profile([item(77, person_id=me, text="old words", value="old words", status="superseded")])
        await store.put_facts([fact(78, scope.id, person_id=me, value="late words", expires_ms=NOW - HOUR)])
        yours = await opened(store, user="u2", room="r2")
        other = await answered(store, yours.id, 2, "rye", person_id=you, key=key(user="u2", room="r2"))
        await known(store, other, you, "rye")
        await answered(store, scope.id, 3, "cocoa", person_id=me)
        await store.forgetting.put_listing(me, Listing(listed_ms=NOW, entries=()))

        gone = await store.forgetting.forget_all(me, now_ms=NOW)

        assert (["tea"], ["tea"], 1) == (
            [row.value for row in gone.items],
            [row.value for row in gone.facts],
            gone.withheld,
        )
        assert ([], []) == await live(store, me)
        words = [row.text + row.value for row in await store.persons.items(me, after_id=0, limit=9)]
        assert ["", ""] == words
        assert {""} == {row.value for row in await store.persons.facts(me, after_id=0, limit=9)}
        found = await store.load(wish(scope.id, terms=(5, 9), person_id=me))
        assert () == found.hits
        assert () == await store.forgetting.waiting(me)
        assert None is await store.forgetting.listing(me)
        assert (["likes rye"], ["like=rye"]) == await live(store, you)


class ListingContract:
    """What a person was shown."""

    async def test_the_last_one_counts(self, store: FullStore) -> None:
        """Kept by person, as it was; None before the first."""
        shown = Listing(listed_ms=NOW, entries=(Entry(items=(3, 4), facts=()), Entry(items=(), facts=(2**62,))))
        later = Listing(listed_ms=NOW + 1, entries=(), all_asked_ms=NOW)
        assert None is await store.forgetting.listing(7)

        for one in (shown, later):
            await store.forgetting.put_listing(7, one)
            assert one == await store.forgetting.listing(7)

        assert None is await store.forgetting.listing(8)

    async def test_places(self, store: FullStore) -> None:
        """Where a scope is; one that does not exist is left out."""
        group = await opened(store, room="群:1", thread="t", chat_type="group")

        found = await store.forgetting.places([group.id, 99, group.id])

        channel, conversation = key(room="群:1", thread="t").columns()[1:3]
        assert {group.id: Place(channel=channel, conversation=conversation, chat_type="group")} == found
