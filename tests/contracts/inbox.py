"""The inbox contract: accepted once, kept, handed out by lane in order. For every database (`test_inbox.py`)."""

from __future__ import annotations

import asyncio

import pytest

from gateway.errors import LeaseLost, StoreBusy
from gateway.inbox.base import Claim, Outcome
from tests.contracts.queues import (
    NOW_MS,
    Queues,
    accept,
    accept_many,
    claim_one,
    claim_when_free,
    fresh_id,
    message,
    open_queues,
    reply,
)

FAILED = Outcome(state="failed", code="agent_failed", message="模型没有回答 😶")


class AcceptContract:
    """Storing events: whole, once, in order, bounded."""

    @pytest.mark.parametrize(
        ("speaker", "lane", "dedupe_id"),
        [
            ("T024.U07", "T024.U07:acme:C1:group:shop", "T024:C1:1716.01"),
            ("张三😀", "*:acme:大厅%2F1:group:客服", "企业:群:一"),
            ("مرحبا\u202e", "a%3Ab:c:d:private:e", "'; DROP TABLE inbox_events; --"),
            ("nul\x00and\ud800", "%_:*", "\x00\udfff" + "x" * 100_000),
        ],
    )
    async def test_event_comes_back_as_it_was(self, queues: Queues, speaker: str, lane: str, dedupe_id: str) -> None:
        """Every field survives, whatever script or hostile character a platform sends in it (F12)."""
        new = message(speaker=speaker, body=bytes(range(256)) * 4_000, fingerprint="f1")

        accepted = await queues.accept(new, lane=lane, dedupe_ids=[dedupe_id])

        assert "accepted" == accepted.verdict
        assert (new.id, new.id, lane, "message", speaker) == (
            accepted.event.id,
            accepted.event.turn_id,
            accepted.event.lane,
            accepted.event.kind,
            accepted.event.speaker,
        )
        assert (new.body, "secret", "f1", "accepted", None, 0, NOW_MS, None) == (
            accepted.event.body,
            accepted.event.token,
            accepted.event.fingerprint,
            accepted.event.state,
            accepted.event.outcome,
            accepted.event.attempts,
            accepted.event.accepted_ms,
            accepted.event.session,
        )
        assert accepted.event == await queues.event(new.id)
        assert [accepted.event] == await queues.waiting(lane)
        assert "duplicate" == (await queues.accept(message(), lane=lane, dedupe_ids=[dedupe_id])).verdict

    async def test_unknown_event_is_none(self, queues: Queues) -> None:
        """Asking for what was never accepted gives nothing."""
        assert None is await queues.event(2**62)
        assert [] == await queues.turn_events(2**62)
        assert None is await queues.reply(2**62)
        assert [] == await queues.waiting("nobody's")

    async def test_three_deliveries_make_one_event(self, queues: Queues) -> None:
        """100 ids sent three times each, all at once, are 100 events; each repetition is shown the first
        (openclaw/openclaw#22242)."""
        ids = [fresh_id() for _ in range(100)]
        results = await asyncio.gather(
            *(queues.accept(message(), lane=f"l{n % 7}", dedupe_ids=[ids[n]]) for _ in range(3) for n in range(100))
        )

        assert ["accepted"] * 100 + ["duplicate"] * 200 == [result.verdict for result in results]
        assert [results[n % 100].event for n in range(300)] == [result.event for result in results]
        assert 100 == (await queues.stats()).waiting

    async def test_duplicate_shows_first_body_and_present_state(self, queues: Queues) -> None:
        """The caller can compare the fingerprints, and tell the sender how the first stands."""
        first = await queues.accept(message(fingerprint="one"), lane="a", dedupe_ids=["m1"])
        claim = await claim_one(queues)
        await queues.finish([first.event.id], FAILED, lane="a", fence=claim.fence)
        again = await queues.accept(message(fingerprint="other"), lane="b", dedupe_ids=["m1"])

        assert ("duplicate", first.event.id, "one") == (again.verdict, again.event.id, again.event.fingerprint)
        assert ("failed", FAILED, "a") == (again.event.state, again.event.outcome, again.event.lane)

    async def test_channels_do_not_share_dedupe_ids(self, queues: Queues) -> None:
        """The same message id on two bots is two messages."""
        first = await queues.accept(message(channel="acme"), lane="a", dedupe_ids=["m1"])
        second = await queues.accept(message(channel="other"), lane="b", dedupe_ids=["m1"])

        assert ("accepted", "accepted") == (first.verdict, second.verdict)

    async def test_siblings_fold_into_one(self, queues: Queues) -> None:
        """Two events of one message, in either order, are one row; each one's own id leads to it afterwards
        (openclaw/openclaw#32190)."""
        first = await queues.accept(message(), lane="a", dedupe_ids=["ts:1", "ev:1"])
        sibling = await queues.accept(message(), lane="a", dedupe_ids=["ev:2", "ts:1"])
        again = [
            await queues.accept(message(), lane="a", dedupe_ids=ids) for ids in (["ev:2"], ["ev:1"], ["ts:1", "ev:2"])
        ]

        assert ("folded", first.event) == (sibling.verdict, sibling.event)
        assert [("duplicate", first.event)] * 3 == [(result.verdict, result.event) for result in again]

    async def test_siblings_fold_when_they_come_together(self, queues: Queues) -> None:
        """A duplicate inside one batch is still a duplicate, and its own id is kept (engines.md A.8, 7)."""
        results = await asyncio.gather(
            *(queues.accept(message(), lane="a", dedupe_ids=["ts:1", f"ev:{n}"]) for n in range(4)),
            queues.accept(message(), lane="a", dedupe_ids=["ev:3"]),
        )

        assert ["accepted", "folded", "folded", "folded", "duplicate"] == [result.verdict for result in results]
        assert 1 == len({result.event.id for result in results})

    async def test_another_body_is_no_sibling(self, queues: Queues) -> None:
        """A sender that uses one delivery id for two messages is told so; the second one, sent again under an id of its own,
        is taken, not bound for a week to the first."""
        first = await queues.accept(message(fingerprint="a"), lane="a", dedupe_ids=["m1", "delivery"])
        clash = await queues.accept(message(fingerprint="b"), lane="a", dedupe_ids=["m2", "delivery"])
        bare = await queues.accept(message(), lane="a", dedupe_ids=["m3", "delivery"])
        mended = await queues.accept(message(fingerprint="b"), lane="a", dedupe_ids=["m2", "delivery 2"])
        repeat = await queues.accept(message(fingerprint="a"), lane="a", dedupe_ids=["m1", "delivery 3"])

        assert [("duplicate", first.event)] * 2 == [(result.verdict, result.event) for result in (clash, bare)]
        assert "accepted" == mended.verdict
        assert ("folded", first.event) == (repeat.verdict, repeat.event)

    async def test_event_without_dedupe_ids_is_always_new(self, queues: Queues) -> None:
        """Nothing to compare by: nothing is taken for a repetition."""
        results = [await queues.accept(message(), lane="a", dedupe_ids=[]) for _ in range(2)]

        assert ["accepted", "accepted"] == [result.verdict for result in results]

    async def test_order_of_calls_is_order_of_lane(self, queues: Queues) -> None:
        """300 messages accepted at once stand in their lane as they were called (engines.md A.8, 6)."""
        events = await accept_many(queues, 300)

        assert [event.id for event in events] == [event.id for event in await queues.waiting("lane", limit=1_000)]

    async def test_order_survives_a_clock_that_steps_back(self, queues: Queues) -> None:
        """Order is of acceptance, not of ids: a clock an hour slow does not put a message before earlier ones."""
        first = await accept(queues)
        second = await accept(queues, now_ms=NOW_MS - 3_600_000)
        assert second.id < first.id

        assert [first, second] == await queues.waiting("lane")

    async def test_ignored_event_is_kept_and_deduped_but_never_waits(self, queues: Queues) -> None:
        """An event that admission refused is terminal at once, visible with its rule, and the same id is not looked at twice."""
        ignored = Outcome(state="ignored", rule="no_mention")
        first = await queues.accept(message(outcome=ignored), lane="a", dedupe_ids=["m1"])
        again = await queues.accept(message(), lane="a", dedupe_ids=["m1"])

        assert ("ignored", ignored) == (first.event.state, first.event.outcome)
        assert ("duplicate", first.event) == (again.verdict, again.event)
        assert [] == await queues.claim(5)
        assert [] == await queues.waiting("a")

    async def test_control_event_does_not_wait_for_its_lane(self, queues: Queues) -> None:
        """A command or an edit is stored, acts past the lane, and ends once (DESIGN 3, 4)."""
        control = await accept(queues, "a", kind="control")
        assert [] == await queues.claim(5)
        assert [] == await queues.waiting("a")
        assert [] == await queues.controls(before_ms=control.accepted_ms), "its own process is applying it"
        forgotten = [await queues.controls(before_ms=control.accepted_ms + 1) for _ in range(2)]
        assert [[control]] * 2 == forgotten, "or the call that accepted it broke off"

        await queues.finish([control.id], Outcome(state="applied", rule="edit"), lane="a", fence=None)
        await queues.finish([control.id], Outcome(state="failed"), lane="a", fence=None)

        stored = await queues.event(control.id)
        assert stored is not None
        assert ("applied", "edit") == (stored.state, stored.outcome and stored.outcome.rule)

    async def test_too_much_waiting_is_refused(self, url: str) -> None:
        """A full queue refuses new messages with a time to come back, and drops none it has taken (AstrBotDevs S4)."""
        async with open_queues(url, accept_max=3) as queues:
            events = await accept_many(queues, 3)
            with pytest.raises(StoreBusy) as refused:
                await queues.accept(message(), lane="b", dedupe_ids=["m4"])
            assert refused.value.retry_after_s > 0

            assert "accepted" == (await queues.accept(message(kind="control"), lane="b", dedupe_ids=["stop"])).verdict
            claim = await claim_one(queues)
            await queues.start([events[0].id], turn_id=events[0].id, lane="lane", fence=claim.fence)
            assert "accepted" == (await queues.accept(message(), lane="b", dedupe_ids=["m4"])).verdict

    async def test_bad_event_fails_alone(self, queues: Queues) -> None:
        """One event that can't be stored does not take those down that were accepted beside it."""
        new = [message() for _ in range(3)]
        results = await asyncio.gather(
            *(queues.accept(event, lane="a", dedupe_ids=[fresh_id()]) for event in (new[0], new[1], new[0], new[2])),
            return_exceptions=True,
        )

        assert [True, True, False, True] == [not isinstance(result, BaseException) for result in results]
        assert isinstance(results[2], ValueError), "an id given twice is the caller's fault, not the database's"
        assert [event.id for event in new] == [event.id for event in await queues.waiting("a")]

    async def test_caller_who_hangs_up_loses_nothing(self, queues: Queues) -> None:
        """An event stored for a client that is gone by then is scheduled all the same."""
        calls = [
            asyncio.ensure_future(queues.accept(message(), lane=f"l{n}", dedupe_ids=[fresh_id()])) for n in range(50)
        ]
        for turn, call in enumerate(calls):
            if turn % 5 == 0:
                await asyncio.sleep(0)
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await accept(queues, "last")

        waiting = (await queues.stats()).waiting
        assert waiting == len(await queues.claim(100))


