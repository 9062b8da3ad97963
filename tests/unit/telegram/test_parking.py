"""What becomes of updates that fail in ways nobody foresaw."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.parking import IN_ROW, Parking


def failing(parking: Parking, number: int, *, times: int) -> list[str]:
    return [parking.failed(number) for _ in range(times)]


def test_one_is_tried_thrice_and_left_behind() -> None:
    """A fault may pass; but one update never keeps back those behind it."""
    parking = Parking()

    assert ["again", "again", "leave"] == failing(parking, 5, times=3)
    assert ["again"] == failing(parking, 5, times=1), "nothing is remembered of it"
    assert not parking.stuck


def test_where_nothing_gets_through_nothing_more_is_given_up() -> None:
    """A fault in all of them would else throw away what people said meanwhile."""
    parking = Parking()
    for number in range(IN_ROW):
        assert "leave" == failing(parking, number, times=3)[-1]

    assert ["again", "again", "hold", "hold", "hold"] == failing(parking, IN_ROW, times=5)
    assert parking.stuck
    parking.stored(99)
    assert not parking.stuck
    assert ["leave"] == failing(parking, IN_ROW, times=1), "others get through, so it is this one"


def test_what_got_through_at_last_has_not_failed() -> None:
    parking = Parking()
    failing(parking, 1, times=2)
    parking.stored(1)

    assert ["again", "again", "leave"] == failing(parking, 1, times=3)


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=200))
def test_no_more_are_left_in_a_row_than_may_be(acts: list[tuple[int, bool]]) -> None:
    """Whatever fails and gets through in whatever order; each that is left has failed thrice."""
    parking, row, tries = Parking(), 0, dict.fromkeys(range(7), 0)
    for number, fails in acts:
        if not fails:
            parking.stored(number)
            row, tries[number] = 0, 0
            continue
        tries[number] += 1
        if parking.failed(number) == "leave":
            assert tries[number] >= 3
            row, tries[number] = row + 1, 0
        assert row <= IN_ROW


def test_ever_new_failures_are_not_remembered_without_end() -> None:
    parking = Parking()
    for number in range(5_000):
        parking.failed(number)

    assert "again" == parking.failed(0)
