"""The contract of what is said of a message while it waits, or before it comes, and of a message's siblings. For every
database (`test_inbox.py`)."""

from __future__ import annotations

import asyncio

import pytest

from gateway.inbox.base import Event, Outcome
from tests.contracts.queues import NOW_MS, Queues, accept, accept_many, claim_one, message, reply

DELETED = Outcome(state="ignored", rule="deleted_before_answer")
UNHEARD = Outcome(state="ignored", rule="not_addressed")
REVIVES = ("not_addressed", "observe")


def subject_of(event: Event) -> bytes:
    assert event.subject is not None
    return event.subject


class SubjectContract:
    """Events about one message of a platform find each other, whichever comes first."""

    @pytest.mark.parametrize(
        "name", ["C1:1716.01", "群/一:😀", "'; DROP TABLE inbox_events; --", "\x00\ud800" + "x" * 9_000]
    )
    async def test_what_is_said_of_a_message_is_found_by_it(self, queues: Queues, name: str) -> None:
        """Edits of it before and after it came, oldest first, whatever its id and their lanes; nothing else."""
        early = await accept(queues, "a", kind="control", subject=name, body=b"1")
        said = await accept(queues, "b", subject=name, body=b"2")
        late = await accept(queues, "c", kind="control", subject=name, body=b"3")
        other = await accept(queues, "b", kind="control", subject=f"{name}!", body=b"4")
        elsewhere = await accept(queues, "b", kind="control", subject=name, channel="other", body=b"5")
        await accept(queues, "b", kind="control")

        assert [early, late] == await queues.amendments([subject_of(said)])
        assert [early, late, other] == await queues.amendments([subject_of(said), subject_of(other)])
        assert [elsewhere] == await queues.amendments([subject_of(elsewhere)])
        assert [] == await queues.amendments([b"nobody's"])

    async def test_applied_edits_are_found_too(self, queues: Queues) -> None:
        """An edit that came before its message has long been applied when that comes; it is kept as long as events are."""
        edit = await accept(queues, kind="control", subject="m1")
        await queues.finish([edit.id], Outcome(state="applied", rule="edit_unknown_message"), lane="lane", fence=None)
        said = await accept(queues, subject="m1")

        assert [edit.id] == [event.id for event in await queues.amendments([subject_of(said)])]

    async def test_pending_are_those_that_wait_or_run(self, queues: Queues) -> None:
        """In whatever lane; not once the reply stands in the outbox, not what was ignored."""
        first, second = await accept(queues, "a", subject="m1"), await accept(queues, "b", subject="m1")
        await accept(queues, "a", subject="m1", outcome=UNHEARD)
        await accept(queues, "a", subject="m2")
        claim = next(claim for claim in await queues.claim(2) if claim.lane == "a")
        await queues.start([first.id], turn_id=first.id, lane="a", fence=claim.fence)

        assert [("running", first.id), ("accepted", second.id)] == [
            (event.state, event.id) for event in await queues.pending(subject_of(first))
        ]
        await reply(queues, claim, [first])
        assert [second] == await queues.pending(subject_of(first))

    async def test_many_ask_at_once(self, queues: Queues) -> None:
        """Each is told of its own."""
        events = [await accept(queues, kind="control", subject=f"m{number}") for number in range(20)]
        found = await asyncio.gather(*(queues.amendments([subject_of(event)]) for event in events))

        assert [[event] for event in events] == found


