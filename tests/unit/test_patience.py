"""When other instances are told of new work (gateway/inbox/patience.py)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gateway.inbox.patience import Patience
from tests.virtual_time import in_virtual_time

WAIT_S = 1.0
Play = Callable[[Patience], Awaitable[None]]


def told(play: Play) -> list[float]:
    """When the others were told, in seconds from the start."""
    moments: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        patience = Patience(lambda: moments.append(round(loop.time() - began, 3)), wait_s=WAIT_S)
        await play(patience)
        await asyncio.sleep(10)
        patience.close()

    in_virtual_time(main())
    return moments


def test_what_is_taken_up_here_is_told_to_nobody() -> None:
    async def play(patience: Patience) -> None:
        for number in range(20):
            patience.put([f"lane-{number}"])
            await asyncio.sleep(0.3)
            patience.taken([f"lane-{number}", "another"])

    assert [] == told(play)


def test_what_is_left_is_told_once_after_a_moment() -> None:
    """However much of it there is: the others look at all that is there."""

    async def play(patience: Patience) -> None:
        patience.put(["a", "b", "c"])
        patience.taken(["b"])

    assert [2.0] == told(play)


def test_each_is_given_its_own_moment() -> None:
    """One that came just before others are told is not told with those, if it is taken up in time."""

    async def play(patience: Patience) -> None:
        patience.put(["left"])
        await asyncio.sleep(1.9)
        patience.put(["quick"])
        await asyncio.sleep(0.3)
        patience.taken(["quick"])

    assert [2.0] == told(play)


def test_a_full_instance_tells_again_and_again_but_not_at_every_message() -> None:
    async def play(patience: Patience) -> None:
        for number in range(100):
            patience.put([f"lane-{number}"])
            await asyncio.sleep(0.1)

    assert [float(second) for second in range(2, 12)] == pytest.approx(told(play), abs=0.2)


def test_nothing_is_told_after_the_end() -> None:
    moments: list[str] = []

    async def main() -> None:
        patience = Patience(lambda: moments.append("told"), wait_s=WAIT_S)
        patience.put(["lane"])
        patience.close()
        await asyncio.sleep(10)

    in_virtual_time(main())

    assert [] == moments
