"""The write bar: what is proposed must have been said by the person himself, and be neither sensitive nor an order.

Code, before any model's word is believed. It asks in this order: is there a value at all, is it somebody else's, is it
sensitive, is it an order or a claimed right, does it stand in the cited message. Pure; nothing here changes a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from memory.bar_words import (
    BANK_CARD,
    DENIABLE_SLOTS,
    EMPTY,
    FREE_SLOTS,
    INSTRUCTION_LIKE,
    LASTING_SLOTS,
    NO_WORD,
    NOT_OF_SPEAKER,
    NOT_OVER,
    ORDER_SLOTS,
    OTHER_SPEAKER,
    OWN_SLOTS,
    PHONE,
    SECRET,
    SECRET_SLOTS,
    TOO_LONG,
    UNSUPPORTED,
)
from memory.candidates import Candidate, Source
from memory.folding import folded, with_numbers
from memory.instructions import instruction_like, no_plain_note, orders
from memory.rules.answers import of_another
from memory.rules.doubt import doubted, ended
from memory.sensitive import findings, sensitive
from memory.slots import SLOTS

MAX_VALUE_CHARS: Final = 300  # of a value; a detail has as many
_AROUND = 240  # characters before and after a value that may tell what it is
_NO_SENTENCE = 24  # characters in which no order fits
_OCCURRENCES = 16  # of a value in a message that are looked at
_TAIL_DIGITS = 4  # the last digits of a number may be kept, so they tell nothing that the rest would


def weigh(
    candidate: Candidate, sources: Mapping[int, Source], *, speaker: int, emails: bool = False, asked: str = ""
) -> str | None:
    """Return the rule that refuses a candidate (a key of `bar_words.RULES`); None: it may be kept.

    `sources` are the messages of the turn by id; `speaker` is the person whose memory it would enter, `asked` the assistant's
    message before them. Of a retraction only asks whether this person said that it is over: what is taken back may well be what
    should never have been kept.
    """
    value, detail = candidate.value.strip(), candidate.detail.strip()
    retracts = candidate.op == "retract"
    if rule := _shape(value, detail, retracts=retracts):
        return rule
    source = sources.get(candidate.source_id)
    if source is None:
        return UNSUPPORTED
    if source.person_id != speaker:
        return OTHER_SPEAKER
    if not retracts and (rule := _content(candidate.slot, value, detail, source.text, emails=emails)):
        return rule
    if not all(supported(part, source.text) for part in (value, detail) if part):
        return UNSUPPORTED
    # The rules have asked that themselves, and of more than the value's place.
    return None if candidate.by == "rules" else _doubt(candidate.slot, value, source.text, asked, retracts=retracts)


def _doubt(slot: str, value: str, text: str, asked: str, *, retracts: bool) -> str | None:
    if retracts:
        return NOT_OVER if slot in LASTING_SLOTS and not ended(text, value) else None
    if slot not in OWN_SLOTS:
        return None
    is_doubted = doubted(text, value, deniable=slot in DENIABLE_SLOTS) or (
        of_another(text, asked) and _FIRST_PERSON.search(text) is None
    )
    return NOT_OF_SPEAKER if is_doubted else None


_FIRST_PERSON = re.compile(r"\b(?:i|i'm|im|i've|me|my|we|our)\b|我|俺|咱", re.I)


def _shape(value: str, detail: str, *, retracts: bool) -> str | None:
    if not value:
        return None if retracts and not detail else EMPTY
    if max(len(value), len(detail)) > MAX_VALUE_CHARS:
        return TOO_LONG
    return None if any(map(str.isalnum, folded(value))) else NO_WORD


def _content(slot: str, value: str, detail: str, text: str, *, emails: bool) -> str | None:
    parts = [part for part in (value, detail) if part]
    for words in (*parts, " ".join(parts), f"{slot.replace('_', ' ')}: {value}"):
        if rule := sensitive(words, emails=emails):
            return rule
    slot_words = {slot, *slot.split("_")}
    if not slot_words.isdisjoint(SECRET_SLOTS):
        return SECRET
    if not slot_words.isdisjoint(ORDER_SLOTS) or any(map(instruction_like, (*parts, " ".join(parts)))):
        return INSTRUCTION_LIKE
    if _is_free(slot, value) and any(no_plain_note(part, named=slot in SLOTS and slot != "remember") for part in parts):
        return INSTRUCTION_LIKE
    plain = folded(text)
    found = (_told_by_context(plain, part, emails=emails) for part in parts)
    return next((rule for rule in found if rule), None)


def _is_free(slot: str, value: str) -> bool:
    """Say whether the value may be any sentence; in a slot that a model named itself, a short one is none."""
    return slot in FREE_SLOTS or (slot not in SLOTS and len(value) > _NO_SENTENCE)


def _told_by_context(plain: str, part: str, *, emails: bool) -> str | None:
    """Return the rule that the words around break wherever the part was said ("hunter2" is a word, "my password is hunter2"
    is none); said once more elsewhere, it is harmless."""
    rules = []
    for start, end in islice(_occurrences(folded(part), plain), _OCCURRENCES):
        rule = _rule_at(plain, start, end, emails=emails)
        if rule is None:
            return None
        rules.append(rule)
    return rules[0] if rules else None


def _rule_at(plain: str, start: int, end: int, *, emails: bool) -> str | None:
    offset = max(0, start - _AROUND)
    near = plain[offset : end + _AROUND]
    start, end = start - offset, end - offset
    for first, last, rule in findings(near, emails=emails):
        is_tail = end == last and end - start <= _TAIL_DIGITS and rule in (PHONE, BANK_CARD)
        if start < last and first < end and not is_tail:
            return rule
    return INSTRUCTION_LIKE if any(start < last and first < end for first, last in orders(near)) else None


def supported(value: str, text: str) -> bool:
    """Say whether `value` was said in `text`, whole words and whole numbers: case, width, spaces, punctuation, accents, an
    English plural and the way a Chinese number is written do not count. The last four digits of a longer number count too."""
    words, plain = folded(value), folded(text)
    if not any(map(str.isalnum, words)):
        return False
    if any(True for _ in _occurrences(words, plain)) and not _NUMERAL.fullmatch(words):
        return True
    return any(True for _ in _occurrences(with_numbers(words), with_numbers(plain)))


_NUMERAL = re.compile(r"[零〇一二两三四五六七八九十百千幺壹贰叁肆伍陆柒捌玖拾佰仟]+")
_LETTER = re.compile(r"[^\W_]")
_PLURAL = re.compile(r"e?s(?![^\W_])")
_THOUSANDS = re.compile(r"\d{3}(?!\d)")
_UNSPACED = "\u0590"  # from here on scripts write their words, or small words beside them, without a space between


def _occurrences(value: str, plain: str) -> Iterator[tuple[int, int]]:
    """Yield where a folded value stands in folded text, letters and digits compared only, beginning and ending with a word."""
    wanted = "".join(_LETTER.findall(value.lower()))
    places = [match.start() for match in _LETTER.finditer(plain)]
    letters = "".join(_LETTER.findall(plain.lower()))
    at = letters.find(wanted) if wanted else -1
    while at >= 0:
        start, end = places[at], places[at + len(wanted) - 1] + 1
        ends = end == len(plain) or _parted(
            plain, end - 1, places[at + len(wanted)] if at + len(wanted) < len(places) else None
        )
        if (ends or _PLURAL.match(plain, end)) and (
            _begins(plain, places, at) or (ends and _is_tail(plain, start, end))
        ):
            yield start, end
        at = letters.find(wanted, at + 1)


def _begins(plain: str, places: Sequence[int], at: int) -> bool:
    return at == 0 or _parted(plain, places[at - 1], places[at])


def _parted(plain: str, left: int, right: int | None) -> bool:
    """Say whether a word ends between two neighbouring letters or digits of a text; None: after `left` none comes."""
    if right is None:
        return True
    both_digits = plain[left].isdigit() and plain[right].isdigit()
    if right - left > 1:
        between = plain[left + 1 : right]
        return not (both_digits and (between == "." or (between == "," and _THOUSANDS.match(plain, right) is not None)))
    same_kind = both_digits or (plain[left].isalpha() and plain[right].isalpha())
    return not same_kind or max(plain[left], plain[right]) >= _UNSPACED


def _is_tail(plain: str, start: int, end: int) -> bool:
    number = plain[start:end]
    return len(number) == _TAIL_DIGITS and number.isdigit() and plain[max(0, start - 3) : start].isdigit()
