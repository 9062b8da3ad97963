"""What every database must keep of what memory makes of messages: the contract of `memory.derived.Derived`."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memory.base import Corpus, Frame, Identity, LedgerEntry, Message
from memory.coverage import coverage
from memory.derived import ENDED_ROWS, Covered, Fragment, FullStore, Learned
from memory.errors import Fenced
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
    replied,
    rule,
    said,
    summary,
    texts,
    wish,
)

LEASE = 60_000


async def person(store: FullStore, account: str = "u1") -> int:
    """Return the person of an account."""
    return await store.person(Identity(kind="web", tenant="", account=account), now_ms=NOW)


async def answered(
    store: FullStore, scope_id: int, turn_id: int, text: str = "q", *, person_id: int | None = None, **fields: Any
) -> tuple[Message, ...]:
    """Store a whole turn with its ledger, due to be learned from; `fields` replace the messages'."""
    session = "s-1" if "key" not in fields else f"s-{scope_id}"
    asked = said(text, turn_id, person_id=person_id, platform_message_id=f"m{turn_id}", **fields)
    rows = await put(store, scope_id, asked, turn_id=turn_id, session=rule(session))
    reply = replied(f"reply to {text}", turn_id, person_id=person_id, **fields)
    made_of = ledger(turn_id, scope_id, person_id=person_id, session_id=session)
    return rows + await put(store, scope_id, reply, turn_id=turn_id, ledger=made_of)


def learned(turn: tuple[Message, ...], *, person_id: int | None, **fields: Any) -> Learned:
    """Return what nothing was learned from; `fields` replace."""
    head = turn[0]
    defaults: dict[str, Any] = {
        "ledger": ledger(
            head.turn_id,
            head.scope_id,
            person_id=person_id,
            session_id=head.session_id,
            notes=("learned",),
            frame=Frame(chat_type=head.chat_type),
        ),
        "namespace": "shared",
        "versions": tuple((row.id, row.version) for row in turn),
        "facts_until_ms": NOW + 2 * HOUR,
    }
    return Learned(person_id=person_id, **(defaults | fields))


async def live(store: FullStore, person_id: int) -> tuple[list[str], list[str]]:
    """Return the person's live items and facts."""
    items, facts = await store.derived.known(person_id, now_ms=NOW)
    return [row.text for row in items], [f"{row.slot}={row.value}" for row in facts]


async def due(store: FullStore, *, me: str = "a", now_ms: int = NOW, limit: int = 10) -> list[int]:
    """Claim, and return the turns."""
    claimed = await store.derived.claim(owner=me, now_ms=now_ms, lease_ms=LEASE, limit=limit)
    return [turn.ledger.turn_id for turn in claimed]


