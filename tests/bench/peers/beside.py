"""Measures subjects beside each other: the same turns in each, in turns of one run, at growing lengths of one conversation."""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.bench.consumption import server_cpu_s
from tests.bench.scale.cluster import Helper, helper
from tests.bench.servers import Work, work_of
from tests.bench.tables import Cell, Table, spread
from tests.services import Postgres

SIZES = (1_000, 10_000, 100_000)
ROUNDS, TURNS, MOST_S = 5, 40, 4.0
"""Rounds at each length; turns of a round, or as many as take so long: a slow peer has fewer, one at least."""

PYTHON = os.environ.get("PEERS", ".peers/bin/python")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A subject: its module beside this one, its first argument, and where it keeps its rows. `where` makes a fresh place of a
    name."""

    name: str
    module: str
    kind: str
    where: Callable[[str], str]

    @property
    def ours(self) -> bool:
        return self.module == "ours"


@dataclass(slots=True)
class Taken:
    """What a subject took at one length, in ms; each list has an item a round. `failed`: what it said when it could not."""

    append: list[float] = field(default_factory=list)  # medians of the round's turns
    load: list[float] = field(default_factory=list)
    both: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)  # of a turn
    server: list[float] = field(default_factory=list)
    statements: list[float] = field(default_factory=list)
    wal: list[float] = field(default_factory=list)  # bytes of a turn
    turns: int = 0
    rss_mb: float = 0
    rss_before_mb: float = 0  # before there was any conversation
    newest: bool = True
    bytes: float | None = None
    failed: str = ""


def durable(server: Postgres, name: str) -> str:
    """Make a database on a server whose commits are on the disk when they return; return its URL."""
    with psycopg.connect(server.url("postgres", admin=True), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} OWNER clew".encode())
    return server.url(name)


async def tables(
    title: str, peers: Sequence[Peer], *, quick: bool, server: Postgres | None = None, notes: Sequence[str] = ()
) -> AsyncIterator[Table]:
    """Measure the peers at each length; ours come first."""
    rows: list[list[Cell]] = []
    faults: list[str] = []
    raw: dict[int, object] = {}
    for size in (100, 1_000) if quick else SIZES:
        taken = await _at(size, peers, server, quick=quick)
        ours = next(taken[peer.name] for peer in peers if peer.ours)
        for peer in peers:
            one = taken[peer.name]
            if one.failed:
                faults.append(f"{peer.name} did not run at {size:,}: {one.failed}")
                continue
            both, cpu = statistics.median(one.both), statistics.median(one.cpu)
            theirs = [statistics.median(of) if server else None for of in (one.server, one.statements, one.wal)]
            rows.append(
                [
                    size, peer.name, statistics.median(one.append), statistics.median(one.load), spread(one.both),
                    both / statistics.median(ours.both), cpu, cpu / statistics.median(ours.cpu), *theirs, one.bytes,
                    one.rss_mb, one.rss_mb - one.rss_before_mb, "yes" if one.newest else "NO", one.turns,
                ]
            )  # fmt: skip
        raw[size] = {name: asdict(one) for name, one in taken.items()}
    yield Table(
        title=title,
        columns=(
            "messages", "who", "append p50 ms", "load p50 ms", "both [least..most of the rounds]", "x of ours (first row)",
            "CPU ms a turn", "x of ours", "PostgreSQL's CPU ms", "statements a turn", "log bytes a turn", "kept bytes a turn",
            "RSS MB", "of them since it started", "newest loaded", "turns",
        ),
        rows=rows,
        notes=(*notes, *faults),
        raw=raw,
    )  # fmt: skip


async def _at(size: int, peers: Sequence[Peer], server: Postgres | None, *, quick: bool) -> dict[str, Taken]:
    taken = {peer.name: Taken() for peer in peers}
    running: dict[str, Helper] = {}
    places: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        for number, peer in enumerate(peers):
            places[peer.name] = place = peer.where(f"n{number}_{size}")
            python = sys.executable if peer.ours else str(Path(PYTHON).absolute())
            process = await stack.enter_async_context(
                helper(f"tests.bench.peers.{peer.module}", peer.kind, place, python=python)
            )
            ready = json.loads(await process.line())
            taken[peer.name].rss_before_mb = ready.get("rss_mb", 0.0)
            if _failed(ready, taken[peer.name]) or _failed(await _told(process, fill=size), taken[peer.name]):
                continue
            running[peer.name] = process
        before = {name: _bytes(places[name]) for name in running}
        for round_ in range(2 if quick else ROUNDS + 1):
            for name in _order(list(running), round_):
                os.sync()  # what the one before left to be written is not this one's to wait for
                process = running[name]
                work = work_of(server, places[name]) if server else None
                cpu = server_cpu_s(server) if server else 0.0
                told = await _told(process, turns=5 if quick else TURNS, most_s=MOST_S)
                if _failed(told, taken[name]):
                    del running[name]
                elif round_:  # the first is to warm up
                    _add(taken[name], told)
                    if server and work:
                        _add_work(taken[name], server_cpu_s(server) - cpu, work, work_of(server, places[name]), told)
                else:
                    before[name] = _bytes(places[name])
        for name in running:
            after, was, one = _bytes(places[name]), before[name], taken[name]
            one.bytes = None if after is None or was is None else (after - was) / one.turns
    return taken


def _order(names: list[str], round_: int) -> list[str]:
    """Return who has turns behind whom: each round begins with another, and each second one goes the other way round."""
    first = round_ % len(names) if names else 0
    turned = [*names[first:], *names[:first]]
    return turned[::-1] if round_ % 2 else turned


async def _told(process: Helper, **what: object) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(await process.told(json.dumps(what)))
    return answer


def _failed(told: dict[str, Any], taken: Taken) -> bool:
    taken.failed = told.get("failed", "")
    return bool(taken.failed)


def _add(taken: Taken, told: dict[str, Any]) -> None:
    append, load = statistics.median(told["append_ms"]), statistics.median(told["load_ms"])
    taken.append.append(append)
    taken.load.append(load)
    taken.both.append(append + load)
    taken.cpu.append(told["cpu_ms"])
    taken.turns += len(told["append_ms"])
    taken.rss_mb = told["rss_mb"]
    taken.newest = taken.newest and told["newest"]


def _add_work(taken: Taken, cpu_s: float, before: Work, after: Work, told: dict[str, Any]) -> None:
    turns = len(told["append_ms"])
    taken.server.append(cpu_s * 1000 / turns)
    taken.statements.append((after.statements - before.statements) / turns)
    taken.wal.append((after.wal_bytes - before.wal_bytes) / turns)


def _bytes(place: str) -> float | None:
    """Return the size of what is kept in a database of ours; None where it is not told simply."""
    if place.startswith("redis"):
        return None
    if place.startswith("postgresql"):
        with psycopg.connect(place.partition(" ")[0].replace("//clew@", "//postgres@")) as db:
            sizes = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r'"
            return float(
                db.execute(f"{sizes} AND relnamespace = 'public'::regnamespace".encode()).fetchall()[0][0] or 0
            )
    with closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True, timeout=10)) as file:
        (pages,), (page,) = (file.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        return float(pages * page)
