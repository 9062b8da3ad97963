"""Counts and shelf in Redis, for any number of instances: one script a count, by the server's clock.

Emptied or started anew it has counted nothing yet; whatever it does not answer in time is `StoreBusy`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from gateway.errors import StoreBusy
from gateway.hot.base import MINUTE_S
from gateway.hot.process import small
from memory.redis_client import redis_client

RETRY_AFTER_S = 1.0

COUNTS: Final = "clew:count:"
SHELF: Final = "clew:shelf:"

# As `counting.at` and `counting.room`; returns the room before the acts, of which as many are counted as it has.
_TAKE = """
local now = tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] + time[2] / 1000000
end
local acts, most, within = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.call('HMGET', KEYS[1], 'at', 'count', 'before')
local count, before = 0, 0
if kept[1] then
  local passed = math.floor(now / within) - math.floor(tonumber(kept[1]) / within)
  if passed == 0 then
    count, before = tonumber(kept[2]), tonumber(kept[3])
  elseif passed == 1 then
    before = tonumber(kept[2])
  end
end
local share = 1 - (now / within - math.floor(now / within))
local room = math.max(0, most - count - math.ceil(before * share))
if acts > 0 then
  count = count + math.min(acts, room)
  redis.call('HSET', KEYS[1], 'at', string.format('%.6f', now), 'count', count, 'before', before)
  redis.call('PEXPIRE', KEYS[1], math.ceil(within * 2000))
end
return room
"""

_GIVE_BACK = """
for _, field in ipairs({'count', 'before'}) do
  if tonumber(redis.call('HGET', KEYS[1], field) or 0) > 0 then
    return redis.call('HINCRBY', KEYS[1], field, -1)
  end
end
"""


@asynccontextmanager
async def open_redis(url: str, *, timeout_s: float) -> AsyncIterator[Redis]:
    """Give a client that connects when it is first used; each call has `timeout_s`."""
    client = redis_client(url, timeout_s=timeout_s)
    try:
        yield client
    finally:
        await client.aclose(close_connection_pool=True)


class RedisLimits:
    """Implements `RateLimits`."""

    def __init__(self, redis: Redis, *, timeout_s: float, clock: Callable[[], float] | None = None) -> None:
        """`clock` in seconds; None: the server's."""
        self._timeout_s = timeout_s
        self._clock = clock
        self._redis = redis
        self._count = redis.register_script(_TAKE)
        self._less = redis.register_script(_GIVE_BACK)

    async def take(self, who: str, *, most: int, within_s: float = MINUTE_S) -> bool:
        """See `RateLimits.take`."""
        return await self._room(who, 1, most=most, within_s=within_s) > 0

    async def free(self, who: str, *, most: int, within_s: float = MINUTE_S) -> bool:
        """See `RateLimits.free`."""
        return await self._room(who, 0, most=most, within_s=within_s) > 0

    async def _room(self, who: str, acts: int, *, most: int, within_s: float) -> int:
        now = "" if self._clock is None else f"{self._clock():.6f}"
        async with answering(self._timeout_s):
            return int(cast("int", await self._count(keys=[_named(COUNTS, who)], args=[acts, most, within_s, now])))

    async def give_back(self, who: str) -> None:
        """See `RateLimits.give_back`."""
        async with answering(self._timeout_s):
            await self._less(keys=[_named(COUNTS, who)])

    async def reset(self, who: str) -> None:
        """See `RateLimits.reset`."""
        async with answering(self._timeout_s):
            await self._redis.delete(_named(COUNTS, who))


class RedisShelf:
    """Implements `Shelf`."""

    def __init__(self, redis: Redis, *, timeout_s: float) -> None:
        self._redis = redis
        self._timeout_s = timeout_s

    async def put(self, key: str, value: bytes, *, life_s: float) -> None:
        """See `Shelf.put`."""
        async with answering(self._timeout_s):
            await self._redis.set(_named(SHELF, key), small(value), px=max(1, round(life_s * 1000)))

    async def get(self, key: str) -> bytes | None:
        """See `Shelf.get`."""
        async with answering(self._timeout_s):
            value = await self._redis.get(_named(SHELF, key))
        return value if isinstance(value, bytes) else None


@asynccontextmanager
async def answering(timeout_s: float) -> AsyncIterator[None]:
    """Raise `StoreBusy` for whatever keeps Redis from answering in time."""
    with _translated():
        async with asyncio.timeout(timeout_s):
            yield


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError, TimeoutError) as exc:
        raise StoreBusy(f"Redis: {type(exc).__name__}", retry_after_s=RETRY_AFTER_S) from exc


def _named(prefix: str, name: str) -> str:
    """Names of people stand in no key: who lists keys learns none."""
    return prefix + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
