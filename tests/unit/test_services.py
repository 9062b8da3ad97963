"""The services that the tests stand on are real."""

from __future__ import annotations

import psycopg
import redis


def test_postgres_is_real(postgres_url: str) -> None:
    """A fresh database answers, with the vector extension at hand."""
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'").fetchone()

    assert row == (1,)


def test_redis_is_real(redis_url: str) -> None:
    """The Redis-protocol server answers."""
    with redis.Redis.from_url(redis_url) as client:
        assert client.ping()
