"""What waits for a topic's number to grow. Filled by a database that has looked, or was told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable


class Topics:
    """The numbers as this process knows them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._grown = asyncio.Event()

    def know(self, numbers: Iterable[tuple[str, int]]) -> None:
        """Take numbers over; whoever waits for one that has grown goes on."""
        new = dict(numbers)
        if any(number > self._numbers.get(topic, 0) for topic, number in new.items()):
            self._numbers |= new
            grown, self._grown = self._grown, asyncio.Event()
            grown.set()

    async def wait(self, topic: str, after: int) -> int:
        """Return the topic's number as soon as it is greater than `after`."""
        while self._numbers.get(topic, 0) <= after:
            await self._grown.wait()
        return self._numbers[topic]
