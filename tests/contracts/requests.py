"""What persons ask an admin for, and how an admin finds a person: the rest of the contract of `memory.people.Persons`."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import msgspec

from memory.base import Identity, Message
from memory.called import NAMES, Called
from memory.derived import FullStore, Learned
from memory.links import Linked
from memory.people import DUE_MS, Request
from tests.contracts.derived import answered, learned
from tests.contracts.persons import ME, a_life, erase, group
from tests.contracts.store import NOW, key, opened

_turns = count(1_000)


async def somebody(store: FullStore, account: str, *, tenant: str = "T1", kind: str = "web") -> int:
    return await store.person(Identity(kind=kind, tenant=tenant, account=account), now_ms=NOW)


class RequestContract:
    """A person's request is there until it is met, and says by when it must be (GDPR Art. 12(3))."""

    async def test_a_request_is_noted_once(self, store: FullStore) -> None:
        """Asked again, the first time counts; each kind for itself, the most urgent first, in pages."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "鲍勃")

        first = await store.persons.request(ann, "erasure", channel="acme:café", now_ms=NOW)
        again = await store.persons.request(ann, "erasure", channel=None, now_ms=NOW + 5)
        other = await store.persons.request(ann, "export", channel=None, now_ms=NOW + 9)
        third = await store.persons.request(bob, "erasure", channel="web", now_ms=NOW + 9)

        assert first == again
        assert first is not None
        assert other is not None
        assert third is not None
        wanted = Request(
            id=first.id, person_id=ann, kind="erasure", channel="acme:café", asked_ms=NOW, due_ms=NOW + DUE_MS
        )
        assert wanted == first
        assert (first, other) == await store.persons.requests(after=(0, 0), limit=2)
        assert (third,) == await store.persons.requests(after=(other.due_ms, other.id), limit=2)
        assert (third,) == await store.persons.requests(after=(0, 0), limit=9, person_id=bob)
        assert () == await store.persons.requests(after=(0, 0), limit=9, person_id=4711)

    async def test_a_request_is_met_once(self, store: FullStore) -> None:
        ann = await somebody(store, "ann")
        asked = await store.persons.request(ann, "export", channel=None, now_ms=NOW)
        assert asked is not None

        met = await asyncio.gather(*(store.persons.met(asked.id) for _ in range(3)))

        assert [ann] == [one for one in met if one is not None]
        assert () == await store.persons.requests(after=(0, 0), limit=9)

    async def test_nobody_asks_for_nothing(self, store: FullStore) -> None:
        """An erased person asks no more."""
        ann = await somebody(store, "ann")
        await store.persons.begin(ann, now_ms=NOW)

        assert None is await store.persons.request(ann, "erasure", channel=None, now_ms=NOW)
        assert None is await store.persons.request(4711, "erasure", channel=None, now_ms=NOW)

    async def test_an_erasure_meets_what_its_person_asked_for(self, store: FullStore) -> None:
        """Also under the name that they had before they were joined; others' stay."""
        ann, bob, cat = [await somebody(store, name) for name in ("ann", "bob", "cat")]
        for person in (ann, bob, cat):
            await store.persons.request(person, "erasure", channel=None, now_ms=NOW)
        joined = await store.links.join(ann, bob, now_ms=NOW)
        assert isinstance(joined, Linked)
        root = joined.survivor_id
        assert [root, root, cat] == [row.person_id for row in await store.persons.requests(after=(0, 0), limit=9)]
        theirs = await store.persons.requests(after=(0, 0), limit=9, person_id=root)
        assert [root, root] == [row.person_id for row in theirs]

        erased = await store.persons.erase(root, accounts=[], posted=[], now_ms=NOW)

        assert 2 == erased.counts["privacy_requests"]
        assert [cat] == [row.person_id for row in await store.persons.requests(after=(0, 0), limit=9)]


async def calls_themselves(store: FullStore, person_id: int, name: str) -> None:
    """Let somebody say something under this name, and learn nothing from it but the name."""
    scope = await opened(store, user=str(person_id))
    of: dict[str, Any] = {"person_id": person_id, "key": key(user=str(person_id)), "speaker_name": name}
    turn = await answered(store, scope.id, next(_turns), "hi", **of)
    called = (Called(person_id=person_id, channel=turn[0].channel, name=turn[0].speaker_name),)
    assert await store.derived.settle(nothing_learned(turn, person_id, called))


def nothing_learned(turn: tuple[Message, ...], person_id: int, called: tuple[Called, ...]) -> Learned:
    """Return what comes of a turn in a place where nothing is learned."""
    return msgspec.structs.replace(learned(turn, person_id=person_id, called=called), person_id=None)


