"""A window that slides, reckoned from two counters. Pure; the databases' own words for it stand beside their names."""

from __future__ import annotations

from math import ceil, floor
from typing import NamedTuple


class Count(NamedTuple):
    """What is kept of somebody: when it was counted last (seconds), the acts of that window and of the one before."""

    at: float
    acts: int
    before: int


def at(known: Count | None, *, now: float, within_s: float) -> Count:
    """Return the count as it stands now."""
    if known is None:
        return Count(now, 0, 0)
    match floor(now / within_s) - floor(known.at / within_s):
        case 0:
            return Count(now, known.acts, known.before)
        case 1:
            return Count(now, 0, known.acts)
        case _:
            return Count(now, 0, 0)


def room(count: Count, *, most: int, within_s: float) -> int:
    """Return how many more acts are within the limit. With 20 a minute and 20 in the last one: none at its end, 2 six seconds
    later. What is left of the last window counts as a whole."""
    share = 1 - (count.at / within_s - floor(count.at / within_s))
    return max(0, most - count.acts - ceil(count.before * share))


def less(count: Count) -> Count:
    """Return the count with one act taken back."""
    if count.acts:
        return count._replace(acts=count.acts - 1)
    return count._replace(before=max(0, count.before - 1))
