"""An hour of ordinary load on three gateways: what grows, by how much an hour, and whether that is more than it wavers anyway.

`MINUTES=60 python -m tests.bench.scale soak` (10 unless told). Memory, files, sessions and the queue's backlog should stay where
they were after the warm-up; tables grow with what is said, by as many bytes a turn at the end as at the start.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from tests.bench.consumption import anonymous_mb, cpu_s, open_files
from tests.bench.scale.cluster import admin, connections, gateways, helper, model, percentile
from tests.bench.scale.driver import Load
from tests.bench.tables import Cell, Table
from tests.scenarios.world import Gateway
from tests.services import Postgres, running_postgres, running_valkey

INSTANCES, PER_S, CONVERSATIONS = 3, 15, 500
EACH_S = 10
WARM = 0.3
"""Of the time: left out of every slope, as caches fill."""

BOUNDED = ("anonymous memory, MB an instance", "open files an instance", "sessions of the database", "messages waiting")
_TABLES = """SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    at_s: float
    turns: int
    values: tuple[float, float, float, float]  # as `BOUNDED`; the first two of the instance that has most
    tables: dict[str, int]  # bytes


async def measure(quick: bool) -> AsyncIterator[Table]:
    seconds = 20 if quick else int(float(os.environ.get("MINUTES", "10")) * 60)
    each_s = 2 if quick else EACH_S
    samples: list[Sample] = []
    times: list[float] = []
    lost = 0
    with running_postgres() as server, running_valkey() as valkey, server.database() as url:
        async with (
            model() as (model_url, _),
            helper("tests.bench.scale.driver") as driver,
            gateways(INSTANCES, storages=url, model_url=model_url, redis=valkey.url) as running,
        ):
            began, turns = time.monotonic(), 0
            cpu = cpu_s(*(gateway.pid for gateway in running))
            for number in itertools.count():
                went = await driver.drive(_load(running, PER_S * each_s, number))
                turns, lost = turns + PER_S * each_s, lost + went.lost
                times += went.times_ms
                samples.append(await asyncio.to_thread(_sample, server, url, running, time.monotonic() - began, turns))
                if time.monotonic() - began >= seconds:
                    break
            cpu = cpu_s(*(gateway.pid for gateway in running)) - cpu
    kept = [sample for sample in samples if sample.at_s >= WARM * samples[-1].at_s]
    hours = [sample.at_s / 3600 for sample in kept]
    rows: list[list[Cell]] = [
        _row(name, hours, [sample.values[at] for sample in kept]) for at, name in enumerate(BOUNDED)
    ]
    yield Table(
        title=f"{INSTANCES} instances, {PER_S} turns a second, {samples[-1].at_s / 60:.0f} minutes: what should stay",
        columns=("what", "after the warm-up", "at the end", "most", "an hour", "± (95 %)", "verdict"),
        rows=rows,
        notes=(
            f"{turns:,} turns, {lost} lost, {percentile(times, 50):.0f} / {percentile(times, 99):.0f} ms p50 / p99, "
            f"{cpu * 1000 / turns:.1f} ms CPU each.",
            f"The first {WARM:.0%} of the time is warm-up. *An hour*: the slope of what is left, with its 95 % interval.",
        ),
    )  # fmt: skip
    yield _tables(kept)


def _load(running: Sequence[Gateway], turns: int, number: int) -> Load:
    urls = [gateway.url for gateway in running]
    # The same people again and again: what is kept of each of them may not grow for ever either.
    return Load(
        urls=urls, turns=turns, in_flight=0, conversations=CONVERSATIONS, name="soak", per_s=PER_S, first=number * turns
    )


def _sample(server: Postgres, url: str, running: Sequence[Gateway], at_s: float, turns: int) -> Sample:
    with admin(url) as db:
        waiting = db.execute("SELECT count(*) FROM inbox_events WHERE state IN ('accepted', 'running')").fetchall()[0][
            0
        ]
        tables = {str(name): int(size) for name, size in db.execute(_TABLES).fetchall()}
    memory = max(anonymous_mb(gateway.pid) for gateway in running)
    files = max(open_files(gateway.pid) for gateway in running)
    return Sample(at_s=at_s, turns=turns, values=(memory, files, connections(server, url), int(waiting)), tables=tables)


def _row(name: str, hours: Sequence[float], values: Sequence[float]) -> list[Cell]:
    slope, spread = slope_of(hours, values)
    return [
        name,
        values[0],
        values[-1],
        max(values),
        slope,
        spread,
        verdict(slope, spread, values, span=hours[-1] - hours[0]),
    ]


def slope_of(at: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Return the least-squares slope of the values, and half the width of its 95 % interval.

    Neighbours in time are alike, so that there are fewer independent samples than samples: they are counted by the lag-1
    correlation of what the line leaves over.
    """
    if len(at) < 3:
        return 0.0, math.inf
    middle, mean = statistics.fmean(at), statistics.fmean(values)
    square = sum((x - middle) ** 2 for x in at)
    slope = sum((x - middle) * (y - mean) for x, y in zip(at, values, strict=True)) / square
    left = [y - mean - slope * (x - middle) for x, y in zip(at, values, strict=True)]
    variance = sum(rest**2 for rest in left) / (len(left) - 2)
    alike = sum(a * b for a, b in itertools.pairwise(left)) / (sum(rest**2 for rest in left) or 1.0)
    inflated = (1 + max(0.0, alike)) / (1 - min(0.95, max(0.0, alike)))
    return slope, 1.96 * math.sqrt(variance / square * inflated)


def verdict(slope: float, spread: float, values: Sequence[float], *, span: float) -> str:
    """Say what a slope of a value that should stay where it is means; `span`: hours looked at."""
    if slope - spread > 0:
        return "grows" if slope * span > 0.02 * max(values) else "grows, by less than 2 % in all this time"
    if spread * span > 0.1 * max(1.0, *values):
        return "cannot be told: it wavers more than it could have grown"
    return "stays"


def _tables(kept: Sequence[Sample]) -> Table:
    half = kept[len(kept) // 2]
    rows: list[list[Cell]] = []
    for name, last in sorted(kept[-1].tables.items(), key=lambda one: -one[1]):
        halves = [
            (end.tables.get(name, 0) - begin.tables.get(name, 0)) / max(1, end.turns - begin.turns)
            for begin, end in ((kept[0], half), (half, kept[-1]))
        ]
        if max(halves) >= 1:
            rows.append([name, round(last / 1e6, 2), *halves])
    return Table(
        title="tables that grow with what is said, without VACUUM but autovacuum's",
        columns=("table", "MB at the end", "bytes a turn, first half", "second half"),
        rows=rows,
        notes=(
            "Rows of the queue and ledgers are kept for `retention`'s 30 days, so that they grow all through a run.",
        ),
    )
