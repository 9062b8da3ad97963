"""The queue contract of what is sent at a pace: chunks held back for their budget, attempts that were none, and the message
that shows a reply while it is made. For every database."""

from __future__ import annotations

import pytest

from gateway.errors import LeaseLost
from gateway.inbox.base import Chunk
from tests.contracts.queues import NOW_MS, Queues, accept_many, answered, claim_one, due_when_free, open_queues, reply


class PacingContract:
    """What waits for its budget waits as it stands."""

    async def test_a_held_back_chunk_was_never_taken(self, queues: Queues) -> None:
        """It costs no attempt, a crash finds it waiting and not unknown, and queues behind it go on."""
        await answered(queues, "l0", queue="busy", chunks=("one", "two"))
        await answered(queues, "l1", queue="free")
        asked: list[Chunk] = []

        def not_before(chunk: Chunk) -> int:
            asked.append(chunk)
            return NOW_MS + 700 if chunk.queue == "busy" else NOW_MS

        (free,) = await queues.due(now_ms=NOW_MS, limit=5, not_before=not_before)
        assert ("free", 1) == (free.queue, free.attempts)
        assert ["busy", "free"] == sorted(chunk.queue for chunk in asked)
        assert NOW_MS + 700 == await queues.next_due_ms()
        assert [] == await queues.due(now_ms=NOW_MS + 699, limit=5)
        (busy,) = await queues.due(now_ms=NOW_MS + 700, limit=5, not_before=lambda chunk: chunk.due_ms)

        assert ("one", 1, "sending", NOW_MS + 700) == (busy.text, busy.attempts, busy.state, busy.due_ms)
        assert not await queues.sent(busy, message_id="m", now_ms=NOW_MS)
        assert ["two"] == [chunk.text for chunk in await queues.due(now_ms=NOW_MS + 700, limit=5)]

    async def test_holding_back_is_bounded_like_handing_out(self, queues: Queues) -> None:
        """A look touches `limit` queues at most; the next look finds the others."""
        for n in range(5):
            await answered(queues, f"l{n}", queue=f"room{n}")
        asked: list[str] = []

        def later(chunk: Chunk) -> int:
            asked.append(chunk.queue)
            return NOW_MS + 1000

        assert [] == await queues.due(now_ms=NOW_MS, limit=3, not_before=later)
        assert 3 == len(asked)
        assert NOW_MS == await queues.next_due_ms()
        assert [] == await queues.due(now_ms=NOW_MS, limit=3, not_before=later)
        assert 5 == len(set(asked))
        assert NOW_MS + 1000 == await queues.next_due_ms()

    async def test_an_attempt_that_was_none_is_not_counted(self, queues: Queues) -> None:
        """Waits that a platform asks for don't use up the tries of a chunk."""
        await answered(queues, "l0", queue="room")
        for n in range(3):
            (chunk,) = await queues.due(now_ms=NOW_MS + n, limit=1)
            assert 1 == chunk.attempts
            await queues.retry(chunk, due_ms=NOW_MS + n + 1, error="429", counted=False)
        (chunk,) = await queues.due(now_ms=NOW_MS + 3, limit=1)
        await queues.retry(chunk, due_ms=NOW_MS + 4, error="502")
        (chunk,) = await queues.due(now_ms=NOW_MS + 4, limit=1)

        assert (2, "502") == (chunk.attempts, chunk.error)

    async def test_what_a_lost_owner_was_sending_can_be_held_back_too(self, url: str) -> None:
        """It stays what it is until somebody can say what became of it."""
        async with open_queues(url) as queues:
            await answered(queues, "l0", queue="room")
            await queues.due(now_ms=NOW_MS, limit=1)
        async with open_queues(url) as queues:
            states: list[str] = []

            def later(chunk: Chunk) -> int:
                states.append(chunk.state)
                return NOW_MS + 10

            assert [] == await queues.due(now_ms=NOW_MS, limit=1, not_before=later)
            (chunk,) = await queues.due(now_ms=NOW_MS + 10, limit=1)

            assert ["unknown"] == states
            assert ("unknown", 1) == (chunk.state, chunk.attempts)
            assert await queues.sent(chunk, message_id="found", now_ms=NOW_MS)

    async def test_what_others_send_is_left_alone(self, queues: Queues) -> None:
        """By the channel's name, all of it: one that begins alike is another."""
        for n, queue in enumerate(("acme:r1", "acme:r1/t", "acme-2:r1", "web:r", "no channel")):
            await answered(queues, f"l{n}", queue=queue)
        elsewhere = ["acme", "not there", "群"]
        ours = await queues.due(now_ms=NOW_MS, limit=9, elsewhere=elsewhere)

        assert ["acme-2:r1", "web:r", "no channel"] == [chunk.queue for chunk in ours]
        assert await queues.next_due_ms(elsewhere=elsewhere) is None
        assert NOW_MS == await queues.next_due_ms(elsewhere=["web"])
        assert ["acme:r1", "acme:r1/t"] == [chunk.queue for chunk in await queues.due(now_ms=NOW_MS, limit=9)]

    @pytest.mark.parametrize("shown", ["171.0042", "消息-👩‍👩‍👧\x00"])
    async def test_the_shown_message_goes_with_the_turn(self, queues: Queues, shown: str) -> None:
        """All events of a running turn keep it, for the next attempt; the reply's first chunk takes it along, no other."""
        events = await accept_many(queues, 3)
        claim = await claim_one(queues)
        ids = [event.id for event in events[:2]]
        await queues.show(ids, "too early", lane=claim.lane, fence=claim.fence)
        await queues.start(ids, turn_id=ids[0], lane=claim.lane, fence=claim.fence)
        await queues.show(ids, shown, lane=claim.lane, fence=claim.fence)
        kept = shown.replace("\x00", "\ufffd")
        assert [kept, kept, None] == [event.shown for event in await queues.waiting("lane")]
        await reply(queues, claim, events[:2], chunks=("one", "two"), shown=shown)

        first = await due_when_free(queues)
        assert ("one", kept) == (first.text, first.shown)
        await queues.sent(first, message_id=kept, now_ms=NOW_MS)
        second = await due_when_free(queues)
        assert ("two", None) == (second.text, second.shown)

    async def test_who_lost_the_lane_shows_nothing(self, queues: Queues) -> None:
        """An old fence does not change which message the turn has."""
        (event,) = await accept_many(queues, 1)
        claim = await claim_one(queues)
        await queues.start([event.id], turn_id=event.id, lane=claim.lane, fence=claim.fence)
        with pytest.raises(LeaseLost):
            await queues.show([event.id], "m", lane=claim.lane, fence=claim.fence - 1)

        assert [None] == [event.shown for event in await queues.waiting("lane")]
