"""The outbox contract: chunks in order, each with its receipt, nothing sent again blindly. For every database."""

from __future__ import annotations

import asyncio

import pytest

from gateway.inbox.base import Outcome
from gateway.inbox.rows import RECENT_MS
from tests.contracts.queues import NOW_MS, Queues, accept, accept_many, answered, claim_one, reply

NOTICE = Outcome(state="failed", code="agent_timeout", message="no answer in time")


class OutboxContract:
    """Replies on their way."""

    async def test_reply_frees_its_lane_and_waits_for_delivery(self, queues: Queues) -> None:
        """Once stored, the reply stands whole in the outbox and its turn does not run again (DESIGN 3, 4)."""
        events = await accept_many(queues, 2)
        claim = await claim_one(queues)
        turn_id = await reply(queues, claim, events, chunks=("你好，", "世界 👩‍👩‍👧"))

        assert await queues.release(claim)
        assert "你好，世界 👩‍👩‍👧" == await queues.reply(turn_id)
        stored = [await queues.event(event.id) for event in events]
        assert [("replied", None, turn_id)] * 2 == [
            (event.state, event.outcome, event.turn_id) for event in stored if event
        ]
        assert [] == await queues.claim(1)

    async def test_chunks_go_out_one_by_one(self, queues: Queues) -> None:
        """A chunk is due only when the one before it has its receipt; with the last one the turn's events are answered."""
        events = await accept_many(queues, 2)
        assert await queues.clear("room")
        turn_id = await reply(queues, await claim_one(queues), events, chunks=("one", "two"))

        (first,) = await queues.due(now_ms=NOW_MS, limit=5)
        assert (turn_id, "acme", "room", b"address", 0, 2, "one", "sending", 1, NOW_MS) == (
            first.turn_id,
            first.channel,
            first.queue,
            first.address,
            first.index,
            first.of,
            first.text,
            first.state,
            first.attempts,
            first.due_ms,
        )
        assert [] == await queues.due(now_ms=NOW_MS, limit=5)
        assert None is await queues.next_due_ms()
        assert not await queues.clear("room")
        assert await queues.clear("another")
        assert not await queues.sent(first, message_id="m1", now_ms=NOW_MS)
        assert not await queues.clear("room")
        (second,) = await queues.due(now_ms=NOW_MS, limit=5)
        assert ("two", 1) == (second.text, second.index)
        assert second.id > first.id
        assert await queues.sent(second, message_id="m2", now_ms=NOW_MS)
        assert await queues.clear("room")

        assert [] == await queues.due(now_ms=NOW_MS, limit=5)
        stored = [await queues.event(event.id) for event in events]
        assert [("answered", Outcome(state="answered"))] * 2 == [
            (event.state, event.outcome) for event in stored if event
        ]
        assert "onetwo" == await queues.reply(turn_id)

    async def test_repeated_put_changes_nothing(self, queues: Queues) -> None:
        """A reply is stored once a turn, whatever a second attempt brings."""
        event = await accept(queues)
        claim = await claim_one(queues)
        turn_id = await reply(queues, claim, [event], chunks=("first",))
        await reply(queues, claim, [event], chunks=("second", "time"), stands=False)
        (chunk,) = await queues.due(now_ms=NOW_MS, limit=5)

        assert ("first", 1) == (chunk.text, chunk.of)
        assert "first" == await queues.reply(turn_id)
        assert await queues.sent(chunk, message_id=None, now_ms=NOW_MS)

    @pytest.mark.parametrize(("failed", "state"), [(None, "answered"), (NOTICE, "failed")], ids=["answered", "failed"])
    async def test_a_collected_reply_ends_its_turn_at_once(
        self, queues: Queues, failed: Outcome | None, state: str
    ) -> None:
        """Nothing to send: storing the reply is delivering it, in the same transaction."""
        events = await accept_many(queues, 2)
        claim = await claim_one(queues)
        turn_id = await reply(queues, claim, events, chunks=(), failed=failed)

        stored = [await queues.event(event.id) for event in events]
        assert [(state, failed or Outcome(state="answered"), turn_id, "s-1")] * 2 == [
            (event.state, event.outcome, event.turn_id, event.session) for event in stored if event
        ]
        assert "collected" == await queues.reply(turn_id)
        assert [] == await queues.due(now_ms=NOW_MS, limit=5)
        assert None is await queues.next_due_ms()
        assert await queues.release(claim)

    async def test_notice_of_a_failure_ends_as_that(self, queues: Queues) -> None:
        """A delivered notice does not make a failed turn look answered."""
        event = await accept(queues)
        await reply(queues, await claim_one(queues), [event], failed=NOTICE)
        before = await queues.event(event.id)
        (chunk,) = await queues.due(now_ms=NOW_MS, limit=1)
        assert await queues.sent(chunk, message_id=None, now_ms=NOW_MS)
        after = await queues.event(event.id)

        assert before is not None
        assert after is not None
        assert [("replied", NOTICE), ("failed", NOTICE)] == [(one.state, one.outcome) for one in (before, after)]

    async def test_two_turns_of_one_room_do_not_mix(self, queues: Queues) -> None:
        """Replies of two lanes in one room go out one after the other, whole; another room does not wait for them."""
        for n in range(2):
            await answered(queues, f"l{n}", queue="room", chunks=(f"{n}a", f"{n}b"))
        await answered(queues, "l2", queue="other", chunks=("2a",))
        texts = []
        while chunks := await queues.due(now_ms=NOW_MS, limit=5):
            texts.append([chunk.text for chunk in chunks])
            for chunk in chunks:
                await queues.sent(chunk, message_id=None, now_ms=NOW_MS)

        assert [["0a", "2a"], ["0b"], ["1a"], ["1b"]] == texts

    async def test_retry_waits_in_its_own_queue_only(self, queues: Queues) -> None:
        """Retry-After holds back the queue that was told, at its head; others go on (openclaw/openclaw#50866)."""
        await answered(queues, "l0", queue="slow", chunks=("one", "two"))
        await answered(queues, "l1", queue="fast")
        slow, fast = await queues.due(now_ms=NOW_MS, limit=5)
        await queues.retry(slow, due_ms=NOW_MS + 30_000, error="429: come back in 30 s")
        assert await queues.sent(fast, message_id=None, now_ms=NOW_MS)

        assert NOW_MS + 30_000 == await queues.next_due_ms()
        assert [] == await queues.due(now_ms=NOW_MS + 29_999, limit=5)
        (again,) = await queues.due(now_ms=NOW_MS + 30_000, limit=5)
        assert (slow.id, "one", 2, "429: come back in 30 s") == (again.id, again.text, again.attempts, again.error)
        assert not await queues.sent(again, message_id="m", now_ms=NOW_MS)
        assert ["two"] == [chunk.text for chunk in await queues.due(now_ms=NOW_MS + 30_000, limit=5)]

    async def test_unknown_counts_as_delivered(self, queues: Queues) -> None:
        """A send whose end nobody saw is not repeated and does not hold the turn back (field-reports 1 G)."""
        turn_id = await answered(queues, "l0", queue="room", chunks=("one", "two"))
        (first,) = await queues.due(now_ms=NOW_MS, limit=1)
        assert not await queues.unknown(first, error="no receipt within 30 s", now_ms=NOW_MS)
        (second,) = await queues.due(now_ms=NOW_MS, limit=1)
        assert await queues.unknown(second, error="no receipt within 30 s", now_ms=NOW_MS)

        event = await queues.event(turn_id)
        assert event is not None
        assert "answered" == event.state

    async def test_dead_chunk_takes_the_rest_of_its_turn(self, queues: Queues) -> None:
        """A refused chunk ends its turn as dead, with the reason; the room's next turn goes on (openclaw/openclaw#23777)."""
        dead = await answered(queues, "l0", queue="room", chunks=("one", "two", "three"))
        await answered(queues, "l1", queue="room", chunks=("next",))
        (first,) = await queues.due(now_ms=NOW_MS, limit=1)
        await queues.sent(first, message_id=None, now_ms=NOW_MS)
        (second,) = await queues.due(now_ms=NOW_MS, limit=1)
        await queues.dead(second, error="chat not found\x00\ud800", now_ms=NOW_MS)

        assert ["next"] == [chunk.text for chunk in await queues.due(now_ms=NOW_MS, limit=5)]
        event = await queues.event(dead)
        assert event is not None
        assert ("dead", Outcome(state="dead", code="undeliverable", reason="chat not found\ufffd\ufffd")) == (
            event.state,
            event.outcome,
        )
        assert 1 == (await queues.stats()).dead

    async def test_receipt_of_a_settled_chunk_changes_nothing(self, queues: Queues) -> None:
        """Whoever is not sending the chunk has no say in it."""
        turn_id = await answered(queues, "l0", queue="room", chunks=("one", "two"))
        (first,) = await queues.due(now_ms=NOW_MS, limit=1)
        await queues.sent(first, message_id="m1", now_ms=NOW_MS)
        for again in range(2):
            assert not await queues.sent(first, message_id="m9", now_ms=NOW_MS)
            assert not await queues.unknown(first, error="late", now_ms=NOW_MS)
            await queues.retry(first, due_ms=NOW_MS, error="late")
            await queues.dead(first, error="late", now_ms=NOW_MS)
            if again == 0:
                (second,) = await queues.due(now_ms=NOW_MS, limit=5)
        assert "two" == second.text
        assert await queues.sent(second, message_id="m2", now_ms=NOW_MS)

        event = await queues.event(turn_id)
        assert event is not None
        assert "answered" == event.state

    async def test_due_is_bounded_and_shared(self, queues: Queues) -> None:
        """Concurrent senders never get the same chunk, and no more than they ask for."""
        for n in range(12):
            await answered(queues, f"l{n}", queue=f"room{n}")
        taken = await asyncio.gather(*(queues.due(now_ms=NOW_MS, limit=5) for _ in range(4)))

        assert all(len(chunks) <= 5 for chunks in taken)
        assert 12 == len({chunk.id for chunks in taken for chunk in chunks})
        assert [] == await queues.due(now_ms=NOW_MS, limit=0)

    async def test_many_receipts_at_once(self, queues: Queues) -> None:
        """Hundreds of rooms deliver side by side, each reply's pieces in order."""
        rooms = 100
        await asyncio.gather(*(accept(queues, f"l{n}") for n in range(rooms)))

        async def answer(n: int) -> None:
            (event,) = await queues.waiting(f"l{n}")
            await reply(queues, claims[f"l{n}"], [event], queue=f"room{n}", chunks=(f"{n}a", f"{n}b", f"{n}c"))

        claims = {claim.lane: claim for claim in await queues.claim(rooms)}
        await asyncio.gather(*(answer(n) for n in range(rooms)))
        texts: dict[str, list[str]] = {}
        while chunks := await queues.due(now_ms=NOW_MS, limit=40):
            for chunk in chunks:
                texts.setdefault(chunk.queue, []).append(chunk.text)
            await asyncio.gather(*(queues.sent(chunk, message_id=chunk.text, now_ms=NOW_MS) for chunk in chunks))

        assert {f"room{n}": [f"{n}a", f"{n}b", f"{n}c"] for n in range(rooms)} == texts
        assert 0 == (await queues.stats()).outbox_waiting

    async def test_what_was_sent_lately_is_known_to_who_sends_next(self, queues: Queues) -> None:
        """Budgets of a platform outlive who kept to them: what was sent, may have been, or is being sent, of that channel."""
        for room, shown in (("sent", None), ("edited", "m7"), ("unknown", None), ("under way", None), ("again", None)):
            await accept(queues, room)
            (claim,) = await queues.claim(1)
            await reply(queues, claim, await queues.waiting(room), queue=room, shown=shown, chunks=("一", "二"))
        taken = {chunk.queue: chunk for chunk in await queues.due(now_ms=NOW_MS, limit=9)}
        await queues.sent(taken["sent"], message_id="m1", now_ms=NOW_MS + 10)
        await queues.sent(taken["edited"], message_id="m7", now_ms=NOW_MS + 20)
        await queues.unknown(taken["unknown"], error="lost", now_ms=NOW_MS + 30)
        await queues.retry(taken["again"], due_ms=NOW_MS + 9_000, error="down")
        calls = await queues.recent("acme", since_ms=NOW_MS + 10)

        assert {(b"address", False, NOW_MS + 10), (b"address", True, NOW_MS + 20), (b"address", False, NOW_MS + 30),
                (b"address", False, None)} == {(call.address, call.edit, call.at_ms) for call in calls}  # fmt: skip
        assert 4 == len(calls)
        assert 3 == len(await queues.recent("acme", since_ms=NOW_MS + 11))
        assert [] == await queues.recent("其他", since_ms=NOW_MS)
        assert 1 == len(await queues.recent("acme", since_ms=NOW_MS + RECENT_MS)), "which is under way still"
        # Numbers given in one millisecond beyond what it holds are of those that follow.
        assert [] == await queues.recent("acme", since_ms=NOW_MS + RECENT_MS + 60_000)

    async def test_what_is_begun_stays_unanswered(self, queues: Queues) -> None:
        """A message counts as unanswered until its reply stands in the outbox, begun or not: one whose agent takes half an hour
        is no longer among those that wait (NousResearch/hermes-agent#22899)."""
        assert None is (await queues.stats()).oldest_unanswered_ms
        begun = await accept(queues, now_ms=NOW_MS)
        claim = await claim_one(queues)
        await queues.start([begun.id], turn_id=begun.id, lane="lane", fence=claim.fence)
        later = await accept(queues, now_ms=NOW_MS + 5)

        stats = await queues.stats()
        assert (NOW_MS + 5, NOW_MS) == (stats.oldest_waiting_ms, stats.oldest_unanswered_ms)
        await reply(queues, claim, [begun], chunks=("one",))
        assert NOW_MS + 5 == (await queues.stats()).oldest_unanswered_ms
        await reply(queues, claim, [later], chunks=("two",))
        assert None is (await queues.stats()).oldest_unanswered_ms

    async def test_stats_tell_what_waits(self, queues: Queues) -> None:
        """Waiting, running and undelivered are counted, with the age of the oldest: of those that wait, and of all that have
        no reply yet (openclaw/openclaw#21722, NousResearch/hermes-agent#22899)."""
        empty = await queues.stats()
        assert (0, 0, None, 0, None, 0) == (
            empty.waiting,
            empty.running,
            empty.oldest_waiting_ms,
            empty.outbox_waiting,
            empty.outbox_oldest_ms,
            empty.dead,
        )
        events = await accept_many(queues, 3)
        await accept(queues, now_ms=NOW_MS + 5)
        claim = await claim_one(queues)
        await queues.start([events[1].id], turn_id=events[1].id, lane="lane", fence=claim.fence)
        await reply(queues, claim, events[:1], chunks=("one", "two"), now_ms=NOW_MS + 7)
        (chunk,) = await queues.due(now_ms=NOW_MS + 7, limit=1)
        await queues.retry(chunk, due_ms=NOW_MS + 60_000, error="503")

        stats = await queues.stats()
        assert (2, 1, NOW_MS, 2, NOW_MS + 7, 0) == (
            stats.waiting,
            stats.running,
            stats.oldest_waiting_ms,
            stats.outbox_waiting,
            stats.outbox_oldest_ms,
            stats.dead,
        )