class FindContract:
    """By account alone, and what there is."""

    async def test_an_account_is_found_whatever_its_kind_and_tenant(self, store: FullStore) -> None:
        """By equality: never a part of another's (D-level mix-ups), and nobody who was erased."""
        one = await somebody(store, "U:07%")
        two = await somebody(store, "U:07%", tenant="T2")
        three = await somebody(store, "U:07%", kind="mail", tenant="")
        await somebody(store, "U:07")
        gone = await somebody(store, "U:07%", tenant="T3")
        await store.persons.begin(gone, now_ms=NOW)

        assert tuple(sorted((one, two, three))) == await store.persons.having("U:07%", limit=9)
        assert 1 == len(await store.persons.having("U:07%", limit=1))
        assert () == await store.persons.having("nobody", limit=9)

    async def test_a_person_is_found_by_a_part_of_the_name(self, store: FullStore) -> None:
        """In the named channels alone, whatever case and width; nobody who only wrote of such a name."""
        me, you = await a_life(store)

        for name in ("hieronymus", "Ｈieron", "NYM", "司马", "马", "如"):
            assert (me,) == await store.persons.called(name, channels=["web", "other"], limit=9)
        assert (you,) == await store.persons.called("otto", channels=["web"], limit=9)
        assert (you, me) == await store.persons.called("o", channels=["web"], limit=9), "what is nearest comes first"
        for name in ("Quittengelee", "ottoo", "", " ", "%", "_", "\U0010ffff", "\x00", "\ud800", "o" * 200):
            assert () == await store.persons.called(name, channels=["web"], limit=9)
        assert () == await store.persons.called("otto", channels=["other"], limit=9)
        assert 1 == len(await store.persons.called("o", channels=["web"], limit=1))
        assert ("Hieronymus", "司马相如") == await store.persons.names(me, channels=["web"], limit=9)
        assert ("Hieronymus",) == await store.persons.names(me, channels=None, limit=1)
        assert () == await store.persons.names(me, channels=["other"], limit=9)
        assert () == await store.persons.names(me, channels=[], limit=9)

    async def test_names_are_noted_once_and_in_bounds(self, store: FullStore) -> None:
        """Hostile and very long ones, too; who has another each time is found by the last of them. Who was joined with somebody
        is found by the names of both."""
        ann, bob = await somebody(store, "ann"), await somebody(store, "bob")
        longest = "王" * 5_000
        for name in ("Ann", "Ann", "\x00\ud800", "   ", longest, "💃🏽 Ann"):
            await calls_themselves(store, ann, name)
        assert 4 == len(await store.persons.names(ann, channels=None, limit=99))
        assert (ann,) == await store.persons.called("💃🏽", channels=["web"], limit=9)
        assert (ann,) == await store.persons.called(longest, channels=["web"], limit=9)
        for number in range(NAMES + 5):
            await calls_themselves(store, bob, f"Bob {number}")

        assert NAMES >= len(await store.persons.names(bob, channels=None, limit=99))
        assert (bob,) == await store.persons.called(f"bob {NAMES + 4}", channels=["web"], limit=9)
        joined = await store.links.join(ann, bob, now_ms=NOW)
        assert isinstance(joined, Linked)
        assert {"Ann", f"Bob {NAMES + 4}"} <= {*await store.persons.names(joined.survivor_id, channels=None, limit=99)}
        assert (ann, bob) == await store.persons.family(joined.survivor_id)
        assert () == await store.persons.family(4711)

    async def test_nobody_is_found_by_a_name_once_erased(self, store: FullStore) -> None:
        """Also not by one that is noted late."""
        me, _ = await a_life(store)
        shared = await opened(store, room="g1", chat_type="group")
        late = await answered(store, shared.id, 9, "late", person_id=me, key=group(ME), speaker_name="Hieronymus")
        await erase(store, me)

        assert not await store.derived.settle(
            nothing_learned(late, me, (Called(person_id=me, channel="web", name="Hieronymus"),))
        )
        assert () == await store.persons.called("hieronymus", channels=["web"], limit=9)
        assert () == await store.persons.names(me, channels=None, limit=9)

    async def test_sources_are_the_persons_own_messages(self, store: FullStore) -> None:
        """Others' are left out, whatever ids are given, and so are replies and what is not there (IDOR)."""
        me, you = await a_life(store)
        mine, theirs = [await store.persons.messages(one, after=(0, 0), limit=99) for one in (me, you)]
        ids = [(row.scope_id, row.id) for row in (*mine, *theirs)]

        found = await store.persons.sources(me, [*ids, (4711, 1)])

        assert found == tuple(row for row in mine if row.role == "user")
        assert found
        assert () == await store.persons.sources(me, [])

    async def test_an_erasure_is_counted_beforehand(self, store: FullStore) -> None:
        """Nothing changes by counting, and afterwards nothing is left to count."""
        me, _ = await a_life(store)

        counts = await store.persons.counts(me)

        assert counts == await store.persons.counts(me)
        assert all(counts[kind] for kind in ("messages", "observed", "ledgers", "facts", "profile_items", "fragments"))
        assert 1 == counts["identities"]
        await erase(store, me)
        await store.persons.unlink(me)
        assert {0} == {*(await store.persons.counts(me)).values()}
