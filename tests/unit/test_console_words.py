"""The chat page has words for every rule that a ledger may name, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memory import choosing, context, sections, window

WORDS = Path(__file__).parents[2] / "adapters" / "console" / "static" / "words.js"
RULES = {
    rule
    for module in (choosing, context, sections, window)
    for name, rule in vars(module).items()
    if name.isupper() and not name.startswith("_") and isinstance(rule, str) and re.fullmatch(r"[a-z_]+", rule)
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_rule_has_its_words(language: str) -> None:
    """Whoever opens a turn reads why a piece is in or out in the language of the page, not a name of our code."""
    text = WORDS.read_text("utf-8")
    english, chinese = text.split("const zh", 1)
    known = set(re.findall(r"^  rule_(\w+):", english if language == "en" else chinese, re.MULTILINE))

    assert {"words", "threshold", "in_facts", "turn_limit", "same_turn"} <= RULES
    assert set() == RULES - known
