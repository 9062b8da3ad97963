"""What a rule is: a way of saying one thing about oneself, as data. The languages' files hold them, `extract.py` applies them."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Bearing = Literal["said", "lead", "loose"]
Op = Literal["set", "retract"]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One way of saying something. `pattern` names the value `v`; one without it takes back all of the slot's.

    `bearing`: `said` is believed as a statement only, not in a question, under an "if" or in somebody else's mouth; `lead` is
    that too, and the speaker must be the subject right before it (Chinese, where the verb alone does not tell whose it is);
    `loose` counts wherever it stands: an order's number, and what is asked for.
    """

    slot: str
    pattern: re.Pattern[str]
    op: Op
    many: bool  # the value is a list: one candidate for each part
    bearing: Bearing


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How a language shows that something is not meant, and what it puts around and between values."""

    supposed: re.Pattern[str]  # hypotheses, examples, doubts, anywhere before
    reported: re.Pattern[str]  # in somebody else's mouth or mind, anywhere before
    asking: re.Pattern[str]  # a clause that asks, with or without its mark
    other: re.Pattern[str]  # it is for, or about, somebody else: anywhere in the sentence
    joke: re.Pattern[str]  # takes the whole message back
    tag: re.Pattern[str]  # a last clause that makes a question of what stands before it
    worthless: re.Pattern[str]  # parts of a list that say nothing when they stand alone
    between: re.Pattern[str]  # what parts a list
    edges: re.Pattern[str]  # what is no part of a thing at either end


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """A language's rules, in the order in which they may take words, for texts in which `script` occurs."""

    script: re.Pattern[str]
    rules: tuple[Rule, ...]
    manner: Manner


def rule(slot: str, pattern: str, *, op: Op = "set", many: bool = False, bearing: Bearing = "said") -> Rule:
    """Return a rule; upper and lower case are one, but where a pattern says otherwise."""
    return Rule(slot=slot, pattern=re.compile(pattern, re.I), op=op, many=many, bearing=bearing)
