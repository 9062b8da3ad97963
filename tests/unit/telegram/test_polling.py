"""The poller alone, on a clock of its own: what is confirmed when, and what it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from adapters.base import Pulling
from adapters.errors import Overloaded, Throttled, Unreachable
from adapters.problems import Problem
from adapters.telegram.polling import Contested, Poller
from adapters.telegram.receiving import NotTaken
from tests.pulling import AlwaysOurs
from tests.virtual_time import in_virtual_time


class Platform:
    """Gives what is planned, one answer each call, then nothing more; `offsets` and `times` tell how it was asked."""

    def __init__(self, *answers: Sequence[int] | Exception) -> None:
        self.answers = list(answers)
        self.offsets: list[int | None] = []
        self.times: list[float] = []
        self.done = asyncio.Event()

    async def fetch(self, offset: int | None) -> list[dict[str, Any]]:
        self.offsets.append(offset)
        self.times.append(asyncio.get_running_loop().time())
        if not self.answers:
            self.done.set()
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [{"update_id": number} for number in answer]


class Store:
    """Takes updates; `failures` gives what an update raises, each time it comes."""

    def __init__(self, failures: dict[int, list[Exception]] | None = None) -> None:
        self.failures = failures or {}
        self.taken: list[int] = []

    async def take(self, update: Any) -> None:
        waiting = self.failures.get(update["update_id"])
        if waiting:
            raise waiting.pop(0)
        self.taken.append(update["update_id"])


async def polled(platform: Platform, store: Store, pulling: Pulling | None = None) -> Poller:
    """Poll until nothing more is planned."""
    poller = Poller(fetch=platform.fetch, take=store.take, pulling=pulling or AlwaysOurs(), reconnect_s=8, name="acme")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(poller.run())
        await platform.done.wait()
        running.cancel()
    return poller


async def test_an_update_is_confirmed_once_it_is_stored() -> None:
    platform, store = Platform([1, 2], [5]), Store()
    await polled(platform, store)

    assert [1, 2, 5] == store.taken
    assert [None, 3, 6] == platform.offsets


async def test_after_a_quiet_while_nothing_is_confirmed_ahead() -> None:
    """Numbers that begin anew below the last one are heard, not confirmed unseen (platform-facts 2.2)."""
    platform, store = Platform([900], [], [7], []), Store()
    await polled(platform, store)

    assert [900, 7] == store.taken
    assert [None, 901, None, 8, None] == platform.offsets


def test_what_cannot_be_stored_now_is_asked_for_again() -> None:
    """From the first that is not stored on, after the wait that the store asks for."""
    platform = Platform([1, 2, 3], [2, 3])
    store = Store({2: [Overloaded("full", retry_after_s=20)]})
    poller = in_virtual_time(polled(platform, store))

    assert [1, 2, 3] == store.taken
    assert [None, 2, 4] == platform.offsets
    assert [0, 20, 20] == platform.times
    assert poller.problem is None


def test_what_failed_and_may_pass_keeps_its_place() -> None:
    """Nothing behind it is stored before it, and it is asked for again after growing waits."""
    platform = Platform([1, 2], [1, 2], [1, 2])
    store = Store({1: [NotTaken("x", held=False)] * 2})
    in_virtual_time(polled(platform, store))

    assert [1, 2] == store.taken
    assert [None, None, None, 3] == platform.offsets
    assert [0, 0.5, 1.5, 1.5] == platform.times


def test_behind_what_is_held_others_are_tried_and_none_is_confirmed() -> None:
    """They tell whether it is this update or all of them; what they say comes again, and is known by its ids."""
    platform = Platform([1, 2, 3, 4], [2, 3, 4])
    store = Store({2: [NotTaken("two", held=True)], 3: [NotTaken("three", held=False)]})
    poller = in_virtual_time(polled(platform, store))

    assert [1, 4, 2, 3, 4] == store.taken
    assert [None, 2, 5] == platform.offsets
    assert poller.problem is None


def test_what_is_held_is_told() -> None:
    platform, store = Platform([1]), Store({1: [NotTaken("update 1 was not stored", held=True)]})

    assert "update 1 was not stored" == in_virtual_time(polled(platform, store)).problem


def test_a_channel_that_is_being_closed_confirms_nothing() -> None:
    platform, store = Platform([1], [1]), Store({1: [Problem(503, "unavailable", "closing")]})
    in_virtual_time(polled(platform, store))

    assert [1] == store.taken
    assert [None, None, 2] == platform.offsets


async def test_an_update_without_a_number_is_passed_over() -> None:
    async def fetch(offset: int | None) -> list[dict[str, Any]]:
        if offset is None and not taken:
            return [{}, {"update_id": "x"}, {"update_id": 4}]
        done.set()
        return await asyncio.Event().wait() or []

    async def take(update: Any) -> None:
        taken.append(update)

    taken: list[Any] = []
    done = asyncio.Event()
    poller = Poller(fetch=fetch, take=take, pulling=AlwaysOurs(), reconnect_s=1, name="acme")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(poller.run())
        await done.wait()
        running.cancel()

    assert 3 == len(taken)


def test_what_can_never_be_confirmed_is_not_asked_for_without_a_pause() -> None:
    """Hundreds of requests a second would be the other way (platform-facts 2.4)."""

    async def polling() -> tuple[int, str | None]:
        async def fetch(offset: int | None) -> list[dict[str, Any]]:
            calls.append(offset)
            return [{"update_id": "x"}]

        async def take(update: Any) -> None:
            await asyncio.sleep(0.001)

        calls: list[int | None] = []
        poller = Poller(fetch=fetch, take=take, pulling=AlwaysOurs(), reconnect_s=8, name="acme")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await poller.run()
        return len(calls), poller.problem

    count, problem = in_virtual_time(polling())
    assert 5 == count
    assert "without a number" in (problem or "")


def test_waits_grow_to_their_bound_and_begin_anew_after_success() -> None:
    """A 409 or an outage is not hammered at (aiogram/aiogram#1401)."""
    away = [Unreachable("409")] * 6
    platform = Platform(*away, [1], Unreachable("x"))
    in_virtual_time(polled(platform, Store()))

    assert [0, 0.5, 1.5, 3.5, 7.5, 15.5, 23.5, 23.5, 24] == platform.times


@pytest.mark.parametrize("wait_s", [3.0, 222.0])
def test_a_wait_that_the_platform_asks_for_is_kept(wait_s: float) -> None:
    """However long (scmanjarrez/EdgeGPT-Telegram-Bot#83)."""
    platform = Platform(Throttled("429", retry_after_s=wait_s))
    poller = in_virtual_time(polled(platform, Store()))

    assert [0, wait_s] == platform.times
    assert "429" == poller.problem


def test_a_fault_of_our_own_is_told_by_its_kind() -> None:
    platform = Platform(ValueError("what somebody said"))
    poller = in_virtual_time(polled(platform, Store()))

    assert "ValueError" == poller.problem


class Counted(AlwaysOurs):
    """Implements `Pulling`: ours for so many questions, and lets it through to another after so many failures in a row."""

    def __init__(self, *, ours: int = 1000, most: int = 1000) -> None:
        self.ours = ours
        self.most = most
        self.failures: list[int] = []

    def mine(self) -> bool:
        self.ours -= 1
        return self.ours >= 0

    def failed(self, times: int) -> None:
        self.failures.append(times)
        if times >= self.most:
            raise InterruptedError("another one's turn")


async def test_nothing_is_asked_for_any_more_once_it_is_another_one_s_to_ask() -> None:
    """One that wakes late takes nothing from who follows it: it looks before each call (platform-facts 2.2)."""
    platform = Platform([1], [2], [3])
    poller = Poller(fetch=platform.fetch, take=Store().take, pulling=Counted(ours=2), reconnect_s=8, name="acme")
    await poller.run()

    assert [None, 2] == platform.offsets


def test_a_platform_that_cannot_be_reached_from_here_is_left_to_others() -> None:
    """Failures in a row are told; what comes of it is not the poller's to say."""
    platform, pulling = Platform([1], *[Unreachable("away")] * 5), Counted(most=3)
    poller = Poller(fetch=platform.fetch, take=Store().take, pulling=pulling, reconnect_s=8, name="acme")
    with pytest.raises(InterruptedError):
        in_virtual_time(poller.run())

    assert [1, 2, 3] == pulling.failures


@pytest.mark.parametrize(
    "answer", [Contested("409"), Throttled("429", retry_after_s=1)], ids=lambda answer: type(answer).__name__
)
def test_a_platform_that_answers_has_been_reached(answer: Exception) -> None:
    """A 409 means to wait and to look whether it is still ours: another instance, late or new, was there in between."""
    platform, pulling = Platform(*[answer] * 5), Counted()
    in_virtual_time(polled(platform, Store(), pulling))

    assert [] == pulling.failures
