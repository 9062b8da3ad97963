"""The admins' tables' own series of schema changes; `admin_topics` comes with it (`Database.changed`)."""

from __future__ import annotations

from pathlib import Path

from memory.schema import Schema

ADMINS = Schema(
    name="admin",
    folder=Path(__file__).parent / "migrations",
    base=(
        "CREATE TABLE IF NOT EXISTS admin_schema (version INTEGER PRIMARY KEY)",
        "CREATE TABLE IF NOT EXISTS admin_topics (topic TEXT PRIMARY KEY, number BIGINT NOT NULL)",
    ),
)

TOPICS = "SELECT topic, number FROM admin_topics"
TELL = """INSERT INTO admin_topics (topic, number) VALUES (:topic, 1)
  ON CONFLICT (topic) DO UPDATE SET number = admin_topics.number + 1"""
