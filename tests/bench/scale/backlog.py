"""What those who write now feel of one conversation with thousands of messages waiting, and of thousands with one each.

A queue that looks past all that waits at every step gets slower for everybody; lanes should not (engines.md A.5).
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator

from tests.bench.consumption import server_cpu_s
from tests.bench.scale.cluster import percentile
from tests.bench.scale.queue import Queue, inboxes
from tests.bench.tables import Cell, Table, spread
from tests.services import Postgres, running_postgres

DEPTHS = (0, 3_000, 30_000)
PER_S, SECONDS, ROUNDS = 20, 15, 3
SLOW_S = 0.5


async def measure(quick: bool) -> AsyncIterator[Table]:
    depths, seconds, rounds = ((0, 500), 3, 1) if quick else (DEPTHS, SECONDS, ROUNDS)
    rows: list[list[Cell]] = []
    with running_postgres() as server:
        taken: dict[int, list[tuple[list[float], float]]] = {depth: [] for depth in depths}
        for _ in range(rounds):
            for depth in depths:
                taken[depth].append(await _beside(server, depth, seconds))
    none = statistics.median(percentile(waits, 50) for waits, _ in taken[0])
    for depth, each in taken.items():
        p50s = [percentile(waits, 50) for waits, _ in each]
        p99 = statistics.median(percentile(waits, 99) for waits, _ in each)
        cpu = statistics.median(share for _, share in each)
        rows.append([depth, spread(p50s), statistics.median(p50s) / none, p99, f"{cpu:.1%}"])
    yield Table(
        title=f"fresh lanes, {PER_S} messages a second, beside one lane with a deep backlog (put to start), {rounds} rounds",
        columns=(
            "waiting in the one lane",
            "p50 ms [least..most of the rounds]",
            "x of none",
            "p99 ms",
            "PostgreSQL's CPU, of a core",
        ),
        rows=rows,
        notes=(f"The one lane is worked on all the while, {SLOW_S} s a turn.",),
    )


async def _beside(server: Postgres, depth: int, seconds: int) -> tuple[list[float], float]:
    """Return each fresh message's wait in ms, and the share of a core that the server used."""
    with server.database() as url:
        async with inboxes(1, url) as opened:
            queue = Queue(opened, slow="deep", slow_s=SLOW_S)
            for first in range(0, depth, 1_000):
                await asyncio.gather(*(queue.put("deep") for _ in range(first, min(first + 1_000, depth))))
            async with queue.running():
                await queue.began(1 if depth else 0)
                cpu, began = server_cpu_s(server), time.perf_counter()
                lanes = (f"fresh-{number}" for number in range(PER_S * seconds))
                fresh = await queue.paced(lanes, per_s=PER_S)
                spent, cpu = time.perf_counter() - began, server_cpu_s(server) - cpu
                async with asyncio.timeout(30):
                    while not all(id_ in queue.started_at for id_ in fresh):
                        await queue.began(len(queue.started_at) + 1)
            return [queue.waited_ms(id_) for id_ in fresh], cpu / spent
