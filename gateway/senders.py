"""Who sends a channel's replies where many could: one instance each channel whose platform has budgets, under a lease.

A budget that one process keeps is exact, and a platform's wish to wait is heard by the one who sends. Channels without budgets
are sent from everywhere. What is shown while an answer is made comes from where it is made, so it gets a share of the budget,
which the sender leaves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NoReturn, Protocol

import msgspec

from adapters.base import Adapter, Paced, Rate
from gateway.leases import Held, Leases

logger = logging.getLogger(__name__)

KIND = "send"
"""The kind of these leases."""


class Shares(Protocol):
    """What this instance may use of a channel's budgets, and which channels others send."""

    def elsewhere(self) -> frozenset[str]:
        """Return the channels whose replies this instance does not send."""
        ...

    def down(self, channel: str) -> None:
        """Hear that a channel which is to be sent here does not run here: another instance may do better."""
        ...

    def to_send(self, rates: Sequence[Rate]) -> tuple[Rate, ...]:
        """Return what the sender may use of budgets."""
        ...

    def to_show(self, channel: str, rates: Sequence[Rate]) -> tuple[Rate, ...] | None:
        """Return what may be used of a channel's budgets for what is shown here; None: nothing."""
        ...


class Alone:
    """Implements `Shares` where nobody else is."""

    def elsewhere(self) -> frozenset[str]:
        return frozenset()

    def down(self, channel: str) -> None:
        """Nobody else can do better."""

    def to_send(self, rates: Sequence[Rate]) -> tuple[Rate, ...]:
        return tuple(rates)

    def to_show(self, channel: str, rates: Sequence[Rate]) -> tuple[Rate, ...] | None:
        return tuple(rates)


ALONE: Final = Alone()


class Channels(Protocol):
    """The channels of the settings (`gateway/live.py`)."""

    def channels(self) -> Mapping[str, str | None]:
        """Return them, by name."""
        ...

    def made(self, name: str) -> Adapter | None:
        """Return a channel's adapter."""
        ...

    async def applied(self) -> None:
        """Wait for the next change of settings to be in force."""
        ...


class Senders:
    """Implements `Shares`; `run` holds the leases of the channels there are."""

    def __init__(self, leases: Leases, channels: Channels, *, changed: Callable[[], None]) -> None:
        """`changed` is called when another channel's replies are to be sent here."""
        self._leases = leases
        self._channels = channels
        self._changed = changed
        self._held: dict[str, Held] = {}
        self._down: dict[str, asyncio.Event] = {}

    async def run(self) -> NoReturn:
        """Hold what can be had, until cancelled. Raises what the leases raise."""
        async with asyncio.TaskGroup() as tasks:
            holding: dict[str, asyncio.Task[NoReturn]] = {}
            while True:
                paced = self._paced()
                for name in holding.keys() - paced:
                    holding.pop(name).cancel()
                for name in paced - holding.keys():
                    hold = self._leases.hold(f"{KIND}:{name}", partial(self._hold, name))
                    holding[name] = tasks.create_task(hold, name=f"sender {name}")
                await self._channels.applied()

    async def _hold(self, name: str, held: Held) -> None:
        self._held[name], self._down[name] = held, asyncio.Event()
        logger.info("channel is sent from here", extra={"channel": name, "fence": held.fence})
        self._changed()
        try:
            await self._down[name].wait()
        finally:
            del self._held[name], self._down[name]

    def elsewhere(self) -> frozenset[str]:
        """See `Shares.elsewhere`."""
        return frozenset(name for name in self._paced() if not self._sends(name))

    def down(self, channel: str) -> None:
        """See `Shares.down`."""
        down = self._down.get(channel)
        if down is not None and self._leases.live > 1:
            logger.warning("sending is handed on", extra={"channel": channel})
            down.set()

    def to_send(self, rates: Sequence[Rate]) -> tuple[Rate, ...]:
        """See `Shares.to_send`."""
        return tuple(left_by_shows(rate, instances=self._leases.live) for rate in rates)

    def to_show(self, channel: str, rates: Sequence[Rate]) -> tuple[Rate, ...] | None:
        """See `Shares.to_show`."""
        if channel not in self.elsewhere():
            return self.to_send(rates)
        shared = [shown_by_one(rate, instances=self._leases.live) for rate in rates]
        return tuple(shared) if all(rate.count for rate in shared) else None

    def _paced(self) -> frozenset[str]:
        return frozenset(name for name in self._channels.channels() if isinstance(self._channels.made(name), Paced))

    def _sends(self, name: str) -> bool:
        held = self._held.get(name)
        return held is not None and held.valid()


def shown_by_one(rate: Rate, *, instances: int) -> Rate:
    """Return what an instance that does not send may use for showing: of thirty among three, ten, half of which `Pacing.spare`
    gives away."""
    return msgspec.structs.replace(rate, count=rate.count // instances)


def left_by_shows(rate: Rate, *, instances: int) -> Rate:
    """Return what the sender may use, so that with what others show it is no more than there is: of thirty among three, twenty.
    In a room only one of them shows anything at a time."""
    shown = (rate.count // instances + 1) // 2 if rate.count >= instances else 0
    others = min(instances - 1, 1) if rate.of_room else instances - 1
    return msgspec.structs.replace(rate, count=max(rate.count - others * shown, 1))