class LaneContract:
    """Handing lanes out: each to one owner, fenced, leased."""

    async def test_each_lane_is_claimed_once(self, queues: Queues) -> None:
        """Concurrent claimers share the lanes; none gets what another has."""
        for n in range(20):
            await accept_many(queues, 2, lane=f"l{n}")
        claims = [claim for claims in await asyncio.gather(*(queues.claim(6) for _ in range(5))) for claim in claims]

        assert sorted(f"l{n}" for n in range(20)) == sorted(claim.lane for claim in claims)
        assert 20 == len({claim.fence for claim in claims})
        assert [] == await queues.claim(1)

    async def test_longest_waiting_lane_comes_first(self, queues: Queues) -> None:
        """A lane's place is that of its oldest message; no more are claimed than asked for."""
        for n in range(5):
            await accept(queues, f"l{n}", now_ms=NOW_MS + n)
        await accept(queues, "l4", now_ms=NOW_MS + 9)

        assert ["l0", "l1"] == [claim.lane for claim in await queues.claim(2)]
        assert ["l2", "l3", "l4"] == [claim.lane for claim in await queues.claim(5)]
        assert [] == await queues.claim(0)

    async def test_turn_runs_and_ends(self, queues: Queues) -> None:
        """Started events run as one turn with their attempts counted; finished ones leave the lane; the lane is given up."""
        events = await accept_many(queues, 3)
        claim = await claim_one(queues)
        ids = [event.id for event in events[:2]]
        assert ids == await queues.start(ids, turn_id=events[0].id, lane="lane", fence=claim.fence)

        waiting = await queues.waiting("lane")
        assert ["running", "running", "accepted"] == [event.state for event in waiting]
        assert [events[0].id, events[0].id, events[2].id] == [event.turn_id for event in waiting]
        assert [1, 1, 0] == [event.attempts for event in waiting]
        assert ids == [event.id for event in await queues.turn_events(events[0].id)]

        await queues.finish(ids, FAILED, lane="lane", fence=claim.fence)
        assert [events[2].id] == [event.id for event in await queues.waiting("lane")]
        assert not await queues.release(claim)
        await queues.start([events[2].id], turn_id=events[2].id, lane="lane", fence=claim.fence)
        assert not await queues.release(claim), "what runs has not ended"
        await queues.finish([events[2].id], FAILED, lane="lane", fence=claim.fence)
        assert await queues.release(claim)
        assert [] == await queues.claim(1)
        assert await queues.release(claim), "not ours any more: nothing to give up"

    async def test_terminal_state_is_the_first(self, queues: Queues) -> None:
        """An event ends once; what comes later changes nothing (field-reports 1, aggregate: exactly one terminal outcome)."""
        event = await accept(queues)
        claim = await claim_one(queues)
        await queues.finish([event.id], FAILED, lane="lane", fence=claim.fence)
        await queues.finish([event.id], Outcome(state="dead"), lane="lane", fence=claim.fence)

        assert [] == await queues.start([event.id], turn_id=event.id, lane="lane", fence=claim.fence)
        stored = await queues.event(event.id)
        assert stored is not None
        assert ("failed", FAILED, 0) == (stored.state, stored.outcome, stored.attempts)

    async def test_message_does_not_end_past_its_lane(self, queues: Queues) -> None:
        """Without a fence only control events end; with one, only events of that lane."""
        event, other = await accept(queues, "a"), await accept(queues, "b")
        claims = {claim.lane: claim for claim in await queues.claim(2)}
        await queues.finish([event.id], FAILED, lane="a", fence=None)
        await queues.finish([other.id], FAILED, lane="a", fence=claims["a"].fence)

        assert [event] == await queues.waiting("a")
        assert [other] == await queues.waiting("b")
        assert [] == await queues.start([other.id], turn_id=other.id, lane="a", fence=claims["a"].fence)

    async def test_event_between_look_and_release_keeps_the_lane(self, queues: Queues) -> None:
        """A message that comes while its lane is being given up is not left lying (NousResearch/hermes-agent#22899)."""
        first = await accept(queues)
        claim = await claim_one(queues)
        await queues.finish([first.id], FAILED, lane="lane", fence=claim.fence)
        assert [] == await queues.waiting("lane")
        second = await accept(queues)

        assert not await queues.release(claim)
        assert [second] == await queues.waiting("lane")

    async def test_no_wake_is_lost_when_accepting_races_releasing(self, queues: Queues) -> None:
        """Accepting and releasing one lane at the same moments, hundreds of times, leaves no message unclaimed."""
        served: list[int] = []
        total = 300

        async def serve() -> None:
            seen = 0
            while len(served) < total:
                seen = await queues.changed(seen)
                for claim in await queues.claim(5):
                    while True:
                        for event in await queues.waiting(claim.lane):
                            await queues.finish([event.id], FAILED, lane=claim.lane, fence=claim.fence)
                            served.append(event.id)
                        if await queues.release(claim):
                            break

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            tasks.create_task(serve())
            accepted = [(await accept(queues, f"l{n % 2}")).id for n in range(total)]

        assert sorted(accepted) == sorted(served)

    async def test_lane_handed_over_is_claimable_at_once(self, queues: Queues) -> None:
        """A stopping instance gives its lanes up with what waits in them, in order, under greater fences."""
        events = await accept_many(queues, 2)
        claim = await claim_one(queues)
        await queues.start([events[0].id], turn_id=events[0].id, lane="lane", fence=claim.fence)
        assert await queues.release(claim, hand_over=True)
        successor = await claim_one(queues)

        assert successor.fence > claim.fence
        assert [event.id for event in events] == [event.id for event in await queues.waiting("lane")]
        with pytest.raises(LeaseLost):
            await queues.finish([events[0].id], FAILED, lane="lane", fence=claim.fence)

    async def test_lost_owner_writes_nothing(self, queues: Queues) -> None:
        """Every write of a turn under an old number is refused and changes nothing (vercel/chat#685)."""
        event = await accept(queues)
        old = await claim_one(queues)
        await queues.start([event.id], turn_id=event.id, lane="lane", fence=old.fence)
        await queues.release(old, hand_over=True)
        new = await claim_one(queues)

        for fence in (old.fence, new.fence + 1, 0):
            stale = Claim(lane="lane", fence=fence)
            with pytest.raises(LeaseLost):
                await queues.start([event.id], turn_id=event.id, lane="lane", fence=fence)
            with pytest.raises(LeaseLost):
                await queues.finish([event.id], FAILED, lane="lane", fence=fence)
            with pytest.raises(LeaseLost):
                await reply(queues, stale, [event])
            assert [] == await queues.renew([stale])
            assert await queues.release(stale)
        assert [new] == await queues.renew([new])
        assert [("running", 1)] == [(event.state, event.attempts) for event in await queues.waiting("lane")]
        assert None is await queues.reply(event.id)

    async def test_only_its_owner_s_claim_is_mine(self, queues: Queues) -> None:
        """Asked before a platform is called: a claim that was given up, or of somebody else, is not to be acted on any more."""
        await accept(queues)
        claim = await claim_one(queues)
        assert queues.mine(claim)
        assert [claim] == await queues.renew([claim])
        assert queues.mine(claim)
        assert not queues.mine(Claim(lane="lane", fence=claim.fence + 1))

        await queues.release(claim, hand_over=True)
        new = await claim_one(queues)
        assert [False, True] == [queues.mine(claim), queues.mine(new)]

    async def test_lease_that_is_not_renewed_runs_out(self, url: str) -> None:
        """A lane nobody renews is handed out again under a greater fence; one that is renewed stays (openclaw/openclaw#96374)."""
        async with open_queues(url, lease_s=0.4, poll_s=0.05) as queues:
            await accept(queues, "kept")
            kept = await claim_one(queues)
            await accept(queues, "left")
            left = await claim_one(queues)

            async def renew() -> None:
                while True:
                    assert [kept] == await queues.renew([kept])
                    await queues.changed(1_000_000)

            heart = asyncio.ensure_future(renew())
            again = await claim_when_free(queues)
            heart.cancel()
            await asyncio.gather(heart, return_exceptions=True)

        assert ("left", True) == (again.lane, again.fence > left.fence)

    async def test_waiting_shows_the_oldest_only(self, queues: Queues) -> None:
        """A turn's look at its lane does not grow with what waits behind it."""
        events = await accept_many(queues, 120)

        assert events[:3] == await queues.waiting("lane", limit=3)
        assert events[:100] == await queues.waiting("lane")

    async def test_all_waiters_hear_a_change(self, queues: Queues) -> None:
        """No waiter steals another's wake, and a change between look and wait is not missed (engines.md A.6)."""
        seen = await queues.changed(0)
        waiters = [asyncio.ensure_future(queues.changed(seen)) for _ in range(3)]
        await asyncio.sleep(0)
        await accept(queues)
        numbers = await asyncio.gather(*waiters)
        late = await queues.changed(seen)

        assert all(number > seen for number in [*numbers, late])

    async def test_waiter_looks_again_without_a_signal(self, url: str) -> None:
        """The poll is the net under every signal."""
        async with open_queues(url, poll_s=0.05) as queues:
            seen = await queues.changed(0)
            async with asyncio.timeout(5):
                for _ in range(3):
                    seen = await queues.changed(seen)

    async def test_two_thousand_lanes_are_all_served(self, queues: Queues) -> None:
        """Many scopes at once, and one hot lane beside them: every event is served, each lane in its order."""
        lanes = [f"l{n}" for n in range(2_000)] + ["hot"] * 300
        events = await asyncio.gather(*(accept(queues, lane) for lane in lanes))
        served: dict[str, list[int]] = {}

        async def serve(claim: Claim) -> None:
            while waiting := await queues.waiting(claim.lane, limit=1):
                ids = [event.id for event in waiting]
                await queues.start(ids, turn_id=ids[0], lane=claim.lane, fence=claim.fence)
                await queues.finish(ids, FAILED, lane=claim.lane, fence=claim.fence)
                served.setdefault(claim.lane, []).extend(ids)
            assert await queues.release(claim)

        while claims := await queues.claim(200):
            await asyncio.gather(*(serve(claim) for claim in claims))

        expected: dict[str, list[int]] = {}
        for event in events:
            expected.setdefault(event.lane, []).append(event.id)
        assert expected == served
        assert 0 == (await queues.stats()).waiting

    async def test_fresh_lanes_do_not_wait_for_a_deep_one(self, queues: Queues) -> None:
        """3,000 messages waiting in one lane take one place: lanes that come later are claimed beside it (engines.md A.5)."""
        await accept_many(queues, 3_000, lane="deep")
        deep = await claim_one(queues)
        await asyncio.gather(*(accept(queues, f"fresh{n}") for n in range(20)))

        assert 20 == len(await queues.claim(100))
        assert "deep" == deep.lane
        assert 3_020 == (await queues.stats()).waiting
