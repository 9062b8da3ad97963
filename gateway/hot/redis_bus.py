"""The bus over Redis, for any number of instances: published, never kept there. What Redis does not take goes another way."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from gateway.errors import StoreBusy
from gateway.hot.base import MOST_BODY
from gateway.hot.falling_back import REST_S
from gateway.hot.hearing import ProcessBus
from gateway.hot.redis import answering, open_redis
from gateway.hot.side_tasks import beside
from gateway.waits import happens

logger = logging.getLogger(__name__)

BEAT_S = 5.0
WORDS = 1_000
"""Words that wait to be said; the oldest are lost beyond that."""


class RedisBus:
    """Implements `Bus`. Topics are few and heard for long: another one begins the listening anew."""

    def __init__(
        self,
        url: str,
        *,
        heard: ProcessBus,
        otherwise: Callable[[str, bytes], None],
        timeout_s: float,
        beat_s: float = BEAT_S,
    ) -> None:
        """`heard` gets what comes in, and knows who hears it; `otherwise` is called with what Redis does not take; after
        `beat_s` of silence it is asked whether it is still there."""
        self._beat_s = beat_s
        self._url = url
        self._heard = heard
        self._otherwise = otherwise
        self._timeout_s = timeout_s
        self._line: deque[tuple[str, bytes]] = deque(maxlen=WORDS)
        self._waiting = asyncio.Event()
        self._wished = asyncio.Event()  # other topics than before
        self._listening: frozenset[str] = frozenset()
        self._listens = asyncio.Event()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[RedisBus]:
        """Listen and speak, until the end."""
        async with open_redis(self._url, timeout_s=self._timeout_s) as redis:
            prefix = f"clew:{redis.connection_pool.connection_kwargs.get('db') or 0}:bus:"  # one for all its databases
            async with beside(self._listen(redis, prefix), self._speak(redis, prefix), within_s=self._timeout_s):
                yield self

    def say(self, topic: str, body: bytes) -> None:
        """See `Bus.say`."""
        if len(body) <= MOST_BODY:
            self._line.append((topic, body))
            self._waiting.set()

    @asynccontextmanager
    async def hear(self, topic: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """See `Bus.hear`."""
        async with self._heard.hear(topic) as words:
            if topic not in self._listening:
                self._listens.clear()
                self._wished.set()
                await happens(self._listens, within_s=self._timeout_s)
            yield words

    async def _speak(self, redis: Redis, prefix: str) -> None:
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            words = [*self._line]
            self._line.clear()
            try:
                async with answering(self._timeout_s), redis.pipeline(transaction=False) as pipe:
                    for topic, body in words:
                        pipe.publish(prefix + topic, body)
                    heard = await pipe.execute()
            except StoreBusy as fault:
                logger.warning("hot state passed over", extra={"reason": str(fault), "rest_s": REST_S})
                await self._detour(words)
            else:
                for word, hearers in zip(words, heard, strict=True):
                    if not hearers:  # whoever it is for may be cut off from Redis alone
                        self._otherwise(*word)

    async def _detour(self, words: list[tuple[str, bytes]]) -> None:
        """Let the words go the other way, and for a while all that follow."""
        until = asyncio.get_running_loop().time() + REST_S
        while True:
            for word in words:
                self._otherwise(*word)
            left_s = until - asyncio.get_running_loop().time()
            if left_s <= 0 or not await happens(self._waiting, within_s=left_s):
                return
            self._waiting.clear()
            words = [*self._line]
            self._line.clear()

    async def _listen(self, redis: Redis, prefix: str) -> None:
        while True:
            self._wished.clear()
            topics = self._heard.topics
            try:
                async with asyncio.TaskGroup() as tasks:
                    following = tasks.create_task(self._follow(redis, topics, prefix), name="redis subscription")
                    await self._wished.wait()
                    following.cancel()
            except* (RedisError, OSError, TimeoutError) as faults:
                reason = type(faults.exceptions[0]).__name__
                logger.warning("other instances' words are not heard", extra={"reason": f"Redis: {reason}"})
                await happens(self._wished, within_s=REST_S)  # nothing tells when a server is back
            finally:
                self._listening = frozenset()

    async def _follow(self, redis: Redis, topics: frozenset[str], prefix: str) -> None:
        if not topics:
            return
        async with redis.pubsub() as pubsub:
            async with asyncio.timeout(self._timeout_s):
                await pubsub.subscribe(*(prefix + topic for topic in topics))
                confirmed = 0
                while confirmed < len(topics):
                    message = await pubsub.get_message(timeout=self._timeout_s)
                    confirmed += message is not None and message["type"] == "subscribe"
            self._listening = topics
            self._listens.set()
            while True:
                await self._take(pubsub, prefix)

    async def _take(self, pubsub: PubSub, prefix: str) -> None:
        """Hand on the next word; after a silence, the sign that somebody is there. Raises TimeoutError: nobody is."""
        message = await pubsub.get_message(timeout=self._beat_s)
        if message is None:
            async with asyncio.timeout(self._timeout_s):
                await pubsub.ping()
            message = await pubsub.get_message(timeout=self._timeout_s)
            if message is None:
                raise TimeoutError
        if message["type"] == "message":
            self._heard.say(message["channel"].decode().removeprefix(prefix), message["data"])
