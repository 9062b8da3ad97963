"""The durable queue alone, under the gateway's own scheduling: messages in, turns that do nothing, or wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from gateway.inbox.base import Inbox, NewEvent, Outcome
from gateway.inbox.postgres import PostgresInbox
from gateway.lanes import Gathering, Lanes, Running
from memory.ids import Ids, now_ms

BODY = b"x" * 600
ANSWERED = Outcome(state="answered")
LANES_AT_ONCE = 200

_ids = Ids(instance=1)


class Queue:
    """One queue and the instances that work on it. A turn in a lane of `slow` lasts `slow_s`, every other one no time."""

    def __init__(self, inboxes: Sequence[Inbox], *, slow: str = "", slow_s: float = 0) -> None:
        self._inboxes = inboxes
        self._slow = slow
        self._slow_s = slow_s
        self.put_at: dict[int, float] = {}
        self.started_at: dict[int, float] = {}
        self.order: dict[str, list[int]] = {}  # the ids of each lane's turns, as they began
        self._more = asyncio.Event()

    async def paced(self, lanes: Iterable[str], *, per_s: float) -> list[int]:
        """Accept a message into each of the lanes, so many a second however long one takes; return their ids."""
        began, putting = time.perf_counter(), []
        async with asyncio.TaskGroup() as tasks:
            for number, lane in enumerate(lanes):
                due = began + number / per_s
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                putting.append(tasks.create_task(self.put(lane, due=due)))
        return [task.result() for task in putting]

    def waited_ms(self, id_: int) -> float:
        """Return how long a message waited until its turn began."""
        return (self.started_at[id_] - self.put_at[id_]) * 1000

    async def put(self, lane: str, *, due: float | None = None) -> int:
        """Accept a message into the lane, at the first instance; return its id. `due`: when it should have come, by
        `time.perf_counter`: what waits for this process waits, too."""
        id_ = _ids.next()
        self.put_at[id_] = due or time.perf_counter()
        event = NewEvent(
            id=id_, channel="c", kind="message", speaker="u", body=BODY, token="t", fingerprint=None, now_ms=now_ms()
        )
        await self._inboxes[0].accept(event, lane=lane, dedupe_ids=[str(id_)])
        return id_

    def started(self, *ids: int) -> None:
        """Note that the turns of these messages begin."""
        now = time.perf_counter()
        self.started_at.update((id_, now) for id_ in ids)
        self._more.set()

    async def began(self, count: int) -> None:
        """Wait until so many turns have begun."""
        while len(self.started_at) < count:
            self._more.clear()
            await self._more.wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work on the queue, at every instance."""
        async with asyncio.TaskGroup() as tasks:
            working = []
            for inbox in self._inboxes:
                lanes = Lanes(inbox, self._respond_at(inbox), _gathering, most=LANES_AT_ONCE, lease_s=15, retry_s=1)
                tasks.create_task(lanes.run())
                working.append(lanes)
            yield
            for lanes in working:
                lanes.drain()

    def _respond_at(self, inbox: Inbox):  # type: ignore[no-untyped-def]  # what `Lanes` asks for
        async def respond(turn: Running) -> None:
            ids, lane, fence = [event.id for event in turn.events], turn.claim.lane, turn.claim.fence
            await inbox.start(ids, turn_id=turn.turn_id, lane=lane, fence=fence)
            self.order.setdefault(lane, []).extend(ids)
            self.started(*ids)
            if lane == self._slow:
                await asyncio.sleep(self._slow_s)
            await inbox.finish(ids, ANSWERED, lane=lane, fence=fence)

        return respond


def _gathering(_: object) -> Gathering:
    return Gathering(busy="queue", most=1, alone=False)


@asynccontextmanager
async def inboxes(
    count: int, url: str, *, pool_size: int = 10, kind: type[PostgresInbox] = PostgresInbox
) -> AsyncIterator[list[PostgresInbox]]:
    """Open so many instances on the database."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                kind(url, pool_size=pool_size, timeout_s=30, lease_s=15, poll_s=1, accept_max=10**6)
            )
            for _ in range(count)
        ]
