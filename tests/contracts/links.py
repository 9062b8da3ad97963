"""What every database must keep of links: the contract of `memory.links.Links`."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from memory.base import Identity, Message
from memory.derived import Fragment, FullStore
from memory.indexing import item_terms, message_terms_of
from memory.links import CODE_MS, TRIES, TRIES_MS, UNDO_MS, Linked, Parted, digest_of
from memory.people import Account, Traces
from memory.terms import term_ids, terms
from tests.contracts.columns import Column
from tests.contracts.derived import answered, learned, live
from tests.contracts.store import NOW, fact, item, key, ledger, opened, owner, put, rule, said, texts, wish

FRESH = 2**60


def account(name: str, kind: str = "web") -> Identity:
    return Identity(kind=kind, tenant="T:1", account=name)


async def somebody(store: FullStore, name: str, *, now_ms: int = NOW) -> int:
    return await store.person(account(name), now_ms=now_ms)


async def joined(store: FullStore, one: int, other: int, *, now_ms: int = NOW) -> Linked:
    """Link the other to the one by a code of the one's."""
    assert await store.links.offer(one, digest_of(f"code-{one}"), now_ms=now_ms)
    made = await store.links.link(other, digest_of(f"code-{one}"), now_ms=now_ms)
    assert isinstance(made, Linked)
    return made


async def moved(store: FullStore) -> None:
    while await store.links.move(limit=1):
        pass


async def tells(
    store: FullStore, person_id: int, user: str, turn_id: int, value: str, *, slot: str = "like", at_ms: int = NOW
) -> tuple[Message, ...]:
    """Let somebody say something in private, and learn it, as an item, a fact and a fragment."""
    place = {"user": user, "room": f"r-{user}"}
    scope = await opened(store, **place)
    turn = await answered(store, scope.id, turn_id, f"it is {value}", person_id=person_id, key=key(**place))
    head = turn[0]
    of: dict[str, Any] = {"scope_id": scope.id, "person_id": person_id, "source_ids": (head.id,), "slot": slot}
    row = item(0, text=value, value=value, valid_from_ms=at_ms, **of)
    made = learned(
        turn,
        person_id=person_id,
        items=(row,),
        item_terms=(item_terms(row, person_id),),
        facts=(fact(0, value=value, session_id=head.session_id, **of),),
        fragments=(Fragment(scope_id=scope.id, id=head.id, terms=message_terms_of(head, person_id)),),
    )
    assert await store.derived.settle(made)
    return turn


async def finds(store: FullStore, person_id: int, turn: tuple[Message, ...]) -> tuple[int, int]:
    """How many messages and how many items the words of the turn's message find for the person."""
    asked = tuple(term_ids(person_id, terms(turn[0].text)))
    loaded = await store.load(wish(turn[0].scope_id, terms=asked, person_id=person_id))
    return sum(hit.scope_id != 0 for hit in loaded.hits), sum(hit.scope_id == 0 for hit in loaded.hits)