class DueContract:
    """The queue of turns to learn from."""

    async def test_a_stored_reply_makes_its_turn_due(self, store: FullStore) -> None:
        """With the ledger, in the reply's own transaction: a kill in between loses no extraction."""
        scope = await opened(store)
        await put(store, scope.id, said("q", 1), turn_id=1)
        before = await store.derived.next_due()

        await put(store, scope.id, replied("a", 1), turn_id=1, ledger=ledger(1, scope.id))

        assert (None, NOW) == (before, await store.derived.next_due())
        assert [1] == await due(store)

    async def test_all_that_is_due_is_counted(self, store: FullStore) -> None:
        """In every scope, what is put off or held too, with the oldest one's number; what was learned from is not."""
        none = await store.derived.backlog()
        scope, other = await opened(store), await opened(store, user="u2")
        first = await answered(store, scope.id, 1)
        await answered(store, scope.id, 2)
        await answered(store, other.id, 3, key=key(user="u2"))
        assert {1, 3} == set(await due(store))
        await store.derived.put_off(3, due_ms=NOW + HOUR)
        three = await store.derived.backlog()
        await store.derived.settle(learned(first, person_id=None))

        assert [(0, None), (3, 1)] == [(one.turns, one.oldest) for one in (none, three)]
        assert 2 == (await store.derived.backlog()).turns

    async def test_a_turn_that_got_no_reply_is_due_too(self, store: FullStore) -> None:
        """What a person said counts, whatever became of the answer."""
        scope = await opened(store)
        await put(store, scope.id, said("q", 1), turn_id=1)

        await store.save_ledger(ledger(1, scope.id), fence=1)

        assert [1] == await due(store)

    async def test_a_late_record_of_a_lost_owner_makes_nothing_due_again(self, store: FullStore) -> None:
        """What was learned from is not learned from twice, whoever wakes up."""
        scope = await opened(store)
        rows = [said("q", 1), replied("a", 1)]
        turn = await put(store, scope.id, *rows, turn_id=1, fence=2, ledger=ledger(1, scope.id))
        assert [1] == await due(store)
        await store.derived.settle(learned(turn, person_id=None))

        with pytest.raises(Fenced):
            await store.save_ledger(ledger(1, scope.id), fence=1)

        assert await store.derived.next_due() is None

    async def test_turns_of_a_scope_come_in_their_order_one_at_a_time(self, store: FullStore) -> None:
        scope, other = await opened(store), await opened(store, user="u2")
        first = await answered(store, scope.id, 1)
        await answered(store, scope.id, 2)
        await answered(store, other.id, 3, key=key(user="u2"))

        assert [1, 3] == await due(store)
        await store.derived.settle(learned(first, person_id=None))
        await store.derived.release(scope.id, owner="a")
        assert [2] == await due(store, me="b")

    async def test_a_held_scope_is_nobody_elses_until_its_lease_ends(self, store: FullStore) -> None:
        scope = await opened(store)
        await answered(store, scope.id, 1)
        await due(store)

        assert [] == await due(store, me="b")
        assert [] == await due(store)
        assert [1] == await due(store, me="b", now_ms=NOW + LEASE)

    async def test_only_its_holder_gives_a_scope_back(self, store: FullStore) -> None:
        scope = await opened(store)
        await answered(store, scope.id, 1)
        await due(store)

        await store.derived.release(scope.id, owner="b")

        assert [] == await due(store, me="b")

    async def test_a_turn_put_off_holds_back_those_behind_it(self, store: FullStore) -> None:
        """Turn order is kept: a correction must not be learned before what it corrects."""
        scope = await opened(store)
        await answered(store, scope.id, 1)
        await answered(store, scope.id, 2)

        await store.derived.put_off(1, due_ms=NOW + HOUR)

        assert [] == await due(store)
        assert NOW + HOUR == await store.derived.next_due()
        (again,) = await store.derived.claim(owner="a", now_ms=NOW + HOUR, lease_ms=LEASE, limit=5)
        assert (1, 1) == (again.ledger.turn_id, again.tries)

    async def test_a_held_scope_is_not_due_before_its_lease_ends(self, store: FullStore) -> None:
        scope = await opened(store)
        await answered(store, scope.id, 1)
        await due(store)

        assert NOW + LEASE == await store.derived.next_due()

    async def test_a_limit_is_kept(self, store: FullStore) -> None:
        for n in range(1, 4):
            scope = await opened(store, user=f"u{n}")
            await answered(store, scope.id, n, key=key(user=f"u{n}"))

        assert [1, 2] == await due(store, limit=2)
        assert [3] == await due(store, me="b", limit=2)