class WithdrawContract:
    """Messages that end before they begin, whoever holds their lane."""

    async def test_what_waits_ends_past_its_lane(self, queues: Queues) -> None:
        """The lane's owner does not start it any more, and has one less to wait for."""
        first, second = await accept_many(queues, 2)
        claim = await claim_one(queues)

        assert [first.id] == await queues.withdraw([first.id], DELETED, lane="lane")
        assert [] == await queues.withdraw([first.id], Outcome(state="ignored", rule="stopped"), lane="lane")
        assert [second] == await queues.waiting("lane")
        assert [second.id] == await queues.start(
            [first.id, second.id], turn_id=first.id, lane="lane", fence=claim.fence
        )
        stored = await queues.event(first.id)
        assert stored is not None
        assert ("ignored", DELETED, 0) == (stored.state, stored.outcome, stored.attempts)
        assert 0 == (await queues.stats()).waiting

    async def test_an_emptied_lane_is_given_up(self, queues: Queues) -> None:
        """Nothing is left in it for whoever holds it, or claims it next."""
        free, held = await accept(queues, "free"), await accept(queues, "held")
        claim = next(claim for claim in await queues.claim(2) if claim.lane == "held")
        await queues.withdraw([held.id], DELETED, lane="held")
        assert await queues.release(claim)
        await queues.withdraw([free.id], DELETED, lane="free")
        await accept(queues, "held")

        assert ["held"] == [claim.lane for claim in await queues.claim(5)]

    async def test_what_has_begun_is_its_owners(self, queues: Queues) -> None:
        """Neither a running nor an answered message, nor one of another lane, nor a control event is touched."""
        running, answered = await accept(queues, "a"), await accept(queues, "b")
        control, other = await accept(queues, "a", kind="control"), await accept(queues, "c")
        claims = {claim.lane: claim for claim in await queues.claim(3)}
        await queues.start([running.id], turn_id=running.id, lane="a", fence=claims["a"].fence)
        await reply(queues, claims["b"], [answered])
        ids = [event.id for event in (running, answered, control, other)]

        assert [] == await queues.withdraw(ids, DELETED, lane="a")
        assert [] == await queues.withdraw(ids, DELETED, lane="b")
        states = [event.state for id_ in ids if (event := await queues.event(id_)) is not None]
        assert ["running", "replied", "accepted", "accepted"] == states

    async def test_beginning_and_withdrawing_are_settled_one_way(self, queues: Queues) -> None:
        """Both at the same moment, again and again: each message is begun or withdrawn, never both, never neither."""
        for _ in range(30):
            events = await accept_many(queues, 4)
            claim = await claim_one(queues)
            ids = [event.id for event in events]
            begun, *gone = await asyncio.gather(
                queues.start(ids, turn_id=ids[0], lane="lane", fence=claim.fence),
                *(queues.withdraw([id_], DELETED, lane="lane") for id_ in reversed(ids)),
            )

            assert sorted(ids) == sorted([*begun, *(id_ for ended in gone for id_ in ended)])
            await queues.finish(ids, DELETED, lane="lane", fence=claim.fence)
            assert await queues.release(claim)


