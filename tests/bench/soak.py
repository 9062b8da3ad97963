"""How much memory the gateway's process has after each 500 of 5,000 turns, 50 at a time, against a model that answers at once.

`python -m tests.bench.soak [TURNS]`. What grows for ever shows as a straight line; caches with a bound level off.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.scenarios.crowd import BODY, resident_kb, talk
from tests.scenarios.stage import stage

STEP = 500


async def measure(turns: int) -> str:
    """Return the curve, one line for each step."""
    lines = ["| turns | resident MB | turns/s |", "| ---: | ---: | ---: |"]
    with tempfile.TemporaryDirectory() as folder:
        async with stage(Path(folder), BODY, script=lambda prompt: "fine") as world:
            for first in range(0, turns, STEP):
                started = time.perf_counter()
                await talk(world, range(first, first + STEP))
                seconds = time.perf_counter() - started
                resident = resident_kb(world.gateway.pid) / 1024
                lines.append(f"| {first + STEP:,} | {resident:.1f} | {STEP / seconds:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)) + "\n")
