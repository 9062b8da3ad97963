"""What it costs to be many: 1 to 100 bare queues on one PostgreSQL, no gateway around them.

A step towards many machines that fits on one. Messages come in at one instance, at a fixed rate; whoever claims one ends it. Then
all of them idle: the look of each, each second, reads the rows and locks of all, and asks for the leases that others hold, as
many as gateways with ten bots want. What one more instance adds tells how many there can be, and the statements tell of what.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator

from gateway.inbox.base import Claim
from gateway.inbox.postgres import PostgresInbox
from gateway.leases import Held
from tests.bench.consumption import server_anonymous_mb, server_cpu_s
from tests.bench.scale.cluster import connections, percentile
from tests.bench.scale.queue import Queue, inboxes
from tests.bench.servers import calls_of, counting_postgres, work_of
from tests.bench.tables import Cell, Table
from tests.services import Postgres

COUNTS = (1, 2, 8, 32, 100)
LEASES = 20
"""Leases that each instance wants: to fetch and to send for ten bots."""

PER_S, SECONDS, IDLE_S = 50, 10, 10
SESSIONS = 600
JOIN = "INSERT INTO inbox_instances"


async def measure(quick: bool) -> AsyncIterator[Table]:
    counts, seconds = ((1, 4), 3) if quick else (COUNTS, SECONDS)
    rows: list[list[Cell]] = []
    idle: Counter[str] = Counter()
    with counting_postgres(sessions=SESSIONS) as server:
        for count in counts:
            row, idle = await _row(server, count, seconds)
            rows.append(row)
    yield Table(
        title=f"bare queues: {PER_S} messages a second at one of them; then nothing",
        columns=(
            "instances", "put to start p50 ms", "p99 ms", "CPU ms a message, all instances'", "PostgreSQL's",
            "statements a message", "looks a message", "idle: CPU ms a second, an instance", "PostgreSQL's, an instance",
            "statements a second, an instance", "log bytes a second, an instance", "sessions an instance",
            "PostgreSQL's MB a session", "joined anew",
        ),
        rows=rows,
        notes=(
            "All instances share a process, and so one core. A gateway has more sessions: see `processes`.",
            "*Looks a message*: how often instances looked for work, those in vain too. Statements and CPU a message hold the "
            f"looks each second. Each instance wants {LEASES} leases; one of them has each.",
            "*Joined anew*: instances that were given up for dead, because this process or the machine had no time for them. A "
            "row with any says what the machine does, not what the queue does.",
        ),
    )  # fmt: skip
    yield Table(
        title=f"what {counts[-1]} idle instances ask",
        columns=("statement", "a second, an instance"),
        rows=[[query, each] for query, each in idle.most_common(12)],
    )


async def _row(server: Postgres, count: int, seconds: int) -> tuple[list[Cell], Counter[str]]:
    looks = [0]

    class Counted(PostgresInbox):
        async def claim(self, n: int) -> list[Claim]:
            looks[0] += 1
            return await super().claim(n)

    messages = PER_S * seconds
    with server.database() as url:
        async with inboxes(count, url, pool_size=2, kind=Counted) as opened, asyncio.TaskGroup() as tasks:
            held = [
                tasks.create_task(inbox.leases.hold(f"lease:{number}", _keep))
                for inbox in opened
                for number in range(LEASES)
            ]
            queue = Queue(opened)
            async with queue.running():
                await asyncio.sleep(2)  # all have seen each other
                looks[0] = 0
                cpu, theirs, work = time.process_time(), server_cpu_s(server), work_of(server, url)
                ids = await queue.paced((f"lane-{number}" for number in range(messages)), per_s=PER_S)
                await queue.began(messages)
                cpu, theirs = time.process_time() - cpu, server_cpu_s(server) - theirs
                statements = work_of(server, url).statements - work.statements
                claims = looks[0] / messages
                waits = [queue.waited_ms(id_) for id_ in ids]
                await asyncio.sleep(1)
                calls, work = Counter(calls_of(server, url)), work_of(server, url)
                idle, idle_theirs, began = time.process_time(), server_cpu_s(server), time.perf_counter()
                await asyncio.sleep(2 if seconds < SECONDS else IDLE_S)
                spent = time.perf_counter() - began
                idle, idle_theirs = time.process_time() - idle, server_cpu_s(server) - idle_theirs
                after = work_of(server, url)
                calls = Counter(calls_of(server, url)) - calls
                joins = sum(number for query, number in calls_of(server, url).items() if JOIN in query) - count
                sessions, memory = connections(server, url), server_anonymous_mb(server)
            for task in held:
                task.cancel()
    a_message, a_second = 1 / messages, 1 / spent / count
    row: list[Cell] = [
        count, percentile(waits, 50), percentile(waits, 99), cpu * 1000 * a_message, theirs * 1000 * a_message,
        round(statements * a_message, 1), round(claims, 2), idle * 1000 * a_second, idle_theirs * 1000 * a_second,
        (after.statements - work.statements) * a_second, (after.wal_bytes - work.wal_bytes) * a_second,
        round(sessions / count, 1), memory / sessions, joins,
    ]  # fmt: skip
    each: Counter[str] = Counter()
    for query, number in calls.items():
        each[" ".join(query.split())[:100].replace("|", "¦")] += number * a_second  # type: ignore[assignment]
    return row, each


async def _keep(_: Held) -> None:
    await asyncio.Event().wait()