class CodeContract:
    """Codes: once, in time, and not by guessing."""

    async def test_a_code_joins_once(self, store: FullStore) -> None:
        """Case, spaces and hyphens do not count; used, it is worth nothing."""
        ann, bob, cat = [await somebody(store, name) for name in ("ann", "bob", "cat")]
        assert await store.links.offer(ann, digest_of("ABCD2345"), now_ms=NOW)

        made = await store.links.link(bob, digest_of(" abcd-2345 "), now_ms=NOW)

        assert isinstance(made, Linked)
        assert (ann, bob) == (made.survivor_id, made.absorbed_id)
        assert "wrong" == await store.links.link(cat, digest_of("ABCD2345"), now_ms=NOW)
        assert ann == await somebody(store, "bob")
        assert cat == await somebody(store, "cat")

    async def test_a_code_that_is_over_or_replaced_or_revoked(self, store: FullStore) -> None:
        """None of them joins anybody."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        for code in ("OLD", "NEW"):
            assert await store.links.offer(ann, digest_of(code), now_ms=NOW)

        assert "wrong" == await store.links.link(bob, digest_of("OLD"), now_ms=NOW)
        assert "wrong" == await store.links.link(bob, digest_of("NEW"), now_ms=NOW + CODE_MS)
        assert await store.links.offer(ann, digest_of("SEEN"), now_ms=NOW)
        await store.links.revoke(digest_of("SEEN"))
        assert "wrong" == await store.links.link(bob, digest_of("SEEN"), now_ms=NOW)
        assert [ann, bob] == [await somebody(store, name) for name in ("ann", "bob")]

    async def test_ones_own_code(self, store: FullStore) -> None:
        """They are one already; the code is used up."""
        ann = await somebody(store, "ann")
        assert await store.links.offer(ann, digest_of("MINE"), now_ms=NOW)

        assert "same" == await store.links.link(ann, digest_of("MINE"), now_ms=NOW)
        assert "wrong" == await store.links.link(ann, digest_of("MINE"), now_ms=NOW)

    async def test_guessing_is_limited(self, store: FullStore) -> None:
        """After so many wrong ones not even the right one is taken, until their time is over; others are not hindered."""
        ann, bob, cat = [await somebody(store, name) for name in ("ann", "bob", "cat")]
        assert await store.links.offer(ann, digest_of("RIGHT"), now_ms=NOW)
        guesses = [await store.links.link(bob, digest_of(f"G{n}"), now_ms=NOW) for n in range(TRIES)]

        assert ["wrong"] * TRIES == guesses
        assert "limited" == await store.links.link(bob, digest_of("RIGHT"), now_ms=NOW + 1)
        assert isinstance(await store.links.link(cat, digest_of("RIGHT"), now_ms=NOW + 2), Linked)
        assert "wrong" == await store.links.link(bob, digest_of("RIGHT"), now_ms=NOW + TRIES_MS)

    async def test_asking_is_limited(self, store: FullStore) -> None:
        """So many codes in their time."""
        ann = await somebody(store, "ann")
        asked = [await store.links.offer(ann, digest_of(f"C{n}"), now_ms=NOW) for n in range(TRIES + 1)]

        assert [True] * TRIES + [False] == asked
        assert await store.links.offer(ann, digest_of("LATER"), now_ms=NOW + TRIES_MS)

    async def test_of_two_at_once_one_is_joined(self, store: FullStore) -> None:
        """A code is used once, however many use it at one moment."""
        ann, *others = [await somebody(store, name) for name in ("ann", "bob", "cat", "dan")]
        assert await store.links.offer(ann, digest_of("ONE"), now_ms=NOW)

        made = await asyncio.gather(*(store.links.link(one, digest_of("ONE"), now_ms=NOW) for one in others))

        assert 1 == sum(isinstance(one, Linked) for one in made)
        assert 2 == made.count("wrong")


class LinkContract:
    """Two persons become one, and two again."""

    async def test_what_is_known_goes_to_the_older(self, store: FullStore) -> None:
        """Whoever's code it was: items, facts and what recall finds; the messages stand where they were."""
        ann = await somebody(store, "ann", now_ms=NOW - 9)
        bob = await somebody(store, "bob")
        mine, yours = await tells(store, ann, "ann", 1, "rye"), await tells(store, bob, "bob", 2, "oolong 乌龙")

        made = await joined(store, bob, ann)
        await moved(store)

        assert (ann, bob) == (made.survivor_id, made.absorbed_id)
        assert (["rye", "oolong 乌龙"], ["like=rye", "like=oolong 乌龙"]) == await live(store, ann)
        assert ([], []) == await live(store, bob)
        assert [(1, 1), (1, 1)] == [await finds(store, ann, turn) for turn in (mine, yours)]
        assert (0, 0) == await finds(store, bob, yours)
        assert ["it is oolong 乌龙", "reply to it is oolong 乌龙"] == texts(
            await store.turn_messages(owner(yours[0].scope_id, person_id=ann), 2)
        )
        corpus = (await store.load(wish(yours[0].scope_id, terms=(1,), person_id=ann))).corpus
        assert 4 == corpus.fragments

    async def test_it_can_be_undone_as_it_was(self, store: FullStore) -> None:
        """By the account that was joined: what went over comes back; what was learned since stays; what was forgotten since is
        not known again."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        mine = await tells(store, ann, "ann", 1, "rye")
        yours = await tells(store, bob, "bob", 2, "oolong")
        await tells(store, bob, "bob", 3, "cocoa")
        await joined(store, ann, bob)
        await moved(store)
        since = await tells(store, ann, "bob", 4, "wine")
        items, facts = await store.derived.known(ann, now_ms=NOW)
        gone = [row.id for row in items if row.value == "cocoa"], [row.id for row in facts if row.value == "cocoa"]
        await store.forgetting.forget(ann, items=gone[0], facts=gone[1], withhold=(), now_ms=NOW)

        parted = await store.links.unlink(account("bob"), fresh_id=FRESH, now_ms=NOW + UNDO_MS)
        assert (0, 0) == await finds(store, ann, yours), "at once"
        await moved(store)

        assert Parted(persons=(bob,), as_it_was=True) == parted
        assert [ann, bob] == [await somebody(store, name) for name in ("ann", "bob")]
        assert (["oolong"], ["like=oolong"]) == await live(store, bob)
        assert (["rye", "wine"], ["like=rye", "like=wine"]) == await live(store, ann)
        assert [(1, 1), (0, 0)] == [await finds(store, bob, turn) for turn in (yours, mine)]
        assert [(1, 1), (1, 1)] == [await finds(store, ann, turn) for turn in (mine, since)]
        for person_id, fragments in ((ann, 4), (bob, 2)):
            corpus = (await store.load(wish(mine[0].scope_id, terms=(1,), person_id=person_id))).corpus
            assert fragments == corpus.fragments, "messages and live items, without what was forgotten"
        assert None is await store.links.unlink(account("bob"), fresh_id=FRESH, now_ms=NOW)

    async def test_the_account_that_others_were_joined_to_lets_them_go(self, store: FullStore) -> None:
        """All of them, each as it was."""
        ann, bob, cat = [await somebody(store, name) for name in ("ann", "bob", "cat")]
        for number, (person_id, name) in enumerate(((ann, "ann"), (bob, "bob"), (cat, "cat")), start=1):
            await tells(store, person_id, name, number, f"tea of {name}")
        await joined(store, ann, bob)
        await joined(store, ann, cat)
        assert 3 == len((await live(store, ann))[0])

        parted = await store.links.unlink(account("ann"), fresh_id=FRESH, now_ms=NOW)

        assert Parted(persons=(bob, cat), as_it_was=True) == parted
        assert [["tea of ann"], ["tea of bob"], ["tea of cat"]] == [
            (await live(store, one))[0] for one in (ann, bob, cat)
        ]

    async def test_links_of_links_come_apart_in_any_order(self, store: FullStore) -> None:
        """Cat was joined to Bob, then Bob to Ann: each takes along what was theirs."""
        ann, bob, cat = [await somebody(store, name, now_ms=NOW + n) for n, name in enumerate(("ann", "bob", "cat"))]
        turns = {
            name: await tells(store, person_id, name, number, f"tea of {name}")
            for number, (person_id, name) in enumerate(((ann, "ann"), (bob, "bob"), (cat, "cat")), start=1)
        }
        await joined(store, bob, cat)
        await joined(store, ann, bob)
        await moved(store)
        assert [ann] * 3 == [await somebody(store, name) for name in ("ann", "bob", "cat")]
        assert 1 == (await finds(store, ann, turns["cat"]))[0] - 2, "with the two others: they share words"

        assert Parted(persons=(cat,), as_it_was=True) == await store.links.unlink(
            account("cat"), fresh_id=1, now_ms=NOW
        )
        await moved(store)
        assert None is await store.links.unlink(account("cat"), fresh_id=1, now_ms=NOW), "the others stay together"
        assert [ann, ann, cat] == [await somebody(store, name) for name in ("ann", "bob", "cat")]
        assert ["tea of cat"] == (await live(store, cat))[0]
        assert Parted(persons=(bob,), as_it_was=True) == await store.links.unlink(
            account("bob"), fresh_id=1, now_ms=NOW
        )
        await moved(store)

        assert [ann, bob, cat] == [await somebody(store, name) for name in ("ann", "bob", "cat")]
        assert [["tea of ann"], ["tea of bob"], ["tea of cat"]] == [
            (await live(store, one))[0] for one in (ann, bob, cat)
        ]

    async def test_too_late_to_undo(self, store: FullStore) -> None:
        """After its time the account is a new person's, of whom nothing is known; the rest stays together."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        await tells(store, bob, "bob", 1, "oolong")
        await joined(store, ann, bob)

        parted = await store.links.unlink(account("bob"), fresh_id=FRESH, now_ms=NOW + UNDO_MS + 1)

        assert Parted(persons=(FRESH,), as_it_was=False) == parted
        assert [ann, FRESH] == [await somebody(store, name) for name in ("ann", "bob")]
        assert ([], []) == await live(store, FRESH)
        assert ["oolong"] == (await live(store, ann))[0]

    async def test_taken_apart_again_by_who_broke_off(self, store: FullStore) -> None:
        """Once only: the link that is left, by which the account went along as another's, stays; what was done is told again,
        and done where it had not come to that."""
        ann, bob, cat = [await somebody(store, name, now_ms=NOW + n) for n, name in enumerate(("ann", "bob", "cat"))]
        await joined(store, bob, cat)
        await joined(store, ann, bob)

        async def again(name: str, *, now_ms: int = NOW) -> Parted | None:
            return await store.links.unlink(account(name), fresh_id=FRESH, now_ms=now_ms, again_ms=NOW)

        assert Parted(persons=(cat,), as_it_was=True) == await again("cat")
        assert Parted(persons=(cat,), as_it_was=True) == await again("cat")

        assert [ann, ann, cat] == [await somebody(store, name) for name in ("ann", "bob", "cat")]
        assert Parted(persons=(bob,), as_it_was=True) == await again("ann")
        assert Parted(persons=(bob,), as_it_was=True) == await again("ann")
        assert None is await again("nobody")

    async def test_taken_apart_too_late_again_by_who_broke_off(self, store: FullStore) -> None:
        """It is one new person, not two, nor none."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        await joined(store, ann, bob)
        late = NOW + UNDO_MS + 1

        for _ in range(2):
            parted = await store.links.unlink(account("bob"), fresh_id=FRESH, now_ms=late, again_ms=late)
            assert Parted(persons=(FRESH,), as_it_was=False) == parted
        assert [ann, FRESH] == [await somebody(store, name) for name in ("ann", "bob")]

    async def test_what_was_never_linked(self, store: FullStore) -> None:
        await somebody(store, "ann")
        for name in ("ann", "nobody"):
            assert None is await store.links.unlink(account(name), fresh_id=FRESH, now_ms=NOW)

    async def test_one_value_of_a_single_slot_lives_on(self, store: FullStore) -> None:
        """The later said one; what both said is known once; both are back when the link is undone."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        await tells(store, ann, "ann", 1, "Oslo", slot="city", at_ms=NOW - 5)
        await tells(store, bob, "bob", 2, "Bergen", slot="city", at_ms=NOW - 4)
        await tells(store, ann, "ann", 3, "rye", at_ms=NOW - 3)
        await tells(store, bob, "bob", 4, "RYE", at_ms=NOW - 2)

        await joined(store, ann, bob)

        assert {"Bergen", "RYE"} == set((await live(store, ann))[0])
        assert await store.links.unlink(account("bob"), fresh_id=FRESH, now_ms=NOW)
        assert {"Oslo", "rye"} == set((await live(store, ann))[0])
        assert {"Bergen", "RYE"} == set((await live(store, bob))[0])

    async def test_what_was_forgotten_while_joined_stays_so(self, store: FullStore) -> None:
        """Also the value that had given way: what both had said, and all of a kind (B46)."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        for number, (name, who, slot, value) in enumerate([
            ("ann", ann, "city", "Oslo"), ("bob", bob, "city", "Bergen"), ("ann", ann, "like", "rye"),
            ("bob", bob, "like", "RYE"), ("ann", ann, "like", "tea"), ("bob", bob, "like", "乌龙茶"),
        ], start=1):  # fmt: skip
            await tells(store, who, name, number, value, slot=slot, at_ms=NOW - 9 + number)
        await joined(store, ann, bob)
        items, facts = await store.derived.known(ann, now_ms=NOW)
        rye = [row.id for row in items if row.value == "RYE"], [row.id for row in facts if row.value == "RYE"]

        await store.forgetting.forget(ann, items=rye[0], facts=rye[1], withhold=(), now_ms=NOW)
        await store.forgetting.forget_slots(ann, slots=["city"], withhold=(), now_ms=NOW)
        await store.links.unlink(account("bob"), fresh_id=FRESH, now_ms=NOW)

        assert ["tea"] == (await live(store, ann))[0]
        assert ["乌龙茶"] == (await live(store, bob))[0]

    async def test_what_was_said_since_outdoes_what_gave_way(self, store: FullStore) -> None:
        """The value that gave way to the other's comes back when they part, but not beside a newer one of the same slot."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        cities = [
            item(number, person_id=who, slot=slot, value=value, text=value, valid_from_ms=NOW + number)
            for number, (who, slot, value) in enumerate(
                [(ann, "city", "Paris"), (ann, "name", "Ann"), (bob, "city", "Lyon"), (bob, "name", "Bob")], start=1
            )
        ]
        await store.put_profile(cities)
        await joined(store, ann, bob)
        assert ["Lyon", "Bob"] == (await live(store, ann))[0]
        ended = msgspec.structs.replace(cities[2], person_id=ann, status="superseded", valid_to_ms=NOW + 9)
        await store.put_profile([ended, item(9, person_id=ann, slot="city", value="Nice", text="Nice")])

        await store.links.unlink(account("bob"), fresh_id=FRESH, now_ms=NOW)

        assert ["Ann", "Nice"] == (await live(store, ann))[0]
        assert ["Bob"] == (await live(store, bob))[0], "Lyon was outdone by Nice"

    async def test_a_turn_that_waits_is_learned_for_whom_it_is_now(self, store: FullStore) -> None:
        """Read before the link, it is read again; then its message counts as the survivor's own."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        place = {"user": "bob", "room": "r-bob"}
        scope = await opened(store, **place)
        turn = await answered(store, scope.id, 1, "rye", person_id=bob, key=key(**place))
        of: dict[str, Any] = {"source_ids": (turn[0].id,), "scope_id": scope.id}
        await joined(store, ann, bob)

        assert not await store.derived.settle(learned(turn, person_id=bob, items=(item(0, person_id=bob, **of),)))
        material = await store.derived.material(ledger(1, scope.id, person_id=bob), namespace="shared")
        assert ann == material.person_id
        assert [ann, ann] == [row.person_id for row in material.messages]
        assert ["rye"] == texts(await store.forgetting.waiting(ann))
        made = learned(
            turn,
            person_id=ann,
            items=(item(0, person_id=ann, text="rye", **of),),
            item_terms=(((3, 1),),),
            ledger=ledger(1, scope.id, person_id=bob, session_id=turn[0].session_id),
        )
        assert await store.derived.settle(made)
        assert ["rye"] == (await live(store, ann))[0]

    async def test_joined_while_something_is_being_stored(self, store: FullStore) -> None:
        """Stored before, it goes over; else it is refused, and learned again: nothing stays with who is nobody any more."""
        ann = await somebody(store, "ann")
        for number in range(1, 5):
            name = f"bob{number}"
            bob, place = await somebody(store, name), {"user": name, "room": name}
            scope = await opened(store, **place)
            turn = await answered(store, scope.id, number, "rye", person_id=bob, key=key(**place))
            of: dict[str, Any] = {"source_ids": (turn[0].id,), "scope_id": scope.id, "person_id": bob}
            made = learned(turn, person_id=bob, items=(item(0, text=name, **of),), item_terms=(((3, 1),),))
            assert await store.links.offer(ann, digest_of(name), now_ms=NOW + number * TRIES_MS)

            stored, linked = await asyncio.gather(
                store.derived.settle(made), store.links.link(bob, digest_of(name), now_ms=NOW + number * TRIES_MS)
            )

            assert isinstance(linked, Linked)
            assert ([], []) == await live(store, bob)
            assert stored is (name in (await live(store, ann))[0])

    async def test_a_joined_person_is_exported_and_erased_as_one(self, store: FullStore) -> None:
        """All accounts, all that was said under each of them; and nothing of the link is left."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        await tells(store, ann, "ann", 1, "rye")
        await tells(store, bob, "bob", 2, "oolong")
        await joined(store, ann, bob)
        await moved(store)

        found = await store.persons.find(bob)
        assert found is not None
        assert (ann, 2) == (found.id, len(found.identities))
        assert [ann] == [one.id for one in await store.persons.listed(after_id=0, limit=9)]
        accounts = await store.persons.accounts(ann)
        assert (Account("ann", "web"), Account("bob", "web")) == accounts
        assert 4 == len(await store.persons.messages(ann, after=(0, 0), limit=9))
        erased = await store.persons.erase(ann, accounts=accounts, posted=(), now_ms=NOW)
        await store.persons.unlink(ann)

        assert 4 == erased.counts["messages"]
        assert () == await store.persons.messages(ann, after=(0, 0), limit=9)
        assert None is await store.links.unlink(account("bob"), fresh_id=FRESH, now_ms=NOW)
        assert not await store.links.move(limit=9)
        assert {ann, bob}.isdisjoint([await somebody(store, name) for name in ("ann", "bob")])

    async def test_no_link_of_others_keeps_an_erased_account(self, store: FullStore, column: Column) -> None:
        """Who was joined to somebody who was joined on went along, and is named there until they are erased."""
        ann, bob, cid = [await somebody(store, name) for name in ("ann", "bob", "Cid-77")]
        await joined(store, bob, cid)
        await joined(store, ann, bob)
        await store.links.unlink(account("Cid-77"), fresh_id=FRESH, now_ms=NOW)
        named = "SELECT account FROM link_accounts ORDER BY account"
        assert {("Cid-77",), ("bob",)} == {*await column.sql(named)}

        await store.persons.erase(cid, accounts=(), posted=(), now_ms=NOW)
        await store.persons.unlink(cid)

        assert [("bob",)] == await column.sql(named)
        assert ann == await somebody(store, "bob"), "they are still one"

    async def test_undone_while_it_is_being_moved(self, store: FullStore) -> None:
        """Half of what recall finds had gone over, and another instance undoes the link: all of it comes back."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        turns = [await tells(store, bob, "bob", number, f"oolong{number}") for number in range(1, 5)]
        await joined(store, ann, bob)
        for _ in range(2):
            assert await store.links.move(limit=1)
        assert [(1, 1), (1, 1), (0, 1), (0, 1)] == [await finds(store, ann, turn) for turn in turns]

        await store.links.unlink(account("bob"), fresh_id=FRESH, now_ms=NOW)
        await moved(store)

        assert [(0, 0)] * 4 == [await finds(store, ann, turn) for turn in turns]
        assert [(1, 1)] * 4 == [await finds(store, bob, turn) for turn in turns]

    async def test_what_comes_late_under_the_former_person(self, store: FullStore) -> None:
        """An instance that has not heard yet stores it for the former person: it is the survivor's all the same."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        await joined(store, ann, bob)
        place = {"user": "bob", "room": "r-bob"}
        scope = await opened(store, **place)
        await put(store, scope.id, said("late", 1, key=key(**place), person_id=bob), turn_id=1, session=rule("s-9"))

        assert ["late"] == texts(await store.persons.messages(ann, after=(0, 0), limit=9))


