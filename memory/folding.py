"""Text without its disguises, for rules that read it: widths, invisible and combining characters, letters of other scripts that
look like Latin ones, digits of any script. Only ever read, never stored or shown; places in it lead back to the original.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from memory.text import is_visible

_REMEMBERED = 16_384  # characters whose folded form is kept; of the rest it is worked out again
_KEYCAP = "\u20e3"
_LOOKALIKES = str.maketrans(
    "АВСЕНІЈКМОРЅТХУасеіјорѕухԁɡһկոսցΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορυ⁄∕–—‐‑‒−－﹘﹣",
    "ABCEHIJKMOPSTXYaceijopsyxdghknugABEZHIKMNOPTYXaivopu//---------",
)
_NUMERALS = str.maketrans("零〇一二三四五六七八九幺壹贰叁肆伍陆柒捌玖貳參陸", "00123456789112345678923" + "6")
_MAGNITUDES = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_COUNT = re.compile(r"[零〇一二两三四五六七八九十百千幺壹贰叁肆伍陆柒捌玖拾佰仟貳參陸]+")


class _Folds(dict[int, str]):
    """What each character becomes; filled as characters are met, up to a bound."""

    def __missing__(self, code: int) -> str:
        folded = _fold(chr(code))
        if len(self) < _REMEMBERED:
            self[code] = folded
        return folded


def _fold(char: str) -> str:
    if char.isspace():
        return "\n" if char in "\n\r\u2028\u2029\x0b\x0c\x85" else " "
    if not is_visible(char) or char == _KEYCAP or "\u0300" <= char <= "\u036f":
        return ""
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    parts = unicodedata.normalize("NFKD", char)
    if not parts[0].isascii():  # accents make no other letter of Latin ones, but they do in Korean and Japanese
        parts = unicodedata.normalize("NFKC", char)
    plain = "".join(part for part in parts if is_visible(part) and not "\u0300" <= part <= "\u036f")
    return plain.translate(_LOOKALIKES)


_FOLDS = _Folds()


def folded(text: str) -> str:
    """Return `text` in plain characters, its case kept. Costs a dictionary look-up a character."""
    return text if text.isascii() and text.isprintable() else text.translate(_FOLDS)


def original_spans(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return where stretches of `folded(text)` stand in `text`, with the invisible characters between and after."""
    ends = list(accumulate((len(_FOLDS[ord(char)]) for char in text), initial=0))
    return [
        (bisect_right(ends, start) - 1, max(bisect_left(ends, end), bisect_right(ends, end) - 1))
        for start, end in spans
    ]


def with_digits(text: str) -> str:
    """Return folded text with Chinese numerals as digits one by one ("一三八" is "138"); as long as before."""
    return text.translate(_NUMERALS)


def with_numbers(text: str) -> str:
    """Return folded text with Chinese numbers counted ("四十二" is "42", "二〇二六" is "2026")."""
    return _COUNT.sub(lambda match: _counted(match[0]), text)


def _counted(numeral: str) -> str:
    """Count below ten thousand; a unit without a digit before it is one of it only for ten ("十二", but not "百")."""
    total, digits, counts = 0, "", False
    for char in numeral.replace("两", "二").translate(_NUMERALS):
        magnitude = _MAGNITUDES.get(char)
        if magnitude is None:
            digits += char
            continue
        if len(digits.lstrip("0")) > 1 or (not digits.lstrip("0") and magnitude > 10):
            return numeral
        total += int(digits or 1) * magnitude
        digits, counts = "", True
    if not counts:
        return digits
    return str(total + int(digits or 0)) if len(digits.lstrip("0")) <= 1 else numeral
