"""What the service, the settings and channels say is wrong, in the reader's language.

They say it in English, where it is found, with names and numbers in it. Here a sentence is known again by its pattern and said in
Chinese (`faults.json`: `%1` stands for whatever differs, `#1` for a number or a quoted name; where the English is a library's,
in better English, too). What is not known stays as it is, and is marked. Pure.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from config.meanings import meaning
from gateway.admin.console.words import Language
from memory.bar_words import RULES

_BREAK = re.compile(r"; |: | \(|\)")
_MARKS = {"; ": "；", ": ": "：", " (": "（", ")": "）"}
_MOST_PIECES = 20
_ENGLISH = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")
_PLACE = re.compile(r"([%#])(\d)")
_ANY = {"%": r"(?P<p{}>(?:(?!; |: ).)+?)", "#": r"(?P<p{}>\d+|'[^']*'|\"[^\"]*\")"}
_LONGEST = 1_000


class Piece(NamedTuple):
    """A piece of what is said. `known`: it is in the reader's language, or in none."""

    text: str
    known: bool


def told(text: str, language: Language) -> tuple[Piece, ...]:
    """Return what is wrong in the reader's language: a line as one sentence, else what stands before a colon, behind a semicolon
    and in brackets each by itself."""
    lines = [_line(line, language) for line in text.splitlines()]
    return tuple(piece for line in lines for piece in (*line, Piece("\n", True)))[:-1]


def _line(text: str, language: Language) -> list[Piece]:
    pieces: list[Piece] = []
    while text:
        breaks = [*_BREAK.finditer(text)] if len(pieces) < _MOST_PIECES else []
        whole = _said(text, language)
        if whole is not None or not breaks:
            return [*pieces, _piece(text, whole, language)]
        parts = ((each, _said(text[: each.start()], language)) for each in reversed(breaks[:_MOST_PIECES]))
        at, said = next(((each, said) for each, said in parts if said is not None), (breaks[0], None))
        pieces += (
            _piece(text[: at.start()], said, language),
            Piece(_MARKS[at[0]] if language == "zh" else at[0], True),
        )
        text = text[at.end() :]
    return pieces


def _piece(text: str, said: str | None, language: Language) -> Piece:
    return Piece(text, language == "en" or _ENGLISH.search(text) is None) if said is None else Piece(said, True)


def _said(text: str, language: Language, *, depth: int = 2) -> str | None:
    """Return a sentence in the language; None: it is not known. What it names may be a sentence again, `depth` times."""
    exact = _sentences(language).get(text) or meaning(text, language)
    if exact != text:
        return exact
    for pattern, said in _patterns(language) if depth and len(text) <= _LONGEST else ():
        if (found := pattern.fullmatch(text)) is not None:
            names = {
                name: _said(value, language, depth=depth - 1) or value for name, value in found.groupdict().items()
            }
            return _PLACE.sub(lambda place: names[f"p{place[2]}"], said)  # noqa: B023
    return None


@cache
def _sentences(language: Language) -> dict[str, str]:
    """Return what is said in the language by the English that arrives."""
    read: dict[str, str | list[str]] = json.loads(Path(__file__).with_name("faults.json").read_text("utf-8"))
    if language == "en":
        return {english: said[0] for english, said in read.items() if isinstance(said, list)}
    return {english: said if isinstance(said, str) else said[1] for english, said in read.items()} | dict(
        RULES.values()
    )


@cache
def _patterns(language: Language) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return those with names in them, what says most first."""
    named = [(english, said) for english, said in _sentences(language).items() if _PLACE.search(english)]
    named.sort(key=lambda pair: -len(_PLACE.sub("", pair[0])))
    return tuple((_pattern(english), said) for english, said in named)


def _pattern(english: str) -> re.Pattern[str]:
    written, at = "", 0
    for place in _PLACE.finditer(english):
        written += re.escape(english[at : place.start()]) + _ANY[place[1]].format(place[2])
        at = place.end()
    return re.compile(written + re.escape(english[at:]), re.DOTALL)
