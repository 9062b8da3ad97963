"""The learner's tasks: what fails there is put off or given up, and never ends the gateway."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

import memory.learning  # its expressions take seconds to compile on a busy machine, in which a lease would run out
import memory.summary  # noqa: F401
from config.loader import Configuration, load
from gateway.channels import Times
from gateway.learning import Learner
from gateway.live import Live
from gateway.metrics import Metrics
from gateway.usage.parts import UsageParts
from memory.derived import Derived, Due, FullStore, Learned
from memory.errors import StoreUnavailable
from memory.ids import Ids
from tests.contracts.columns import COLUMNS
from tests.contracts.derived import answered, person
from tests.contracts.store import NOW, key, opened
from tests.usage import counting

SETTINGS = """\
agents: {default: {kind: demo}}
learning: {tries: 2, wait_s: 0.001, lease_s: 3}
channels: {}
"""


class Faulty:
    """A real queue of learning in which what `faults` lists for a verb goes wrong, once each."""

    def __init__(self, derived: Derived) -> None:
        self._derived = derived
        self.faults: dict[str, list[Exception]] = {"claim": [], "settle": [], "put_off": [], "release": []}
        self.learned: list[int] = []
        self.settled, self.failed = asyncio.Event(), asyncio.Event()
        self.look: Callable[[], Awaitable[None]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._derived, name)

    def _may_fail(self, verb: str) -> None:
        if self.faults[verb]:
            self.failed.set()
            raise self.faults[verb].pop()

    async def claim(self, *, owner: str, now_ms: int, lease_ms: int, limit: int) -> tuple[Due, ...]:
        self._may_fail("claim")
        if self.look is not None:
            await self.look()
        return await self._derived.claim(owner=owner, now_ms=now_ms, lease_ms=lease_ms, limit=limit)

    async def settle(self, learned: Learned) -> bool:
        self._may_fail("settle")
        done = await self._derived.settle(learned)
        self.learned.append(learned.ledger.turn_id)
        self.settled.set()
        return done

    async def put_off(self, turn_id: int, *, due_ms: int) -> None:
        self._may_fail("put_off")
        await self._derived.put_off(turn_id, due_ms=due_ms)

    async def release(self, scope_id: int, *, owner: str) -> None:
        self._may_fail("release")
        await self._derived.release(scope_id, owner=owner)

    async def until(self, *turns: int) -> None:
        """Wait until these turns have been learned from, in this order."""
        async with asyncio.timeout(20):
            while list(turns) != self.learned:
                self.settled.clear()
                await self.settled.wait()


class House:
    """A store with one person's talk, and the learner that works it off."""

    def __init__(self, store: FullStore, configuration: Configuration, usage: UsageParts) -> None:
        self.store, self.derived, self.now = store, Faulty(store.derived), NOW
        live = Live(
            configuration,
            make_agent=lambda name, settings: pytest.fail("no agent is asked"),
            make_adapter=lambda name, settings: pytest.fail("no channel is made"),
            times=Times(start_s=1, send_s=1, rest_s=1),
        )
        self.learner = Learner(
            cast("Derived", self.derived),
            live=live,
            metrics=Metrics(version="1"),
            quotas=usage.quotas,
            spending=usage.spending,
            ids=Ids(1),
            owner="me",
            poll_s=0.001,
            clock=self._clock,
        )

    def _clock(self) -> int:
        self.now += 1000
        return self.now

    async def says(self, turn_id: int, text: str = "我叫李雷") -> None:
        scope = await opened(self.store)
        await answered(self.store, scope.id, turn_id, text, person_id=await person(self.store), key=key())

    @asynccontextmanager
    async def learning(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.learner.run())
        try:
            yield task
            assert not task.done(), "it goes on"
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    (tmp_path / "my.yaml").write_text(SETTINGS, "utf-8")
    configuration = load(tmp_path / "my.yaml", {})
    async with (
        COLUMNS["sqlite"](request).open() as store,
        counting(tmp_path, store=store, configuration=lambda: configuration) as usage,
    ):
        yield House(store, configuration, usage)


@pytest.mark.parametrize("verb", ["claim", "settle"])
@pytest.mark.parametrize("fault", [StoreUnavailable("away"), ValueError("another release's")], ids=["away", "broken"])
async def test_what_fails_once_is_done_later(house: House, verb: str, fault: Exception) -> None:
    await house.says(1)
    house.derived.faults[verb] = [fault]
    async with house.learning():
        await asyncio.wait_for(house.derived.failed.wait(), 20)
        house.learner.wake()  # as the next reply would
        await house.derived.until(1)


async def test_a_turn_that_nobody_can_learn_from_holds_nobody_back(house: House) -> None:
    """It is given up after its tries, and the one behind it is learned from."""
    await house.says(1)
    await house.says(2)
    house.derived.faults["settle"] = [ValueError("no")] * 2
    async with house.learning():
        await house.derived.until(1, 2)

    assert await house.derived.next_due() is None


@pytest.mark.parametrize("verb", ["put_off", "release", "settle"])
async def test_a_queue_in_which_everything_fails_does_not_end_the_gateway(house: House, verb: str) -> None:
    """Not being able to give a turn up, to put it off or to give its scope back: it comes again, at the latest with the lease."""
    await house.says(1)
    house.derived.faults |= {"settle": [ValueError("no")] * 3, verb: [ValueError("no")] * 3}
    async with house.learning():
        await house.derived.until(1)


async def test_looks_take_a_tenth_of_the_time_however_often_it_is_woken(house: House) -> None:
    """Each reply wakes it, and a look is dear while much waits, as when a model is away: the database has answers to give."""
    looks: list[tuple[float, float]] = []
    enough, clock = asyncio.Event(), asyncio.get_running_loop().time

    async def slow() -> None:
        began = clock()
        await asyncio.sleep(0.02)
        looks.append((began, clock()))
        house.learner.wake()  # as the next reply would
        if len(looks) == 4:
            enough.set()

    house.derived.look = slow
    async with house.learning():
        await asyncio.wait_for(enough.wait(), 20)

    for (began, ended), (again, _) in itertools.pairwise(looks):
        assert again - ended >= 9 * (ended - began)
