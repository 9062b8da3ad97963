"""Cuts English words to their stems, so that "volunteered" finds "volunteering".

The algorithm of M. F. Porter, "An algorithm for suffix stripping" (Program 14/3, 1980), without later changes. Our own and
not a package's because stems are kept as hashes in every store: another version of them would find nothing that was kept.
"""

from __future__ import annotations

import re
from functools import lru_cache

_LONGEST = 32  # characters; nothing longer is an English word

_CONSONANT = "(?:[^aeiouy]|(?<![^aeiou])y|^y)"  # y is one at the beginning and after a vowel
_VOWEL = "(?:[aeiou]|(?<=[^aeiou])y)"
_HAS_VOWEL = re.compile(_VOWEL)
_PAIRS = re.compile(f"{_VOWEL}+{_CONSONANT}+")  # Porter's m counts them
_DOUBLED = re.compile(r"([^aeiouylsz])\1$")
_SHORT = re.compile(f"{_CONSONANT}{_VOWEL}(?:(?![wxy]){_CONSONANT})$")

_PLURALS = (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", ""))
_LONG_FORMS = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_SHORTER = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_LAST = (  # "ion" only after s or t
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion", "ou", "ism", "ate",
    "iti", "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word; itself if it is short, long, or has other letters than a to z."""
    if not 2 < len(word) <= _LONGEST or not word.isascii() or not word.isalpha():
        return word
    word = _without_ending(_without_plural(word))
    if word.endswith("y") and _HAS_VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _LONG_FORMS), _SHORTER)
    return _without_e(_without_suffix(word))


def _measure(base: str) -> int:
    return len(_PAIRS.findall(base))


def _without_plural(word: str) -> str:
    for ending, instead in _PLURALS:
        if word.endswith(ending):
            return word[: -len(ending)] + instead
    return word


def _without_ending(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        base = word.removesuffix(ending)
        if base != word:
            return _mended(base) if _HAS_VOWEL.search(base) else word
    return word


def _mended(base: str) -> str:
    """Give back the e that "-ed" and "-ing" have taken, or take the letter that they have doubled."""
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _DOUBLED.search(base):
        return base[:-1]
    return base + "e" if _measure(base) == 1 and _SHORT.search(base) else base


def _replaced(word: str, endings: dict[str, str]) -> str:
    longest = max((ending for ending in endings if word.endswith(ending)), key=len, default="")
    base = word[: len(word) - len(longest)]
    return base + endings[longest] if longest and _measure(base) > 0 else word


def _without_suffix(word: str) -> str:
    longest = max((ending for ending in _LAST if word.endswith(ending)), key=len, default="")
    kept = longest[0] if longest in ("sion", "tion") else ""
    base = word[: len(word) - len(longest)] + kept
    return base if longest and _measure(base) > 1 else word


def _without_e(word: str) -> str:
    base = word.removesuffix("e")
    if base != word and (_measure(base) > 1 or (_measure(base) == 1 and not _SHORT.search(base))):
        word = base
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
