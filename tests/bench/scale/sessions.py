"""Sessions of PostgreSQL that a gateway holds, by `database.pool`: how many under load, what each weighs, what fewer cost.

A hundred gateways share one server's `max_connections`; what a smaller pool takes from a turn decides how many go on one.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator

from tests.bench.consumption import cpu_s, server_anonymous_mb, server_cpu_s
from tests.bench.scale.cluster import Helper, connections, gateways, helper, learned, model, percentile
from tests.bench.scale.driver import Load
from tests.bench.tables import Cell, Table, spread
from tests.services import Postgres, running_postgres

POOLS = (10, 4, 2)
IN_FLIGHT, CONVERSATIONS, TURNS, ROUNDS = 50, 400, 1_000, 3


async def measure(quick: bool) -> AsyncIterator[Table]:
    pools, turns, rounds = ((10, 2), 100, 1) if quick else (POOLS, TURNS, ROUNDS)
    taken: dict[int, list[list[float]]] = {pool: [] for pool in pools}
    with running_postgres() as server:
        bare = server_anonymous_mb(server)
        async with model() as (url, _), helper("tests.bench.scale.driver") as driver:
            for _ in range(rounds):
                for pool in pools:
                    taken[pool].append(await _round(server, pool, url, driver, turns, bare))
    rows: list[list[Cell]] = []
    for pool, each in taken.items():
        columns = [list(column) for column in zip(*each, strict=True)]
        rows.append([pool, *(spread(column) for column in columns[:3]), *map(statistics.median, columns[3:])])
    yield Table(
        title=f"one gateway, {IN_FLIGHT} webhook turns in flight, by `database.pool` (median of {rounds} [least..most])",
        columns=(
            "database.pool", "turns/s", "p99 ms", "CPU ms a turn, with PostgreSQL's", "most sessions", "when idle again",
            "PostgreSQL's MB a session", "lost",
        ),
        rows=rows,
        notes=("A session's memory is its process's own, without what all share, after some hundred turns.",),
        raw=taken,
    )  # fmt: skip


async def _round(server: Postgres, pool: int, url: str, driver: Helper, turns: int, bare_mb: float) -> list[float]:
    more = f"database: {{pool: {pool}}}"
    with server.database() as storage:
        async with gateways(1, storages=storage, model_url=url, more=more) as (gateway,):

            def load(name: str, turns: int) -> Load:
                name += str(time.monotonic_ns())
                return Load(
                    urls=[gateway.url], turns=turns, in_flight=IN_FLIGHT, conversations=CONVERSATIONS, name=name
                )

            await driver.drive(load("warm", turns // 5))
            await learned(storage)
            cpu, most = cpu_s(gateway.pid) + server_cpu_s(server), 0
            driving = asyncio.create_task(driver.drive(load("load", turns)))
            while not driving.done():
                most = max(most, await asyncio.to_thread(connections, server, storage))
                await asyncio.wait({driving}, timeout=0.5)
            went = driving.result()
            await learned(storage)
            cpu = cpu_s(gateway.pid) + server_cpu_s(server) - cpu
            after = connections(server, storage)
            weight = (server_anonymous_mb(server) - bare_mb) / after
            return [
                turns / went.seconds, percentile(went.times_ms, 99), cpu * 1000 / turns, most, after, weight, went.lost
            ]  # fmt: skip