class SiblingContract:
    """A platform tells of one message twice, and the first telling doesn't show that it asks for an answer."""

    async def test_the_sibling_that_asks_revives_the_one_that_did_not(self, queues: Queues) -> None:
        """First ignored, then a mention: one event, with the first's id and token and the second's words and lane; once
        (openclaw/openclaw#34859)."""
        first = await queues.accept(message(outcome=UNHEARD, body=b"unheard"), lane="a", dedupe_ids=["ts:1", "ev:1"])
        second = message(speaker="张三", body=b"heard", subject="m1", revives=REVIVES)
        revived = await queues.accept(second, lane="b", dedupe_ids=["ts:1", "ev:2"])
        again = [
            await queues.accept(message(revives=REVIVES), lane="a", dedupe_ids=ids)
            for ids in (["ts:1", "ev:2"], ["ts:1", "ev:1"], ["ts:1", "ev:3"])
        ]

        assert ("accepted", first.event.id, first.event.token) == (
            revived.verdict, revived.event.id, revived.event.token,
        )  # fmt: skip
        assert ("accepted", None, "b", "message", "张三", b"heard") == (
            revived.event.state, revived.event.outcome, revived.event.lane, revived.event.kind, revived.event.speaker,
            revived.event.body,
        )  # fmt: skip
        assert revived.event == await queues.event(first.event.id)
        assert ["duplicate", "duplicate", "folded"] == [result.verdict for result in again]
        assert [revived.event] == await queues.waiting("b")
        assert [revived.event] == await queues.pending(subject_of(revived.event))
        assert ["b"] == [claim.lane for claim in await queues.claim(5)]

    async def test_the_other_order_changes_nothing(self, queues: Queues) -> None:
        """First the mention, then the telling that would be ignored: the mention waits, once."""
        first = await queues.accept(message(revives=REVIVES), lane="a", dedupe_ids=["ts:1", "ev:2"])
        second = await queues.accept(message(outcome=UNHEARD), lane="a", dedupe_ids=["ts:1", "ev:1"])

        assert ("folded", first.event) == (second.verdict, second.event)
        assert [first.event] == await queues.waiting("a")

    @pytest.mark.parametrize("applied", [True, False])
    async def test_observed_talk_becomes_a_question(self, queues: Queues, applied: bool) -> None:
        """Also while it is still being noted; noting it then ends nothing."""
        first = await queues.accept(message(kind="control"), lane="a", dedupe_ids=["ts:1", "ev:1"])
        observed = Outcome(state="observed", rule="observe")
        if applied:
            await queues.finish([first.event.id], observed, lane="a", fence=None)
        second = await queues.accept(message(revives=REVIVES), lane="a", dedupe_ids=["ts:1", "ev:2"])
        await queues.finish([first.event.id], observed, lane="a", fence=None)

        assert ("accepted", first.event.id) == (second.verdict, second.event.id)
        assert [second.event] == await queues.waiting("a")
        assert [] == await queues.controls(before_ms=0)

    async def test_only_these_rules_are_revived(self, queues: Queues) -> None:
        """What its speaker has stopped, what was answered, and what another rule refused stay as they are; so does a mere
        repeat, and what has another body."""
        endings = [Outcome(state="ignored", rule=rule) for rule in ("stopped", "bot")]
        endings += [Outcome(state="failed", code="agent_failed"), Outcome(state="applied", rule="stop")]
        for number, outcome in enumerate(endings):
            await queues.accept(message(outcome=outcome), lane="a", dedupe_ids=[f"ts:{number}"])
            result = await queues.accept(
                message(revives=REVIVES), lane="a", dedupe_ids=[f"ts:{number}", f"ev:{number}"]
            )
            assert ("folded", outcome) == (result.verdict, result.event.outcome)
        await queues.accept(message(outcome=UNHEARD, fingerprint="one"), lane="a", dedupe_ids=["ts:x", "ev:x"])
        repeat = await queues.accept(message(revives=REVIVES, fingerprint="one"), lane="a", dedupe_ids=["ev:x", "ts:x"])
        other = await queues.accept(message(revives=REVIVES, fingerprint="two"), lane="a", dedupe_ids=["ts:x", "ev:y"])

        assert [("duplicate", UNHEARD)] * 2 == [(result.verdict, result.event.outcome) for result in (repeat, other)]
        assert [] == await queues.claim(5)

    async def test_a_revived_message_stands_behind_what_came_before_it(self, queues: Queues) -> None:
        """Its place in the lane is that of the telling that asks."""
        first = await queues.accept(message(outcome=UNHEARD), lane="lane", dedupe_ids=["ts:1", "ev:1"])
        between = await accept(queues)
        claim = await claim_one(queues)
        await queues.start([between.id], turn_id=between.id, lane="lane", fence=claim.fence)
        await queues.accept(message(revives=REVIVES), lane="lane", dedupe_ids=["ts:1", "ev:2"])

        assert [between.id, first.event.id] == [event.id for event in await queues.waiting("lane")]
        assert not await queues.release(claim)

    async def test_siblings_at_the_same_moment_make_one_question(self, queues: Queues) -> None:
        """Fifty messages, two tellings each, all at once and in mixed order: fifty wait, each once."""
        calls = []
        for number in range(50):
            unheard = queues.accept(
                message(outcome=UNHEARD), lane=f"l{number % 3}", dedupe_ids=[f"ts:{number}", f"a:{number}"]
            )
            heard = queues.accept(
                message(revives=REVIVES), lane=f"l{number % 3}", dedupe_ids=[f"ts:{number}", f"b:{number}"]
            )
            calls += [unheard, heard] if number % 2 else [heard, unheard]
        results = await asyncio.gather(*calls)

        waiting = [event.id for lane in range(3) for event in await queues.waiting(f"l{lane}")]
        assert 50 == len(set(waiting)) == len(waiting)
        assert set(waiting) == {result.event.id for result in results}
        assert (50, NOW_MS) == ((await queues.stats()).waiting, (await queues.stats()).oldest_waiting_ms)
