"""Who sends a channel's replies where many could: one instance each channel whose platform has budgets, under a lease.

A budget that one process keeps is exact, and a platform's wish to wait is heard by the one who sends. Channels without budgets
are sent from everywhere. What is shown while an answer is made comes from where it is made, so it gets a share of the budget,
which the sender leaves. Who can't reach the platform lets another try.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NoReturn, Protocol

import msgspec

from adapters.base import Adapter, Paced, Rate
from gateway.leases import Held, Leases
from gateway.waits import retry_wait_s

logger = logging.getLogger(__name__)

KIND = "send"
"""The kind of these leases."""

FAILING_S = 1.0
"""Seconds in which nothing has got through from here, after which another instance, if there is one, may do better: it is this
machine's way that is broken. No longer, as each of these sends may be one that is never made again. Doubling with each time that
this was tried and did not help, as it is the platform then."""


class Shares(Protocol):
    """What this instance may use of a channel's budgets, and which channels others send."""

    def elsewhere(self) -> frozenset[str]:
        """Return the channels whose replies this instance does not send."""
        ...

    def down(self, channel: str) -> None:
        """Hear that a channel which is to be sent here does not run here: another instance may do better."""
        ...

    def reached(self, channel: str) -> None:
        """Hear that the channel's platform has answered, whatever it said."""
        ...

    def unreached(self, channel: str) -> None:
        """Hear that the channel's platform has not answered: if none does for a while, another instance may do better."""
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

    def reached(self, channel: str) -> None:
        """Nobody else asks."""

    def unreached(self, channel: str) -> None:
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


@dataclass(eq=False, slots=True)
class _Sending:
    """A channel while it is sent from here, since then; times are the loop's. `failing_since`: nothing has got through."""

    held: Held
    since: float
    failing_since: float | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Senders:
    """Implements `Shares`; `run` holds the leases of the channels there are."""

    def __init__(
        self,
        leases: Leases,
        channels: Channels,
        *,
        recall: Callable[[str], Awaitable[None]],
        changed: Callable[[], None],
    ) -> None:
        """`recall` is told the channel whose replies are to be sent here, where somebody else has sent them; then `changed` is
        called."""
        self._leases = leases
        self._channels = channels
        self._recall = recall
        self._changed = changed
        self._sending: dict[str, _Sending] = {}
        self._fences: dict[str, int] = {}  # of the last time that a channel was sent from here
        self._handed_on: dict[str, int] = {}  # times since something got through

    async def run(self) -> NoReturn:
        """Hold what can be had, until cancelled. Raises what the leases raise."""
        async with asyncio.TaskGroup() as tasks:
            holding: dict[str, asyncio.Task[NoReturn]] = {}
            while True:
                paced = self._paced()
                for name in holding.keys() - paced:
                    holding.pop(name).cancel()
                    self._fences.pop(name, None)
                    self._handed_on.pop(name, None)
                for name in paced - holding.keys():
                    hold = self._leases.hold(f"{KIND}:{name}", partial(self._hold, name))
                    holding[name] = tasks.create_task(hold, name=f"sender {name}")
                await self._channels.applied()

    async def _hold(self, name: str, held: Held) -> None:
        if held.fence != self._fences.get(name, -1) + 1:
            await self._recall(name)
        self._fences[name] = held.fence
        sending = self._sending[name] = _Sending(held, since=_now())
        logger.info("channel is sent from here", extra={"channel": name, "fence": held.fence})
        self._changed()
        try:
            await sending.over.wait()
        finally:
            del self._sending[name]

    def elsewhere(self) -> frozenset[str]:
        """See `Shares.elsewhere`."""
        return frozenset(name for name in self._paced() if not self._sends(name))

    def sending(self) -> dict[str, bool]:
        """Return the channels that one instance sends, and whether it is this one."""
        return {name: self._sends(name) for name in self._paced()}

    def down(self, channel: str) -> None:
        """See `Shares.down`."""
        sending, times = self._sending.get(channel), self._handed_on.get(channel, 0)
        if sending is not None:
            self._fails(channel, sending, since=sending.since, within_s=_patience_s(times) if times else 0.0)

    def reached(self, channel: str) -> None:
        """See `Shares.reached`."""
        self._handed_on.pop(channel, None)
        if (sending := self._sending.get(channel)) is not None:
            sending.failing_since = None

    def unreached(self, channel: str) -> None:
        """See `Shares.unreached`."""
        if (sending := self._sending.get(channel)) is None:
            return
        if sending.failing_since is None:
            sending.failing_since = _now()
        within_s = _patience_s(self._handed_on.get(channel, 0) + 1)
        self._fails(channel, sending, since=sending.failing_since, within_s=within_s)

    def _fails(self, channel: str, sending: _Sending, *, since: float, within_s: float) -> None:
        if self._leases.live > 1 and not sending.over.is_set() and _now() - since >= within_s:
            logger.warning("sending is handed on", extra={"channel": channel})
            self._handed_on[channel] = self._handed_on.get(channel, 0) + 1
            sending.over.set()

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
        sending = self._sending.get(name)
        return sending is not None and sending.held.valid()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _patience_s(times: int) -> float:
    return retry_wait_s(times, first_s=FAILING_S)


def shown_by_one(rate: Rate, *, instances: int) -> Rate:
    """Return what an instance that does not send may use for showing: of thirty among three, ten, half of which `Pacing.spare`
    gives away."""
    return msgspec.structs.replace(rate, count=rate.count // instances)


def left_by_shows(rate: Rate, *, instances: int) -> Rate:
    """Return what the sender may use, so that with what others show it is no more than there is: of thirty among three, twenty.
    Where one conversation goes on at a time only one of them shows anything."""
    shown = (rate.count // instances + 1) // 2 if rate.count >= instances else 0
    others = min(instances - 1, 1) if rate.of_room else instances - 1
    return msgspec.structs.replace(rate, count=max(rate.count - others * shown, 1))
