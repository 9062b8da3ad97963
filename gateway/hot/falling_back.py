"""From one place of hot state to the next: what fails is left alone for a while, and the last never does.

Counts begin anew where they fall to, so a place that is lost costs a minute of generosity; values stand in all places that took
them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

from gateway.errors import StoreBusy
from gateway.hot.base import MINUTE_S, RateLimits, Shelf

logger = logging.getLogger(__name__)

REST_S = 5.0
"""How long what failed is left alone, so that one that hangs does not cost everybody its time."""

Place = TypeVar("Place")
Answer = TypeVar("Answer")


class Places(Generic[Place]):
    """Where something may be asked, by name, best first."""

    def __init__(
        self,
        places: Mapping[str, Place],
        *,
        passed_over: Callable[[str], None] = lambda place: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`passed_over` hears the name of a place that is left alone from then on, for a while."""
        self._places = places
        self._passed_over = passed_over
        self._clock = clock
        self._resting_until = dict.fromkeys(places, 0.0)

    async def first(self, ask: Callable[[Place], Awaitable[Answer]]) -> Answer:
        """Return the answer of the first place that has one. Raises what the last one raises."""
        *others, last = self._places
        for name in others:
            if self._clock() < self._resting_until[name]:
                continue
            try:
                return await ask(self._places[name])
            except StoreBusy as fault:
                self._rests(name, fault)
        return await ask(self._places[last])

    async def all(self, ask: Callable[[Place], Awaitable[Answer]]) -> Sequence[Answer]:
        """Return the answers of all that have one, best place first."""
        awake = [name for name in self._places if self._clock() >= self._resting_until[name]]
        answers = await asyncio.gather(*(ask(self._places[name]) for name in awake), return_exceptions=True)
        for name, answer in zip(awake, answers, strict=True):
            if isinstance(answer, StoreBusy):
                self._rests(name, answer)
            elif isinstance(answer, BaseException):
                raise answer
        return [answer for answer in answers if not isinstance(answer, BaseException)]

    def _rests(self, name: str, fault: StoreBusy) -> None:
        if self._clock() >= self._resting_until[name]:  # once for all who were asking
            self._passed_over(name)
        self._resting_until[name] = self._clock() + REST_S
        logger.warning("hot state passed over", extra={"reason": str(fault), "rest_s": REST_S})


class FallingBackLimits:
    """Implements `RateLimits` over several."""

    def __init__(self, places: Places[RateLimits]) -> None:
        self._places = places

    async def take(self, who: str, *, most: int, within_s: float = MINUTE_S) -> bool:
        """See `RateLimits.take`."""
        return await self._places.first(lambda limits: limits.take(who, most=most, within_s=within_s))

    async def free(self, who: str, *, most: int, within_s: float = MINUTE_S) -> bool:
        """See `RateLimits.free`."""
        return await self._places.first(lambda limits: limits.free(who, most=most, within_s=within_s))

    async def give_back(self, who: str) -> None:
        """See `RateLimits.give_back`."""
        await self._places.first(lambda limits: limits.give_back(who))

    async def reset(self, who: str) -> None:
        """See `RateLimits.reset`."""
        await self._places.all(lambda limits: limits.reset(who))


class FallingBackShelf:
    """Implements `Shelf` over several."""

    def __init__(self, places: Places[Shelf]) -> None:
        self._places = places

    async def put(self, key: str, value: bytes, *, life_s: float) -> None:
        """See `Shelf.put`."""
        await self._places.all(lambda shelf: shelf.put(key, value, life_s=life_s))

    async def get(self, key: str) -> bytes | None:
        """See `Shelf.get`."""
        found = await self._places.all(lambda shelf: shelf.get(key))
        return next((value for value in found if value is not None), None)
