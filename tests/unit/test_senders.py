"""Who sends a channel's replies among several instances, and what each may use of its budgets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NoReturn, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Adapter, Address, Call, Rate
from gateway.leases import Held, Leases
from gateway.pacing import JITTER_S, Pacing
from gateway.senders import ALONE, Senders, left_by_shows, shown_by_one
from tests.virtual_time import in_virtual_time


class Budgeted:
    """An adapter with budgets, as far as they matter here."""

    def rates(self, address: Address, call: Call) -> tuple[Rate, ...]:
        return ()


class Places:
    """The channels of some settings, which the test changes."""

    def __init__(self, **channels: object) -> None:
        self._channels = channels
        self._changed = asyncio.Event()

    def channels(self) -> dict[str, str | None]:
        return dict.fromkeys(self._channels)

    def made(self, name: str) -> Adapter | None:
        return cast("Adapter | None", self._channels.get(name))

    async def applied(self) -> None:
        await self._changed.wait()

    def become(self, **channels: object) -> None:
        self._channels = channels
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class One:
    def __init__(self, fence: int = 1) -> None:
        self.fence = fence
        self.good = True

    def valid(self) -> bool:
        return self.good


async def nothing(channel: str) -> None:
    """Nobody has sent before."""


class Shared:
    """Leases that the test gives and takes."""

    def __init__(self, live: int = 3) -> None:
        self.live = live
        self.wanted: dict[str, Callable[[Held], Awaitable[None]]] = {}
        self.asked = asyncio.Event()

    async def hold(self, name: str, work: Callable[[Held], Awaitable[None]], **_: Any) -> NoReturn:
        self.wanted[name] = work
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            del self.wanted[name]
        raise AssertionError

    async def wants(self, *names: str) -> None:
        async with asyncio.timeout(10):
            while set(names) != set(self.wanted):
                self.asked.clear()
                await asyncio.sleep(0)


@pytest.fixture
async def tasks() -> AsyncIterator[set[asyncio.Task[Any]]]:
    """What a test starts, ended behind it."""
    started: set[asyncio.Task[Any]] = set()
    yield started
    for task in started:
        task.cancel()
    await asyncio.gather(*started, return_exceptions=True)


class TestSenders:
    """One sender a channel that has budgets."""

    async def test_a_channel_with_budgets_is_sent_by_who_holds_its_lease(self, tasks: set[asyncio.Task[Any]]) -> None:
        leases, places, changes = Shared(), Places(acme=Budgeted(), hook=object()), list[str]()
        senders = Senders(cast("Leases", leases), places, recall=nothing, changed=lambda: changes.append("changed"))
        assert {"acme"} == senders.elsewhere()

        tasks.add(asyncio.create_task(senders.run()))
        await leases.wants("send:acme")
        held = One()
        holding = asyncio.ensure_future(leases.wanted["send:acme"](held))
        await asyncio.sleep(0)
        assert (frozenset(), ["changed"]) == (senders.elsewhere(), changes)
        assert {"acme": True} == senders.sending()

        held.good = False
        assert {"acme": False} == senders.sending()
        assert {"acme"} == senders.elsewhere(), "one that may be another's is not used"
        held.good = True
        holding.cancel()
        await asyncio.wait([holding])
        assert {"acme"} == senders.elsewhere()

    async def test_one_that_does_not_run_here_is_handed_on(self) -> None:
        """Where somebody else lives; what is not held here has nobody to hand it on."""
        leases = Shared(live=1)
        senders = Senders(cast("Leases", leases), Places(acme=Budgeted()), recall=nothing, changed=lambda: None)
        holding = asyncio.ensure_future(senders._hold("acme", One()))
        await asyncio.sleep(0)
        for name in ("acme", "other"):
            senders.down(name)
        await asyncio.sleep(0)
        assert frozenset() == senders.elsewhere()

        leases.live = 2
        senders.down("acme")
        async with asyncio.timeout(10):
            await holding
        assert {"acme"} == senders.elsewhere()
        senders.down("acme")
        ALONE.down("acme")

    def test_who_reaches_no_platform_lets_another_try(self) -> None:
        """After a second in which nothing got through; where that did not help the next time is twice as long, so that two
        who both can't do not pass it to and fro all day. One that got through begins anew."""

        async def main() -> list[float]:
            leases = Shared(live=2)
            senders = Senders(cast("Leases", leases), Places(acme=Budgeted()), recall=nothing, changed=lambda: None)
            waited = list[float]()
            for fence in range(4):
                holding = asyncio.ensure_future(senders._hold("acme", One(fence)))
                await asyncio.sleep(0)
                if fence == 3:
                    senders.unreached("acme")
                    await asyncio.sleep(5)
                    senders.reached("acme")
                began = asyncio.get_running_loop().time()
                while not holding.done():
                    senders.unreached("acme")
                    await asyncio.sleep(0.5)
                waited.append(asyncio.get_running_loop().time() - began)
            senders.unreached("acme")
            senders.unreached("not sent from here")
            ALONE.unreached("acme")
            ALONE.reached("acme")
            return waited

        assert [1.5, 2.5, 4.5, 1.5] == in_virtual_time(main())

    def test_one_that_runs_nowhere_is_passed_on_ever_more_rarely(self) -> None:

        async def main() -> list[float]:
            senders = Senders(
                cast("Leases", Shared(live=2)), Places(acme=Budgeted()), recall=nothing, changed=lambda: None
            )
            waited = list[float]()
            for fence in range(3):
                holding = asyncio.ensure_future(senders._hold("acme", One(fence)))
                began = asyncio.get_running_loop().time()
                while not holding.done():
                    await asyncio.sleep(0.5)
                    senders.down("acme")
                waited.append(asyncio.get_running_loop().time() - began)
            return waited

        assert [1.0, 1.5, 2.5] == in_virtual_time(main())

    async def test_who_is_alone_keeps_it(self, tasks: set[asyncio.Task[Any]]) -> None:
        """However long nothing gets through."""
        senders = Senders(cast("Leases", Shared(live=1)), Places(acme=Budgeted()), recall=nothing, changed=lambda: None)
        tasks.add(asyncio.create_task(senders._hold("acme", One())))
        await asyncio.sleep(0)
        for _ in range(3):
            senders.unreached("acme")
            await asyncio.sleep(0)

        assert frozenset() == senders.elsewhere()

    async def test_what_another_has_sent_is_asked_for_first(self) -> None:
        """Not where it was sent from here the last time, too; and not before that is nothing sent."""
        asked = list[tuple[str, bool]]()

        async def recall(channel: str) -> None:
            asked.append((channel, channel in senders.elsewhere()))

        senders = Senders(cast("Leases", Shared()), Places(acme=Budgeted()), recall=recall, changed=lambda: None)
        for fence in (4, 5, 7):
            holding = asyncio.ensure_future(senders._hold("acme", One(fence)))
            await asyncio.sleep(0.01)
            holding.cancel()
            await asyncio.wait([holding])

        assert [("acme", True)] * 2 == asked

    async def test_leases_follow_the_settings(self, tasks: set[asyncio.Task[Any]]) -> None:
        """A channel that comes is held, one that goes is let go; what lost its budgets is sent from everywhere."""
        leases, places = Shared(), Places(acme=Budgeted(), other=Budgeted())
        senders = Senders(cast("Leases", leases), places, recall=nothing, changed=lambda: None)
        tasks.add(asyncio.create_task(senders.run()))
        await leases.wants("send:acme", "send:other")
        places.become(acme=object(), 群=Budgeted(), other=Budgeted())
        await leases.wants("send:群", "send:other")

        assert {"群", "other"} == senders.elsewhere()

    async def test_what_fails_with_the_leases_is_told(self) -> None:
        class Broken(Shared):
            async def hold(self, name: str, work: Callable[[Held], Awaitable[None]], **_: Any) -> NoReturn:
                raise ZeroDivisionError

        senders = Senders(cast("Leases", Broken()), Places(acme=Budgeted()), recall=nothing, changed=lambda: None)
        with pytest.raises(ExceptionGroup):
            await senders.run()

    def test_who_is_alone_has_it_all(self) -> None:
        rates = (Rate(scope="a", count=1, per_s=1),)

        assert (frozenset(), rates, rates) == (ALONE.elsewhere(), ALONE.to_send(rates), ALONE.to_show("acme", rates))

    def test_shares(self) -> None:
        """Of three instances; what is too little to be shared is shown by the sender only."""
        senders = Senders(
            cast("Leases", Shared(live=3)), Places(acme=Budgeted(), hook=object()), recall=nothing, changed=lambda: None
        )
        rates = [Rate(scope="all", count=30, per_s=1), Rate(scope="room", count=4, per_s=4, of_room=True)]
        one = [Rate(scope="room", count=1, per_s=1, of_room=True)]

        assert [20, 3] == [rate.count for rate in senders.to_send(rates)]
        assert [10, 1] == [rate.count for rate in senders.to_show("acme", rates) or ()]
        assert [20, 3] == [rate.count for rate in senders.to_show("hook", rates) or ()]
        assert senders.to_show("acme", one) is None
        assert [1] == [rate.count for rate in senders.to_send(one)]


@given(st.integers(1, 300), st.integers(1, 40), st.booleans())
def test_all_together_use_no_more_than_there_is(count: int, instances: int, of_room: bool) -> None:
    """The sender's part and what each of the others can show (in a room one of them), within one window: of the real pacing."""
    rate = Rate(scope="s", count=count, per_s=10, of_room=of_room)
    mine, theirs = left_by_shows(rate, instances=instances), shown_by_one(rate, instances=instances)
    pacing, shown = Pacing(), 0
    while theirs.count and pacing.spare("c", "q", [theirs], now=JITTER_S):
        shown += 1
    others = min(instances - 1, 1) if of_room else instances - 1

    assert mine.count + others * shown <= count
    assert 1 <= mine.count
