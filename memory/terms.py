"""Turns texts into the terms that search compares: stems of English words, pairs of Chinese characters, codes as they are.

One function for what is kept and for what is asked, so both always agree. Stores keep no terms, only `term_ids` of them; so
whoever changes what this makes of a text (or its word lists) must have all texts indexed anew.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date

import regex

from memory.dates import dates_named, said_on
from memory.stemming import stem
from memory.term_words import SAME_CHINESE, SAME_ENGLISH, STOP_CHARACTERS, STOP_CHINESE, STOP_ENGLISH

MAX_CHARS = 10_000
"""Characters of a text that are looked at; the rest of a longer one is not found by."""

_LONGEST = 64  # characters of one term
# Scripts that put no spaces between words. Hangul does, but glues particles to them: pairs find the word inside.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]"
_PIECE = regex.compile(
    rf"(?V1)(?P<run>[{_UNSPACED}]\p{{M}}*(?:[{_UNSPACED}]\p{{M}}*)*)"
    rf"|(?P<word>{_LETTER}+(?:[-_./:'’]{_LETTER}+)*)"
    r"|(?P<emoji>\p{Extended_Pictographic})"
)
_JOINTS = regex.compile(r"[-_./:]")
_STOP = frozenset(STOP_ENGLISH.split())
_SAME = {word: head for words, head in regex.findall(r"([^>]+)>(\S+)", SAME_ENGLISH) for word in words.split()}
_STOP_RUNS = regex.compile("|".join(sorted(STOP_CHINESE.split(), key=len, reverse=True)))
_SAME_RUNS = {
    word: f"={head}" for words, head in regex.findall(r"([^>|]+)>(\S+)", SAME_CHINESE) for word in words.split()
}
_SAME_RUN = regex.compile("|".join(sorted(_SAME_RUNS, key=len, reverse=True)))


def terms(text: str, *, today: date | None = None) -> Counter[str]:
    """Return the terms of a text and how often each stands in it. Case, width, accents of Latin letters and English endings
    do not count; stop words of both languages are left out; dates it names are terms of their own, with `today` (the day it
    was said) "yesterday" too. Never raises; empty where a text says nothing.
    """
    text = text[:MAX_CHARS]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())[:MAX_CHARS]  # ﷺ becomes 18
    found = Counter(dates_named(text, today=today))
    for piece in _PIECE.finditer(text.casefold()):
        found.update(_of_piece(piece.lastgroup, piece[0]))
    return found


def message_terms(text: str, *, speaker: str, day: date) -> Counter[str]:
    """Return the terms that a message is kept under: its own, those of the speaker's name, and the day it was said; none at
    all if its text has none. `day` is the speaker's."""
    own = terms(text, today=day)
    return own + terms(speaker) + Counter(said_on(day)) if own else own


def _of_piece(kind: str | None, piece: str) -> Iterable[str]:
    if kind == "run":
        return _of_run(piece)
    return _of_word(piece) if kind == "word" else (piece,)


def _of_run(run: str) -> Iterator[str]:
    """Pairs of neighbours and the characters that say something alone: pairs are exact, characters find 猫 in 橘猫. And for
    a word that has others of the same meaning, one term for all of them."""
    yield from (_SAME_RUNS[word] for word in _SAME_RUN.findall(run))
    for part in _STOP_RUNS.split(run):
        telling = [char not in STOP_CHARACTERS for char in part]
        yield from (char for char, tells in zip(part, telling, strict=True) if tells)
        yield from (part[at : at + 2] for at in range(len(part) - 1) if telling[at] or telling[at + 1])


def _of_word(word: str) -> Iterator[str]:
    """A code ("a-42", "3.5") counts as a whole, without hyphens, and by its parts; other joined words only by their parts."""
    parts = _JOINTS.split(word)
    if len(parts) > 1 and any(char.isdigit() for char in word):
        yield word.replace("-", "")[:_LONGEST]
    for part in parts:
        plain = _plain(part)
        if plain and plain not in _STOP:
            yield stem(_SAME.get(plain, plain))[:_LONGEST]


def _plain(word: str) -> str:
    """Without a possessive, apostrophes and, in Latin words, accents."""
    word = word.replace("’", "'").removesuffix("'s").replace("'", "")
    if not word.isascii():
        bare = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
        return bare if bare.isascii() else word
    return word


def term_ids(owner: int, terms: Iterable[str]) -> list[int]:
    """Return the ids of terms in `owner`'s index, in their order: 63 bits, the same for ever, on every machine. They differ
    between owners, so nobody's entries can be taken for another's; whoever can read the index can still try out words."""
    key = owner.to_bytes(8, "big", signed=True)
    return [
        int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest(), "big")
        >> 1
        for term in terms
    ]
