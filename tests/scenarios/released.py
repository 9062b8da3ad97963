"""Run another release's gateway: `python -m tests.scenarios.released FOLDER ARGUMENT…`, with its sources in FOLDER."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    os.chdir(sys.argv[1])  # where `python -m` looks first
    os.execv(sys.executable, [sys.executable, "-m", "gateway", *sys.argv[2:]])
