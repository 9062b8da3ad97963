"""The inbox contract: starts that count as no try. For every database (`test_inbox.py`)."""

from __future__ import annotations

import asyncio

from gateway.inbox.base import Event, Excuse, Outcome
from tests.contracts.halting import begun
from tests.contracts.queues import Queues, accept, claim_one, open_queues, reply


def excuse(event: Event) -> Excuse:
    """For the start that followed upon the event as it was read."""
    return Excuse(event_id=event.id, attempts=event.attempts, excused=event.excused)


async def counted(queues: Queues, *events: Event) -> list[tuple[int, int]]:
    """How often each was started, and how many of these starts are excused."""
    stored = [await queues.event(event.id) for event in events]
    return [(event.attempts, event.excused) for event in stored if event is not None]


class ExcuseContract:
    """What was not a message's own fault does not spend its tries."""

    async def test_a_start_is_excused_once(self, queues: Queues) -> None:
        """Whoever could not write it repeats it: that it was written already is not known to them. So each start of a message
        counts at most once, and a third one's excuse says nothing of the second."""
        event, claim = await begun(queues)
        assert [(1, 0)] == await counted(queues, event)

        for _ in range(3):
            await queues.excuse([excuse(event)])
        assert [(1, 1)] == await counted(queues, event)
        for _ in range(2):
            (event,) = await queues.waiting("lane")
            await queues.start([event.id], turn_id=event.id, lane="lane", fence=claim.fence)
        await queues.excuse([excuse(event)])

        assert [(3, 2)] == await counted(queues, event)
        assert [(3, 2)] == [(one.attempts, one.excused) for one in await queues.waiting("lane")]

    async def test_what_never_began_needs_no_excuse(self, queues: Queues) -> None:
        """The start itself was what the database did not take: then there is no try to take away. What has ended, and what is
        not there, stays as it is; nothing else of the lane is touched."""
        (running, claim), waiting = await begun(queues, "大厅:一"), await accept(queues, "大厅:一")
        other, _ = await begun(queues, "b")
        await queues.finish([running.id], Outcome(state="dead", code="gave_up"), lane="大厅:一", fence=claim.fence)

        missing = Excuse(event_id=404, attempts=0, excused=0)
        await queues.excuse([excuse(running), excuse(waiting), missing])
        await queues.excuse([])

        assert [(1, 0), (0, 0), (1, 0)] == await counted(queues, running, waiting, other)

    async def test_it_is_said_by_who_has_lost_the_lane(self, queues: Queues) -> None:
        """Who was cut off from the database hears of that last, and says so when another runs the turn already."""
        event, claim = await begun(queues)
        await queues.release(claim, hand_over=True)
        claim = await claim_one(queues)
        (taken_over,) = await queues.waiting("lane")
        await queues.start([event.id], turn_id=event.id, lane="lane", fence=claim.fence)

        await queues.excuse([excuse(event)])
        assert [(2, 1)] == await counted(queues, event)
        await queues.excuse([excuse(taken_over)])
        assert [(2, 1)] == await counted(queues, event), "in doubt one too few"

    async def test_several_messages_of_one_turn(self, queues: Queues) -> None:
        """Each with its own number: one of them was started alone before the other joined it."""
        first, claim = await begun(queues)
        second = await accept(queues)
        first, second = await queues.waiting("lane")
        await queues.start([first.id, second.id], turn_id=first.id, lane="lane", fence=claim.fence)

        await queues.excuse([excuse(second), excuse(first)])

        assert [(2, 1), (1, 1)] == await counted(queues, first, second)

    async def test_it_outlives_the_process(self, url: str) -> None:
        """In memory alone an interruption would count as a failure after a restart."""
        async with open_queues(url) as queues:
            event, _ = await begun(queues)
            await queues.excuse([excuse(event)])
        async with open_queues(url) as queues:
            assert [(1, 1)] == await counted(queues, event)

    async def test_excuses_beside_the_owner_s_own_writes_wait_for_none(self, queues: Queues) -> None:
        """Both write the same rows of several lanes at the same moments, in any order, and neither fails."""
        turns = [await begun(queues, f"lane{n}") for n in range(5)]

        async def run() -> None:
            for n in range(40):
                for event, claim in turns:
                    await queues.start([event.id], turn_id=event.id, lane=claim.lane, fence=claim.fence)
                    await queues.show([event.id], f"m{n}", lane=claim.lane, fence=claim.fence)

        async def excused(events: list[Event]) -> None:
            for _ in range(40):
                await queues.excuse([excuse(event) for event in events])

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            tasks.create_task(run())
            tasks.create_task(excused([event for event, _ in turns]))
            tasks.create_task(excused([event for event, _ in reversed(turns)]))

        assert [(41, 1)] * 5 == await counted(queues, *(event for event, _ in turns))

    async def test_what_is_taken_up_again_begins_anew(self, queues: Queues) -> None:
        """An admin's one more start is one, whatever was excused before it was given up."""
        event, claim = await begun(queues)
        await queues.excuse([excuse(event)])
        await queues.finish([event.id], Outcome(state="dead", code="gave_up"), lane="lane", fence=claim.fence)
        letters = queues.letters  # type: ignore[attr-defined]
        assert await letters.reopen(event.id, seen=0, answer=None, now_ms=1)

        assert [(1, 0)] == await counted(queues, event)
        await reply(queues, claim, [event])
        assert [(2, 0)] == await counted(queues, event)
