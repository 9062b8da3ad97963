"""What persons ask an admin for, and how an admin finds a person: the rest of the contract of `memory.people.Persons`."""

from __future__ import annotations

import asyncio

from memory.base import Identity
from memory.derived import FullStore
from memory.links import Linked
from memory.people import DUE_MS, Request
from tests.contracts.persons import a_life, erase
from tests.contracts.store import NOW


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

        erased = await store.persons.erase(root, accounts=[], posted=[], now_ms=NOW)

        assert 2 == erased.counts["privacy_requests"]
        assert [cat] == [row.person_id for row in await store.persons.requests(after=(0, 0), limit=9)]


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

    async def test_who_spoke_lately_is_found_by_a_part_of_the_name(self, store: FullStore) -> None:
        """In the named channels alone, whatever case and width; nobody who only wrote of such a name."""
        me, you = await a_life(store)

        for name in ("hieronymus", "Ｈieron", "司马"):
            assert (me,) == await store.persons.called(name, channels=["web", "other"], limit=9)
        assert (you,) == await store.persons.called("otto", channels=["web"], limit=9)
        assert () == await store.persons.called("otto", channels=["other"], limit=9)
        assert () == await store.persons.called("Quittengelee", channels=["web"], limit=9)
        assert 1 == len(await store.persons.called("o", channels=["web"], limit=1))

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
