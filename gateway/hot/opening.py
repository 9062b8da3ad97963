"""Opens hot state as the settings have it: the process's own, or shared over PostgreSQL, with Redis in front if there is one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from config.settings import Settings
from gateway.hot.base import Bus, Hot, RateLimits, Shelf
from gateway.hot.falling_back import FallingBackLimits, FallingBackShelf, Places
from gateway.hot.hearing import ProcessBus
from gateway.hot.process import ProcessRateLimits, ProcessShelf, ProcessStreams
from gateway.hot.streams import SharedStreams
from memory.ids import now_ms


@asynccontextmanager
async def open_hot(
    settings: Settings, *, passed_over: Callable[[str], None] = lambda place: None
) -> AsyncIterator[Hot]:
    """Open all parts, and close them at the end. Whatever is away, this does not fail: each goes on by the next best place. On
    PostgreSQL the queues have been opened before. `passed_over` hears the name of a place that is left alone for a while."""
    bus: Bus
    bus = heard = ProcessBus()
    limits: dict[str, RateLimits] = {"process": ProcessRateLimits()}
    shelves: dict[str, Shelf] = {"process": ProcessShelf()}
    async with AsyncExitStack() as stack:
        if not settings.storage.startswith("sqlite:"):
            from gateway.hot.postgres import HotPool, PostgresLimits, PostgresShelf
            from gateway.hot.postgres_bus import PostgresBus

            shared_s = settings.database.shared_s
            pool = await stack.enter_async_context(HotPool(settings.storage, timeout_s=shared_s).opened())
            bus = listening = PostgresBus(settings.storage, pool=pool, heard=heard, timeout_s=shared_s)
            await stack.enter_async_context(listening.opened())
            limits = {"postgresql": await stack.enter_async_context(PostgresLimits(pool).opened()), **limits}
            shelves = {"postgresql": PostgresShelf(pool), **shelves}
            if settings.redis is not None:
                from gateway.hot.redis import RedisLimits, RedisShelf, open_redis
                from gateway.hot.redis_bus import RedisBus

                redis = await stack.enter_async_context(open_redis(settings.redis, timeout_s=shared_s))
                calling = RedisBus(settings.redis, heard=heard, otherwise=listening.say, timeout_s=shared_s)
                bus = await stack.enter_async_context(calling.opened())
                limits = {"redis": RedisLimits(redis, timeout_s=shared_s), **limits}
                shelves = {"redis": RedisShelf(redis, timeout_s=shared_s), **shelves}
        # Greater than all numbers of the process before: no stream has a thousand events a millisecond.
        shared = SharedStreams(ProcessStreams(first_id=now_ms() * 1000), bus, within_s=settings.database.shared_s)
        streams = await stack.enter_async_context(shared.opened())
        yield Hot(
            bus=bus,
            limits=FallingBackLimits(Places(limits, passed_over=passed_over)),
            shelf=FallingBackShelf(Places(shelves, passed_over=passed_over)),
            streams=streams,
        )
