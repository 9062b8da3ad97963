"""The queues against a model: random interleavings of every verb, on every database, end where the model says."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.errors import LeaseLost
from gateway.inbox.base import Claim, Outcome, Reply
from tests.contracts.queues import NOW_MS, URLS, Queues, message, open_queues

FAILED = Outcome(state="failed", code="agent_failed")
_examples = itertools.count(1)

VERBS = ("accept", "burst", "repeat", "claim", "start", "finish", "put", "release", "hand_over", "stale", "send")


@dataclass
class ModelEvent:
    lane: str
    state: str = "accepted"
    turn_id: int = 0
    attempts: int = 0


@dataclass
class Model:
    """What the queues should hold. Each step does one verb on them and on itself, and compares what came back."""

    queues: Queues
    name: str
    events: dict[int, ModelEvent] = field(default_factory=dict)
    dedupe: dict[str, int] = field(default_factory=dict)
    held: dict[str, Claim] = field(default_factory=dict)
    past: list[Claim] = field(default_factory=list)
    outbox: dict[str, list[tuple[int, str]]] = field(default_factory=dict)  # queue: (turn, text), oldest first

    def lane(self, number: int) -> str:
        return f"{self.name}:{number}"

    def waiting(self, lane: str) -> list[int]:
        return [
            id_ for id_, event in self.events.items() if event.lane == lane and event.state in ("accepted", "running")
        ]

    async def accept(self, lane: str, key: int) -> None:
        new = message()
        dedupe_id = f"{self.name}:{key}"
        result = await self.queues.accept(new, lane=lane, dedupe_ids=[dedupe_id])
        known = self.dedupe.setdefault(dedupe_id, new.id)
        if known == new.id:
            self.events[new.id] = ModelEvent(lane, turn_id=new.id)
        assert ("accepted" if known == new.id else "duplicate", known) == (result.verdict, result.event.id)
        assert self.events[known].state == result.event.state

    async def burst(self, lane: str, key: int) -> None:
        new = [message() for _ in range(4)]
        results = await asyncio.gather(
            *(self.queues.accept(event, lane=lane, dedupe_ids=[str(event.id)]) for event in new)
        )
        assert [event.id for event in new] == [result.event.id for result in results]
        for event in new:
            self.events[event.id] = ModelEvent(lane, turn_id=event.id)

    async def repeat(self, lane: str, key: int) -> None:
        for dedupe_id, event_id in [*self.dedupe.items()][-key:]:
            result = await self.queues.accept(message(), lane=lane, dedupe_ids=[dedupe_id])
            assert ("duplicate", event_id) == (result.verdict, result.event.id)

    async def claim(self, lane: str, key: int) -> None:
        free = {event.lane for id_, event in self.events.items() if self.waiting(event.lane)} - self.held.keys()
        claims = await self.queues.claim(key)
        assert min(key, len(free)) == len(claims)
        for claim in claims:
            assert claim.lane in free
            assert all(claim.fence > old.fence for old in self.past if old.lane == claim.lane)
            self.held[claim.lane] = claim
            self.past.append(claim)

    async def start(self, lane: str, key: int) -> None:
        claim, ids = self.held.get(lane), self.waiting(lane)[:key]
        if claim is None or not ids:
            return
        assert ids == await self.queues.start(ids, turn_id=ids[0], lane=lane, fence=claim.fence)
        for id_ in ids:
            event = self.events[id_]
            event.state, event.turn_id, event.attempts = "running", ids[0], event.attempts + 1

    async def finish(self, lane: str, key: int) -> None:
        claim, ids = self.held.get(lane), self.waiting(lane)[:key]
        if claim is None:
            return
        ended = [id_ for id_, event in self.events.items() if event.state == "answered"][:1]
        await self.queues.finish([*ids, *ended], FAILED, lane=lane, fence=claim.fence)
        for id_ in ids:
            self.events[id_].state = "failed"

    async def put(self, lane: str, key: int) -> None:
        claim, ids = self.held.get(lane), self.waiting(lane)[:key]
        if claim is None or not ids or self.events[ids[0]].state != "running":
            return
        texts = [f"{ids[0]}.{part}" for part in range(key)]
        await self.queues.put(
            Reply(
                event_ids=ids,
                turn_id=ids[0],
                channel="acme",
                queue=self.name,
                address=b"",
                text="",
                chunks=texts,
                failed=None,
                session=None,
                lane=lane,
                fence=claim.fence,
                now_ms=NOW_MS,
            )
        )
        self.outbox.setdefault(self.name, []).extend((ids[0], text) for text in texts)
        for id_ in ids:
            self.events[id_].state, self.events[id_].turn_id = "replied", ids[0]

    async def release(self, lane: str, key: int) -> None:
        if claim := self.held.get(lane):
            released = await self.queues.release(claim)
            assert released == (not self.waiting(lane))
            if released:
                del self.held[lane]

    async def hand_over(self, lane: str, key: int) -> None:
        if claim := self.held.pop(lane, None):
            assert await self.queues.release(claim, hand_over=True)

    async def stale(self, lane: str, key: int) -> None:
        for claim in self.past[-key:]:
            if self.held.get(claim.lane) != claim:
                with pytest.raises(LeaseLost):
                    await self.queues.finish(self.waiting(claim.lane), FAILED, lane=claim.lane, fence=claim.fence)

    async def send(self, lane: str, key: int) -> None:
        chunks = await self.queues.due(now_ms=NOW_MS, limit=5)
        line = self.outbox.get(self.name, [])
        assert line[:1] == [(chunk.turn_id, chunk.text) for chunk in chunks]
        if not chunks:
            return
        (chunk,) = chunks
        if key == 1:
            await self.queues.retry(chunk, due_ms=NOW_MS, error="503")
            return
        line.pop(0)
        if key == 2:
            await self.queues.dead(chunk, error="gone", now_ms=NOW_MS)
            line[:] = [(turn_id, text) for turn_id, text in line if turn_id != chunk.turn_id]
        else:
            last = await self.queues.sent(chunk, message_id=None, now_ms=NOW_MS)
            assert last == (not any(turn_id == chunk.turn_id for turn_id, _ in line))
        if not any(turn_id == chunk.turn_id for turn_id, _ in line):
            for event in self.events.values():
                if event.turn_id == chunk.turn_id and event.state == "replied":
                    event.state = "dead" if key == 2 else "answered"

    async def compare(self) -> None:
        """Every event stands where the model has it; every lane shows what waits, in order."""
        for id_, expected in self.events.items():
            event = await self.queues.event(id_)
            assert event is not None
            assert expected == ModelEvent(event.lane, event.state, event.turn_id, event.attempts)
        for lane in {event.lane for event in self.events.values()}:
            assert self.waiting(lane) == [event.id for event in await self.queues.waiting(lane)]

    async def drain(self) -> None:
        """End all that waits, so that the next example starts from nothing."""
        while self.outbox.get(self.name):
            await self.send("", 3)
        for lane in {event.lane for event in self.events.values()}:
            await self.hand_over(lane, 1)
        for claim in await self.queues.claim(100):
            self.held[claim.lane] = claim
            await self.finish(claim.lane, 1_000)
            await self.release(claim.lane, 1)


@pytest.fixture(params=URLS)
async def queues(request: pytest.FixtureRequest) -> AsyncIterator[Queues]:
    async with open_queues(URLS[request.param](request)) as opened:
        yield opened


STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 2), st.integers(1, 3)), min_size=15, max_size=50)


@given(steps=STEPS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_interleaving_ends_where_the_model_says(queues: Queues, steps: list[tuple[str, int, int]]) -> None:
    """Whatever is called in whatever order: verdicts, claims, states, receipts and order are the model's."""
    model = Model(queues, name=f"x{next(_examples)}")
    for verb, lane, number in steps:
        await getattr(model, verb)(model.lane(lane), number)
    await model.compare()
    await model.drain()
    await model.compare()
