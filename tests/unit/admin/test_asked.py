"""From the texts of the console's forms to requests: what a page had put there itself comes back as anything."""

from __future__ import annotations

import pytest

from gateway.admin.console.asked import number
from gateway.admin.console.faults import told
from gateway.admin.operations import Invalid


def test_a_number() -> None:
    assert [0, 7, 10**17] == [number("expected", text) for text in ("0", "007", "1" + "0" * 17)]


@pytest.mark.parametrize("text", ["", "a\x000\x00", "-1", "1.5", "１", "²", " 1", "9" * 5_000, "0x1", "\ud800"])
def test_what_is_no_number(text: str) -> None:
    """Said in the reader's language, with the field and what to do; the page is shown again instead of failing."""
    with pytest.raises(Invalid) as refused:
        number("expected", text)

    assert ("expected", text[:40]) == (refused.value.problems[0].path, refused.value.problems[0].value)
    assert all(piece.known for piece in told(str(refused.value).partition(": ")[2], "zh"))
