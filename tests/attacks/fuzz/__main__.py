"""`python -m tests.attacks.fuzz`: the fuzz in its full form, one half of the kinds on SQLite and the other on PostgreSQL. Prints
what was done and what was found; exit 1 for a fault."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.attacks.fuzz.place import SHARES, fuzzed
from tests.attacks.fuzz.run import Report, run
from tests.services import running_postgres


async def half(asked: argparse.Namespace, which: int, storage: str | None) -> Report:
    with tempfile.TemporaryDirectory(prefix="clew-fuzz-") as folder:
        async with fuzzed(Path(folder), storage=storage) as there:
            return await run(
                there,
                count=asked.kinds,
                seed=asked.seed,
                only=asked.only,
                part=(which, 2),
                report=lambda line: print(line, flush=True),
            )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.fuzz")
    parser.add_argument("--kinds", type=int, default=10_000, help="how many kinds of input, all different")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same inputs")
    parser.add_argument("--only", action="append", default=[], choices=sorted(SHARES), help="these doors alone")
    asked = parser.parse_args()
    reports = [asyncio.run(half(asked, 0, None))]
    print(reports[0].told(), flush=True)
    with running_postgres() as server, server.database() as url:
        reports.append(asyncio.run(half(asked, 1, url)))
    print(reports[1].told())
    return 1 if any(report.faults for report in reports) else 0


sys.exit(main())
