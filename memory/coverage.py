"""What a summary says it covers, as a chain of hashes: each one's holds the one before it and what it newly covers. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

from memory.base import Summary

MOST: Final = 200
"""Messages that one summary newly covers, at most."""


class Covering(msgspec.Struct, frozen=True, array_like=True):
    """A summary with what its digest is checked against: that of the one before it, and (id, version) of what is stored now of
    what it newly covers, oldest first, `MOST` and one at most; None: they can't be read, and it is what is left."""

    summary: Summary
    before: str | None
    told: tuple[tuple[int, int], ...] | None

    @property
    def sound(self) -> bool:
        """Whether it covers what it says, all of it and nothing else."""
        return self.told is None or self.summary.digest == coverage(self.before or "", self.told)


def coverage(before: str, told: Iterable[tuple[int, int]]) -> str:
    """Return the digest of a summary. `before`: that of the summary it was made from, "" if there was none; `told`: (id, version)
    of the messages that newly entered it, oldest first: those that are there, of turns whose question is."""
    return hashlib.sha256(msgspec.json.encode([before, [list(one) for one in told]])).hexdigest()
