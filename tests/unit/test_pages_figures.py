"""Charts, moments, spans and numbers of the console."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.admin.console.charts import HEIGHT, WIDTH, Series, bars, ceiling, lines
from gateway.admin.console.figures import ago, clock, iso, number
from gateway.admin.console.shell_words import WORDS
from gateway.admin.console.words import translator

figures = st.floats(0, 1e12) | st.none()


@pytest.mark.parametrize(
    ("most", "expected"), [(0, 1), (0.4, 1), (1, 1), (1.2, 2), (37, 40), (40, 40), (41, 50), (501, 1000), (1e9, 1e9)]
)
def test_the_top_of_a_chart_is_a_round_number(most: float, expected: float) -> None:
    assert expected == ceiling(most)


def test_stacked_bars_stand_on_each_other_and_reach_their_sum() -> None:
    drawing = bars(["a", "b"], [Series("one", [10, 0]), Series("two", [30, 40])])

    assert (40, 20, 0) == drawing.ticks
    assert [(50, 225, 75, 0), (50, 0, 225, 1), (550, 0, 300, 1)] == [
        (bar.x, bar.y, bar.height, bar.series) for bar in drawing.bars
    ]
    assert "a · two: 30" == drawing.bars[1].told


def test_a_line_has_a_gap_where_nothing_is_known() -> None:
    drawing = lines(["1", "2", "3", "4"], [Series("lag", [0, 1, None, 0.5])])

    assert "M0 300 L333.33 0 M1000 150 L1003 150" == drawing.lines[0].path
    assert drawing.lines[0].area.startswith("M0 300 L0 300 L333.33 0 L333.33 300Z")


def test_a_chart_is_marked_along_its_foot() -> None:
    """Five marks from end to end; where there are fewer labels, all of them."""
    hours = [f"{hour:02}" for hour in range(24)]

    assert ("00", "06", "12", "17", "23") == bars(hours, []).marks
    assert ("00", "01", "02") == bars(hours[:3], []).marks
    assert () == bars([], []).marks


@pytest.mark.parametrize("draw", [bars, lines])
def test_a_chart_of_nothing_says_that_it_is_empty(draw: object) -> None:
    assert callable(draw)
    assert draw([], []).empty
    assert draw(["a"], [Series("x", [0])]).empty
    assert not draw(["a"], [Series("x", [1])]).empty


@given(st.lists(st.tuples(figures, figures), max_size=60))
def test_everything_drawn_is_within_the_field(values: list[tuple[float | None, float | None]]) -> None:
    labels = [str(at) for at in range(len(values))]
    series = [Series("a", [a for a, _ in values]), Series("b", [b for _, b in values])]

    for bar in bars(labels, series).bars:
        assert -0.01 <= bar.y
        assert bar.y + bar.height <= HEIGHT + 0.02
        assert 0 <= bar.x
        assert bar.x + bar.width <= WIDTH + 0.01
    for line in lines(labels, series).lines:
        ys = [float(point.split()[-1]) for point in line.path.replace("M", "L").split("L") if point.strip()]
        assert all(-0.01 <= y <= HEIGHT for y in ys)


def test_moments_are_told_in_utc() -> None:
    assert "2026-11-30T12:54:01Z" == iso(1_796_043_241_999)
    assert "2026-11-30 12:54 UTC" == clock(1_796_043_241_999)


@pytest.mark.parametrize(
    ("span_ms", "expected"),
    [(0, "0 s"), (999, "0 s"), (61_000, "1 min"), (7_200_000, "2 h"), (90 * 86_400_000, "90 d")],
)
def test_a_span_is_told_in_its_largest_unit(span_ms: int, expected: str) -> None:
    assert expected == ago(span_ms, translator(WORDS, "en"))


def test_numbers_are_grouped() -> None:
    assert ["12,345", "0.25", "3", "0"] == [number(value) for value in (12_345, 0.254, 3.0, 0)]
