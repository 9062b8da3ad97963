"""What the queues keep when processes die, and what they forget on purpose. For every database."""

from __future__ import annotations

import asyncio

from gateway.inbox.base import Outcome
from tests.contracts.queues import (
    DAY_MS,
    NOW_MS,
    Queues,
    accept,
    answered,
    claim_one,
    claim_when_free,
    due_when_free,
    message,
    open_queues,
    reply,
    until,
    victim,
)


class CrashContract:
    """kill -9 at any moment loses nothing and repeats nothing that is on record."""

    async def test_acknowledged_is_stored_and_dedupe_goes_with_its_row(self, url: str) -> None:
        """However the process died while accepting: what it acknowledged is there, and no dedupe id stands without its
        event, so that every redelivery is either the stored event or a new one, never lost (getsentry/junior#33)."""
        acknowledged: set[int] = set()
        async with victim(url, "flood") as flood:
            while len(acknowledged) < 200:
                acknowledged.add(int(await flood.line()))
            await flood.kill()
            while line := await flood.line():
                acknowledged.add(int(line))

        async with open_queues(url) as queues:
            stored = (await queues.stats()).waiting
            again = [
                await queues.accept(message(), lane=f"lane{number % 5}", dedupe_ids=[f"a{number}"])
                for number in range(max(acknowledged) + 100)
            ]
            twins = [
                await queues.accept(message(), lane=f"lane{number % 5}", dedupe_ids=[f"b{number}"])
                for number in range(stored)
            ]
        repeated = {number for number, result in enumerate(again) if result.verdict == "duplicate"}
        assert acknowledged <= repeated
        assert stored == len(repeated)
        assert [again[number].event.id for number in sorted(repeated)] == [
            result.event.id for result in twins if result.verdict == "duplicate"
        ]

    async def test_killed_owner_is_taken_over_in_order(self, url: str) -> None:
        """A dead process's lane is claimed by the next with its running turn first, its commands are found again; nobody
        waits for the end of a lease (engines.md A.5)."""
        async with victim(url, "hold", lease_s=600) as owner:
            ids = [int(part) for part in (await owner.line()).split()]
            await owner.kill()
        async with open_queues(url, lease_s=600, poll_s=0.1) as queues:
            claim = await claim_when_free(queues)
            waiting = await queues.waiting(claim.lane)
            controls: list[object] = []

            async def found() -> bool:
                controls.extend(await queues.controls(before_ms=0))
                return bool(controls)

            await until(queues, found)

            assert [*zip(ids, ["running", "accepted", "accepted"], [1, 0, 0], strict=True)] == [
                (event.id, event.state, event.attempts) for event in waiting
            ]
            assert 1 == len(controls)
            assert [] == await queues.controls(before_ms=0), "taken over once"
            assert ids[:1] == await queues.start(ids[:1], turn_id=ids[0], lane=claim.lane, fence=claim.fence)
            assert 2 == (await queues.waiting(claim.lane))[0].attempts

    async def test_send_cut_short_is_unknown_and_the_rest_goes_on(self, url: str) -> None:
        """A crash between the platform's accept and our receipt: the chunk comes back as unknown with its attempt on record,
        what was delivered before is not sent again, what comes after is (openclaw/openclaw#29106, hermes-agent#70504)."""
        async with victim(url, "send") as sender:
            event_id = int(await sender.line())
            await sender.kill()
        async with open_queues(url, poll_s=0.1) as queues:
            left = await due_when_free(queues)
            assert ("two", "unknown", 1) == (left.text, left.state, left.attempts)
            assert [] == await queues.due(now_ms=NOW_MS, limit=5)
            assert not await queues.unknown(left, error="the gateway stopped meanwhile", now_ms=NOW_MS)
            (last,) = await queues.due(now_ms=NOW_MS, limit=5)
            assert ("three", "sending", 1) == (last.text, last.state, last.attempts)
            assert await queues.sent(last, message_id="m3", now_ms=NOW_MS)
            assert "onetwothree" == await queues.reply(event_id), "no second model call"

    async def test_unknown_left_by_two_crashes_is_still_unknown(self, url: str) -> None:
        """Whoever takes an unknown chunk and dies leaves it unknown, not to be sent."""
        async with victim(url, "send") as sender:
            await sender.line()
            await sender.kill()
        for _ in range(2):
            async with open_queues(url, poll_s=0.1) as queues:
                left = await due_when_free(queues)
                assert ("two", "unknown", 1) == (left.text, left.state, left.attempts)
        async with open_queues(url, poll_s=0.1) as queues:
            left = await due_when_free(queues)
            await queues.retry(left, due_ms=NOW_MS, error="the platform does not have it")
            (again,) = await queues.due(now_ms=NOW_MS, limit=1)
            assert ("two", "sending", 2) == (again.text, again.state, again.attempts)

    async def test_orderly_stop_gives_everything_up(self, url: str) -> None:
        """Closing the queues hands lanes and commands to the next at once, lease or not; fences keep growing."""
        async with open_queues(url, lease_s=600) as queues:
            await accept(queues)
            await accept(queues, kind="control")
            claim = await claim_one(queues)
        async with open_queues(url, lease_s=600) as queues:
            again = await claim_one(queues)
            controls = await queues.controls(before_ms=0)

        assert again.fence > claim.fence
        assert 1 == len(controls)


