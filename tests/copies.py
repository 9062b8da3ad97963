"""For tests of `db copy`: a SQLite file of this release with some rows in every table, of every column, whatever it is."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from config.settings import Settings
from gateway.app import open_storage
from memory.ids import Ids

Value = int | float | str | bytes | None

WORDS = ("退货要多久？", "naïve 😀 e\u0301", "a\tb\\n\n\\.", "\\N", "", "NULL", "нет")

ROWS = 7

# What a table's own rules ask of a column, or another's rows: by (table, column), else by column.
RULES: Mapping[tuple[str, str], Callable[[int], Value]] = {
    ("inbox_events", "kind"): lambda n: ("message", "control")[n % 2],
    ("inbox_events", "state"): lambda n: ("accepted", "answered", "running", "dead")[n % 4],
    ("inbox_events", "lane"): lambda n: f"大厅{n % 3}",
    ("outbox_chunks", "state"): lambda n: ("waiting", "sending", "sent", "unknown", "dead")[n % 5],
    ("scopes", "alias_of"): lambda n: n + 1 if n % 3 == 1 and n < ROWS else None,  # to one that comes later
    ("scopes", "carry_scope_id"): lambda n: (n % ROWS) + 1 if n % 2 else None,
    ("persons", "linked_to"): lambda n: ROWS - n if n < ROWS else None,
    ("takeovers", "state"): lambda n: "ended",
    ("fragments", "terms"): lambda n: b"".join((n * 10**17 - k).to_bytes(8, "little", signed=True) for k in range(3)),
    ("facts", "source_ids"): lambda n: f"[{n}, {2**62}]" if n % 2 else None,
    ("profile_items", "source_ids"): lambda n: f"[{n}]" if n % 2 else None,
    ("messages", "quote"): lambda n: '{"name": "李", "text": "a\\"b\\\\", "by_bot": false}' if n % 2 else None,
    ("messages", "steps"): lambda n: '[{"name": "搜索", "detail": "", "ms": 3}]' if n % 2 else None,
    ("usage_entries", "money"): lambda n: None,
}


def make(path: Path) -> None:
    """Make an empty file of this release, as a gateway does."""

    async def opened() -> None:
        settings = Settings.model_validate({"storage": f"sqlite:///{path}", "agents": {"default": {"kind": "demo"}}})
        async with open_storage(settings, ids=Ids(1)):
            pass

    asyncio.run(opened())


def fill(path: Path, *, rows: int = ROWS) -> None:
    """Write `rows` rows into every table that has none."""
    with closing(sqlite3.connect(path)) as db:
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
        for (table,) in db.execute(tables).fetchall():
            if not db.execute(f"SELECT EXISTS (SELECT 1 FROM {table})").fetchone()[0]:
                _fill(db, table, 1 if table == "heartbeat" else rows)
        db.execute("UPDATE queue_run SET run = 5")
        db.execute("UPDATE sqlite_sequence SET seq = 41 WHERE name = 'admin_audit'")  # its last rows had their time
        db.commit()


def _fill(db: sqlite3.Connection, table: str, rows: int) -> None:
    columns = db.execute(
        'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden = 0', (table,)
    ).fetchall()
    names = ", ".join(f'"{name}"' for name, *_ in columns)
    query = f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"
    for number in range(1, rows + 1):
        db.execute(query, [_value(table, *column, number=number) for column in columns])


def _value(table: str, name: str, type_: str, required: int, key: int, *, number: int) -> Value:
    if (table, name) in RULES:
        return RULES[table, name](number)
    if not required and not key and number % 4 == 3:
        return None
    match type_.upper():
        case "INTEGER" | "BIGINT":
            return number % 2 if name == "low_value" or name == "pinned" else number
        case "REAL":
            return number / 3
        case "BLOB":
            return bytes((number, 0, 255, 92)) * 3
        case _:
            return f"{number} {WORDS[number % len(WORDS)]}"
