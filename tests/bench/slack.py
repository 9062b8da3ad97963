"""Slack turns: mention in, model asked, answer posted in the thread; beside slack-bolt and the least that does it, in one run.

Goals G1 (no store), G2 (memory core on PostgreSQL) and G4 (200 in flight) of engines.md B.1. Ours is measured in three steps: the
edge (server, adapter, admission, routing, rendering), the edge with the memory core, and the whole gateway as it is started:
durable queue, lanes, memory, outbox, the openai package.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.bench.slack_load import BOT_TOKEN, CHANNEL, CHANNELS, SIGNING_SECRET, load, sink
from tests.bench.turns import Figure, started
from tests.scenarios.world import Gateway, environ, write_config
from tests.services import running_postgres

TURNS = {1: 200, 50: 1500, 200: 2000}
WARM = 400  # every thread has been in use once then, and every name is known

BARE = {
    "least: aiohttp, no SDK": "limit",
    "slack-bolt": "bolt",
    "clew's edge, no store": "edge",
    "clew's edge and memory, PostgreSQL": "core",
}


def config_of(url: str, *, channels: int) -> str:
    """Return the settings of so many workspaces of this sink, but for storage and port."""
    channel = (
        f"{{kind: slack, bot_token: {BOT_TOKEN}, signing_secrets: [{SIGNING_SECRET}], api_url: '{url}/api/', stream: false, "
        "status: false, first_use_notice: false, limits: {per_minute: 100000}}"
    )
    names = "".join(f"  {CHANNEL.format(number)}: {channel}\n" for number in range(channels))
    return f"agents: {{default: {{kind: openai, base_url: '{url}/v1', model: stub}}}}\nchannels:\n{names}"


def measure() -> list[Figure]:
    """Return the figures of one run."""
    return asyncio.run(measured())


async def measured(counts: Mapping[int, int] = TURNS, *, warm: int = WARM) -> list[Figure]:
    """Return the figures of one run: so many turns for each number in flight."""
    figures: list[Figure] = []
    with running_postgres() as postgres, tempfile.TemporaryDirectory(prefix="clew-bench-") as folder:
        async with sink() as there:

            async def loads(subject: str, url: str, pid: int) -> None:
                first = itertools.accumulate((warm, *counts.values()), initial=0)
                await load(subject, there, url, pid, first=next(first), in_flight=50, turns=warm)
                for n, turns in counts.items():
                    figures.append(await load(subject, there, url, pid, first=next(first), in_flight=n, turns=turns))

            for subject, name in BARE.items():
                async with started("tests.bench.slack_subjects", name, there.url, postgres.url("postgres")) as (
                    url,
                    pid,
                ):
                    await loads(subject, url, pid)
            for subject, storage in {
                "clew, whole, SQLite": None,
                "clew, whole, PostgreSQL": postgres.url("template1"),
            }.items():
                async with whole(Path(folder), there.url, storage) as (url, pid):
                    await loads(subject, url, pid)
    return figures


@asynccontextmanager
async def whole(folder: Path, url: str, storage: str | None) -> AsyncIterator[tuple[str, int]]:
    process = Gateway(write_config(folder, config_of(url, channels=CHANNELS), storage=storage), environ(), forked=False)
    await process.start()
    try:
        yield process.url, process.pid
    finally:
        await process.kill()


def report(figures: list[Figure]) -> str:
    """Return the table, each row beside slack-bolt and the least under the same load."""
    lines = [
        "in flight | subject | turns/s | p50 / p99 ms | p99/p50 | CPU ms a turn | x bolt | x least | RSS MB | lost"
    ]
    for n in TURNS:
        rows = [figure for figure in figures if figure.in_flight == n]
        least, bolt = rows[0].cpu_ms, rows[1].cpu_ms
        lines += [
            f"{n} | {row.subject} | {row.per_s:,.0f} | {row.p50_ms:.1f} / {row.p99_ms:.1f} | "
            f"{row.p99_ms / row.p50_ms:.1f} | {row.cpu_ms:.2f} | {row.cpu_ms / bolt:.2f} | {row.cpu_ms / least:.1f} | "
            f"{row.rss_mb:.0f} | {row.lost}"
            for row in rows
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(measure()))
