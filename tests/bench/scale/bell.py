"""What it costs that instances wake each other: 1 to 32 bare queues on one PostgreSQL, no gateway around them.

A step towards many machines that fits on one. Messages come in at one instance, at a fixed rate; whoever claims one ends it. Then
all of them idle: the look of each, each second, reads the rows and locks of all. What one more instance adds to a message's cost
tells how many there can be before they wake each other all day.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from gateway.inbox.base import Claim
from gateway.inbox.postgres import PostgresInbox
from tests.bench.consumption import server_cpu_s
from tests.bench.scale.cluster import connections, percentile
from tests.bench.scale.queue import Queue, inboxes
from tests.bench.tables import Cell, Table
from tests.services import Postgres, running_postgres

COUNTS = (1, 2, 4, 8, 16, 32)
PER_S, SECONDS, IDLE_S = 50, 10, 10


async def measure(quick: bool) -> AsyncIterator[Table]:
    counts, seconds = ((1, 4), 3) if quick else (COUNTS, SECONDS)
    rows: list[list[Cell]] = []
    with running_postgres() as server:
        for count in counts:
            rows.append(await _row(server, count, seconds))
    yield Table(
        title=f"bare queues: {PER_S} messages a second at one of them; then nothing",
        columns=(
            "instances", "put to start p50 ms", "p99 ms", "CPU ms a message, all instances'", "PostgreSQL's", "claims a message",
            "idle: CPU ms a second, an instance", "PostgreSQL's, an instance", "sessions an instance",
        ),
        rows=rows,
        notes=(
            "All instances share a process, and so one core. A gateway has more sessions: see `processes`.",
            "*Claims a message*: how often instances looked for work, those in vain too.",
        ),
    )  # fmt: skip


async def _row(server: Postgres, count: int, seconds: int) -> list[Cell]:
    looks = [0]

    class Counted(PostgresInbox):
        async def claim(self, n: int) -> list[Claim]:
            looks[0] += 1
            return await super().claim(n)

    messages = PER_S * seconds
    with server.database() as url:
        async with inboxes(count, url, pool_size=2, kind=Counted) as opened:
            queue = Queue(opened)
            async with queue.running():
                await asyncio.sleep(2)  # all have seen each other
                looks[0] = 0
                cpu, theirs, began = time.process_time(), server_cpu_s(server), time.perf_counter()
                for number in range(messages):
                    await asyncio.sleep(max(0.0, began + number / PER_S - time.perf_counter()))
                    await queue.put(f"lane-{number}")
                await queue.began(messages)
                cpu, theirs = time.process_time() - cpu, server_cpu_s(server) - theirs
                claims = looks[0] / messages
                waits = [(queue.started_at[id_] - at) * 1000 for id_, at in queue.put_at.items()]
                idle, idle_theirs, began = time.process_time(), server_cpu_s(server), time.perf_counter()
                await asyncio.sleep(2 if seconds < SECONDS else IDLE_S)
                spent = time.perf_counter() - began
                idle, idle_theirs = time.process_time() - idle, server_cpu_s(server) - idle_theirs
                sessions = connections(server, url) / count
    a_message, a_second = 1000 / messages, 1000 / spent / count
    return [
        count, percentile(waits, 50), percentile(waits, 99), cpu * a_message, theirs * a_message, round(claims, 2),
        idle * a_second, idle_theirs * a_second, round(sessions, 1),
    ]  # fmt: skip
