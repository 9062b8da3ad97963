"""What a bench of several parts prints: tables for people, and the same as JSON for whoever compares runs.

Each part is a module with `measure(quick)`, and runs in a process of its own: `python -m tests.bench.scale bell --quick`.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

Cell = str | int | float | None
Measure = Callable[[bool], AsyncIterator["Table"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table. Floats are printed with three digits that count; None is a figure that was not taken."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    raw: object = None  # what the figures were made of, for who reckons anew; only in the JSON

    def text(self) -> str:
        """Return the table as Markdown."""
        lines = [f"### {self.title}", "", _line(self.columns), _line(["---"] * len(self.columns))]
        lines += [_line([shown(cell) for cell in row]) for row in self.rows]
        return "\n".join([*lines, *([""] if self.notes else []), *self.notes, ""])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def shown(cell: Cell) -> str:
    """Return a figure as people read it."""
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.1f}" if abs(cell) >= 10 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def spread(values: Sequence[float]) -> str:
    """Return the median with the least and the most."""
    return f"{shown(float(statistics.median(values)))} [{shown(float(min(values)))}..{shown(float(max(values)))}]"


def main(package: str, parts: Sequence[str], arguments: Sequence[str]) -> int:
    """Run the named parts, or all; print their tables, then all of them as one line of JSON, or into the file that is named."""
    parser = argparse.ArgumentParser(prog=f"python -m {package}")
    parser.add_argument("part", nargs="*", choices=[*parts, []], metavar="PART", help=", ".join(parts))
    parser.add_argument("--quick", action="store_true", help="seconds a part: whether it runs, not what it measures")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON there instead")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.alone:
        (name,) = given.part
        try:
            told = asyncio.run(_ended_well(_printed(package, name, quick=given.quick)))
        except asyncio.CancelledError:
            return 1
        given.json.write_text(json.dumps(told), "utf-8")
        return 0
    print(_here(), flush=True)
    whole: dict[str, object] = {"run": _here(), "quick": given.quick, "parts": {}}
    failed = 0
    with tempfile.TemporaryDirectory(prefix="clew-bench-") as folder:
        for name in given.part or parts:
            file = Path(folder) / f"{name}.json"
            options = ["--alone", "--json", str(file), *(["--quick"] if given.quick else [])]
            failed += _run([sys.executable, "-m", package, name, *options]) != 0
            whole["parts"] |= {name: json.loads(file.read_text("utf-8")) if file.exists() else None}  # type: ignore[operator]
    text = json.dumps(whole, ensure_ascii=False)
    if given.json:
        given.json.write_text(text + "\n", "utf-8")
    else:
        print(text)
    return 1 if failed else 0


def _run(command: Sequence[str]) -> int:
    """Run a part to its end. Broken off, it still ends what it has started: it hears of an interrupt itself."""
    with subprocess.Popen(command) as process:

        def stop(*_: object) -> None:
            process.terminate()
            raise SystemExit(128 + signal.SIGTERM)

        previous = signal.signal(signal.SIGTERM, stop)
        try:
            return process.wait()
        finally:
            process.wait()
            signal.signal(signal.SIGTERM, previous)


async def _ended_well(measuring: Coroutine[None, None, dict[str, object]]) -> dict[str, object]:
    """Measure; told to end, leave through every block that ends a server or a gateway."""
    task = asyncio.ensure_future(measuring)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


async def _printed(package: str, name: str, *, quick: bool) -> dict[str, object]:
    measure: Measure = importlib.import_module(f"{package}.{name}").measure
    print(f"\n## {name}", flush=True)
    load, began, tables = os.getloadavg()[0], time.monotonic(), []
    async for table in measure(quick):
        print(f"\n{table.text()}", flush=True)
        tables.append(asdict(table))
    seconds = time.monotonic() - began
    print(f"({name}: {seconds:.0f} s, load {load:.1f} before and {os.getloadavg()[0]:.1f} after)", flush=True)
    return {"seconds": round(seconds, 1), "load": [load, os.getloadavg()[0]], "tables": tables}


def _here() -> str:
    load = os.getloadavg()[0]
    return f"{time.strftime('%Y-%m-%d %H:%M')} · Python {platform.python_version()} · {os.cpu_count()} cores · load {load:.1f}"
