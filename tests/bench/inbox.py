"""What the durable queue costs between a message's acceptance and the start of its turn, and how many it carries.

Each database stands beside its limit: one insert of the same bytes and its commit, by hand, on the same engine, settings and
disk, in turns of the same run. Put-to-start holds two commits, the acceptance and the counted start. Scheduling is the
gateway's own (`gateway/lanes.py`). Goals of engines.md A.3.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from gateway.inbox.base import Inbox, NewEvent, Outcome
from gateway.inbox.postgres import PostgresInbox
from gateway.inbox.sqlite import SqliteInbox
from gateway.lanes import Gathering, Lanes, Running
from memory.ids import Ids, now_ms
from tests.services import running_postgres

RATES = {20: 60, 200: 600}
"""Messages a second, and how many of them."""

SUSTAINED = 10_000
FEEDERS = 256
LANES = 500
BODY = b"x" * 600
ANSWERED = Outcome(state="answered")

_ids = Ids(instance=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One database under one load. `rate` None: as fast as it goes, fed by many callers at once."""

    database: str
    rate: int | None
    p50_ms: float  # from the call of `accept` to the end of `start`
    p99_ms: float
    per_s: float
    limit_ms: float  # one insert and commit by hand, p50
    limit_per_s: float


Insert = Callable[[int], Awaitable[None]]


def measure() -> list[Figure]:
    """Return a figure for each database and load."""
    return asyncio.run(_measure())


def report(figures: list[Figure]) -> str:
    """Return the figures as lines of text, each beside its limit."""
    lines = ["queue, put to start p50 / p99 ms (x of one insert and commit by hand)"]
    for figure in figures:
        load = "as fast as it goes" if figure.rate is None else f"{figure.rate} a second"
        line = f"  {figure.database:10} {load:18}: {figure.p50_ms:7.2f} / {figure.p99_ms:7.2f}"
        if figure.rate is None:
            line += f", {figure.per_s:7,.0f} messages/s ({figure.per_s / figure.limit_per_s:.1f}x)"
        else:
            line += f" ({figure.p50_ms / figure.limit_ms:.1f}x)"
        lines.append(f"{line}; limit {figure.limit_ms:.2f} ms, {figure.limit_per_s:,.0f}/s")
    return "\n".join(lines)


async def _measure() -> list[Figure]:
    figures: list[Figure] = []
    with TemporaryDirectory(prefix="clew-bench-", dir=Path.cwd()) as folder, running_postgres() as server:
        for name, opened in (
            ("sqlite", _sqlite(Path(folder))),
            ("postgres", _postgres(server.url("postgres"))),
        ):
            async with opened as (inbox, insert):
                for rate in (*RATES, None):
                    limit_ms, limit_per_s = await _limit(insert)
                    waits, per_s = await (_paced(inbox, rate) if rate else _sustained(inbox))
                    figures.append(
                        Figure(
                            database=name,
                            rate=rate,
                            p50_ms=statistics.median(waits),
                            p99_ms=statistics.quantiles(waits, n=100)[98],
                            per_s=per_s,
                            limit_ms=limit_ms,
                            limit_per_s=limit_per_s,
                        )
                    )
    return figures


class _Started:
    """Runs the lanes with turns that end at once, and notes when each message's turn began."""

    def __init__(self, inbox: Inbox, expected: int) -> None:
        self._inbox = inbox
        self._expected = expected
        self.at: dict[int, float] = {}
        self.all = asyncio.Event()
        self._lanes = Lanes(inbox, self._respond, _gathering, most=200, lease_s=15, retry_s=1)

    async def _respond(self, turn: Running) -> None:
        ids = [event.id for event in turn.events]
        await self._inbox.start(ids, turn_id=turn.turn_id, lane=turn.claim.lane, fence=turn.claim.fence)
        now = time.perf_counter()
        self.at.update((id_, now) for id_ in ids)
        await self._inbox.finish(ids, ANSWERED, lane=turn.claim.lane, fence=turn.claim.fence)
        if len(self.at) == self._expected:
            self.all.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._lanes.run())
            yield
            await self.all.wait()
            self._lanes.drain()


def _gathering(_: object) -> Gathering:
    return Gathering(busy="queue", most=1, alone=False)


async def _put(inbox: Inbox, n: int) -> tuple[int, float]:
    event = NewEvent(
        id=_ids.next(),
        channel="bench",
        kind="message",
        speaker="u",
        body=BODY,
        token="t",
        fingerprint=None,
        now_ms=now_ms(),
    )
    begun = time.perf_counter()
    await inbox.accept(event, lane=f"lane{n % LANES}", dedupe_ids=[f"m{event.id}"])
    return event.id, begun


async def _paced(inbox: Inbox, rate: int) -> tuple[list[float], float]:
    started = _Started(inbox, RATES[rate])
    puts: list[asyncio.Task[tuple[int, float]]] = []
    async with started.running():
        first = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for n in range(RATES[rate]):
                await asyncio.sleep(max(first + n / rate - time.perf_counter(), 0))
                puts.append(tasks.create_task(_put(inbox, n)))
    return _waits(puts, started), float(rate)


async def _sustained(inbox: Inbox) -> tuple[list[float], float]:
    started = _Started(inbox, SUSTAINED)
    puts: list[asyncio.Task[tuple[int, float]]] = []
    first = time.perf_counter()
    async with started.running():
        free = asyncio.Semaphore(FEEDERS)

        async def put(n: int) -> tuple[int, float]:
            async with free:
                return await _put(inbox, n)

        async with asyncio.TaskGroup() as tasks:
            puts = [tasks.create_task(put(n)) for n in range(SUSTAINED)]
    return _waits(puts, started), SUSTAINED / (max(started.at.values()) - first)


def _waits(puts: list[asyncio.Task[tuple[int, float]]], started: _Started) -> list[float]:
    return [(started.at[id_] - begun) * 1000 for id_, begun in (put.result() for put in puts)]


async def _limit(insert: Insert, times: int = 300) -> tuple[float, float]:
    waits = []
    first = time.perf_counter()
    for n in range(times):
        begun = time.perf_counter()
        await insert(n)
        waits.append((time.perf_counter() - begun) * 1000)
    return statistics.median(waits), times / (time.perf_counter() - first)


Opened = AbstractAsyncContextManager[tuple[Inbox, Insert]]


@asynccontextmanager
async def _sqlite(folder: Path) -> AsyncIterator[tuple[Inbox, Insert]]:
    raw = sqlite3.connect(folder / "raw.db", isolation_level=None)
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute("CREATE TABLE raw (id INTEGER PRIMARY KEY, body BLOB)")

    async def insert(_: int) -> None:
        raw.execute("INSERT INTO raw (body) VALUES (?)", (BODY,))

    async with SqliteInbox(
        folder / "queue.db", write_turn=asyncio.Lock(), timeout_s=10, lease_s=15, poll_s=1, accept_max=100_000
    ) as inbox:
        yield inbox, insert
    raw.close()


@asynccontextmanager
async def _postgres(url: str) -> AsyncIterator[tuple[Inbox, Insert]]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as raw:
        await raw.execute("SET synchronous_commit = on")
        await raw.execute("CREATE TABLE raw (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body BYTEA)")

        async def insert(_: int) -> None:
            await raw.execute("INSERT INTO raw (body) VALUES (%s)", (BODY,))

        async with PostgresInbox(url, pool_size=10, timeout_s=10, lease_s=15, poll_s=1, accept_max=100_000) as inbox:
            yield inbox, insert


if __name__ == "__main__":
    print(report(measure()))
