"""`python -m tests.bench.scale [PART …] [--quick] [--json FILE]`: how far one PostgreSQL and several gateways go.

Ratios and CPU are what counts where a machine does other work; every part prints what else ran beside it.
"""

from __future__ import annotations

import sys

from tests.bench import tables

PARTS = (
    "processes",
    "sessions",
    "hot_lane",
    "backlog",
    "flat",
    "recovery",
    "sizes",
    "copying",
    "bell",
    "round_trips",
    "engines",
    "soak",
)

if __name__ == "__main__":
    sys.exit(tables.main("tests.bench.scale", PARTS, sys.argv[1:]))
