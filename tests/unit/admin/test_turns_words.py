"""What the ledger says in rules, the console says in words."""

from __future__ import annotations

import inspect
import re
from typing import get_args

from gateway.admin.console.conversations import ROLES
from gateway.admin.console.conversations_words import WORDS as TALK
from gateway.admin.console.turns_words import WORDS
from gateway.inbox.base import ChunkState, EventState
from gateway.usage.entries import Purpose
from memory import choosing, context, sections, window
from memory.key import ChatType


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


def test_whatever_a_page_names_has_words() -> None:
    """A state, kind, purpose or role that is new in a record must not break the page that shows it."""
    kinds = ("message", "edit", "delete", "move", "presence", "human", "")
    named = {
        "state": get_args(EventState), "piece": get_args(ChunkState), "purpose": set(get_args(Purpose)) - {"message"},
        "learning": ("none", "pending", "done"), "kind": kinds,
        "verdict": ("in", "cut", "out"), "chat": get_args(ChatType),
    }  # fmt: skip
    talk = {"chunk": get_args(ChunkState), "role": ROLES, "chat": get_args(ChatType)}

    assert [] == [f"{of}.{name}" for of, names in named.items() for name in names if f"turns.{of}.{name}" not in WORDS]
    assert [] == [
        f"{of}.{name}" for of, names in talk.items() for name in names if f"conversations.{of}.{name}" not in TALK
    ]
