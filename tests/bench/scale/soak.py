"""An hour of ordinary load on two gateways: what grows, by how much an hour, and whether that is more than it wavers anyway.

`MINUTES=60 python -m tests.bench.scale soak` (10 unless told; `PER_S` turns a second, `INSTANCES`, `WARM_UP` minutes,
`NEWCOMERS`: of so many messages one is somebody's who never wrote before, five unless told; `STORE=sqlite` is one gateway on a
file). Memory, files, sessions, keys, the backlog and a turn's CPU should stay where they were after the warm-up; tables grow with
what is said, by as many bytes a turn at the end as at the start.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import redis

from tests.bench.consumption import anonymous_mb, cpu_s, open_files, server_anonymous_mb, server_cpu_s
from tests.bench.scale.cluster import admin, connections, gateways, helper, model, percentile
from tests.bench.scale.driver import Load
from tests.bench.scale.slopes import slope_of, verdict
from tests.bench.tables import Cell, Table
from tests.scenarios.world import Gateway
from tests.services import running_postgres, running_valkey

INSTANCES, PER_S, CONVERSATIONS, NEWCOMERS = 2, 15, 500, 5
EACH_S, TOLD_S = 10, 300
"""Seconds between two samples; between two looks into the gateways, each of which holds its loop for a moment."""
LOOP = 1_000_000
WARM, WARM_S = 0.3, 600
"""Of the time, but not more than so many seconds: left out of every slope, as caches fill."""

_TABLES = """SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'"""
_WAITING = "SELECT count(*) FROM inbox_events WHERE state IN ('accepted', 'running')"

