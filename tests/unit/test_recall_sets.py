"""Recall on the project's own sets (tests/bench): stale values, and Chinese questions; the figures are in its README.md."""

from __future__ import annotations

from statistics import fmean

import pytest

from memory.terms import terms
from tests.bench.recall_chinese import load, measure, pairs, runs
from tests.bench.staleness import CHANGES
from tests.bench.staleness import measure as ask_about_changes


@pytest.mark.parametrize("language", CHANGES)
@pytest.mark.parametrize("between", [0, 40])
async def test_no_stale_value_comes_first(language: str, between: int) -> None:
    """Asked in the words of the old value, a prompt has the new one before it, and the old one only as what has changed since;
    recalled talk alone would give the old one nearly every time (B47)."""
    whole = await ask_about_changes(language, between=between, profile=True)
    without = await ask_about_changes(language, between=between, profile=False)

    assert (0, 0, whole.questions) == (whole.stale_first, whole.unmarked, whole.found)
    assert without.stale_first > whole.questions // 2


def test_chinese_is_found_by_pairs_of_characters() -> None:
    """Where a run of characters is one word nothing is found at all (mem0ai/mem0#7164, rohitg00/agentmemory#344); pairs find
    most, pairs with characters and words of the same meaning more (E23)."""
    questions = load()

    found = [fmean(ten for ten, _, _ in measure(questions, cut).values()) for cut in (runs, pairs, terms)]

    assert found == sorted(found)
    assert found[0] < 0.1
    assert found[1] > 0.7
    assert found[2] > 0.85
