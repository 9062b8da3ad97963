"""Webhook turns end to end with a model that answers at once: rate, latency of our own and CPU, beside a bare handler.

The gateway and the bare handler are processes of their own; this one sends the load and is the model. The same signed
messages go to both, in turns. Goals G4 (no collapse at 200 in flight, nothing lost) of engines.md B.1.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import msgspec
from standardwebhooks import Webhook

from tests.scenarios.world import ROOT, SECRET, Gateway, environ, model_server, write_config
from tests.services import running_postgres, running_valkey

IN_FLIGHT = (1, 50, 200)
TURNS = {1: 300, 50: 1500, 200: 2000}
CONVERSATIONS = 200
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One subject under one load. Times in milliseconds, the model's own included (it answers at once)."""

    subject: str
    in_flight: int
    per_s: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    rss_mb: float
    lost: int


def measure() -> list[Figure]:
    """Return the figures of one run."""
    return asyncio.run(_measure())


async def _measure() -> list[Figure]:
    """Measure the bare handler and the gateway on its three columns."""
    figures: list[Figure] = []
    with running_postgres() as postgres, running_valkey() as valkey:
        folder = Path(tempfile.mkdtemp(prefix="clew-bench-"))
        async with model_server(lambda prompt: "Order 8821 left on Tuesday.") as model:
            async with started("tests.bench.bare", model.url, SECRET) as (url, pid):
                figures += await loads("bare aiohttp handler", url, pid)
            for subject, storage in {
                "clew, SQLite": None,
                "clew, PostgreSQL": postgres.url("postgres"),
                "clew, PostgreSQL + Redis": f"{postgres.url('template1')}\nredis: {valkey.url}",
            }.items():
                async with clew(folder / subject.replace(" ", "-"), model.url, storage) as (url, pid):
                    figures += await loads(subject, url, pid)
                model.prompts.clear()
    return figures


@asynccontextmanager
async def started(module: str, *arguments: str) -> AsyncIterator[tuple[str, int]]:
    """Run a module that prints its port; give its URL and process id."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, cwd=ROOT, env=environ(), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        port = int(await process.stdout.readline())
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def clew(folder: Path, model_url: str, storage: str | None) -> AsyncIterator[tuple[str, int]]:
    folder.mkdir()
    body = f"""
server: {{log_level: warning, port: 0}}
agents: {{default: {{kind: openai, base_url: "{model_url}", model: stub}}}}
channels: {{hook: {{kind: webhook, secrets: ["${{HOOK}}"], limits: {{per_minute: 100000}}}}}}"""
    config = write_config(folder, body.replace("server: {log_level: warning, port: 0}\n", ""), storage=storage)
    process = Gateway(config, environ(), forked=False)
    await process.start()
    try:
        yield process.url, process.pid
    finally:
        await process.kill()


async def loads(subject: str, url: str, pid: int) -> list[Figure]:
    """Put every load on one subject, after a warm-up."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await load(subject, session, url, pid, in_flight=10, turns=100)
        return [await load(subject, session, url, pid, in_flight=n, turns=TURNS[n]) for n in IN_FLIGHT]


async def load(
    subject: str, session: aiohttp.ClientSession, url: str, pid: int, *, in_flight: int, turns: int
) -> Figure:
    """Send `turns` messages, `in_flight` at a time, each to a conversation that has none under way."""
    messages = iter([signed(number, in_flight) for number in range(turns)])
    times: list[float] = []
    lost = 0

    async def sender() -> None:
        nonlocal lost
        for raw, headers in messages:
            started = time.perf_counter()
            async with session.post(f"{url}/channels/hook", data=raw, headers=headers) as response:
                answer = msgspec.json.decode(await response.read())
            times.append((time.perf_counter() - started) * 1000)
            lost += "reply" not in answer

    cpu, began = cpu_s(pid), time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(in_flight):
            tasks.create_task(sender())
    return figure(
        subject, in_flight, times, seconds=time.perf_counter() - began, cpu=cpu_s(pid) - cpu, pid=pid, lost=lost
    )


def figure(
    subject: str, in_flight: int, times: list[float], *, seconds: float, cpu: float, pid: int, lost: int
) -> Figure:
    """Return the figure of a load of turns that took `times` (ms) each, and `seconds` and `cpu` seconds in all."""
    turns = len(times)
    return Figure(
        subject=subject,
        in_flight=in_flight,
        per_s=turns / seconds,
        p50_ms=statistics.median(times),
        p99_ms=statistics.quantiles(times, n=100)[98],
        cpu_ms=cpu * 1000 / turns,
        rss_mb=rss_mb(pid),
        lost=lost,
    )


def signed(number: int, in_flight: int) -> tuple[bytes, dict[str, str]]:
    """Return a message and its headers. Neighbours in time go to different conversations, so that none waits in a lane."""
    id_ = f"bench-{in_flight}-{number}-{time.monotonic_ns()}"
    user = f"user{number % max(CONVERSATIONS, 2 * in_flight)}"
    body = {
        "conversation": user,
        "chat_type": "private",
        "sender": {"id": user, "name": "Ada"},
        "message": {"id": id_, "text": "Could you check whether order 8821 has been shipped?"},
    }
    raw, now = msgspec.json.encode(body), datetime.now(tz=UTC)
    signature = Webhook(SECRET).sign(id_, now, raw.decode())
    return raw, {
        "content-type": "application/json",
        "webhook-id": id_,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signature,
    }


def cpu_s(pid: int) -> float:
    """Return the CPU seconds a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def rss_mb(pid: int) -> float:
    """Return a process's resident memory in megabytes."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def report(figures: list[Figure]) -> str:
    """Return the table, each row beside the bare handler under the same load."""
    lines = ["in flight | subject | turns/s | p50 / p99 ms | CPU ms a turn | x bare CPU | RSS MB | lost"]
    base = {figure.in_flight: figure for figure in figures if figure.subject.startswith("bare")}
    for n in IN_FLIGHT:
        for figure in (figure for figure in figures if figure.in_flight == n):
            ratio = figure.cpu_ms / base[n].cpu_ms
            lines.append(
                f"{n} | {figure.subject} | {figure.per_s:,.0f} | {figure.p50_ms:.1f} / {figure.p99_ms:.1f} | "
                f"{figure.cpu_ms:.2f} | {ratio:.1f}x | {figure.rss_mb:.0f} | {figure.lost}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(measure()))
