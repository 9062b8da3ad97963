"""How long to wait before the next try of something that failed. Pure."""

from __future__ import annotations

LONGEST_WAIT_S = 300.0


def retry_wait_s(attempt: int, *, first_s: float) -> float:
    """Return the seconds to wait after the given failed attempt (1 for the first): doubling, at most five minutes.

    With `first_s` 1: 1, 2, 4, 8, ... 256, 300, 300.
    """
    return min(first_s * 2.0 ** min(attempt - 1, 30), LONGEST_WAIT_S)