class SettleContract:
    """What was learned is written at once, or not at all."""

    async def test_facts_items_and_the_ledger_are_written_together(self, store: FullStore) -> None:
        scope, me = await opened(store), await person(store)
        turn = await answered(store, scope.id, 1, person_id=me)
        entry = LedgerEntry(section="learned", ids=(turn[0].id,), version=1, verdict="out", rule="sensitive", tokens=0)
        noted = ledger(1, scope.id, person_id=me, entries=(entry,))

        done = await store.derived.settle(
            learned(
                turn,
                person_id=me,
                ledger=noted,
                facts=(fact(0, scope.id, person_id=me, value="8821"),),
                items=(
                    item(0, person_id=me, text="likes tea", value="tea", scope_id=scope.id, source_ids=(turn[0].id,)),
                ),
                item_terms=((),),
            )
        )

        assert done
        assert (["likes tea"], ["order=8821"]) == await live(store, me)
        assert noted == await store.ledger(1)
        assert [] == await due(store)
        (kept,), _ = await store.derived.known(me, now_ms=NOW)
        assert ("tea", scope.id, (turn[0].id,)) == (kept.value, kept.scope_id, kept.source_ids)

    async def test_a_turn_is_settled_once(self, store: FullStore) -> None:
        """Two learners of one turn write it once (redis/agent-memory-server#110)."""
        scope, me = await opened(store), await person(store)
        turn = await answered(store, scope.id, 1, person_id=me)
        same = learned(turn, person_id=me, facts=(fact(0, scope.id, person_id=me),))

        assert await store.derived.settle(same)
        assert not await store.derived.settle(same)
        assert ([], ["order=8821"]) == await live(store, me)

    async def test_a_message_edited_meanwhile_stops_it(self, store: FullStore) -> None:
        """Nothing is learned from a text that stands there no more."""
        scope, me = await opened(store), await person(store)
        turn = await answered(store, scope.id, 1, person_id=me)
        await store.edit(scope.id, "m1", by=key(), text="another", tokens=1, low_value=False, now_ms=NOW)

        done = await store.derived.settle(learned(turn, person_id=me, facts=(fact(0, scope.id, person_id=me),)))

        assert not done
        assert ([], []) == await live(store, me)
        assert [1] == await due(store)

    async def test_a_message_deleted_meanwhile_stops_it(self, store: FullStore) -> None:
        scope, me = await opened(store), await person(store)
        turn = await answered(store, scope.id, 1, person_id=me)
        await store.delete(scope.id, "m1", by=key(), now_ms=NOW)

        assert not await store.derived.settle(learned(turn, person_id=me, facts=(fact(0, scope.id, person_id=me),)))
        assert ([], []) == await live(store, me)

    async def test_a_new_value_ends_the_old_one_of_the_same_person_only(self, store: FullStore) -> None:
        """B45; a row of somebody else's is not ended, whatever id is named (getzep/graphiti#1728)."""
        scope, me, other = await opened(store), await person(store), await person(store, "u2")
        await store.put_facts([fact(11, scope.id, person_id=me), fact(12, scope.id, person_id=other)])
        await store.put_profile([item(21, person_id=me), item(22, person_id=other), item(23, person_id=me)])
        turn = await answered(store, scope.id, 1, person_id=me)

        await store.derived.settle(
            learned(
                turn,
                person_id=me,
                facts=(fact(0, scope.id, person_id=me, value="8812"),),
                superseded_facts=(11, 12),
                superseded_items=(21, 22),
                retracted_items=(23,),
            )
        )

        assert ([], ["order=8812"]) == await live(store, me)
        assert (["item 22"], ["order=8821"]) == await live(store, other)

    async def test_live_facts_slide(self, store: FullStore) -> None:
        """Two hours from the last turn, whatever it said (F7, F14); an expired one stays expired."""
        scope, me = await opened(store), await person(store)
        rows = [
            fact(11, scope.id, person_id=me, slot="live", expires_ms=NOW + 1),
            fact(12, scope.id, person_id=me, slot="gone", expires_ms=NOW),
            fact(13, scope.id, person_id=me, slot="longer", expires_ms=NOW + 9 * HOUR),
            fact(14, scope.id, person_id=me, slot="elsewhere", session_id="s-2", expires_ms=NOW + 1),
        ]
        await store.put_facts(rows)
        turn = await answered(store, scope.id, 1, person_id=me)

        await store.derived.settle(learned(turn, person_id=me, facts_until_ms=NOW + 2 * HOUR))

        _, facts = await store.derived.known(me, now_ms=NOW + HOUR)
        assert ["live", "longer"] == [row.slot for row in facts]

    async def test_without_a_person_nothing_personal_is_written(self, store: FullStore) -> None:
        """An unknown sender has no memory of their own."""
        scope, other = await opened(store), await person(store)
        turn = await answered(store, scope.id, 1)

        done = await store.derived.settle(learned(turn, person_id=None, facts=(fact(0, scope.id, person_id=other),)))

        assert done
        assert ([], []) == await live(store, other)

    async def test_material_is_the_turn_and_what_its_speaker_already_has(self, store: FullStore) -> None:
        scope, me, other = await opened(store), await person(store), await person(store, "u2")
        await answered(store, scope.id, 1, "first", person_id=me)
        await store.put_facts([fact(11, scope.id, person_id=me), fact(12, scope.id, person_id=other)])
        await store.put_profile(
            [item(21, person_id=me), item(22, person_id=other), item(23, person_id=me, namespace="x")]
        )
        turn = await answered(store, scope.id, 2, "second", person_id=me)

        found = await store.derived.material(ledger(2, scope.id, person_id=me), namespace="shared")

        assert (me, turn) == (found.person_id, found.messages)
        assert found.before is not None
        assert "reply to first" == found.before.text
        assert ([11], [21]) == ([row.id for row in found.facts], [row.id for row in found.items])

    async def test_material_of_nobody_is_the_turn_alone(self, store: FullStore) -> None:
        scope, other = await opened(store), await person(store)
        await store.put_facts([fact(11, scope.id, person_id=other)])
        turn = await answered(store, scope.id, 1)

        found = await store.derived.material(ledger(1, scope.id, person_id=None), namespace="shared")

        assert (None, turn, None, (), ()) == (found.person_id, found.messages, found.before, found.facts, found.items)

    async def test_a_person_who_does_not_exist_is_nobody(self, store: FullStore) -> None:
        scope = await opened(store)
        turn = await answered(store, scope.id, 1, person_id=987)

        found = await store.derived.material(ledger(1, scope.id, person_id=987), namespace="shared")

        assert found.person_id is None
        assert not await store.derived.settle(learned(turn, person_id=987, facts=(fact(0, scope.id, person_id=987),)))


