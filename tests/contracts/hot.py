"""Hot state in every place it can be in, opened for the contracts; and servers to lose."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import pytest

from config.settings import DatabaseSettings, Settings
from gateway.hot.base import Bus, Hot, RateLimits, Shelf
from gateway.hot.falling_back import FallingBackLimits, FallingBackShelf, Places
from gateway.hot.hearing import ProcessBus
from gateway.hot.opening import open_hot
from gateway.hot.postgres import HotPool, PostgresLimits, PostgresShelf
from gateway.hot.postgres_bus import PostgresBus
from gateway.hot.process import ProcessRateLimits, ProcessShelf, ProcessStreams
from gateway.hot.redis import RedisLimits, RedisShelf, open_redis
from gateway.hot.redis_bus import RedisBus
from gateway.hot.streams import SharedStreams

PATIENT_S = 20.0
"""What a server on a busy machine gets; no test waits for it."""

Clock = Callable[[], float] | None
_first_ids = itertools.count(1_000_000, 1_000_000)  # of one process after the other
PLACES = ("process", "postgres", "postgres of tomorrow", "redis", "falling back")


@dataclass
class Where:
    """One place, and how instances open hot state in it. `alone`: what is kept there is one process's own."""

    name: str
    postgres: str
    redis: str

    @property
    def alone(self) -> bool:
        return self.name == "process"

    @asynccontextmanager
    async def opened(self, *, clock: Clock = None) -> AsyncIterator[Hot]:
        """Open it as one instance does. `clock` is what counts go by; None: the server's."""
        async with AsyncExitStack() as stack:
            match self.name:
                case "process":
                    bus: Bus = ProcessBus()
                    limits: RateLimits = ProcessRateLimits() if clock is None else ProcessRateLimits(clock=clock)
                    shelf: Shelf = ProcessShelf()
                case "postgres" | "postgres of tomorrow":
                    bus, limits, shelf = await self._postgres(stack, clock)
                case "redis":
                    bus, limits, shelf = await self._redis(stack, clock)
                case _:
                    redis = await self._redis(stack, clock)
                    postgres = await self._postgres(stack, clock)
                    bus = redis[0]
                    counts = {"redis": redis[1], "postgresql": postgres[1], "process": ProcessRateLimits()}
                    shelves = {"redis": redis[2], "postgresql": postgres[2], "process": ProcessShelf()}
                    limits, shelf = FallingBackLimits(Places(counts)), FallingBackShelf(Places(shelves))
            shared = SharedStreams(ProcessStreams(first_id=next(_first_ids)), bus, within_s=PATIENT_S)
            streams = await stack.enter_async_context(shared.opened())
            yield Hot(bus=bus, limits=limits, shelf=shelf, streams=streams)

    async def _postgres(self, stack: AsyncExitStack, clock: Clock) -> tuple[Bus, RateLimits, Shelf]:
        pool = await stack.enter_async_context(HotPool(self.postgres, timeout_s=PATIENT_S).opened())
        bus = PostgresBus(self.postgres, pool=pool, heard=ProcessBus(), timeout_s=PATIENT_S)
        await stack.enter_async_context(bus.opened())
        limits = await stack.enter_async_context(PostgresLimits(pool, clock=clock).opened())
        return bus, limits, PostgresShelf(pool)

    async def _redis(self, stack: AsyncExitStack, clock: Clock) -> tuple[Bus, RateLimits, Shelf]:
        client = await stack.enter_async_context(open_redis(self.redis, timeout_s=PATIENT_S))
        bus = RedisBus(self.redis, heard=ProcessBus(), otherwise=lambda topic, body: None, timeout_s=PATIENT_S)
        await stack.enter_async_context(bus.opened())
        return bus, RedisLimits(client, timeout_s=PATIENT_S, clock=clock), RedisShelf(client, timeout_s=PATIENT_S)


@pytest.fixture(params=PLACES)
def where(request: pytest.FixtureRequest) -> Where:
    """Each place in turn, with the servers that it needs."""
    urls = {"postgres": "postgres_url", "postgres of tomorrow": "tomorrows_url", "falling back": "postgres_url"}
    postgres = request.getfixturevalue(urls[request.param]) if request.param in urls else ""
    redis = request.getfixturevalue("redis_url") if request.param in ("redis", "falling back") else ""
    return Where(request.param, postgres, redis)


@asynccontextmanager
async def instances(where: Where, count: int, *, clock: Clock = None) -> AsyncIterator[Sequence[Hot]]:
    """Open hot state as so many instances do: of what is alone in its process, one's for all."""
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(where.opened(clock=clock)) for _ in range(1 if where.alone else count)
        ]
        yield opened * (count // len(opened))


def opened(storage: str, redis: str | None = None, *, shared_s: float = PATIENT_S) -> AbstractAsyncContextManager[Hot]:
    """Open hot state as a gateway with these settings does."""
    database = DatabaseSettings(shared_s=shared_s)
    return open_hot(Settings(storage=storage, redis=redis, database=database))
