"""By what names persons are found, without a database."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.called import LAST_CHAR, NAME_CHARS, comparable, ends_of

NAMES = st.one_of(st.text(max_size=40), st.text("李小龍 ZOÉé✈️👩‍👩‍👧ßİﬀ", max_size=12))


@given(NAMES, st.integers(0, 40), st.integers(0, 40))
def test_every_part_of_a_name_begins_one_of_its_ends(name: str, first: int, last: int) -> None:
    """Of whatever script: so one stretch of an index finds it."""
    part = comparable(comparable(name)[:NAME_CHARS][first:last])

    ends = ends_of(name)

    assert not part or any(part <= end < part + LAST_CHAR for end in ends)
    assert all(end.startswith(part) == (part <= end < part + LAST_CHAR) for end in ends)
    assert len(ends) <= NAME_CHARS
    assert ends == tuple(sorted({*ends}))


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("Ann", ("ann", "n", "nn")),
        ("ＺＯÉ", ("e", "oe", "zoe")),
        ("李小龙", ("小龙", "李小龙", "龙")),
        (" a \n b ", ("a b", "b")),
        ("", ()),
        ("\u200b", ()),
    ],
)
def test_a_name_is_found_without_case_width_and_accents(name: str, ends: tuple[str, ...]) -> None:
    assert ends == ends_of(name)
