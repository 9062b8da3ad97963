"""The opened truth: what a running gateway stands on, whichever database `app.py` opened it from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gateway.admin.database import Database
from gateway.inbox.base import Inbox, Outbox
from gateway.inbox.dead import DeadLetters
from gateway.inbox.erasable import Erasable
from gateway.inbox.looking import Looking
from gateway.leases import Leases
from memory.derived import FullStore
from memory.errors import StoreUnavailable


class Queues(Inbox, Outbox, Erasable, Protocol):
    """One object that is both queues."""

    @property
    def looking(self) -> Looking:
        """What an admin sees of them."""
        ...

    @property
    def letters(self) -> DeadLetters:
        """What in them waits for an admin."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """The opened truth."""

    store: FullStore
    queues: Queues
    admin: Database
    leases: Leases
    warning: str | None = None  # what guards the store less than it might


def sqlite_path(storage: str) -> Path | None:
    """Return the file of a `sqlite:///PATH` storage; None for a server's."""
    prefix = "sqlite:///"
    return Path(storage.removeprefix(prefix)) if storage.startswith(prefix) else None


def make_folder(folder: Path) -> None:
    """Make the storage's folder if need be. Raises `StoreUnavailable`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        reason = f"cannot make the folder {str(folder)!r}: {exc.strerror}"
        raise StoreUnavailable(f"{reason}; check `storage` and who owns the folder above") from exc