class SourceContract:
    """An edit or a deletion reaches everything that came from the message."""

    async def _learned(self, store: FullStore) -> tuple[int, int, tuple[Message, ...]]:
        scope, me = await opened(store), await person(store)
        turn = await answered(store, scope.id, 1, "my size is 42", person_id=me)
        source = (turn[0].id,)
        await store.derived.settle(
            learned(
                turn,
                person_id=me,
                facts=(
                    fact(0, scope.id, person_id=me, slot="size", value="42", source_ids=source),
                    fact(0, scope.id, person_id=me, slot="order", value="8821", source_ids=(4,)),
                ),
                items=(
                    item(0, person_id=me, text="size 42", scope_id=scope.id, source_ids=source),
                    item(0, person_id=me, text="by hand", source_ids=source),
                ),
                item_terms=(((5, 1),), ()),
                fragments=(Fragment(scope_id=scope.id, id=turn[0].id, terms=((5, 1),)),),
            )
        )
        await store.derived.release(scope.id, owner="a")
        return scope.id, me, turn

    async def test_an_edit_takes_back_what_came_from_the_old_words(self, store: FullStore) -> None:
        """And makes the turn due again, to be learned from in its new form."""
        scope_id, me, _ = await self._learned(store)

        await store.edit(scope_id, "m1", by=key(), text="my size is 43", tokens=4, low_value=False, now_ms=NOW)

        assert (["by hand"], ["order=8821"]) == await live(store, me)
        assert [1] == await due(store)
        assert () == (await store.load(wish(scope_id, person_id=me, terms=(5,)))).hits

    async def test_an_edit_that_changes_nothing_takes_nothing(self, store: FullStore) -> None:
        scope_id, me, _ = await self._learned(store)

        await store.edit(scope_id, "m1", by=key(), text="my size is 42", tokens=4, low_value=False, now_ms=NOW)

        assert (["size 42", "by hand"], ["size=42", "order=8821"]) == await live(store, me)
        assert [] == await due(store)

    async def test_a_deletion_takes_the_words_away(self, store: FullStore) -> None:
        """No derived row keeps them (getzep/graphiti#1489, mem0ai/mem0#3245)."""
        scope_id, me, _ = await self._learned(store)

        await store.delete(scope_id, "m1", by=key(), now_ms=NOW)

        assert (["by hand"], ["order=8821"]) == await live(store, me)
        assert () == (await store.load(wish(scope_id, person_id=me, terms=(5,)))).hits
        assert 0 == (await store.load(wish(scope_id, person_id=me))).corpus.fragments

    @pytest.mark.parametrize("change", ["edit", "delete"])
    async def test_the_reply_to_the_old_words_is_found_no_more(self, store: FullStore, change: str) -> None:
        """It usually repeats them (getzep/graphiti#1489)."""
        scope, me = await opened(store), await person(store)
        turn = await answered(store, scope.id, 1, "tea", person_id=me)
        other = await answered(store, scope.id, 2, "rye", person_id=me)
        for rows in (turn, other):
            fragments = tuple(Fragment(scope_id=scope.id, id=row.id, terms=((5, 1),)) for row in rows)
            assert await store.derived.settle(learned(rows, person_id=me, fragments=fragments))

        if change == "edit":
            await store.edit(scope.id, "m1", by=key(), text="oat", tokens=1, low_value=False, now_ms=NOW)
        else:
            await store.delete(scope.id, "m1", by=key(), now_ms=NOW)

        loaded = await store.load(wish(scope.id, terms=(5,), person_id=me))
        assert {row.id for row in other} == {hit.id for hit in loaded.hits}

    async def test_summaries_over_it_are_gone_others_stay(self, store: FullStore) -> None:
        scope_id, _, turn = await self._learned(store)
        first = turn[0].id
        await store.put_summary(summary(31, scope_id, first_id=1, last_id=first - 1, text="older"))
        await store.put_summary(summary(32, scope_id, first_id=1, last_id=first, text="over it"))

        await store.edit(scope_id, "m1", by=key(), text="changed", tokens=1, low_value=False, now_ms=NOW)

        left = (await store.load(wish(scope_id))).summary
        assert left is not None
        assert "older" == left.text


