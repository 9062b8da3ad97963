"""Numbered schema changes of the admins' tables: `migrations/DATABASE/NNNN_name.sql`, applied in order, never edited once
released. Counted in `admin_schema`; `admin_topics` comes with it (`Database.changed`)."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "migrations"

VERSION = "SELECT coalesce(max(version), 0) FROM admin_schema"
BASE = (
    "CREATE TABLE IF NOT EXISTS admin_schema (version INTEGER PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS admin_topics (topic TEXT PRIMARY KEY, number BIGINT NOT NULL)",
)
TOPICS = "SELECT topic, number FROM admin_topics"
TELL = """INSERT INTO admin_topics (topic, number) VALUES (:topic, 1)
  ON CONFLICT (topic) DO UPDATE SET number = admin_topics.number + 1"""
