"""Budgets that go on whoever sends, as far as the outbox tells of it."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
import pytest

from adapters.base import Address, Call, Rate
from gateway.errors import StoreBusy
from gateway.inbox.base import Sent
from gateway.pacing import Pacing
from gateway.sent_before import recall

NOW_MS = 1_780_000_000_000
ANN = msgspec.msgpack.encode(Address(channel="c", room="安"))


class Budgeted:
    """Two sends a minute in a room, five edits in all."""

    def rates(self, address: Address, call: Call) -> tuple[Rate, ...]:
        if call == "edit":
            return (Rate(scope="edits", count=5, per_s=60),)
        return (Rate(scope=address.room, count=4, per_s=60),)


class Known:
    """An outbox that knows of these calls, or is away."""

    def __init__(self, *calls: Sent, away: bool = False) -> None:
        self._calls, self._away = calls, away

    async def recent(self, channel: str, *, since_ms: int) -> list[Sent]:
        assert ("c", NOW_MS - 60_000) == (channel, since_ms)
        if self._away:
            raise StoreBusy("away", retry_after_s=1)
        return list(self._calls)


class Channels:
    def __init__(self, adapter: object) -> None:
        self._adapter = adapter

    def made(self, name: str) -> Any:
        return self._adapter


async def left(pacing: Pacing, address: str, call: Call = "send") -> int:
    """How many calls the budget bears now."""
    rates, now = Budgeted().rates(Address(channel="c", room=address), call), asyncio.get_running_loop().time()
    count = 0
    while pacing.turn_at("c", f"{address} {call} {count}", rates, now=now) <= now:
        count += 1
    return count


async def recalled(*calls: Sent, away: bool = False, adapter: object = None) -> Pacing:
    pacing = Pacing()
    await recall(
        "c",
        outbox=cast("Any", Known(*calls, away=away)),
        channels=Channels(adapter or Budgeted()),
        pacing=pacing,
        clock_ms=lambda: NOW_MS,
    )
    return pacing


async def test_calls_count_in_the_budgets_they_were_of() -> None:
    """One that may be under way counts as made now; one of somebody who was erased since, in none; a clock behind the other's
    makes no call of the future."""
    pacing = await recalled(
        Sent(address=ANN, edit=False, at_ms=NOW_MS + 9_000),
        Sent(address=ANN, edit=True, at_ms=None),
        Sent(address=b"", edit=False, at_ms=NOW_MS),
    )

    assert 1 == await left(pacing, "安"), "of four, one was sent, and two may have been shown"
    assert 2 == await left(pacing, "another")
    assert 1 == await left(pacing, "安", "edit")


@pytest.mark.parametrize(("away", "adapter"), [(True, None), (False, None), (False, object())])
async def test_where_nothing_is_known_the_whole_budget_is_there(*, away: bool, adapter: object) -> None:
    """Nothing was sent, or none can tell now: nobody waits for that."""
    calls = () if adapter is None else (Sent(address=ANN, edit=False, at_ms=NOW_MS),)
    pacing = await recalled(*calls, away=away, adapter=adapter)

    assert 4 == await left(pacing, "安")
