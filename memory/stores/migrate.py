"""The memory's own series of schema changes, and the version of the keys in it."""

from __future__ import annotations

from pathlib import Path

from memory.errors import OtherKeys
from memory.key import KEY_VERSION
from memory.schema import Schema

MEMORY = Schema(
    name="memory",
    folder=Path(__file__).parent / "migrations",
    base=(
        "CREATE TABLE IF NOT EXISTS memory_schema (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_ms BIGINT NOT NULL)",
    ),
    more=("name", "applied_ms"),
)


def check_keys(stored: int) -> None:
    """Raise `OtherKeys` unless the database's keys are in this release's codec; `stored` is the version it names."""
    if stored != KEY_VERSION:
        raise OtherKeys(
            f"the memory's keys have version {stored}, this release writes version {KEY_VERSION} and would find nothing that "
            "was said before; start the release that wrote them, or restore a backup made by this one"
        )
