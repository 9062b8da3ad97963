"""Which build this is: releases are pulled, so two builds can bear one version number."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("adapters", "config", "gateway", "memory")
READ = frozenset({".py", ".sql", ".json", ".html", ".js", ".css"})
"""What a running gateway reads of its own; not the file that an operator writes settings in."""


def release(version: str, *, root: Path = ROOT, packages: Iterable[str] = PACKAGES) -> str:
    """Return the version and eight hex digits of the sources under `root`, as PEP 440 writes a local version: equal wherever the
    same files run, whatever their times and their folder. Reads all of them."""
    digest = blake2b(digest_size=4)
    for package in packages:
        for file in sorted(file for file in (root / package).rglob("*") if file.suffix in READ and file.is_file()):
            content = file.read_bytes()
            digest.update(f"{file.relative_to(root).as_posix()} {len(content)}\n".encode())
            digest.update(content)
    return f"{version}+{digest.hexdigest()}"
