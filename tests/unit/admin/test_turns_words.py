"""What the ledger says in rules, the console says in words."""

from __future__ import annotations

import inspect
import re

from gateway.admin.console.turns_words import WORDS
from memory import choosing, context, sections, window


def test_every_rule_of_a_prompt_has_words() -> None:
    """A rule that a prompt's record may name is told in both languages."""
    rules = {
        value
        for module in (choosing, context, sections, window)
        for name, value in vars(module).items()
        if name.isupper()
        and not name.startswith("_")
        and isinstance(value, str)
        and value.islower()
        and " " not in value
    }

    assert {"turn_limit", "threshold", "same_turn", "in_facts"} <= rules
    assert [] == [rule for rule in sorted(rules) if f"turns.ledger.{rule}" not in WORDS]


def test_every_figure_of_a_budget_has_words() -> None:
    """What a prompt's tokens went to: its parts, and what was allowed."""
    figures = set(re.findall(r'"(\w+)":', inspect.getsource(context._budget)))

    assert {"window_tokens", "history", "total"} <= figures
    assert [] == [name for name in sorted(figures) if f"turns.budget.{name}" not in WORDS]
