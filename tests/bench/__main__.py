"""`python -m tests.bench [PART …]`: all figures, or those of the named parts, one process each.

Ratios count, and only inside one table: everything in a table was measured in one run, on one machine, in turns.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time

from tests.bench import stores, stores_postgres, windows
from tests.services import running_postgres, running_valkey

PARTS = (
    "trim",
    "stores",
    "partitions",
    "model_client",
    "inbox",
    "turns",
    "slack",
    "first_token",
    "start",
    "render",
    "profile_recall",
    "stored_vectors",
    "recall",
    "recall_chinese",
    "staleness",
    "ranking",
    "extraction",
    "pins",
    "leaks",
    "attribution",
    "arrays",
    "deletion",
    "replays",
    "cost",
    "quotas",
)


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    if names == ["stores"]:
        print(all_stores())
        return 0
    load = os.getloadavg()[0]
    print(
        f"{time.strftime('%Y-%m-%d')} · Python {platform.python_version()} · {os.cpu_count()} cores · load {load:.1f}"
    )
    for name in names or PARTS:
        print(f"\n== {name}", flush=True)
        module = ("tests.bench", "stores") if name == "stores" else (f"tests.bench.{name}",)
        subprocess.run([sys.executable, "-m", *module], check=True)
    return 0


def all_stores() -> str:
    """Return the stores' table: SQLite, PostgreSQL and PostgreSQL with Redis, each beside its engine's limit; then what Redis
    saves and costs."""
    with running_postgres() as postgres, running_valkey() as valkey:
        subjects = stores.SUBJECTS | stores_postgres.subjects(postgres, valkey)
        return stores.report(stores.measure(subjects=subjects)) + "\n" + windows.measure_windows(postgres, valkey)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
