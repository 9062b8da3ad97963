"""Who hears what on the bus, within one process; by itself the bus of a gateway that is alone."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.hot.base import MOST_BODY

WORDS = 1_000
"""Words that wait for one hearer; the oldest are lost beyond that."""


class _Hearer:
    def __init__(self) -> None:
        self._words: deque[bytes] = deque(maxlen=WORDS)
        self._more = asyncio.Event()

    def put(self, body: bytes) -> None:
        self._words.append(body)
        self._more.set()

    async def words(self) -> AsyncIterator[bytes]:
        while True:
            while self._words:
                yield self._words.popleft()
            self._more.clear()
            await self._more.wait()


class ProcessBus:
    """Implements `Bus` for one process. Those for many hand it what comes in."""

    def __init__(self) -> None:
        self._hearers: dict[str, set[_Hearer]] = {}

    @property
    def topics(self) -> frozenset[str]:
        """What is heard here."""
        return frozenset(self._hearers)

    def say(self, topic: str, body: bytes) -> None:
        """See `Bus.say`."""
        if len(body) <= MOST_BODY:
            for hearer in self._hearers.get(topic, ()):
                hearer.put(body)

    @asynccontextmanager
    async def hear(self, topic: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """See `Bus.hear`."""
        hearer = _Hearer()
        self._hearers.setdefault(topic, set()).add(hearer)
        try:
            yield hearer.words()
        finally:
            hearers = self._hearers[topic]
            hearers.discard(hearer)
            if not hearers:
                del self._hearers[topic]
