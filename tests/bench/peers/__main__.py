"""`python -m tests.bench.peers [PART …] [--quick] [--json FILE]`: other keepers of conversations beside ours, one engine a part.

`PEERS` is the Python that has the peers (`make bench-peers` makes it: `.peers`). Each peer is driven by a script of ours beside
this file, whose first words say what the peer does less or more.
"""

from __future__ import annotations

import sys

from tests.bench import tables

PARTS = ("sqlite", "postgres", "redis", "slack")

if __name__ == "__main__":
    sys.exit(tables.main("tests.bench.peers", PARTS, sys.argv[1:]))
