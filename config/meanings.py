"""What each setting means, in the reader's language: the models' own words, and `meanings_zh.json` for Chinese."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal


def meaning(description: str, language: Literal["en", "zh"]) -> str:
    """Return a setting's description; in English where it has no Chinese (what is for the file alone)."""
    return description if language == "en" else _chinese().get(description, description)


@cache
def _chinese() -> dict[str, str]:
    told: dict[str, str] = json.loads(Path(__file__).with_name("meanings_zh.json").read_text("utf-8"))
    return told
