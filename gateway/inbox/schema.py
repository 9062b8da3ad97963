"""The queues' own series of schema changes: the memory store's in the same database has its own numbers."""

from __future__ import annotations

from pathlib import Path

from memory.schema import Schema

QUEUES = Schema(
    name="queue",
    folder=Path(__file__).parent / "migrations",
    base=("CREATE TABLE IF NOT EXISTS queue_schema (version INTEGER PRIMARY KEY)",),
)