class SummaryContract:
    """How far a session is summarised."""

    async def test_nothing_is_covered_at_first(self, store: FullStore) -> None:
        scope = await opened(store)
        rows = [*await answered(store, scope.id, 1, tokens=5), *await answered(store, scope.id, 2, tokens=7)]

        covered = await store.derived.covered(scope.id, "s-1")

        assert Covered(summary=None, turns=2, tokens=sum(row.tokens for row in rows)) == covered

    async def test_the_newest_summary_covers_up_to_its_last_message(self, store: FullStore) -> None:
        scope = await opened(store)
        first = await answered(store, scope.id, 1)
        await answered(store, scope.id, 2)
        made = summary(31, scope.id, last_id=first[-1].id)
        await store.put_summary(made)

        covered = await store.derived.covered(scope.id, "s-1")

        assert (made, 1) == (covered.summary, covered.turns)

    async def test_a_summary_is_sound_while_it_covers_what_it_says(self, store: FullStore) -> None:
        """Window and summary provably cover every message: its digest is of what is stored, with nothing left out between."""
        scope = await opened(store)
        turns = [await answered(store, scope.id, n) for n in range(1, 6)]
        await store.delete(scope.id, "m2", by=key(), now_ms=NOW)
        first = coverage("", [(row.id, row.version) for row in turns[0]])
        second = coverage(first, [(row.id, row.version) for row in (*turns[2], *turns[3])])
        newest = [
            (turns[1][-1], first),  # the second turn is deleted, its reply with it
            (turns[3][-1], second),
            (turns[4][-1], coverage(second, [])),  # a turn more than it tells
            (turns[4][0], coverage(second, [(turns[4][0].id, 2)])),  # another version
        ]

        sound = []
        for id_, (last, digest) in enumerate(newest, 31):
            await store.put_summary(summary(id_, scope.id, last_id=last.id, digest=digest))
            sound.append((await store.derived.covered(scope.id, "s-1")).sound)
            if not sound[-1]:
                await store.derived.drop_summary(scope.id, id_)

        assert [True, True, False, False] == sound
        left = await store.derived.covered(scope.id, "s-1")
        assert left.summary is not None
        assert (32, True, 1) == (left.summary.id, left.sound, left.turns)

    async def test_a_stretch_is_read_in_order(self, store: FullStore) -> None:
        scope = await opened(store)
        first = await answered(store, scope.id, 1, "one")
        await answered(store, scope.id, 2, "two")
        await store.delete(scope.id, "m2", by=key(), now_ms=NOW)

        rows = await store.derived.stretch(scope.id, "s-1", after_id=first[0].id, limit=2)

        assert ["reply to one", ""] == texts(rows)

    async def test_only_the_holder_of_the_scope_adds_one(self, store: FullStore) -> None:
        """One at a time for a scope (A23, A40)."""
        scope = await opened(store)
        await answered(store, scope.id, 1)
        new = summary(31, scope.id)

        without = await store.derived.put_summary(new, replaces=None, versions=(), owner="a", now_ms=NOW)
        await due(store)
        other = await store.derived.put_summary(new, replaces=None, versions=(), owner="b", now_ms=NOW)
        late = await store.derived.put_summary(new, replaces=None, versions=(), owner="a", now_ms=NOW + LEASE)
        holder = await store.derived.put_summary(new, replaces=None, versions=(), owner="a", now_ms=NOW)

        assert (False, False, False, True) == (without, other, late, holder)
        assert new == (await store.derived.covered(scope.id, "s-1")).summary

    async def test_it_replaces_the_one_it_was_made_from(self, store: FullStore) -> None:
        scope = await opened(store)
        await answered(store, scope.id, 1)
        await due(store)
        await store.put_summary(summary(31, scope.id))

        blind = await store.derived.put_summary(
            summary(32, scope.id), replaces=None, versions=(), owner="a", now_ms=NOW
        )
        right = await store.derived.put_summary(summary(33, scope.id), replaces=31, versions=(), owner="a", now_ms=NOW)

        assert (False, True) == (blind, right)

    async def test_a_message_changed_meanwhile_stops_it(self, store: FullStore) -> None:
        """A summary never holds words that were edited or deleted while it was made."""
        scope = await opened(store)
        turn = await answered(store, scope.id, 1)
        await due(store)
        versions = [(row.id, row.version) for row in turn]
        await store.delete(scope.id, "m1", by=key(), now_ms=NOW)

        new = summary(31, scope.id)

        assert not await store.derived.put_summary(new, replaces=None, versions=versions, owner="a", now_ms=NOW)


