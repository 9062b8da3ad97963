"""Time-ordered 64-bit ids: 41 bits of milliseconds since 2024-01-01, 10 of instance, 12 of sequence (A14).

An id is primary key and sort key at once. Order inside a scope does not rest on the clock: the append transaction lifts
an id above its scope's last one.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable

EPOCH_MS = 1_704_067_200_000


def now_ms() -> int:
    """Return the time in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


class Ids:
    """Gives ids that grow, also when the clock steps back or 4,096 are asked for in one millisecond."""

    def __init__(self, instance: int, clock: Callable[[], int] = now_ms) -> None:
        """`instance` is 0 to 1,023 and differs between running instances; `clock` gives milliseconds since 1970."""
        self._instance = _checked(instance)
        self._clock = clock
        self._last = 0  # milliseconds << 12 | sequence
        self._lock = threading.Lock()

    def renumber(self, instance: int) -> None:
        """Draw ids as another instance from now on; they go on growing."""
        with self._lock:
            if _checked(instance) < self._instance:  # the number outranks the sequence
                self._last |= 0xFFF
            self._instance = instance

    def next(self) -> int:
        """Return an id greater than all before it from this object."""
        with self._lock:
            self._last = max(self._last + 1, (self._clock() - EPOCH_MS) << 12)
            return (self._last >> 12) << 22 | self._instance << 12 | (self._last & 0xFFF)


def _checked(instance: int) -> int:
    if not 0 <= instance < 1024:
        raise ValueError(f"instance: {instance!r} is not between 0 and 1023")
    return instance


def made_ms(id_: int) -> int:
    """Return when an id was given, in milliseconds since 1970; close to it, where the clock had stepped back."""
    return (id_ >> 22) + EPOCH_MS


def first_id(ms: int) -> int:
    """Return the smallest id that can have been given at `ms` (milliseconds since 1970): all smaller ones are older."""
    return max(ms - EPOCH_MS, 0) << 22


def session_id() -> str:
    """Return a new session id (B34)."""
    return f"s-{uuid.uuid4().hex}"