Look = Callable[[], tuple[dict[str, float], dict[str, int]]]
"""What the store tells: figures that should stay, and the bytes of its tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    at_s: float
    turns: int
    values: dict[str, float]  # of the instance that has most, where it is an instance's
    tables: dict[str, int]  # bytes


async def measure(quick: bool) -> AsyncIterator[Table]:
    seconds = 20.0 if quick else float(os.environ.get("MINUTES", "10")) * 60
    each_s, told_s = (2, 10) if quick else (EACH_S, TOLD_S)
    per_s, count = int(os.environ.get("PER_S", PER_S)), int(os.environ.get("INSTANCES", INSTANCES))
    on_file = os.environ.get("STORE") == "sqlite"
    samples: list[Sample] = []
    inside: list[dict[str, Any]] = []
    times: list[float] = []
    lost = 0
    with TemporaryDirectory(prefix="clew-soak-") as folder, _store(Path(folder), on_file=on_file) as (url, cache, look):
        async with (
            model() as (model_url, _),
            helper("tests.bench.scale.driver") as driver,
            gateways(
                1 if on_file else count, storages=url, model_url=model_url, redis=cache, inside=Path(folder)
            ) as running,
        ):
            began, turns, told = time.monotonic(), 0, -float(told_s)
            for number in itertools.count():
                before, at = cpu_s(*(gateway.pid for gateway in running)), time.monotonic() - began
                went = await driver.drive(_load(running, per_s, each_s, number))
                turns, lost = turns + per_s * each_s, lost + went.lost
                times += went.times_ms
                values, tables = await asyncio.to_thread(look)
                values |= {
                    "anonymous memory, MB an instance": max(anonymous_mb(gateway.pid) for gateway in running),
                    "open files an instance": max(open_files(gateway.pid) for gateway in running),
                    "gateways' CPU ms a turn": (cpu_s(*(gateway.pid for gateway in running)) - before)
                    * 1000
                    / (per_s * each_s),
                    "p50 ms": percentile(went.times_ms, 50),
                    "a fixed loop, CPU ms": _pace_ms(),
                }
                samples.append(Sample(at_s=time.monotonic() - began, turns=turns, values=values, tables=tables))
                if at - told >= told_s:
                    told = at
                    inside.append({"turns": turns, "of": await _inside(Path(folder), running)})
                    _say(samples[-1], lost, inside[-1])
                if time.monotonic() - began >= seconds:
                    break
            inside.append({"turns": turns, "of": await _inside(Path(folder), running)})
    asked = os.environ.get("WARM_UP")
    warm_s = min(WARM * samples[-1].at_s, WARM_S) if asked is None else float(asked) * 60
    kept = [sample for sample in samples if sample.at_s >= warm_s]
    hours = [sample.at_s / 3600 for sample in kept]
    yield Table(
        title=f"{len(running)} instances, {per_s} turns a second, {samples[-1].at_s / 60:.0f} minutes: what should stay",
        columns=("what", "after the warm-up", "at the end", "most", "an hour", "± (95 %)", "verdict"),
        rows=[_row(name, hours, [sample.values[name] for sample in kept]) for name in kept[0].values],
        notes=(
            f"{turns:,} turns, {lost} lost, {percentile(times, 50):.0f} / {percentile(times, 99):.0f} ms p50 / p99.",
            f"The first {warm_s / 60:.0f} minutes are warm-up. *An hour*: the slope of what is left, with its 95 % interval.",
        ),
        raw={"samples": [asdict(sample) for sample in samples], "inside": inside},
    )
    yield _tables(kept)
    yield _held(inside)


@contextmanager
def _store(folder: Path, *, on_file: bool) -> Iterator[tuple[str, str | None, Look]]:
    """Run the servers, or none; give the storage's URL, Redis' and how to look at them."""
    if on_file:
        file = folder / "clew.db"
        yield f"sqlite:///{file}", None, lambda: ({}, {one.name: one.stat().st_size for one in folder.glob("clew.db*")})
        return
    with ExitStack() as stack:
        server, valkey = stack.enter_context(running_postgres()), stack.enter_context(running_valkey())
        url, client = stack.enter_context(server.database()), stack.enter_context(redis.Redis.from_url(valkey.url))
        last = [server_cpu_s(server), time.monotonic()]

        def look() -> tuple[dict[str, float], dict[str, int]]:
            with admin(url) as db:
                waiting = float(db.execute(_WAITING).fetchall()[0][0])
                tables = {str(name): int(size) for name, size in db.execute(_TABLES).fetchall()}
            memory: dict[str, Any] = client.info("memory")
            used, now = server_cpu_s(server), time.monotonic()
            share = (used - last[0]) / (now - last[1])
            last[:] = used, now
            values = {
                "sessions of the database": float(connections(server, url)),
                "messages waiting": waiting,
                "PostgreSQL's CPU, of a core": share,
                "PostgreSQL's anonymous memory, MB": server_anonymous_mb(server),
                "Redis' keys": float(client.dbsize()),
                "Redis' memory, MB": float(memory["used_memory"]) / 2**20,
            }
            return values, tables

        yield url, valkey.url, look


def _pace_ms() -> float:
    """Return what a fixed loop takes: where this grows along with all times, it is the machine that has become slower."""
    began = time.process_time()
    for _ in itertools.repeat(None, LOOP):
        pass
    return (time.process_time() - began) * 1000


def _load(running: Sequence[Gateway], per_s: int, each_s: int, number: int) -> Load:
    turns = per_s * each_s
    # The same people again and again: what is kept of each of them may not grow for ever either.
    return Load(
        urls=[gateway.url for gateway in running], turns=turns, in_flight=0, conversations=CONVERSATIONS, name="soak",
        per_s=per_s, first=number * turns, newcomers=int(os.environ.get("NEWCOMERS", NEWCOMERS)),
    )  # fmt: skip


async def _inside(folder: Path, running: Sequence[Gateway]) -> list[dict[str, Any]]:
    """Have each gateway tell what it holds (`inside.py`)."""
    told = []
    for gateway in running:
        file = folder / f"{gateway.pid}.json"
        file.unlink(missing_ok=True)
        gateway.tell(signal.SIGUSR2)
        async with asyncio.timeout(60):
            while not file.exists():
                await asyncio.sleep(0.1)  # no event tells of another process's file
        told.append(json.loads(file.read_text("utf-8")))
    return told


def _say(sample: Sample, lost: int, inside: Mapping[str, Any]) -> None:
    """Tell how it goes, for who waits, or must break it off."""
    figures = " · ".join(f"{name} {value:.4g}" for name, value in sample.values.items())
    tasks, objects = (max(one[name] for one in inside["of"]) for name in ("tasks", "objects"))
    line = f"{sample.at_s / 60:.1f} min: {sample.turns:,} turns, {lost} lost · {figures} · tasks {tasks} · objects {objects:,}"
    print(line, file=sys.stderr, flush=True)


def _row(name: str, hours: Sequence[float], values: Sequence[float]) -> list[Cell]:
    slope, spread = slope_of(hours, values)
    told = verdict(slope, spread, values, span=hours[-1] - hours[0])
    return [name, values[0], values[-1], max(values), slope, spread, told]


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


def _held(inside: Sequence[Mapping[str, Any]]) -> Table:
    """Return what the first gateway holds more of at the end than halfway, and how much of it there was before."""
    looks = [inside[0], inside[len(inside) // 2], inside[-1]]
    first, half, last = (look["of"][0] for look in looks)
    rows: list[list[Cell]] = [[name, *(one["of"][0][name] for one in looks)] for name in ("tasks", "objects")]
    for part in ("types", "containers"):
        more = {name: number - half[part].get(name, 0) for name, number in last[part].items()}
        grown = sorted(
            (name for name, by in more.items() if by > 0.01 * last[part][name] and by > 20), key=more.__getitem__
        )
        rows += [
            [name, first[part].get(name), half[part].get(name), last[part][name]] for name in reversed(grown[-20:])
        ]
    return Table(
        title="what a gateway holds more of at the end than halfway",
        columns=("what", *(f"after {look['turns']:,} turns" for look in looks)),
        rows=rows,
        notes=("Objects that the collector knows; the 60 commonest types and the 25 longest containers of each look.",),
    )
