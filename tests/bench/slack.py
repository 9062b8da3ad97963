"""Slack turns: mention in, model asked, answer posted in the thread; beside slack-bolt and the least that does it, in one run.

Goals G1 (no store), G2 (memory core on PostgreSQL) and G4 (200 in flight) of engines.md B.1. Ours is measured in three steps: the
edge (server, adapter, admission, routing, rendering), the edge with the memory core, and the whole gateway as it is started:
durable queue, lanes, memory, outbox, the openai package, and what it learns behind its answers. All subjects run at once and take
their turns one after the other, each round beginning with another.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psycopg

from tests.bench.consumption import server_cpu_s
from tests.bench.scale.cluster import percentile
from tests.bench.slack_load import BOT_TOKEN, CHANNEL, CHANNELS, SIGNING_SECRET, Sink, Spent, load, sink
from tests.bench.tables import Cell, Table, spread
from tests.bench.turns import started
from tests.scenarios.world import Gateway, environ, write_config
from tests.services import as_admin, running_postgres

TURNS = {1: 100, 50: 600, 200: 800}
"""Turns of a round for each number in flight."""

ROUNDS, WARM = 3, 400  # every thread has been in use once then, and every name is known
DUE = "SELECT EXISTS (SELECT 1 FROM ledgers WHERE due_ms IS NOT NULL)"

BARE = {
    "least: aiohttp, no SDK": "limit",
    "slack-bolt": "bolt",
    "clew's edge, no store": "edge",
    "clew's edge and memory, PostgreSQL": "core",
}


@dataclass(slots=True)
class Subject:
    """Who answers, and what each round took by the number in flight. `due`: whether it has still to learn of its answers."""

    name: str
    url: str
    pid: int
    due: Callable[[], bool] = lambda: False
    rounds: dict[int, list[Spent]] = field(default_factory=dict)
    sent: int = 0

    async def settled(self) -> None:
        while await asyncio.to_thread(self.due):
            await asyncio.sleep(0.1)  # nothing of ours tells who looks from outside


def config_of(url: str, *, channels: int) -> str:
    """Return the settings of so many workspaces of this sink, but for storage and port."""
    channel = (
        f"{{kind: slack, bot_token: {BOT_TOKEN}, signing_secrets: [{SIGNING_SECRET}], api_url: '{url}/api/', stream: false, "
        "status: false, first_use_notice: false, limits: {per_minute: 100000}}"
    )
    names = "".join(f"  {CHANNEL.format(number)}: {channel}\n" for number in range(channels))
    return f"agents: {{default: {{kind: openai, base_url: '{url}/v1', model: stub}}}}\nchannels:\n{names}"


async def measured(counts: Mapping[int, int] = TURNS, *, rounds: int = ROUNDS, warm: int = WARM) -> list[Subject]:
    """Return the subjects with what their rounds took: so many turns for each number in flight."""
    with running_postgres() as server, tempfile.TemporaryDirectory(prefix="clew-bench-") as folder:
        async with sink() as there, AsyncExitStack() as stack:
            subjects = await _subjects(stack, there, Path(folder), server.url("postgres"), server.url("template1"))

            async def turns(subject: Subject, in_flight: int, number: int) -> Spent:
                subject.sent += number
                return await load(
                    there, subject.url, subject.pid, first=subject.sent - number, in_flight=in_flight, turns=number,
                    server_s=lambda: server_cpu_s(server), settled=subject.settled,
                )  # fmt: skip

            for subject in subjects:
                await turns(subject, 50, warm)
            for round_ in range(rounds):
                for n, number in counts.items():
                    for at in range(len(subjects)):
                        subject = subjects[(at + round_) % len(subjects)]
                        subject.rounds.setdefault(n, []).append(await turns(subject, n, number))
    return subjects


async def _subjects(stack: AsyncExitStack, there: Sink, folder: Path, for_core: str, for_whole: str) -> list[Subject]:
    subjects = []
    for name, module in BARE.items():
        url, pid = await stack.enter_async_context(started("tests.bench.slack_subjects", module, there.url, for_core))
        subjects.append(Subject(name, url, pid))
    for name, storage, due in (
        ("clew, whole, SQLite", None, lambda: _due_in_file(folder / "file")),
        ("clew, whole, PostgreSQL", for_whole, lambda: _due_in(for_whole)),
    ):
        own = folder / ("server" if storage else "file")
        own.mkdir()
        url, pid = await stack.enter_async_context(whole(own, there.url, storage))
        subjects.append(Subject(name, url, pid, due))
    return subjects


def _due_in(url: str) -> bool:
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        return bool(db.execute(DUE).fetchall()[0][0])


def _due_in_file(folder: Path) -> bool:
    with closing(sqlite3.connect(f"file:{folder / 'clew.db'}?mode=ro", uri=True, timeout=10)) as db:
        return bool(db.execute(DUE).fetchone()[0])


@asynccontextmanager
async def whole(folder: Path, url: str, storage: str | None) -> AsyncIterator[tuple[str, int]]:
    """Run a whole gateway; give its URL and process id."""
    process = Gateway(write_config(folder, config_of(url, channels=CHANNELS), storage=storage), environ(), forked=False)
    await process.start()
    try:
        yield process.url, process.pid
    finally:
        await process.kill()


def table(subjects: Sequence[Subject], counts: Mapping[int, int], rounds: int) -> Table:
    """Return the figures, each beside slack-bolt's and the least's under the same load."""
    rows: list[list[Cell]] = []
    for n in counts:
        least, bolt = (statistics.median(one.cpu_ms for one in subject.rounds[n]) for subject in subjects[:2])
        for subject in subjects:
            those = subject.rounds[n]
            cpu = statistics.median(one.cpu_ms for one in those)
            times = [time for one in those for time in one.times_ms]
            p50, p99 = statistics.median(times), percentile(times, 99)
            rows.append(
                [
                    n, subject.name, statistics.median(one.per_s for one in those), p50, p99, p99 / p50,
                    spread([one.cpu_ms for one in those]), cpu / bolt, cpu / least,
                    statistics.median(one.server_ms for one in those), those[-1].rss_mb, sum(one.lost for one in those),
                ]
            )  # fmt: skip
    return Table(
        title=f"Slack, mention to answer, {rounds} rounds (G1, G2, G4)",
        columns=(
            "in flight", "who", "turns/s", "p50 ms", "p99 ms", "p99/p50", "CPU ms a turn", "x of bolt", "x of the least",
            "PostgreSQL's", "RSS MB", "lost",
        ),
        rows=rows,
        notes=(
            "All run at once and take turns, so that idle ones' looks each second are in the others' PostgreSQL's CPU.",
            "CPU a turn of the whole gateway holds what it learns behind its answers, and waits for it; bolt and the least keep "
            "nothing. Replies go out in one piece: no streaming, no status, as bolt does it.",
        ),
        raw={subject.name: {n: [asdict(one) for one in each] for n, each in subject.rounds.items()} for subject in subjects},
    )  # fmt: skip


async def measure(quick: bool) -> AsyncIterator[Table]:
    """Measure as a part of `make bench-peers`."""
    counts, rounds, warm = ({1: 20, 50: 60}, 1, 60) if quick else (TURNS, ROUNDS, WARM)
    yield table(await measured(counts, rounds=rounds, warm=warm), counts, rounds)


async def _print() -> None:
    async for one in measure(quick=False):
        print(one.text())


if __name__ == "__main__":
    asyncio.run(_print())
