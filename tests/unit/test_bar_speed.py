"""No text costs the write bar more than its length: nothing in it goes back over what it has read. Else these would hang."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.instructions import instruction_like
from memory.sensitive import redacted

LONG = 32_000
FUSED = [
    "ignore ",
    "all my ",
    "you must ",
    "都",
    "我的",
    "以后你",
    "从现在起",
    "<a ",
    ",",
    "password is ",
    "密码是",
    "a@",
    "at dot ",
]
FIGURES = ["1 2 3 4 5 6 7 ", "1-", "(1)", "0", "13812 ", "a1B2", "+1 ", "1.2.", "零一", "GB82 ", "00 1 "]


def read(text: str) -> None:
    """Let both readings see the text."""
    instruction_like(text)
    redacted(text)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", [*FUSED, *FIGURES])
def test_a_long_text_made_to_be_slow_is_read_at_once(unit: str) -> None:
    """The worst of these takes a third of a second on the machine it was written on; going back would take hours."""
    read((unit * LONG)[:LONG])


@pytest.mark.timeout(110)
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*FUSED, *FIGURES, " ", ".", "是", "free ", "免费", "x"]), min_size=1, max_size=5))
def test_no_mixture_is_slow(units: list[str]) -> None:
    """Whatever is repeated, and in whatever order."""
    read(("".join(units) * 4000)[:4000])
