"""Splitting a reply: every piece stands on its own, keeps to the limit, and nothing visible is lost."""

from __future__ import annotations

import pytest

from adapters.text import split


def test_a_text_that_fits_stays_as_it_is() -> None:
    """Not one character of a short reply is touched."""
    text = "# Hi\n\n* a\n* b\n\n[x]: http://y\n"

    assert [text] == split(text, limit=1000, measure=len)


def test_fences_are_closed_and_opened_again() -> None:
    """A code block is cut between lines and keeps its language on both sides."""
    text = "```py\n" + "x = 1\n" * 20 + "```"

    pieces = split(text, limit=70, measure=len)

    assert ["```py\n" + "x = 1\n" * 10 + "```"] * 2 == pieces


@pytest.mark.parametrize("limit", [64, 100, 300])
def test_lists_keep_their_numbers(limit: int) -> None:
    """An ordered list goes on with the number it had (LLM answers count their steps)."""
    text = "\n".join(f"{number}. step number {number}" for number in range(7, 40))

    pieces = split(text, limit=limit, measure=len)

    assert text == "\n".join(pieces)
    assert all(len(piece) <= limit for piece in pieces)