class AdminLinkContract:
    """What an admin joins and takes apart, without codes."""

    async def test_two_persons_are_joined_and_taken_apart_exactly(self, store: FullStore) -> None:
        """All namespaces go over, and come back; what was forgotten meanwhile does not."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob", now_ms=NOW + 1)
        await tells(store, ann, "ann", 1, "tea")
        turn = await tells(store, bob, "bob", 2, "咖啡")
        await tells(store, bob, "bob", 3, "jam")
        before = [await store.derived.known(one, now_ms=NOW) for one in (ann, bob)]

        made = await store.links.join(bob, ann, now_ms=NOW)

        assert isinstance(made, Linked)
        assert (ann, bob) == (made.survivor_id, made.absorbed_id)
        (row,) = await store.links.made(ann)
        assert (made.link_id, ann, bob, NOW, NOW + UNDO_MS, (account("bob"),)) == (
            row.id,
            row.survivor_id,
            row.absorbed_id,
            row.linked_ms,
            row.until_ms,
            row.accounts,
        )
        await moved(store)
        assert Parted(persons=(bob,), as_it_was=True) == await store.links.undo(made.link_id, now_ms=NOW)
        await moved(store)
        assert before == [await store.derived.known(one, now_ms=NOW) for one in (ann, bob)]
        assert (1, 1) == await finds(store, bob, turn)
        assert () == await store.links.made(ann)
        assert None is await store.links.undo(made.link_id, now_ms=NOW)

    async def test_nobody_is_joined_with_nobody(self, store: FullStore) -> None:
        """Nor with themselves, nor with somebody who was erased or is being erased."""
        ann, bob, cat = [await somebody(store, name) for name in ("ann", "bob", "cat")]
        await store.persons.begin(bob, now_ms=NOW)
        await store.persons.ask(cat, Traces())

        assert "same" == await store.links.join(ann, ann, now_ms=NOW)
        assert ["wrong"] * 3 == [await store.links.join(ann, other, now_ms=NOW) for other in (bob, cat, 4711)]

    async def test_an_old_link_is_not_undone(self, store: FullStore) -> None:
        """Its accounts can be taken out one by one, each as a new person."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob", now_ms=NOW + 1)
        made = await store.links.join(ann, bob, now_ms=NOW)
        assert isinstance(made, Linked)

        late = NOW + UNDO_MS + 1
        assert None is await store.links.undo(made.link_id, now_ms=late)
        parted = await store.links.unlink(account("bob"), fresh_id=FRESH, now_ms=late)
        assert Parted(persons=(FRESH,), as_it_was=False) == parted

    async def test_of_two_admins_one_joins(self, store: FullStore) -> None:
        """And one undoes."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob", now_ms=NOW + 1)

        made = await asyncio.gather(*(store.links.join(ann, bob, now_ms=NOW) for _ in range(3)))
        (link,) = [one for one in made if isinstance(one, Linked)]
        undone = await asyncio.gather(*(store.links.undo(link.link_id, now_ms=NOW) for _ in range(3)))

        assert 1 == sum(one is not None for one in undone)
