"""Turns a second, their times and their CPU with one, two and four gateway processes on one PostgreSQL.

The driver, the model and the server are processes of their own. On few cores a rate says what the machine does, not what a
gateway does: beside each stands what bound it, and CPU a turn is what carries over to other machines. The rows are taken in
turns, and all processes of a row are started anew for it.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass

from tests.bench.consumption import CORES, anonymous_mb, cpu_s, machine_busy_s, server_cpu_s
from tests.bench.scale.cluster import Helper, connections, gateways, helper, learned, model, percentile
from tests.bench.scale.driver import WAITED_MS, Load
from tests.bench.servers import counting_postgres, work_of
from tests.bench.tables import Cell, Table, spread
from tests.services import Postgres

COUNTS = (1, 2, 4)
IN_FLIGHT = 50
TURNS, ROUNDS = 2_000, 3
CONVERSATIONS = 400
IDLE_S = 5
FULL = 0.9
"""Of a core, or of the machine: what is used so much is what bound the rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    per_s: float
    sustained_per_s: float  # by the time until all was learned from
    p50_ms: float
    p99_ms: float
    gateway_ms: float  # CPU a turn, of all gateways together; the others likewise
    server_ms: float
    around_ms: float  # the driver and the model: not a gateway's cost
    waited: float  # of all turns, those that took as long as a look at the queue
    lost: int
    learned_s: float  # how long after the last answer all was learned from
    idle_ms: float  # CPU a second, an instance
    bound_by: str
    connections: float  # an instance
    memory_mb: float  # an instance's, no file behind it
    statements: float  # of a turn, learning and looks included
    log_bytes: float  # of a turn, by the server
    idle_statements: float  # a second, an instance


async def measure(quick: bool) -> AsyncIterator[Table]:
    counts, rounds = ((1, 2), 1) if quick else (COUNTS, ROUNDS)
    turns = 200 if quick else TURNS
    taken: dict[int, list[Round]] = {count: [] for count in counts}
    with counting_postgres() as server:
        async with model() as (url, model_pid), helper("tests.bench.scale.driver") as driver:
            for _ in range(rounds):
                for count in counts:
                    taken[count].append(await _round(server, count, url, model_pid, driver, turns))
    one = _median(taken[1], "gateway_ms") + _median(taken[1], "server_ms")
    rows: list[list[Cell]] = []
    for count, each in taken.items():
        both = _median(each, "gateway_ms") + _median(each, "server_ms")
        rows.append(
            [
                count, spread([one.sustained_per_s for one in each]), spread([one.per_s for one in each]),
                _median(each, "p50_ms"), _median(each, "p99_ms"),
                spread([one.gateway_ms for one in each]), spread([one.server_ms for one in each]), both / one,
                _median(each, "statements"), _median(each, "log_bytes"), _median(each, "around_ms"),
                f"{_median(each, 'waited'):.1%}", sum(one.lost for one in each), _median(each, "connections"),
                _median(each, "memory_mb"), _median(each, "learned_s"), _median(each, "idle_ms"),
                _median(each, "idle_statements"),
                max((one.bound_by for one in each), key=[one.bound_by for one in each].count),
            ]
        )  # fmt: skip
    yield Table(
        title=f"webhook turns, {IN_FLIGHT} in flight, dealt to the processes in turn (median of {rounds} [least..most])",
        columns=(
            "processes", "turns/s with learning", "answered/s", "p50 ms", "p99 ms",
            "gateways' CPU ms a turn", "PostgreSQL's", "x of one process",
            "statements a turn", "log bytes a turn", "driver's and model's CPU", "waited for a look", "lost",
            "sessions an instance", "anonymous MB an instance", "learning done, s later",
            "idle: CPU ms a second, an instance", "statements a second, an instance", "bound by",
        ),
        rows=rows,
        notes=(
            "CPU a turn holds what is learned from it behind its answer, and what an idle gateway uses.",
            "Answers come before what is learned from them: *answered* is a burst, *with learning* goes on for hours.",
            f"{CORES} cores for everything, the driver and the model too. PostgreSQL as in tests: it syncs nothing to disk.",
            f"*Waited for a look*: {WAITED_MS} ms or more, as when nothing wakes who waits; on a full machine all are.",
            f"Conversations begin with the load: {min(1, CONVERSATIONS / turns):.0%} of the turns open one.",
        ),
        raw={count: [asdict(one) for one in each] for count, each in taken.items()},
    )  # fmt: skip


