"""How a Redis is asked: quickly or not at all. Shared by the windows kept there and the gateway's hot state."""

from __future__ import annotations

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

CONNECTIONS = 20


def redis_client(url: str, *, timeout_s: float) -> Redis:
    """Return a client that connects when it is first used. `timeout_s` bounds each wait of a call: for one of its connections, to
    connect, for the answer. Nothing is tried twice."""
    return Redis(
        connection_pool=BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=timeout_s,
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
    )
