"""Which of the two complete languages a text is in, as far as it shows. Pure."""

from __future__ import annotations

import re
from typing import Final, Literal

Language = Literal["en", "zh"]

_HAN = re.compile("[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
_KANA_HANGUL = re.compile("[\u3041-\u30ff\uac00-\ud7a3]")
_WORD = re.compile(r"[^\W\d_\u3005\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff]+")
_LOOKED_AT: Final = 1000  # characters: a language shows itself early, and the cost stays the same for any message


def language_in(text: str) -> Language | None:
    """Return the language of a text; None: nothing tells it, in numbers and single words of no Chinese ("42", "Nike").

    Chinese has at least as many Han characters as words of other scripts ("帮我 deploy 一下 cluster": 5 to 2), and is not
    Japanese or Korean. Whatever else is said in words counts as English.
    """
    text = text[:_LOOKED_AT]
    han, words = len(_HAN.findall(text)), len(_WORD.findall(text))
    if han and 4 * len(_KANA_HANGUL.findall(text)) < han:
        return "zh" if han >= words else "en"
    return "en" if han or words > 1 else None