def _median(rounds: list[Round], name: str) -> float:
    return statistics.median(float(getattr(one, name)) for one in rounds)


async def _round(server: Postgres, count: int, url: str, model_pid: int, driver: Helper, turns: int) -> Round:
    with server.database() as storage:
        async with gateways(count, storages=storage, model_url=url) as running:
            urls = [gateway.url for gateway in running]
            pids = [gateway.pid for gateway in running]
            await driver.drive(_load(urls, turns // 10, f"warm{time.monotonic_ns()}"))
            await learned(storage)
            idle, work = cpu_s(*pids), work_of(server, storage)
            await asyncio.sleep(IDLE_S)
            idle = (cpu_s(*pids) - idle) * 1000 / IDLE_S / count
            idle_statements = (work_of(server, storage).statements - work.statements) / IDLE_S / count
            work = work_of(server, storage)
            before, theirs, around = [cpu_s(pid) for pid in pids], server_cpu_s(server), cpu_s(model_pid)
            machine = machine_busy_s()
            went = await driver.drive(_load(urls, turns, f"load{time.monotonic_ns()}"))
            machine = machine_busy_s() - machine
            under_load = [cpu_s(pid) - was for pid, was in zip(pids, before, strict=True)]
            around, server_load = cpu_s(model_pid) - around, server_cpu_s(server) - theirs
            ended = time.monotonic()
            await learned(storage)
            learned_s = time.monotonic() - ended
            spent = sum(cpu_s(pid) - was for pid, was in zip(pids, before, strict=True))
            theirs, after = server_cpu_s(server) - theirs, work_of(server, storage)
            shares = {
                "a gateway's one core": max(under_load) / went.seconds,
                "the driver's one core": went.cpu_s / went.seconds,
                "the model's one core": around / went.seconds,
            }
            ours = (sum(under_load) + server_load + around + went.cpu_s) / went.seconds
            return Round(
                per_s=turns / went.seconds,
                sustained_per_s=turns / (went.seconds + learned_s),
                p50_ms=percentile(went.times_ms, 50),
                p99_ms=percentile(went.times_ms, 99),
                gateway_ms=spent * 1000 / turns,
                server_ms=theirs * 1000 / turns,
                around_ms=(went.cpu_s + around) * 1000 / turns,
                waited=sum(one >= WAITED_MS for one in went.times_ms) / turns,
                lost=went.lost,
                learned_s=learned_s,
                idle_ms=idle,
                bound_by=bound_by(shares, machine / went.seconds, ours=ours),
                connections=connections(server, storage) / count,
                memory_mb=statistics.mean(anonymous_mb(pid) for pid in pids),
                statements=(after.statements - work.statements) / turns,
                log_bytes=(after.wal_bytes - work.wal_bytes) / turns,
                idle_statements=idle_statements,
            )


def bound_by(shares: dict[str, float], machine: float, *, ours: float) -> str:
    """Say what was used up: a single thread (`shares` of a core), or the machine (`machine` cores busy, `ours` of them by what
    is measured); else it is waits."""
    name, share = max(shares.items(), key=lambda one: one[1])
    if share >= FULL:
        return name
    if machine >= FULL * CORES:
        return f"the machine's {CORES} cores, {1 - ours / machine:.0%} of it others' work"
    return f"waits ({machine / CORES:.0%} of the machine was busy)"


def _load(urls: list[str], turns: int, name: str) -> Load:
    return Load(urls=urls, turns=turns, in_flight=IN_FLIGHT, conversations=CONVERSATIONS, name=name)
