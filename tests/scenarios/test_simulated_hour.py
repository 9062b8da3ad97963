"""A simulated hour: two busy groups under their platforms' limits. Nobody unanswered, nobody answered twice, no limit broken.

Lanes, showing, pacing, delivery and the durable queues are the real ones; the clock is virtual, the platforms are doubles that
count every call when it reaches them and refuse what is over a limit.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from adapters.base import Adapter, Address, Call, Capabilities, Intake, Rate, Receipt
from adapters.errors import Throttled
from gateway.asking import Draft
from gateway.delivery import Delivery
from gateway.inbox.base import Event, NewEvent, Reply
from gateway.inbox.sqlite import SqliteInbox
from gateway.lanes import Gathering, Lanes, Running
from gateway.pacing import Pacing
from gateway.rooms import target_of
from gateway.showing import Showing
from memory.ids import Ids
from tests.virtual_time import in_virtual_time

HOUR_S = 3600.0
BEGIN_MS = 1_780_000_000_000

Limits = Callable[[Address, Call], tuple[Rate, ...]]


def workspace(address: Address, call: Call) -> tuple[Rate, ...]:
    """A message a second in a channel, 50 edits and 50 signs a minute in the workspace (platform-facts 1.2)."""
    match call:
        case "send":
            return Rate(scope=f"post {address.room}", count=1, per_s=1), Rate(scope="post", count=300, per_s=60)
        case "edit":
            return (Rate(scope="update", count=50, per_s=60),)
        case "sign":
            return (Rate(scope="status", count=50, per_s=60),)


def bot(address: Address, call: Call) -> tuple[Rate, ...]:
    """One a second in a chat, 20 a minute in a group, 30 a second in all; edits and signs count (platform-facts 2.9)."""
    return (
        Rate(scope=f"second {address.room}", count=1, per_s=1),
        Rate(scope=f"minute {address.room}", count=20, per_s=60),
        Rate(scope="all", count=30, per_s=1),
    )


class Wire:
    """A platform: takes what is within its limits, each call after some milliseconds on the way. `floods` are the moments at
    which it asks a scope to wait for `flood_s`, whatever the limits."""

    capabilities = Capabilities()
    show_every_s = 3.0
    sign_every_s = 4.0

    def __init__(self, limits: Limits, *, seed: int, floods: tuple[float, ...] = (), flood_s: float = 25) -> None:
        self.rates = limits
        self.broken: list[str] = []
        self.shown: dict[str, str] = {}
        self.posted: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._way = random.Random(seed)
        self._floods = list(floods)
        self._flood_s = flood_s
        self._shut: dict[str, float] = {}
        self._taken: dict[str, deque[float]] = {}

    @asynccontextmanager
    async def running(self, intake: Intake) -> AsyncIterator[None]:
        yield

    def chunks(self, text: str) -> list[str]:
        return text.split("\n\n")

    async def probe(self) -> None:
        """Not asked here."""

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        await self._arrives(address, "send" if shown is None else "edit")
        message_id = shown or f"m{len(self.shown)}"
        self.shown[message_id] = chunk
        self.posted[chunk] += 1
        await self._arrived()
        return Receipt(message_id=message_id)

    async def sign(self, address: Address, *, on: bool) -> None:
        if on:
            await self._arrives(address, "sign")
            await self._arrived()

    async def show(self, address: Address, text: str, *, turn: str, shown: str | None) -> str | None:
        await self._arrives(address, "send" if shown is None else "edit")
        message_id = shown or f"m{len(self.shown)}"
        self.shown[message_id] = f"{text} …"
        await self._arrived()
        return message_id

    async def _arrives(self, address: Address, call: Call) -> None:
        await asyncio.sleep(self._way.uniform(0.02, 0.1))
        now = asyncio.get_running_loop().time()
        self.calls[call] += 1
        rates = self.rates(address, call)
        if self._floods and now >= self._floods[0]:
            self._floods.pop(0)
            self._shut[rates[0].scope] = now + self._flood_s
            raise Throttled("flood", retry_after_s=self._flood_s, scope=rates[0].scope)
        for rate in rates:
            taken = self._taken.setdefault(rate.scope, deque(maxlen=rate.count))
            over = len(taken) == rate.count and now < taken[0] + rate.per_s
            if over or now < self._shut.get(rate.scope, 0.0):
                self.broken.append(f"{now:.2f} {call} {rate.scope}")
                raise Throttled("429", retry_after_s=rate.per_s, scope=rate.scope)
        for rate in rates:
            self._taken[rate.scope].append(now)

    async def _arrived(self) -> None:
        await asyncio.sleep(self._way.uniform(0.02, 0.2))


@dataclass(frozen=True, slots=True)
class Question:
    """One person's, at its second; where it is asked, and in which lane it is answered."""

    number: int
    at: float
    address: Address
    lane: str
    speaker: str


