"""What is said of instances beside each other."""

from __future__ import annotations

import pytest

from gateway.instances import warnings
from gateway.leases import Instance
from memory.ids import Ids


def instance(number: int, *, release: str | None = "0.2", settings: str | None = "r1", here: bool = False) -> Instance:
    return Instance(
        id=number,
        number=number,
        release=release,
        settings=settings,
        host=f"主机-{number}/1",
        joined_ms=0,
        left_s=5,
        leases=(),
        here=here,
    )


def test_alike_is_nothing_to_speak_of() -> None:
    """Nor is one that has not told yet, nor a clock that is off by less than a second."""
    alike = [instance(1, here=True), instance(2), instance(3, release=None, settings=None)]

    assert {} == warnings(alike, skew_s=-0.9)
    assert {} == warnings([], skew_s=0)


def test_other_releases_and_settings_are_named_with_where_they_run() -> None:
    """In the middle of a roll-out, or for good: a file that was changed on one machine only."""
    others = [instance(1, here=True), instance(2, release="0.1"), instance(3, settings="r2"), instance(4)]

    assert {
        "releases": "this instance runs 0.2; 0.1 on 主机-2/1",
        "instances": "this instance runs by settings r1; r2 on 主机-3/1: give all the same file",
    } == warnings(others, skew_s=0)


@pytest.mark.parametrize(("skew_s", "told"), [(1.5, "1.5 s ahead of"), (-30.0, "30.0 s behind")])
def test_a_clock_that_is_off_is_told(skew_s: float, told: str) -> None:
    """In words that say which way."""
    assert told in warnings([instance(1, here=True)], skew_s=skew_s)["clock"]


@pytest.mark.parametrize("numbers", [(900, 3), (3, 900), (5, 5)])
def test_ids_go_on_growing_under_another_number(numbers: tuple[int, int]) -> None:
    """Also within one millisecond (A14)."""
    ids = Ids(numbers[0], clock=lambda: 1_780_000_000_000)
    before = [ids.next() for _ in range(3)]
    ids.renumber(numbers[1])
    after = [ids.next() for _ in range(3)]

    assert sorted({*before, *after}) == [*before, *after]
    assert {numbers[1]} == {id_ >> 12 & 0x3FF for id_ in after}


def test_a_number_that_does_not_fit_is_refused() -> None:
    """Ten bits."""
    with pytest.raises(ValueError, match="1024"):
        Ids(0).renumber(1024)