class RecallContract:
    """What recall finds, and whose it is."""

    async def _said(
        self, store: FullStore, account: str, turn_id: int, term: int, *, namespace: str = "shared", **parts: Any
    ) -> tuple[int, int]:
        """Let an account say something with one term; return the scope's and the message's id."""
        scope, me = await opened(store, user=account, **parts), await person(store, account)
        turn = await answered(store, scope.id, turn_id, f"t{turn_id}", person_id=me, key=key(user=account, **parts))
        fragment = Fragment(scope_id=scope.id, id=turn[0].id, terms=((term, 2), (99, 1)))
        await store.derived.settle(learned(turn, person_id=me, namespace=namespace, fragments=(fragment,)))
        await store.derived.release(scope.id, owner="a")
        return scope.id, turn[0].id

    async def test_a_shared_term_finds_a_message(self, store: FullStore) -> None:
        scope_id, id_ = await self._said(store, "u1", 1, 5)
        me = await person(store)

        loaded = await store.load(wish(scope_id, person_id=me, terms=(5, 6)))

        (hit,) = loaded.hits
        assert (scope_id, id_, f"s-{scope_id}", 0, 3, {5: 2}) == (
            hit.scope_id,
            hit.id,
            hit.session_id,
            hit.position,
            hit.length,
            hit.terms,
        )
        assert Corpus(fragments=1, length=3, generation=1) == loaded.corpus

    async def test_nobody_finds_what_another_person_said(self, store: FullStore) -> None:
        """Even with the same term, in the same group (openclaw#85240, AIOS PR #551); without a person nothing is found."""
        group: dict[str, Any] = {"room": "g", "chat_type": "group"}
        scope_id, _ = await self._said(store, "u1", 1, 5, **group)
        await self._said(store, "u2", 2, 5, **group)
        other = await person(store, "u3")

        for somebody in (other, None, 0, -1):
            found = await store.load(wish(scope_id, person_id=somebody, terms=(5, 99), chat_type="group"))
            assert ((), Corpus()) == (found.hits, found.corpus)

    async def test_a_group_finds_only_what_was_said_in_it(self, store: FullStore) -> None:
        """What a person said in private, or in another group, does not enter this one's prompt (hermes#52900)."""
        here, id_ = await self._said(store, "u1", 1, 5, room="g1", chat_type="group")
        await self._said(store, "u1", 2, 5, room="g2", chat_type="group")
        private_scope, private_id = await self._said(store, "u1", 3, 5, room="dm")
        me = await person(store)

        group = await store.load(wish(here, person_id=me, terms=(5,), chat_type="group"))
        private = await store.load(wish(private_scope, person_id=me, terms=(5,)))

        assert [id_] == [hit.id for hit in group.hits]
        assert 3 == len(private.hits)
        assert private_id in [hit.id for hit in private.hits]

    async def test_another_namespace_is_another_memory(self, store: FullStore) -> None:
        """An agent of another namespace finds nothing (NousResearch/hermes-agent#55866)."""
        scope_id, _ = await self._said(store, "u1", 1, 5, namespace="other")
        me = await person(store)

        assert () == (await store.load(wish(scope_id, person_id=me, terms=(5,)))).hits
        assert 1 == len((await store.load(wish(scope_id, person_id=me, terms=(5,), namespace="other"))).hits)

    async def test_a_term_brings_its_newest_fragments(self, store: FullStore) -> None:
        """However long the history: so many are read."""
        for n in range(1, 5):
            scope_id, last = await self._said(store, "u1", n, 5)
        me = await person(store)
        limited = msgspec.structs.replace(wish(scope_id, person_id=me), terms=(5,), hits=2)

        found = (await store.load(limited)).hits

        assert 2 == len(found)
        assert last == max(hit.id for hit in found)

    async def test_items_are_found_and_leave_with_their_words(self, store: FullStore) -> None:
        scope, me = await opened(store), await person(store)
        turn = await answered(store, scope.id, 1, person_id=me)
        one = item(0, person_id=me, text="likes tea")
        await store.derived.settle(learned(turn, person_id=me, items=(one,), item_terms=(((5, 1),),)))
        (stored,), _ = await store.derived.known(me, now_ms=NOW)

        found = (await store.load(wish(scope.id, person_id=me, terms=(5,)))).hits
        gone = await store.forgetting.forget(me, items=[stored.id], facts=[], withhold=(), now_ms=NOW)

        assert [(0, stored.id, -1)] == [(hit.scope_id, hit.id, hit.position) for hit in found]
        assert (stored,) == gone.items
        assert () == (await store.load(wish(scope.id, person_id=me, terms=(5,)))).hits

    async def test_what_a_turn_is_found_by_stands_in_order_behind_its_session(self, store: FullStore) -> None:
        """Whatever order it is given in; an item beside it stands in no session, and what has no words is not found."""
        scope, me = await opened(store), await person(store)
        for turn_id in (1, 2):
            turn = await answered(store, scope.id, turn_id, person_id=me)
            said = [Fragment(scope_id=scope.id, id=row.id, terms=((5, 1), (6, 2))) for row in reversed(turn)]
            told = learned(
                turn, person_id=me, fragments=tuple(said), items=(item(0, person_id=me),), item_terms=(((5, 4),),)
            )
            assert await store.derived.settle(told)
        nothing = await answered(store, scope.id, 3, person_id=me)
        empty = Fragment(scope_id=scope.id, id=nothing[0].id, terms=())
        assert await store.derived.settle(learned(nothing, person_id=me, fragments=(empty,)))

        loaded = await store.load(wish(scope.id, person_id=me, terms=(5,)))

        places = sorted((hit.id, hit.position) for hit in loaded.hits if hit.scope_id == scope.id)
        assert [0, 1, 2, 3] == [position for _, position in places]
        assert [-1, -1] == [hit.position for hit in loaded.hits if hit.scope_id == 0]
        assert (6, 20) == (loaded.corpus.fragments, loaded.corpus.length)

    async def test_fragments_come_with_their_neighbours(self, store: FullStore) -> None:
        for n in range(1, 6):
            scope_id, id_ = await self._said(store, "u1", n, 5)
            if n == 4:
                wanted = id_
        me = await person(store)

        rows = await store.derived.fragments(owner(scope_id, person_id=me), [(scope_id, wanted)])

        assert ["t2", "t3", "t4", "t5"] == texts(rows)

    async def test_fragments_are_their_owners_only(self, store: FullStore) -> None:
        """The ids alone open nothing: filtered inside the query."""
        scope_id, id_ = await self._said(store, "u1", 1, 5, room="g", chat_type="group")
        other = await person(store, "u2")
        me = await person(store)
        elsewhere = await opened(store, user="u1", room="g2", chat_type="group")
        wanted = [(scope_id, id_)]

        for reader in (
            owner(scope_id, person_id=other, chat_type="group"),
            owner(scope_id, person_id=None, chat_type="group"),
            owner(elsewhere.id, person_id=me, chat_type="group"),
            owner(scope_id, person_id=me, chat_type="group", namespace="x"),
        ):
            assert () == await store.derived.fragments(reader, wanted)
        assert ["t1"] == texts(await store.derived.fragments(owner(scope_id, person_id=me, chat_type="group"), wanted))

    async def test_talk_with_another_agent_hides_none(self, store: FullStore) -> None:
        """However much of it is newer: the hits are those that this agent may be shown, by one of its room's names."""
        scope, me = await opened(store, room="r1"), await person(store)
        crowd = await opened(store, room="r2", agent="other")
        turns = [(scope, 1, "helper"), *((crowd, turn_id, "other") for turn_id in range(2, 6))]
        said_ids = []
        for place, turn_id, agent in turns:
            room = "r1" if agent == "helper" else "r2"
            turn = await answered(store, place.id, turn_id, "q", person_id=me, key=key(room=room, agent=agent))
            fragment = Fragment(scope_id=place.id, id=turn[0].id, terms=((77, 1),))
            assert await store.derived.settle(learned(turn, person_id=me, fragments=(fragment,)))
            said_ids.append(turn[0].id)
        asking = await opened(store, room="r3")

        hits = (await store.load(wish(asking.id, person_id=me, terms=(77,), hits=2))).hits
        others = (await store.load(wish(asking.id, person_id=me, terms=(77,), hits=2, agent="other"))).hits

        assert said_ids[:1] == [hit.id for hit in hits]
        assert said_ids[-2:] == sorted(hit.id for hit in others)

    async def test_talk_with_another_agent_stays_with_it(self, store: FullStore) -> None:
        """C19, C21: what was said belongs to the agent it was said to; only profiles are shared."""
        scope_id, id_ = await self._said(store, "u1", 1, 5)
        me = await person(store)
        elsewhere = await opened(store, room="r2", agent="other")
        wanted = [(scope_id, id_)]

        same = await store.derived.fragments(owner(elsewhere.id, person_id=me, agent="helper"), wanted)
        other = await store.derived.fragments(owner(elsewhere.id, person_id=me, agent="other"), wanted)
        here = await store.derived.fragments(owner(scope_id, person_id=me, agent="other"), wanted)

        assert (["t1"], [], ["t1"]) == (texts(same), texts(other), texts(here))


