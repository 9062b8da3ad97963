"""What a platform asks one instance to wait, all wait: it asked the bot, whoever of us calls next.

Told to the other instances at once. One that does not hear of it (it has just started, or the word was lost) is asked by the
platform itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from gateway.hot.base import Bus
from gateway.pacing import Pacing

logger = logging.getLogger(__name__)

TOPIC = "held back"

LONGEST_S = 3_600.0
"""What adapters take for the longest wait that a platform asks for."""


class _Wait(msgspec.Struct, array_like=True):
    channel: str
    scope: str
    until_ms: int


class HeldBack:
    """Tells others what was asked of this instance, and lets `pacing` heed what they tell."""

    def __init__(self, pacing: Pacing, bus: Bus, *, clock: Callable[[], int]) -> None:
        """`clock` gives milliseconds, the same ones for all instances."""
        self._pacing = pacing
        self._bus = bus
        self._clock = clock

    def tell(self, channel: str, scope: str, seconds: float) -> None:
        """Say that nobody is to call within the channel's scope (as in `Pacing.block`) for so long."""
        until_ms = self._clock() + round(seconds * 1000)
        self._bus.say(TOPIC, msgspec.msgpack.encode(_Wait(channel, scope, until_ms)))

    async def follow(self) -> None:
        """Heed what is told, until cancelled."""
        async with self._bus.hear(TOPIC) as words:
            async for word in words:
                try:
                    wait = msgspec.msgpack.decode(word, type=_Wait)
                except msgspec.MsgspecError:
                    logger.warning("a wait of another version is not understood")
                    continue
                now, left_s = asyncio.get_running_loop().time(), (wait.until_ms - self._clock()) / 1000
                if 0 < left_s <= LONGEST_S:  # else it was heard too late, or by another clock
                    self._pacing.block(wait.channel, wait.scope, until=now + left_s, now=now)
