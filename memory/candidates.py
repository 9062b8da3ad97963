"""What might be remembered of a turn, before the write bar has weighed it, and what it was refused for.

Rules (`memory/rules/`) and the small model both speak this language; neither is believed before `memory/bar.py`.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A message that something may be taken from: only what the person himself wrote, no quotes, no forwarded text."""

    id: int
    person_id: int
    text: str


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One change that somebody proposes. `value` as it was said, in the words of the cited message, without the sentence
    around it ("penicillin", "42", "少糖"); `source_id` cites the message. A retraction takes back the slot's value, or of a
    slot with many only the one that is named; an empty value there takes back all of the slot's."""

    op: Literal["set", "retract"]
    slot: str  # a name of memory/slots.py
    value: str
    source_id: int
    by: Literal["rules", "model"]
    detail: str = (
        ""  # what makes the value plain when it stands alone ("to dogs" is about whom); in the message's words too
    )


class KnownValue(msgspec.Struct, frozen=True, kw_only=True):
    """What the session already holds for a slot: a correction names it instead of the slot ("not 8821, it is 8812")."""

    slot: str
    value: str


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate that was not believed, without its words: the ledger keeps it, an admin reads the rule."""

    source_id: int
    slot: str
    rule: str  # sensitive_id_card, instruction_like, unsupported, ... : memory/bar.py names them all