class ShownContract:
    """Rows of a prompt, for a replay and for what recall has chosen."""

    async def test_rows_are_shown_again_whatever_became_of_them(self, store: FullStore) -> None:
        """A replay is exact after a fact was corrected and a summary replaced (C13)."""
        scope, me = await opened(store), await person(store)
        await store.put_facts([fact(11, scope.id, person_id=me, status="superseded"), fact(12, scope.id, person_id=me)])
        await store.put_profile(
            [item(21, person_id=me, status="superseded"), item(22, person_id=me, status="retracted")]
        )
        await store.put_summary(summary(31, scope.id))
        await store.put_summary(summary(32, scope.id))

        shown = await store.derived.shown(owner(scope.id, person_id=me), facts=[12, 11], items=[21, 22], summaries=[31])

        assert ([11, 12], [21], [31]) == (
            [row.id for row in shown.facts],
            [row.id for row in shown.items],
            [row.id for row in shown.summaries],
        )

    async def test_nobody_else_is_shown_them(self, store: FullStore) -> None:
        scope, me, other = await opened(store), await person(store), await person(store, "u2")
        elsewhere = await opened(store, user="u2")
        await store.put_facts([fact(11, scope.id, person_id=me)])
        await store.put_profile([item(21, person_id=me)])
        await store.put_summary(summary(31, scope.id))

        for reader in (owner(elsewhere.id, person_id=other), owner(elsewhere.id)):
            shown = await store.derived.shown(reader, facts=[11], items=[21], summaries=[31])
            assert ((), (), ()) == (shown.facts, shown.items, shown.summaries)

    async def test_live_items_by_id_where_they_may_be_shown(self, store: FullStore) -> None:
        scope, me = await opened(store), await person(store)
        rows = [
            item(21, person_id=me),
            item(22, person_id=me, status="superseded"),
            item(23, person_id=me, namespace="x"),
            item(24, person_id=me, chat_type="group"),
        ]
        await store.put_profile(rows)
        wanted = [24, 23, 22, 21]

        private = await store.derived.items(owner(scope.id, person_id=me), wanted)
        group = await store.derived.items(owner(scope.id, person_id=me, chat_type="group"), wanted)
        nobody = await store.derived.items(owner(scope.id), wanted)

        assert ([21, 24], [24], []) == (
            [row.id for row in private],
            [row.id for row in group],
            [row.id for row in nobody],
        )

    async def test_a_load_tells_how_many_turns_are_not_learned_from_yet(self, store: FullStore) -> None:
        scope = await opened(store)
        turn = await answered(store, scope.id, 1)
        await answered(store, scope.id, 2)
        before = await store.load(wish(scope.id))

        await store.derived.settle(learned(turn, person_id=None))

        assert (2, 1) == (before.unlearned, (await store.load(wish(scope.id))).unlearned)