@dataclass
class Town:
    """The gateway's sending half, and who talks to it."""

    box: SqliteInbox
    wires: dict[str, Wire]
    questions: list[Question]
    answered_at: dict[int, float] = field(default_factory=dict)
    ended: Counter[int] = field(default_factory=Counter)
    pacing: Pacing = field(default_factory=Pacing)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    asked: dict[int, Question] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ids = Ids(instance=1, clock=self.now_ms)
        self._thinking = random.Random(7)
        self.showing = Showing(inbox=self.box, channels=self, pacing=self.pacing, show_s=5)

    def now_ms(self) -> int:
        return BEGIN_MS + int(asyncio.get_running_loop().time() * 1000)

    def made(self, name: str) -> Adapter | None:
        return self.wires.get(name)

    def lent(self, name: str) -> AbstractContextManager[Adapter | None]:
        return nullcontext(self.wires.get(name))

    def back_s(self, name: str) -> float | None:
        return 0.0 if name in self.wires else None

    async def hour(self) -> None:
        """Ask every question at its time, every tenth twice; return when each has its answer."""
        lanes = Lanes(self.box, self._respond, self._gathering, most=200, lease_s=60, retry_s=1)
        delivery = Delivery(
            self.box,
            self.box,
            self,
            self._ended,
            pacing=self.pacing,
            moved=self._stays,
            send_s=30,
            attempts=1,
            first_wait_s=1,
            throttled_s=600,
            clock_ms=self.now_ms,
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(lanes.run())
            tasks.create_task(delivery.run())
            for question in self.questions:
                await asyncio.sleep(question.at - asyncio.get_running_loop().time())
                for _ in range(2 if question.number % 10 == 0 else 1):
                    await self._ask(question)
            await self.idle.wait()
            lanes.drain()
            delivery.drain()

    async def _ask(self, question: Question) -> None:
        new = NewEvent(
            id=self._ids.next(),
            channel=question.address.channel,
            kind="message",
            speaker=question.speaker,
            body=msgspec.json.encode(question.number),
            token="t",
            fingerprint=None,
            now_ms=self.now_ms(),
        )
        accepted = await self.box.accept(new, lane=question.lane, dedupe_ids=[f"q{question.number}"])
        if accepted.verdict == "accepted":
            self.asked[accepted.event.id] = question

    def _gathering(self, event: Event) -> Gathering:
        return Gathering(busy="queue", most=1, alone=False)

    async def _respond(self, turn: Running) -> None:
        (event,) = turn.events
        question = self.asked[event.id]
        await self.box.start([event.id], turn_id=turn.turn_id, lane=turn.claim.lane, fence=turn.claim.fence)
        draft = Draft(cast("Any", None))
        target = target_of(question.address)
        async with self.showing.turn(turn, question.address, queue=target.queue) as shown:
            shown.follow(draft)
            for word in range(self._thinking.randint(2, 12)):
                await asyncio.sleep(self._thinking.uniform(0.2, 1.5))
                draft.text += f"{word} 好 👋 "
                draft.changed.set()
            parts = [f"answer {question.number}", *(f"more {question.number}" for _ in range(question.number % 5 == 0))]
            reply = Reply(
                event_ids=[event.id],
                turn_id=turn.turn_id,
                channel=question.address.channel,
                queue=target.queue,
                address=target.address,
                text="\n\n".join(parts),
                chunks=parts,
                failed=None,
                session=None,
                lane=turn.claim.lane,
                fence=turn.claim.fence,
                now_ms=self.now_ms(),
                shown=await shown.end(),
            )
            await self.box.put(reply)

    async def _ended(self, turn_id: int) -> None:
        self.ended[turn_id] += 1
        self.answered_at[self.asked[turn_id].number] = asyncio.get_running_loop().time()
        if len(self.answered_at) == len(self.questions):
            self.idle.set()

    async def _stays(self, channel: str, old: str, new: str) -> None:
        raise AssertionError("no room moves here")


def an_hour_of(people: int, *, channel: str, count: int, first: int, threads: bool, bursts: int) -> list[Question]:
    """Questions over the hour, some of them in bursts (a meeting ends, and twenty ask at once)."""
    chance = random.Random(people)
    times = [chance.uniform(0, HOUR_S) for _ in range(count - 20 * bursts)]
    for _ in range(bursts):
        begin = chance.uniform(0, HOUR_S - 60)
        times += [begin + chance.uniform(0, 10) for _ in range(20)]
    questions = []
    for number, at in enumerate(sorted(times), start=first):
        speaker = f"{channel}-U{chance.randrange(people)}"
        thread = f"t{number}" if threads else None
        address = Address(channel=channel, room="town", thread=thread, reply_to=str(number))
        lane = f"{channel} {thread or speaker}"
        questions.append(Question(number, at, address, lane, speaker))
    return questions


@pytest.mark.parametrize("floods", [(), (600.0, 1800.0, 1801.0)], ids=["calm", "flood waits"])
def test_an_hour_of_two_busy_groups(tmp_path: Path, floods: tuple[float, ...]) -> None:
    """A 200-person group with threads and a 1,000-person group with one stream of talk: every question has its one answer, in
    full and once, within minutes; no limit is broken, and where a platform asks to wait nobody calls meanwhile."""
    wires = {"threads": Wire(workspace, seed=1, floods=floods), "stream": Wire(bot, seed=2, floods=floods)}
    questions = [
        *an_hour_of(200, channel="threads", count=260, first=0, threads=True, bursts=3),
        *an_hour_of(1000, channel="stream", count=300, first=1000, threads=False, bursts=3),
    ]
    questions.sort(key=lambda question: question.at)

    async def story() -> Town:
        clock = asyncio.get_running_loop().time
        async with SqliteInbox(
            tmp_path / "q.db",
            write_turn=asyncio.Lock(),
            timeout_s=60,
            lease_s=60,
            poll_s=60,
            accept_max=10_000,
            clock=clock,
        ) as box:
            town = Town(box, wires, questions)
            async with asyncio.timeout(2 * HOUR_S):
                await town.hour()
            return town

    town = in_virtual_time(story())

    assert [] == wires["threads"].broken + wires["stream"].broken
    assert len(questions) == len(town.ended)
    assert {1} == set(town.ended.values())
    for name, wire in wires.items():
        numbers = [question.number for question in questions if question.address.channel == name]
        whole = Counter(f"answer {n}" for n in numbers) + Counter(f"more {n}" for n in numbers if n % 5 == 0)
        assert whole == wire.posted
        assert whole == Counter(wire.shown.values()), "nothing half-made is left standing"
        assert wire.calls["edit"] > len(numbers) / 4, "and people saw answers come"
    waits = sorted(town.answered_at[question.number] - question.at for question in questions)
    assert waits[len(waits) // 2] < 30
    assert waits[-1] < 300
