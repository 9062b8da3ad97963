"""What each setting is called and what it means, in the reader's language: the models' own words, and for Chinese
`names_zh.json` and `meanings_zh.json`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal

Language = Literal["en", "zh"]


def meaning(description: str, language: Language) -> str:
    """Return a setting's description; in English where it has no Chinese (what is for the file alone)."""
    return description if language == "en" else _chinese("meanings").get(description, description)


def named(name: str, language: Language) -> str:
    """Return what a setting or section is called: its own name without underscores where it has no Chinese."""
    plain = name.replace("_", " ")
    return plain if language == "en" else _chinese("names").get(name, plain)


@cache
def _chinese(what: Literal["meanings", "names"]) -> dict[str, str]:
    told: dict[str, str] = json.loads(Path(__file__).with_name(f"{what}_zh.json").read_text("utf-8"))
    return told
