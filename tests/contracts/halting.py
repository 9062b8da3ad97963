"""The inbox contract: turns that are cut short, wherever they run. For every database (`test_inbox.py`)."""

from __future__ import annotations

import asyncio
from typing import get_args

import pytest

from gateway.inbox.base import Claim, Event, Halt, HaltReason, Outcome
from tests.contracts.queues import Queues, accept, claim_one, reply

ERASED = Outcome(state="ignored", rule="erased")


async def begun(queues: Queues, lane: str = "lane") -> tuple[Event, Claim]:
    """Accept a message and start it as a turn."""
    event = await accept(queues, lane)
    claim = await claim_one(queues)
    await queues.start([event.id], turn_id=event.id, lane=lane, fence=claim.fence)
    return event, claim


async def reasons(queues: Queues, event: Event) -> list[HaltReason]:
    return [halt.reason for halt in await queues.halts([event.id, 404])]


class HaltContract:
    """What somebody wants of a turn, which another instance may run."""

    async def test_what_runs_is_halted_and_nothing_else(self, queues: Queues) -> None:
        """What waits is for `withdraw`, what has ended stays as it is, and nobody else's is touched: the caller names ids, never
        a lane (openclaw#106483)."""
        (running, _), (other, _), (replied, claim) = [await begun(queues, lane) for lane in ("大厅:一", "b", "c")]
        waiting, control = await accept(queues, "大厅:一"), await accept(queues, "大厅:一", kind="control")
        await reply(queues, claim, [replied])

        assert [running.id] == await queues.halt([waiting.id, running.id, control.id, replied.id, 404], "stopped")
        assert [] == await queues.halt([], "stopped")

        everything = [running.id, other.id, replied.id, waiting.id, control.id]
        assert [Halt(event_id=running.id, attempts=1, reason="stopped")] == await queues.halts(everything)
        assert [] == await queues.halts([])
        assert ["stopped", None] == [event.halt for event in await queues.waiting("大厅:一")]

    async def test_the_heavier_reason_stays(self, queues: Queues) -> None:
        """Whoever says stop means it, in whatever order the reasons come."""
        event, _ = await begun(queues)
        said: tuple[HaltReason, ...] = ("interrupted", "taken_over", "interrupted", "withdrawn", "stopped", "withdrawn")
        seen: list[HaltReason] = []
        for reason in said:
            assert [event.id] == await queues.halt([event.id], reason)
            seen += await reasons(queues, event)

        assert ["interrupted", "taken_over", "taken_over", "withdrawn", "stopped", "stopped"] == seen

    async def test_whoever_runs_it_is_woken(self, queues: Queues) -> None:
        """Nobody hears a stop by the clock alone."""
        event, _ = await begun(queues)
        seen = await queues.changed(0)
        waiter = asyncio.ensure_future(queues.changed(seen))
        await asyncio.sleep(0)
        await queues.halt([event.id], "stopped")

        assert await waiter > seen

    @pytest.mark.parametrize("reason", get_args(HaltReason))
    async def test_only_a_stop_outlives_its_hearer(self, reason: HaltReason, queues: Queues) -> None:
        """Whoever takes the turn over finds the stop, each time it begins. What the others are for stands in rows of its own,
        which are read as a turn begins: what has changed since must not halt it again."""
        event, claim = await begun(queues)
        await queues.halt([event.id], reason)
        await queues.release(claim, hand_over=True)
        claim = await claim_one(queues)
        (found,) = await queues.waiting("lane")
        await queues.start([event.id], turn_id=event.id, lane="lane", fence=claim.fence)

        assert (reason, 1) == (found.halt, found.attempts)
        kept = [Halt(event_id=event.id, attempts=2, reason=reason)] if reason == "stopped" else []
        assert kept == await queues.halts([event.id])

    async def test_what_ended_elsewhere_is_still_heard(self, queues: Queues) -> None:
        """A person is erased while another instance answers: the row ends at once, and the model is to be told."""
        event, claim = await begun(queues)
        await queues.halt([event.id], "withdrawn")
        await queues.finish([event.id], ERASED, lane="lane", fence=claim.fence)

        assert ["withdrawn"] == await reasons(queues, event)

    async def test_a_halt_beside_the_owner_s_own_writes_waits_for_none(self, queues: Queues) -> None:
        """Both write the same rows at the same moments, hundreds of times, and neither fails."""
        event, claim = await begun(queues)

        async def run() -> None:
            for n in range(150):
                await queues.start([event.id], turn_id=event.id, lane="lane", fence=claim.fence)
                await queues.show([event.id], f"m{n}", lane="lane", fence=claim.fence)

        async def stop() -> None:
            for _ in range(150):
                assert [event.id] == await queues.halt([event.id], "stopped")

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            tasks.create_task(run())
            tasks.create_task(stop())
            tasks.create_task(stop())
