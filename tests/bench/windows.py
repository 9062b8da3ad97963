"""What Redis in front of PostgreSQL saves and costs a turn, by the length of the window (memory/stores/redis.py)."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from pathlib import Path

import msgspec
from redis.asyncio import Redis

from memory.base import Load, Owner, Store
from memory.ids import Ids
from memory.stores.postgres import PostgresStore
from memory.stores.redis import Kept, RedisCache
from tests.bench.stores import NOW, SESSION, conversation_turn
from tests.bench.stores_postgres import Analyzed, database
from tests.services import Postgres, Valkey

PAGES = (24, 40, 100, 200)
TURNS = 500
ROUNDS = 3


def measure_windows(postgres: Postgres, valkey: Valkey) -> str:
    """Return a line for each length: a turn's first statement, and the CPU of a whole turn, here and in the database."""
    return asyncio.run(_measure(postgres, valkey))


async def _measure(postgres: Postgres, valkey: Valkey) -> str:
    lines = ["windows in Redis, a turn: append + load p50 ms, gateway's CPU ms, database's CPU ms"]
    async with (
        database(postgres) as (url, connection),
        PostgresStore(url, ids=Ids(1), pool_size=4, timeout_s=5) as store,
        RedisCache(store, valkey.url, ttl_s=3600, timeout_s=1, worth=0) as cache,
    ):
        filled = Analyzed(store, connection)
        await filled.fill(10_000)
        stores: dict[str, Store] = {"without": store, "with": cache}
        first = 10**9
        for page in PAGES:
            figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in stores}
            for _ in range(ROUNDS):
                for name, measured in stores.items():
                    figures[name].append(await _turns(measured, filled.scope_id, postgres, page=page, first=first))
                    first += TURNS
            for name, rounds in figures.items():
                wall, ours, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
                lines.append(f"  {page:4} messages, {name:8} {wall:.3f}, {ours:.3f}, {theirs:.3f}")
        lines.append("reading one window that is kept: p50 ms here, by a bare pipeline and decoder, ratio (M3)")
        for page in PAGES:
            await _turns(cache, filled.scope_id, postgres, page=page, first=first)
            first += TURNS
            ours, bare = await _reads(cache, valkey, filled.scope_id)
            lines.append(f"  {page:4} messages: {ours:.3f}, {bare:.3f}, {ours / bare:.2f}x")
    return "\n".join(lines)


async def _reads(cache: RedisCache, valkey: Valkey, scope_id: int) -> tuple[float, float]:
    """Return the p50 in ms of reading the scope's kept window our way, and with redis-py's own pipeline; taken in turns."""
    figures: tuple[list[float], list[float]] = ([], [])
    async with Redis.from_url(valkey.url) as bare:
        (key,) = [key async for key in bare.scan_iter(f"*:{scope_id}")]
        for _ in range(2 * TURNS):
            began = time.perf_counter()
            assert await cache.kept(scope_id) is not None
            between = time.perf_counter()
            pipeline = bare.pipeline(transaction=False)
            pipeline.getex(key, px=3_600_000)
            (body,) = await pipeline.execute()
            assert msgspec.msgpack.decode(body, type=Kept).messages
            ended = time.perf_counter()
            figures[0].append((between - began) * 1000)
            figures[1].append((ended - between) * 1000)
    return statistics.median(figures[0]), statistics.median(figures[1])


async def _turns(
    store: Store, scope_id: int, postgres: Postgres, *, page: int, first: int
) -> tuple[float, float, float]:
    owner = Owner(scope_id=scope_id, person_id=7, namespace="shared", chat_type="private")
    wish = Load(owner=owner, now_ms=NOW, page=page, profile=3)
    walls = []
    ours, theirs = time.process_time(), _cpu_s(postgres)
    for turn in range(first, first + TURNS):
        question, reply = conversation_turn(turn)
        began = time.perf_counter()
        loaded = await store.append_and_load(scope_id, [question], wish, turn_id=turn, session=SESSION, fence=1)
        walls.append((time.perf_counter() - began) * 1000)
        assert page == len(loaded.window)
        await store.append(scope_id, [reply], turn_id=turn, session=SESSION, now_ms=NOW, fence=1)
    ours, theirs = time.process_time() - ours, _cpu_s(postgres) - theirs
    return statistics.median(walls), ours * 1000 / TURNS, theirs * 1000 / TURNS


def _cpu_s(postgres: Postgres) -> float:
    """Return the CPU seconds of the server's processes so far."""
    server = (postgres.folder / "data" / "postmaster.pid").read_text().split()[0]
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended meanwhile
            continue
        if fields[1] == server:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
