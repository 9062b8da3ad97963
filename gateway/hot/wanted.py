"""What other instances want of the streams that run here, and what they have been sent. No clock, no I/O."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

WANTED_S: Final = 10.0
"""Seconds a stream stays wanted by an instance that asked for it."""
MOST: Final = 20_000
"""Streams wanted at once; beyond that those asked for longest ago are forgotten."""


class Want(msgspec.Struct, frozen=True, array_like=True):
    """An instance (`by`) follows an event's stream; it has what `source` sent it up to the piece `number` (none: empty, 0)."""

    event_id: int
    by: str
    source: str = ""
    number: int = 0


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """Part of a stream, for an instance that wants it. `reset`: `text` is all there is; `delta`: so much more; `done`, `failed`:
    the end, with its `view`. `number` grows by one with each piece of a `source`."""

    event_id: int
    source: str
    number: int
    name: Literal["reset", "delta", "done", "failed"]
    text: str = ""
    view: bytes = b""


@dataclass(slots=True)
class _Wish:
    """One instance's, for one stream."""

    until: float
    number: int = 0
    begun: bool = False  # it has had a `reset`, and all but `more` since
    more: str = ""


class Wanted:
    """The wishes. Times are seconds from any fixed start."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._wishes: OrderedDict[int, dict[str, _Wish]] = OrderedDict()
        self._grown: dict[int, None] = {}

    def want(self, want: Want, *, now: float) -> None:
        """Note a wish. Who has not had all that was sent to it begins anew."""
        wish = self._wishes.setdefault(want.event_id, {}).setdefault(want.by, _Wish(until=0))
        self._wishes.move_to_end(want.event_id)
        wish.until = now + WANTED_S
        if (want.source, want.number) != (self._source, wish.number):
            wish.begun = False
        self._forget(now=now)

    def grew(self, event_id: int, text: str) -> None:
        """Text was added to the stream."""
        for wish in self._wishes.get(event_id, {}).values():
            wish.more += text
            self._grown[event_id] = None

    def anew(self, event_id: int) -> None:
        """What was shown of the stream counts no more, or it is only now that there is one."""
        for wish in self._wishes.get(event_id, {}).values():
            wish.begun = False
            self._grown[event_id] = None

    def pieces(self, text: Callable[[int], str], *, now: float) -> Iterator[tuple[str, Piece]]:
        """Give what is to be sent, and to whom; `text` tells all there is of a stream."""
        grown, self._grown = self._grown, {}
        for event_id in grown:
            for by, wish in self._wishes.get(event_id, {}).items():
                if wish.until <= now:
                    wish.begun = False
                elif not wish.begun:
                    wish.begun = True
                    yield by, self._piece(event_id, wish, "reset", text=text(event_id))
                elif wish.more:
                    yield by, self._piece(event_id, wish, "delta", text=wish.more)
                wish.more = ""

    def end(self, event_id: int, name: Literal["done", "failed"], view: bytes) -> Iterator[tuple[str, Piece]]:
        """Give the end of a stream to all who want it; then nobody does."""
        self._grown.pop(event_id, None)
        for by, wish in self._wishes.pop(event_id, {}).items():
            yield by, self._piece(event_id, wish, name, view=view)

    def drop(self, event_id: int) -> None:
        """Forget the stream's wishes."""
        self._grown.pop(event_id, None)
        self._wishes.pop(event_id, None)

    def _piece(
        self,
        event_id: int,
        wish: _Wish,
        name: Literal["reset", "delta", "done", "failed"],
        *,
        text: str = "",
        view: bytes = b"",
    ) -> Piece:
        wish.number += 1
        return Piece(event_id, self._source, wish.number, name, text, view)

    def _forget(self, *, now: float) -> None:
        while self._wishes:
            event_id, wishes = next(iter(self._wishes.items()))
            if len(self._wishes) <= MOST and any(wish.until > now for wish in wishes.values()):
                return
            self.drop(event_id)
