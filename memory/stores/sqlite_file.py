"""The SQLite file itself: opening it, bringing its schema up to date, copying it while it is in use."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Literal

from memory.base import TableSize
from memory.errors import StoreRefused, StoreUnavailable
from memory.sqlite_errors import refuses
from memory.sqlite_migrating import bring_up_to_date, lacking, version
from memory.stores.migrate import MEMORY, check_keys

Synchronous = Literal["NORMAL", "FULL"]

MINIMUM = (3, 37, 0)
"""The first SQLite with STRICT tables."""

CHECKPOINT_PAGES = 4000
"""The queues' connection on the same file checkpoints every 1,000 pages, in its own thread. Ours only does so, and then on
the event loop, should that one be missing: the write-ahead log stays bounded either way."""

BACKUP_PAGES = 256

GROWING = ("inbox_dedupe", "inbox_events", "ledgers", "messages", "outbox_chunks", "outbox_replies")
"""What the retention job keeps bounded, and what nobody does unless a retention is set."""

READERS_S = 0.5
"""How long cutting the log waits for readers. Nobody can write meanwhile, and an export may read for minutes."""


class Translated:
    """Turn SQLite's errors into `StoreUnavailable`, naming the file; misuse of the driver is left as it is."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(exc, sqlite3.Error) and not isinstance(exc, sqlite3.ProgrammingError):
            kind = StoreRefused if refuses(exc) else StoreUnavailable
            raise kind(f"SQLite file {str(self._path)!r}: {exc}") from exc


def check_version(version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> None:
    """Raise `StoreUnavailable` when this Python's SQLite is too old."""
    if version < MINIMUM:
        raise StoreUnavailable(
            f"SQLite {'.'.join(map(str, version))} is too old, {'.'.join(map(str, MINIMUM))} is needed; "
            "use a newer Python, or PostgreSQL as storage"
        )


def open_for_writing(path: Path, *, timeout_s: float, synchronous: Synchronous, now_ms: int) -> sqlite3.Connection:
    """Return a connection to the file, created and migrated if need be. Raises `StoreUnavailable`, `SchemaTooNew`,
    `OtherKeys`."""
    check_version()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))  # before SQLite makes it for all to read
    except OSError as exc:
        raise StoreUnavailable(f"cannot write {str(path)!r}: {exc.strerror}; check the folder and its owner") from exc
    with Translated(path):
        db = _connect(path, "rw", timeout_s=timeout_s)
        try:
            _use_log(db, path)
            db.execute(f"PRAGMA synchronous = {synchronous}")
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA secure_delete = ON")  # a deleted text leaves no bytes in free pages; builds differ
            db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            _migrate(db, now_ms=now_ms)
            _check_keys(db)
        except BaseException:
            db.close()
            raise
    return db


def open_for_reading(path: Path, *, timeout_s: float) -> sqlite3.Connection:
    """Return a read-only connection beside a live gateway. Raises `StoreUnavailable` for a file that is missing or has an
    older schema, `SchemaTooNew` for a newer one, `OtherKeys` for one with keys of another codec."""
    check_version()
    if not path.exists():
        raise StoreUnavailable(f"there is no storage at {str(path)!r}; start the gateway once, or check the path")
    with Translated(path):
        db = _connect(path, "ro", timeout_s=timeout_s)
        try:
            _require_schema(db, path)
            _check_keys(db)
        except BaseException:
            db.close()
            raise
    return db


def open_beside(path: Path, *, timeout_s: float) -> sqlite3.Connection:
    """Return a further read-only connection to a file that this process has open."""
    return _connect(path, "ro", timeout_s=timeout_s)


def _check_keys(db: sqlite3.Connection) -> None:
    (stored,) = db.execute("SELECT value FROM meta WHERE name = 'key_version'").fetchone()
    check_keys(stored)


def _use_log(db: sqlite3.Connection, path: Path) -> None:
    (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreUnavailable(f"{str(path)!r} cannot use a write-ahead log; put it on a local disk")


def _require_schema(db: sqlite3.Connection, path: Path) -> None:
    if lacking(db, MEMORY):
        raise StoreUnavailable(f"{str(path)!r} has the older schema {version(db, MEMORY)}; migrate it first")


def _connect(path: Path, mode: Literal["rw", "ro"], *, timeout_s: float) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=timeout_s, isolation_level=None, cached_statements=256)


def schema_version(db: sqlite3.Connection) -> int:
    """Return the schema's version; 0 is an empty file."""
    return version(db, MEMORY)


def _migrate(db: sqlite3.Connection, *, now_ms: int) -> None:
    """Bring the schema up to date; of several starters one does it and the others wait for its commit."""
    if not lacking(db, MEMORY):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        bring_up_to_date(db, MEMORY, now_ms=now_ms)
        db.execute("COMMIT")
    except BaseException:
        db.rollback()
        raise


def count_rows(path: Path, *, timeout_s: float) -> list[TableSize]:
    """Return the sizes of the tables that grow with the traffic: `GROWING`, as far as they are there."""
    with Translated(path), closing(open_beside(path, timeout_s=timeout_s)) as db:
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return [
            TableSize(name=name, rows=db.execute(f"SELECT count(*) FROM {name}").fetchone()[0])
            for name in GROWING
            if name in there
        ]


def empty_log(path: Path) -> bool:
    """Bring the write-ahead log into the file and cut it to nothing; waits for the disk, and a moment for readers. False:
    somebody is reading from it."""
    with Translated(path), closing(_connect(path, "rw", timeout_s=READERS_S)) as db:
        (busy, *_) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy


async def copy_file(path: Path, target: Path, *, timeout_s: float) -> AsyncGenerator[int, None]:
    """Copy the file to `target` as it is now, while others go on writing; yield how many pages are left.

    The copy appears under its name only when it is complete. Raises FileExistsError rather than overwriting,
    `StoreUnavailable` when SQLite cannot read or write.
    """
    part = target.with_name(target.name + ".part")
    steps: asyncio.Queue[int | None] = asyncio.Queue()
    loop, given_up = asyncio.get_running_loop(), threading.Event()

    def report(_status: int, remaining: int, _total: int) -> None:
        if given_up.is_set():
            raise InterruptedError("the backup was given up")
        loop.call_soon_threadsafe(steps.put_nowait, remaining)

    # In a thread: it waits for the disk for as long as the file is big.
    copying = asyncio.create_task(asyncio.to_thread(_copy, path, target, part, report, timeout_s), name="backup")
    copying.add_done_callback(lambda _: steps.put_nowait(None))
    try:
        while (remaining := await steps.get()) is not None:
            yield remaining
        with Translated(path):
            await copying
        part.replace(target)
    finally:
        given_up.set()
        await asyncio.gather(copying, return_exceptions=True)
        part.unlink(missing_ok=True)


def _copy(path: Path, target: Path, part: Path, report: Callable[[int, int, int], None], timeout_s: float) -> None:
    if target.exists():
        raise FileExistsError(f"{str(target)!r} exists already; choose another name for the backup")
    with closing(_connect(path, "ro", timeout_s=timeout_s)) as source, closing(sqlite3.connect(part)) as copy:
        source.execute("BEGIN")
        source.execute("SELECT 1 FROM sqlite_master").fetchone()  # one moment of the file: a write would start it over
        source.backup(copy, pages=BACKUP_PAGES, progress=report)
