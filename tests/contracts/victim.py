"""A process that works on the queues until it is killed: `python -m tests.contracts.victim URL ACT LEASE_S`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from gateway.errors import LeaseLost, StoreBusy
from gateway.inbox.base import Chunk, Outcome
from gateway.inbox.postgres import PostgresInbox
from gateway.leases import Held
from tests.contracts.queues import NOW_MS, Queues, accept, accept_many, message, open_queues, reply


def say(line: str) -> None:
    print(line, flush=True)


async def flood(queues: Queues) -> None:
    """Accept messages, each under two dedupe ids, and say the number of each that was acknowledged."""

    async def one(number: int) -> None:
        await queues.accept(message(), lane=f"lane{number % 5}", dedupe_ids=[f"a{number}", f"b{number}"])
        say(str(number))

    for first in range(0, 1_000_000, 20):
        await asyncio.gather(*(one(first + offset) for offset in range(20)))


async def hold(queues: Queues) -> None:
    """Run the first of three messages, leave a command unapplied, and when woken from a stop try to go on."""
    events = await accept_many(queues, 3)
    await accept(queues, kind="control")
    (claim,) = await queues.claim(1)
    await queues.start([events[0].id], turn_id=events[0].id, lane=claim.lane, fence=claim.fence)
    say(" ".join(str(event.id) for event in events))
    while True:
        try:
            await queues.start([], turn_id=events[0].id, lane=claim.lane, fence=claim.fence)
            await queues.changed(1_000_000)
        except LeaseLost:
            break
    for write in (
        queues.finish([events[1].id], Outcome(state="failed"), lane=claim.lane, fence=claim.fence),
        reply(queues, claim, events),
    ):
        try:
            await write
        except LeaseLost:
            continue
        say("a zombie wrote")
    say("fenced")
    await asyncio.Event().wait()


async def send(queues: Queues) -> None:
    """Die while the second of three chunks is on its way."""
    event = await accept(queues)
    (claim,) = await queues.claim(1)
    await reply(queues, claim, [event], chunks=("one", "two", "three"))
    (first,) = await queues.due(now_ms=NOW_MS, limit=1)
    await queues.sent(first, message_id="m1", now_ms=NOW_MS)
    await queues.due(now_ms=NOW_MS, limit=1)
    say(str(event.id))
    await asyncio.Event().wait()


async def freeze(queues: Queues) -> None:
    """Stop still in the middle of a transaction that has locked the lane, as a process is stopped at any moment."""
    event = await accept(queues)
    (claim,) = await queues.claim(1)
    assert isinstance(queues, PostgresInbox)
    async with queues._connection() as db, db.transaction():
        await db.execute("SELECT FROM inbox_lanes WHERE lane = %s FOR UPDATE", (claim.lane,))
        say(str(event.id))
        os.kill(os.getpid(), signal.SIGSTOP)
    say("woke")


async def freeze_taking(queues: Queues) -> None:
    """Stop still while it takes a chunk to send."""
    event = await accept(queues)
    (claim,) = await queues.claim(1)
    await reply(queues, claim, [event])

    def stop(_chunk: Chunk) -> int:
        say(str(event.id))
        os.kill(os.getpid(), signal.SIGSTOP)
        return 0

    try:
        await queues.due(now_ms=NOW_MS, limit=1, not_before=stop)
    except StoreBusy:
        say("took nothing")
    await asyncio.Event().wait()


async def lead(queues: Queues) -> None:
    """Hold a lease, and say when it comes and goes."""
    assert isinstance(queues, PostgresInbox)

    async def work(held: Held) -> None:
        say("held")
        try:
            await asyncio.Event().wait()
        finally:
            say("valid" if held.valid() else "lost")

    await queues.leases.hold("channel:acme", work)


ACTS = {"flood": flood, "hold": hold, "send": send, "freeze": freeze, "freeze_taking": freeze_taking, "lead": lead}


async def main(url: str, act: str, lease_s: float) -> None:
    timeout_s = 1 if act.startswith("freeze") else 5
    async with open_queues(url, lease_s=lease_s, poll_s=0.1, timeout_s=timeout_s) as queues:
        await ACTS[act](queues)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
