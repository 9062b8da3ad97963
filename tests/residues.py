"""What is left of words: the raw bytes of an SQLite file with its log and index, all columns of all tables of a PostgreSQL
database, all keys and values of Redis."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import psycopg
from psycopg import sql
from redis import Redis

from tests.services import as_admin


def in_sqlite(path: Path) -> bytes:
    """Return the bytes of the file, of its write-ahead log, and of the log's index."""
    files = (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm"))
    return b"\n".join(file.read_bytes() for file in files if file.exists())


def in_postgres(url: str) -> bytes:
    """Return every value of every table, found through the catalogue."""
    found: list[bytes] = []
    with psycopg.connect(as_admin(url)) as server:
        columns = server.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
        ).fetchall()
        assert columns
        for table, column, kind in columns:
            name = sql.Identifier(column)
            value = name if kind == "bytea" else sql.SQL("{}::text").format(name)
            query = sql.SQL("SELECT {} FROM {} WHERE {} IS NOT NULL").format(value, sql.Identifier(table), name)
            for (row,) in server.execute(query):
                found.append(row if isinstance(row, bytes) else row.encode())
    return b"\n".join(found)


def in_redis(url: str) -> bytes:
    """Return every key and what it holds, of whatever kind."""
    found: list[bytes] = []
    with Redis.from_url(url) as redis:
        for name in redis.scan_iter():
            assert isinstance(name, bytes)
            found += [name, redis.dump(name) or b""]
    return b"\n".join(found)


def left_of(words: Iterable[str], where: bytes) -> list[str]:
    """Return those of the words that are there, plainly or as JSON escapes them."""
    return [word for word in words if any(form.encode() in where for form in {word, json.dumps(word)[1:-1]})]
