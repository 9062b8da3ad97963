"""Charts, drawn on the server as SVG: where things stand in a field of 1000 by 300. Pure; `macros.html` puts them on a page.

The plot is stretched to the width there is, so no text stands in it: ticks and captions are the page's own words beside it, and
the same figures stand in a table for who does not see it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

WIDTH, HEIGHT = 1000, 300
_MOST_SERIES = 6  # more lines than that can't be told apart


class Series(msgspec.Struct, frozen=True):
    """Figures under one name, one for each label; None: nothing is known of that moment, and the line has a gap."""

    name: str
    values: Sequence[float | None]


class Bar(msgspec.Struct, frozen=True):
    """A bar of a chart; `series` counts from 0 and picks the colour, `told` is read out and shown under the pointer."""

    x: float
    y: float
    width: float
    height: float
    series: int
    told: str


class Line(msgspec.Struct, frozen=True):
    """A line as the `d` of a path, and the same closed down to the ground, to be filled."""

    path: str
    area: str
    series: int


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """A chart to be put on a page. `ticks` stand at the left, top to bottom, evenly spread."""

    labels: Sequence[str]
    series: Sequence[Series]
    ticks: tuple[float, ...]
    bars: tuple[Bar, ...] = ()
    lines: tuple[Line, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        """The labels to stand below, from end to end, evenly spread; five at most."""
        last = len(self.labels) - 1
        return tuple(self.labels[round(last * at / 4)] for at in range(5)) if last >= 4 else tuple(self.labels)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to see: no figure, or none but nought."""
        return not any(value for series in self.series for value in series.values)


def ceiling(most: float) -> float:
    """Return the next of 1, 2, 4, 5, 10 times a power of ten: 37 gives 40. At least 1."""
    if most <= 1:
        return 1.0
    power = 10 ** math.floor(math.log10(most))
    return float(next(step * power for step in (1, 2, 4, 5, 10) if step * power >= most))


def bars(labels: Sequence[str], series: Sequence[Series]) -> Drawing:
    """Draw stacked bars, one stack for each label."""
    series = series[:_MOST_SERIES]
    stacks = [sum(each.values[at] or 0 for each in series) for at in range(len(labels))]
    top = ceiling(max(stacks, default=0))
    step = WIDTH / max(1, len(labels))
    drawn = []
    for at, label in enumerate(labels):
        ground = float(HEIGHT)
        for number, each in enumerate(series):
            value = each.values[at] or 0
            tall = value / top * HEIGHT
            ground -= tall
            if value:
                told = f"{label} · {each.name}: {value:,g}"
                x, width = round(step * (at + 0.1), 2), round(step * 0.8, 2)
                drawn.append(Bar(x, round(ground, 2), width, round(tall, 2), number, told))
    return Drawing(labels=labels, series=series, ticks=_ticks(top), bars=tuple(drawn))


def lines(labels: Sequence[str], series: Sequence[Series]) -> Drawing:
    """Draw lines over the same ground, which is nought."""
    series = series[:_MOST_SERIES]
    top = ceiling(max((value for each in series for value in each.values if value is not None), default=0))
    step = WIDTH / max(1, len(labels) - 1)
    drawn = []
    for number, each in enumerate(series):
        strokes = _strokes([(step * at, value) for at, value in enumerate(each.values)], top)
        path = " ".join("M" + " L".join(f"{x:g} {y:g}" for x, y in stroke) for stroke in strokes)
        area = " ".join(
            f"M{stroke[0][0]:g} {HEIGHT} L"
            + " L".join(f"{x:g} {y:g}" for x, y in stroke)
            + f" L{stroke[-1][0]:g} {HEIGHT}Z"
            for stroke in strokes
        )
        drawn.append(Line(path, area, number))
    return Drawing(labels=labels, series=series, ticks=_ticks(top), lines=tuple(drawn))


def _strokes(points: Sequence[tuple[float, float | None]], top: float) -> list[list[tuple[float, float]]]:
    """Return the runs of points without a gap; a lone one is drawn a little wide, or it would not be seen."""
    strokes: list[list[tuple[float, float]]] = [[]]
    for x, value in points:
        if value is None:
            strokes.append([])
        else:
            strokes[-1].append((round(x, 2), round(HEIGHT - value / top * HEIGHT, 2)))
    return [
        stroke if len(stroke) > 1 else [stroke[0], (stroke[0][0] + 3, stroke[0][1])] for stroke in strokes if stroke
    ]


def _ticks(top: float) -> tuple[float, ...]:
    return (top, top / 2, 0.0)