class EndedContract:
    """What is no longer so."""

    async def test_what_ended_is_told_with_its_sources(self, store: FullStore) -> None:
        """Items of the namespace and facts of the sessions asked about; live ones, those that were forgotten, and what is so
        again are not among them."""
        scope, me = await opened(store), await person(store)
        of: dict[str, Any] = {"person_id": me, "scope_id": scope.id, "status": "superseded"}
        await store.put_profile([
            item(1, **of, slot="city", value="武汉", source_ids=(1, 2)),
            item(2, **of | {"status": "retracted"}, slot="diet", value="nuts", pinned=True, source_ids=(3,)),
            item(3, **of | {"status": "active"}, slot="city", value="南京", source_ids=(4,)),
            item(4, **of | {"status": "retracted"}, slot="city", value="", source_ids=(5,)),
            item(5, **of, namespace="hr", slot="city", value="Bonn", source_ids=(6,)),
        ])  # fmt: skip
        here = {"person_id": me, "status": "superseded"}
        await store.put_facts([
            fact(11, scope.id, **here, value="8821", source_ids=(7,)),
            fact(12, scope.id, **here, value="8812", source_ids=(8,)),
            fact(13, scope.id, **here | {"status": "active"}, value="8812", source_ids=(9,), expires_ms=NOW - 1),
            fact(14, scope.id, **here, session_id="s-2", value="1", source_ids=(10,)),
        ])  # fmt: skip
        reader = owner(scope.id, person_id=me)

        found = await store.derived.ended(reader, [(scope.id, "s-1"), (scope.id, "s-1")])

        assert {
            (True, scope.id, "city", "武汉", (1, 2)), (True, scope.id, "diet", "nuts", (3,)),
            (False, scope.id, "order", "8821", (7,)),
        } == {(one.lasting, one.scope_id, one.slot, one.value, one.source_ids) for one in found}  # fmt: skip
        assert 3 == len(found)
        assert 2 == len(await store.derived.ended(reader, []))

    async def test_it_is_the_person_s_own(self, store: FullStore) -> None:
        """Of another there is nothing, and nobody known has nothing; of many the newest are told."""
        scope, me, you = await opened(store), await person(store), await person(store, "u2")
        of: dict[str, Any] = {"scope_id": scope.id, "status": "superseded", "slot": "city"}
        await store.put_profile([
            item(n, **of, person_id=me, value=str(n), source_ids=(n,)) for n in range(1, ENDED_ROWS + 10)
        ])  # fmt: skip
        await store.put_facts([fact(500, scope.id, person_id=me, status="retracted")])

        mine = await store.derived.ended(owner(scope.id, person_id=me), [(scope.id, "s-1")])

        assert {*range(10, ENDED_ROWS + 10), 1, 2} == {id_ for one in mine for id_ in one.source_ids}
        for other in (you, None):
            assert () == await store.derived.ended(owner(scope.id, person_id=other), [(scope.id, "s-1")])


class KnownContract:
    """What a person may see and take back."""

    async def test_live_rows_of_the_person_alone(self, store: FullStore) -> None:
        scope, me, other = await opened(store), await person(store), await person(store, "u2")
        rows = [
            fact(11, scope.id, person_id=me),
            fact(12, scope.id, person_id=me, status="superseded", value="old"),
            fact(13, scope.id, person_id=me, expires_ms=NOW, value="expired"),
            fact(14, scope.id, person_id=other),
        ]
        await store.put_facts(rows)
        await store.put_profile(
            [item(21, person_id=me), item(22, person_id=me, namespace="x"), item(23, person_id=me, status="retracted")]
        )

        items, facts = await store.derived.known(me, now_ms=NOW)

        assert ([21, 22], [11]) == ([row.id for row in items], [row.id for row in facts])
