"""The console's two languages: which one is meant, and what a key says in it. Pure.

Each part keeps its words in a module of its own (`shell_words.py`, …): a dict of key to both languages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

Language = Literal["en", "zh"]
Catalogue = Mapping[str, Mapping[Language, str]]
Translate = Callable[..., str]
"""`t("part.key", count=3)`: the words with their `{count}` filled in. What is filled in is escaped by the template."""

LANGUAGES: tuple[Language, ...] = ("en", "zh")


def language_of(chosen: str | None, accept_language: str) -> Language:
    """Return the chosen language, else the browser's first one that there is, else English."""
    if chosen in ("en", "zh"):
        return "zh" if chosen == "zh" else "en"
    wishes = sorted((_wish(entry) for entry in accept_language.split(",")), key=lambda wish: -wish[1])
    named = [name for name, weight in wishes if weight > 0 and name in ("en", "zh")]
    return "zh" if named and named[0] == "zh" else "en"


def _wish(entry: str) -> tuple[str, float]:
    tag, _, weight = entry.partition(";")
    try:
        value = float(weight.partition("=")[2] or 1)
    except ValueError:
        value = 0.0
    return tag.strip().lower().partition("-")[0], value


def translator(words: Mapping[str, Mapping[str, str]], language: Language) -> Translate:
    """Return `t`. It raises KeyError for a key that is not in the catalogue: a test finds that first."""

    def t(key: str, /, **values: object) -> str:
        said = words[key][language]
        return said.format_map(values) if values else said

    return t
