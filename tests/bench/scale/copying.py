"""`db copy` of 100,000 and 1,000,000 messages with what recall finds them by, beside the same rows by a bare COPY: a statement a
table, already in the server's own words, into tables with the same indexes.

What the bare COPY does less: it reads no SQLite, knows nothing of owners (policies cost a second write), cannot go on, and
compares nothing. Comparing stands beside reading both databases without looking.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import sqlite3
import struct
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from gateway.app import schemas
from gateway.copying import source, target
from gateway.copying.copying import Tell, begun, copy
from gateway.copying.plan import plan
from tests.bench.tables import Cell, Table
from tests.copies import make
from tests.services import Postgres, as_admin, running_postgres

SIZES = (100_000, 1_000_000)
A_SCOPE = 200
"""Messages of a conversation."""
A_MESSAGE = 8
"""Terms of a message that recall finds."""
PIECE = 500
"""Rows that are handed to a bare COPY at once."""
TEXT = "Order {} left the warehouse on Tuesday; 承运人预计星期五送到，如果没有收到请再问一次。"
BIG = ("messages", "fragments", "terms")
COLUMNS = [
    "messages",
    "rows",
    "file, MB",
    "copied rows/s",
    "bare COPY rows/s",
    "ratio",
    "compared rows/s",
    "bare reading rows/s",
    "all, s",
]


async def measure(quick: bool) -> AsyncIterator[Table]:
    rows: list[list[Cell]] = []
    with running_postgres() as server:
        for size in (2_000,) if quick else SIZES:
            rows.append(await asyncio.to_thread(_measured, server, size))
    yield Table(
        title="from a SQLite file to PostgreSQL",
        columns=COLUMNS,
        rows=rows,
        notes=[
            "The server syncs nothing to disk. Rows are messages, and of every second one a fragment and its terms."
        ],
    )


def _measured(server: Postgres, size: int) -> list[Cell]:
    with TemporaryDirectory() as folder, server.database() as url:
        path = Path(folder) / "clew.db"
        make(path)
        _fill(path, size)
        moments: list[float] = []

        def telling(_total: int, _doing: str) -> Tell:
            moments.append(time.monotonic())
            return lambda _done, table: None if table else moments.append(time.monotonic())

        with source.opened(path, timeout_s=60) as here, target.connected(url, timeout_s=60) as there:
            began = time.monotonic()
            resumed = begun(here, there, known=schemas(), make=lambda: None)
            copied = copy(here, there, resumed=resumed, tell=telling)
            ended = time.monotonic()
            steps = plan(here.tables(), there.tables())
            reading = time.monotonic()
            for step in steps:
                for _ in here.rows(step):
                    pass
                with there.rows(step) as read:
                    for _ in read:
                        pass
            read_s = time.monotonic() - reading
        number = sum(copied.rows.values())
        big = sum(copied.rows[table] for table in BIG)
        rate, bare = number / (moments[1] - moments[0]), big / _bare_s(url)
        return [
            size,
            number,
            path.stat().st_size / 1e6,
            rate,
            bare,
            bare / rate,
            2 * number / (moments[3] - moments[2]),
            2 * number / read_s,
            ended - began,
        ]


def _bare_s(url: str) -> float:
    """Return how long the server takes for the big tables' rows, handed to it as it gives them out."""
    took = 0.0
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        for table in BIG:
            with db.cursor() as cursor, cursor.copy(f"COPY {table} TO STDOUT") as out:  # type: ignore[arg-type]
                rows = [bytes(some) for some in out]
            db.execute(f"CREATE TABLE bare_{table} (LIKE {table} INCLUDING ALL)".encode())
            began = time.monotonic()
            with db.cursor() as cursor, cursor.copy(f"COPY bare_{table} FROM STDIN") as into:  # type: ignore[arg-type]
                for first in range(0, len(rows), PIECE):  # not row by row: that would measure the driver
                    into.write(b"".join(rows[first : first + PIECE]))
            took += time.monotonic() - began
    return took


def _fill(path: Path, size: int) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        scopes = range(1, size // A_SCOPE + 1)
        db.executemany(
            'INSERT INTO scopes (id, "user", channel, conversation, chat_type, agent, created_ms) VALUES (?, ?, ?, ?, ?, ?, ?)',
            ((scope, f"T1.U{scope}", "acme", f"D{scope}", "private", "helper", 1) for scope in scopes),
        )
        db.executemany(f"INSERT INTO messages VALUES ({', '.join('?' * 27)})", _messages(size))
        rng = random.Random(6)
        for first in range(2, size + 1, 20_000):
            some = [
                (number, [rng.randrange(-(2**62), 2**62) for _ in range(A_MESSAGE)])
                for number in range(first, min(first + 20_000, size + 1), 2)
            ]
            db.executemany(
                "INSERT INTO fragments (scope_id, id, person_id, namespace, chat_type, session_id, position, length, terms)"
                " VALUES (?, ?, ?, '', 'private', 's', ?, 9, ?)",
                ((_scope(id_), id_, _scope(id_), id_, struct.pack(f"<{A_MESSAGE}q", *terms)) for id_, terms in some),
            )
            db.executemany(
                "INSERT INTO terms VALUES (?, ?, ?, 1)",
                ((term, id_, _scope(id_)) for id_, terms in some for term in terms),
            )
        db.commit()


def _messages(size: int) -> Iterator[tuple[object, ...]]:
    for number, role in zip(range(1, size + 1), itertools.cycle(("user", "assistant"))):
        scope = _scope(number)
        yield (
            scope, number, f"s-{scope:032}", number, number, role, TEXT.format(number), f"T1.U{scope}", "acme", f"D{scope}",
            "private", "helper", "李雷", scope, 31, 0, 1_790_000_000_000 + number, 1, None, None, f"{number}.0001", None, None,
            None, None, None, None,
        )  # fmt: skip


def _scope(number: int) -> int:
    return (number - 1) // A_SCOPE + 1
