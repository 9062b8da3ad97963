"""How two databases are compared: rows counted, and digests that don't depend on the order they are read in. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec

_BYTES = 16
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows, and the sum of their digests modulo 2^128."""

    rows: int = 0
    digest: int = 0

    def more(self, rows: Iterable[Sequence[Any]]) -> Count:
        """Return the count with these rows added."""
        number, total = self.rows, self.digest
        for row in rows:
            total += int.from_bytes(blake2b(_encode(row), digest_size=_BYTES).digest())
            number += 1
        return Count(number, total % (1 << 8 * _BYTES))
