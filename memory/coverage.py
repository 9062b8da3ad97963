"""What a summary says it covers, as a chain of hashes: each one's holds the one before it and what it newly covers. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

MOST: Final = 200
"""Messages that one summary newly covers, at most."""


def coverage(before: str, told: Iterable[tuple[int, int]]) -> str:
    """Return the digest of a summary. `before`: that of the summary it was made from, "" if there was none; `told`: (id, version)
    of the messages that newly entered it, oldest first: those that are there, of turns whose question is."""
    return hashlib.sha256(msgspec.json.encode([before, [list(one) for one in told]])).hexdigest()
