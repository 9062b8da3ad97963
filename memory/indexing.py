"""The terms by which recall finds what is stored, keyed by the person they are of. Pure."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from memory.base import Message, ProfileItem
from memory.slots import slot_of
from memory.terms import message_terms, term_ids, terms


def item_terms(item: ProfileItem, person_id: int) -> tuple[tuple[int, int], ...]:
    """Return the terms by which a profile item is found: its words and its slot's, in both languages."""
    slot = slot_of(item.slot)
    words = f"{slot.english} {slot.chinese}".replace("{}", " ") if slot else ""
    return _keyed(terms(f"{item.text} {item.value} {words}"), person_id)


def message_terms_of(row: Message, person_id: int) -> tuple[tuple[int, int], ...]:
    """Return the terms by which a message is found by this person."""
    day = datetime.fromtimestamp(row.created_ms / 1000, UTC).date()
    return _keyed(message_terms(row.text, speaker=row.speaker_name, day=day), person_id)


def _keyed(counts: Counter[str], person_id: int) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(zip(term_ids(person_id, counts), counts.values(), strict=True)))
