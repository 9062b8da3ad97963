"""What becomes of an update that fails in a way nobody foresaw: tried again, then left behind, but never all of them. No I/O.

One update that can't be stored must not keep back those behind it; a fault that meets every update must not throw away what
people said meanwhile. So as long as others get through in between, one is given up after some tries; else it is held.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal

from adapters.remembering import remember

TRIES = 3
"""How often an update is tried before it may be left behind."""

IN_ROW = 3
"""How many may be left behind with none stored in between."""

_REMEMBERED = 1_000

Verdict = Literal["again", "leave", "hold"]


class Parking:
    """The failures of one channel's updates, by their number."""

    def __init__(self) -> None:
        self._tries: OrderedDict[int, int] = OrderedDict()
        self._left = 0
        self.stuck = False
        """Whether an update is held and none has been stored since."""

    def failed(self, number: int) -> Verdict:
        """Return what becomes of an update that has failed once more: it has to come again; it is left behind; it is held, as
        nothing gets through, and has to come again."""
        tries = self._tries.pop(number, 0) + 1
        if tries >= TRIES and self._left < IN_ROW:
            self._left += 1
            return "leave"
        remember(self._tries, number, tries, most=_REMEMBERED)
        self.stuck = self.stuck or tries >= TRIES
        return "hold" if tries >= TRIES else "again"

    def stored(self, number: int) -> None:
        """An update got through: the fault is not in all of them."""
        self._tries.pop(number, None)
        self._left, self.stuck = 0, False
