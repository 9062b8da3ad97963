"""Whether a value that should stay where it is grows: a slope, how sure it is, and what that means."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence


def slope_of(at: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Return the least-squares slope of the values, and half the width of its 95 % interval.

    Neighbours in time are alike, so that there are fewer independent samples than samples: they are counted by the lag-1
    correlation of what the line leaves over.
    """
    if len(at) < 3:
        return 0.0, math.inf
    middle, mean = statistics.fmean(at), statistics.fmean(values)
    square = sum((x - middle) ** 2 for x in at)
    slope = sum((x - middle) * (y - mean) for x, y in zip(at, values, strict=True)) / square
    left = [y - mean - slope * (x - middle) for x, y in zip(at, values, strict=True)]
    variance = sum(rest**2 for rest in left) / (len(left) - 2)
    alike = sum(a * b for a, b in itertools.pairwise(left)) / (sum(rest**2 for rest in left) or 1.0)
    inflated = (1 + max(0.0, alike)) / (1 - min(0.95, max(0.0, alike)))
    return slope, 1.96 * math.sqrt(variance / square * inflated)


def verdict(slope: float, spread: float, values: Sequence[float], *, span: float) -> str:
    """Say what a slope of a value that should stay where it is means; `span`: hours looked at."""
    if slope - spread > 0:
        return "grows" if slope * span > 0.02 * max(values) else "grows, by less than 2 % in all this time"
    if spread * span > 0.1 * max(1.0, *values):
        return "cannot be told: it wavers more than it could have grown"
    return "stays"
