"""How far a command is: one line that is written over in a terminal, else a line every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

EVERY_S = 5.0
DRAWN_S = 0.1
WIDTH = 30


class Progress:
    """Tells of work of `total` parts on `stream`."""

    def __init__(self, total: int, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds."""
        self._total, self._stream, self._clock = max(total, 1), stream, clock
        self._begun = self._told = clock()
        self._wait_s = DRAWN_S if stream.isatty() else EVERY_S

    def at(self, done: int, what: str) -> None:
        """Say that so many parts are done, `what` at the moment; not more often than anybody reads."""
        now = self._clock()
        if now - self._told >= self._wait_s:
            self._told = now
            self._say(done, what, now)

    def end(self, done: int, what: str) -> None:
        """Say the last word."""
        self._say(done, what, self._clock())
        if self._stream.isatty():
            print(file=self._stream)

    def _say(self, done: int, what: str, now: float) -> None:
        part = min(done / self._total, 1)
        text = f"{part:4.0%}  {done:,} of {self._total:,}  {done / max(now - self._begun, 0.001):,.0f}/s  {what}"
        if self._stream.isatty():
            bar = "#" * round(part * WIDTH)
            print(f"\r[{bar:{WIDTH}}] {text}\x1b[K", end="", file=self._stream, flush=True)
        else:
            print(text, file=self._stream, flush=True)