class PurgeContract:
    """Retention: what is over and old enough goes, in small batches; nothing else does."""

    async def purge(self, queues: Queues, *, days: float = 30, dedupe_days: float = 7, limit: int = 10) -> list[int]:
        counts = []
        while rows := await queues.purge(
            before_ms=NOW_MS - int(days * DAY_MS), dedupe_before_ms=NOW_MS - int(dedupe_days * DAY_MS), limit=limit
        ):
            counts.append(rows)
        return counts

    async def test_old_and_over_goes_with_all_its_rows(self, queues: Queues) -> None:
        """Old turns go with dedupe ids, replies and chunks; young ones stay (openclaw/openclaw#88005)."""
        kept = []
        for n, age_days in enumerate((40, 40, 31, 29, 1)):
            event = await accept(queues, f"l{n}", now_ms=NOW_MS - age_days * DAY_MS)
            claim = await claim_one(queues)
            await reply(queues, claim, [event], chunks=("one", "two"))
            while chunks := await queues.due(now_ms=NOW_MS, limit=1):
                await queues.sent(chunks[0], message_id=None, now_ms=NOW_MS)
            await queues.release(claim)
            kept.append(event.id)

        assert 3 * 5 + 1 == sum(await self.purge(queues)), (
            "three turns of event, id, reply, two chunks; an id of 29 days"
        )
        assert [False, False, False, True, True] == [await queues.event(id_) is not None for id_ in kept]
        assert [None, None, None, "onetwo", "onetwo"] == [await queues.reply(id_) for id_ in kept]
        assert [] == await self.purge(queues)

    async def test_the_oldest_of_what_is_over_is_told(self, queues: Queues) -> None:
        """What waits does not count, however old; so one sees whether clean-ups come round."""
        assert await queues.oldest_finished_ms() is None
        await accept(queues, now_ms=NOW_MS - 400 * DAY_MS)
        ignored = Outcome(state="ignored", rule="no_mention")
        for age_days in (29, 31):
            await accept(queues, "a", outcome=ignored, now_ms=NOW_MS - age_days * DAY_MS)

        assert NOW_MS - 31 * DAY_MS == await queues.oldest_finished_ms()
        await self.purge(queues)
        assert NOW_MS - 29 * DAY_MS == await queues.oldest_finished_ms()

    async def test_pending_stays_however_old(self, queues: Queues) -> None:
        """What waits, runs or is not delivered is kept, and is still deduped (engines.md A.8, 10)."""
        old = NOW_MS - 400 * DAY_MS
        for n in range(3):
            await queues.accept(message(now_ms=old), lane=f"l{n}", dedupe_ids=[f"m{n}"])
        claims = {claim.lane: claim for claim in await queues.claim(3)}
        for lane in ("l1", "l2"):
            (event,) = await queues.waiting(lane)
            await queues.start([event.id], turn_id=event.id, lane=lane, fence=claims[lane].fence)
        await reply(queues, claims["l2"], [event])

        assert [] == await self.purge(queues)
        assert ["duplicate"] * 3 == [
            (await queues.accept(message(), lane="x", dedupe_ids=[f"m{n}"])).verdict for n in range(3)
        ]
        assert ["hello"] == [chunk.text for chunk in await queues.due(now_ms=NOW_MS, limit=5)]

    async def test_dedupe_window_outlives_short_retention(self, queues: Queues) -> None:
        """Rows kept for a day only still answer a redelivery within the dedupe window (platform-facts 0)."""
        ignored = Outcome(state="ignored", rule="no_mention")
        for age_days in (8, 6):
            event = message(outcome=ignored, now_ms=NOW_MS - age_days * DAY_MS)
            await queues.accept(event, lane="a", dedupe_ids=[f"m{age_days}"])
        await self.purge(queues, days=1)

        assert ["accepted", "duplicate"] == [
            (await queues.accept(message(), lane="a", dedupe_ids=[f"m{age_days}"])).verdict for age_days in (8, 6)
        ]

    async def test_batches_are_small(self, queues: Queues) -> None:
        """No single statement deletes more than it was allowed."""
        ignored = Outcome(state="ignored", rule="no_mention")
        await asyncio.gather(
            *(
                queues.accept(message(outcome=ignored, now_ms=NOW_MS - 40 * DAY_MS), lane="a", dedupe_ids=[f"m{n}"])
                for n in range(25)
            )
        )
        counts = await self.purge(queues, limit=10)

        assert 50 == sum(counts)
        assert all(rows <= 20 for rows in counts)

    async def test_numbers_are_not_given_twice_after_a_purge(self, queues: Queues) -> None:
        """A chunk's id, which platforms see as the key of a send, is never reused (AstrBotDevs/AstrBot#4382)."""
        event = await accept(queues, now_ms=NOW_MS - 40 * DAY_MS)
        claim = await claim_one(queues)
        await reply(queues, claim, [event])
        (old,) = await queues.due(now_ms=NOW_MS, limit=1)
        await queues.sent(old, message_id=None, now_ms=NOW_MS)
        await queues.release(claim)
        await self.purge(queues)
        await answered(queues, "next", queue="room")
        (new,) = await queues.due(now_ms=NOW_MS, limit=1)

        assert new.id > old.id
