"""When other instances are told of new work: only of what this one does not take up itself within a moment.

Each that is told looks in the database. Told of everything, a hundred instances look a hundred times for each message, and all
but one in vain; told of what is left over, they look when there is something for them: this instance is full, slow or ending.
If it is dead, they find that by their own look (`queue.poll_s`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

WAIT_S = 0.02
"""Longer than a claim takes where nothing is in its way, shorter than anybody notices."""


class Patience:
    """Names of lanes, or of queues of the outbox, that work was put into here; none is kept for longer than twice `wait_s`."""

    def __init__(self, tell: Callable[[], None], *, wait_s: float = WAIT_S) -> None:
        """`tell` the others is called for what nobody here has `taken` after one to two `wait_s`."""
        self._tell = tell
        self._wait_s = wait_s
        self._new: set[str] = set()
        self._older: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def put(self, names: Iterable[str]) -> None:
        """Work was put there."""
        self._new.update(names)
        if self._new and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._wait_s, self._look)

    def taken(self, names: Iterable[str]) -> None:
        """This instance works there now."""
        names = tuple(names)
        self._new.difference_update(names)
        self._older.difference_update(names)

    def close(self) -> None:
        """Watch nothing any more: whoever leaves tells all others that it does."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        left, self._older, self._new = self._older, self._new, set()
        self._timer = asyncio.get_running_loop().call_later(self._wait_s, self._look) if self._older else None
        if left:
            self._tell()
