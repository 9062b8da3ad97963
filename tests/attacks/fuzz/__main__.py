"""`python -m tests.attacks.fuzz`: the fuzz in its full form. Prints what was done and what was found; exit 1 for a fault."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.attacks.fuzz.place import SHARES, fuzzed
from tests.attacks.fuzz.run import run


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.fuzz")
    parser.add_argument("--kinds", type=int, default=10_000, help="how many kinds of input, all different")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same inputs")
    parser.add_argument("--only", action="append", default=[], choices=sorted(SHARES), help="these doors alone")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clew-fuzz-") as folder:
        async with fuzzed(Path(folder)) as there:
            made = await run(
                there, count=asked.kinds, seed=asked.seed, only=asked.only, report=lambda line: print(line, flush=True)
            )
    print(made.told())
    return 1 if made.faults else 0


sys.exit(asyncio.run(main()))
