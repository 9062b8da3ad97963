"""One gateway per SQLite file: a lock beside the file that the operating system gives back when its process dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from memory.errors import StoreUnavailable


class StoreLock:
    """Hold `PATH.lock` for as long as the `with` block lasts. Taken by whoever writes, not by readers.

    Entering makes the folder if need be, and raises `StoreUnavailable` at once when another process holds the lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def __enter__(self) -> StoreLock:
        lock = self._path.with_name(self._path.name + ".lock")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise StoreUnavailable(
                f"cannot write {str(lock)!r}: {exc.strerror}; check the folder and its owner"
            ) from exc
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            holder = os.read(self._file, 20).decode(errors="replace").strip()
            os.close(self._file)
            raise StoreUnavailable(
                f"another gateway (process {holder or 'unknown'}) is using {str(self._path)!r}; "
                "stop it first, or give this one a storage of its own"
            ) from exc
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The file stays: removing it would let two starters lock two different files of one name.
        os.close(self._file)
