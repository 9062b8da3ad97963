"""Finds numbers of persons in folded text: identity cards, bank accounts, cards, phones. Grouped or not; what has check digits
is checked, so that order numbers, dates, amounts and versions pass.

An order number that satisfies a card's length, first digits and check digit by chance is taken for a card (one in ten of
those), and eleven digits that begin like a Chinese mobile number are taken for one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import phonenumbers
from stdnum import iban, luhn
from stdnum.br import cpf
from stdnum.cn import ric
from stdnum.es import dni, nie
from stdnum.fr import nir
from stdnum.it import codicefiscale
from stdnum.kr import rrn
from stdnum.mx import curp
from stdnum.us import ssn

from memory.bar_words import BANK_ACCOUNT, BANK_CARD, ID_CARD, PHONE

Finding = tuple[int, int, str]  # start, end, the rule

# What looks like grouped digits and is none of ours: dates, addresses of machines. Blanked out before digits are grouped.
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_NO_NUMBER = re.compile(
    r"(?<![\d./-])(?:(?:19|20)\d\d([-/.])(?:0?[1-9]|1[0-2])\1(?:[12]\d|3[01]|0?[1-9])"
    r"|(?:[12]\d|3[01]|0?[1-9])([-/.])(?:[12]\d|3[01]|0?[1-9])\2(?:19|20)\d\d"
    rf"|{_OCTET}(?:\.{_OCTET}){{3}})(?![./-]?\d)"
)
_STRETCH = re.compile(r"(?<![A-Za-z\d])\(?\d(?:[ .·_*/()-]{0,3}\d){6,}[xX]?(?![A-Za-z\d])")
_GROUP = re.compile(r"\d+[xX]?")
_FOREIGN = re.compile(r"(?:\+|(?<!\d)00)[ ]?([1-9](?:[ .()/-]{0,3}\d){6,14})(?![\d])")


def numbers(text: str) -> Iterator[Finding]:
    """Yield the stretches of folded text (Chinese numerals made digits) that are a person's number, with the rule."""
    yield from _with_letters(text)
    for match in _FOREIGN.finditer(text):
        if _is_valid("+" + _digits(match[1]), None):
            yield match.start(), match.end(), PHONE
    blanked = _NO_NUMBER.sub(lambda match: "#" * len(match[0]), text)
    for stretch in _STRETCH.finditer(blanked):
        yield from _grouped(blanked, stretch.start(), stretch.end())


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())


def _grouped(text: str, start: int, end: int) -> Iterator[Finding]:
    """Try every run of whole groups of a stretch that may be a number ("date, then phone" is one stretch); of two that begin
    alike the longer one counts."""
    groups = list(_GROUP.finditer(text, start, end))
    digits = "".join(group[0] for group in groups).upper()
    places = list(accumulate((len(group[0]) for group in groups), initial=0))
    reached = 0
    for first, place in enumerate(places[:-1]):
        if place < reached:
            continue
        for length in _LENGTHS[digits[place]]:
            last = bisect_left(places, place + length)
            if last < len(places) and places[last] == place + length:
                run, whole = groups[first:last], last - first == len(groups)
                if rule := _rule(digits[place : place + length], text, run, whole=whole):
                    yield run[0].start(), run[-1].end(), rule
                    reached = places[last]
                    break


def _alone(text: str, start: int, end: int) -> str:
    """Return the groups with their opening parenthesis, or nothing where a dash ties them to further groups."""
    if text[end : end + 1] == "-" or text[start - 1 : start] == "-":
        return ""
    return text[start - 1 : end] if text[start - 1 : start] == "(" else text[start:end]


def _even(sizes: Sequence[int]) -> bool:
    """Say whether the groups are of one size (the last may be shorter) and no mere list of single digits."""
    return len(sizes) == 1 or (sizes[0] > 1 and len(set(sizes[:-1])) == 1 and sizes[-1] <= sizes[0])


# First digits by length, as the card networks give them: a millisecond's time, an ISBN and a number that begins with its
# year are none.
_CARD = re.compile(
    r"4\d{12}|3(?:0[0-5]|[689]\d)\d{11}|3[47]\d{13}|(?:2[2-7]|3[05]|[456]\d|9[045]|81)\d{14}|(?:[456]\d|9[05])\d{15,17}"
)
_AMEX, _DINERS = (4, 6, 5), (4, 6, 4)
_CHINESE_ID = re.compile(r"[1-9]\d{5}(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:[012]\d|3[01])\d{3}[\dX]")
_CHINESE_MOBILE = re.compile(r"(?:86|086)?1[3-9]\d{9}")
_MOBILE_GROUPS = re.compile(
    r"(?:2,)?(?:11|3,4,4|3,8|7,4|4,4,3|3,3,5|4,3,4|3,2,2,2,2|1,2,2,2,2,2|5,3,3|5,6|6,5|(?:1,){10}1)"
)
_NANP = re.compile(r"(?:1[ .-]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])[2-9]\d\d[ .-]\d{4}")
_TRUNK_REGIONS = ("CN", "GB", "JP", "TW", "FR", "KR", "AU", "DE")


# How long a number may be that begins with this digit, longest first.
_LENGTHS = {
    "0": (14, 12, 11, 10), "1": (18, 11), "2": (18, 16, 10), "3": (18, 16, 15, 14, 10), "4": (19, 18, 17, 16, 13, 10),
    "5": (19, 18, 17, 16, 10), "6": (19, 18, 17, 16, 10), "7": (18, 10), "8": (18, 16, 13, 10), "9": (19, 18, 17, 16, 10),
}  # fmt: skip


def _rule(number: str, text: str, groups: Sequence[re.Match[str]], *, whole: bool) -> str | None:
    if len(number) == 18 and _CHINESE_ID.fullmatch(number) and ric.calc_check_digit(number) == number[-1]:
        return ID_CARD
    if not number.isdigit():
        return None
    if _CARD.fullmatch(number) and luhn.is_valid(number):
        sizes = _sizes(groups)
        return BANK_CARD if whole or _even(sizes) or sizes in (_AMEX, _DINERS) else None
    if _CHINESE_MOBILE.fullmatch(number):
        sizes = _sizes(groups)
        return PHONE if whole or _even(sizes) or _MOBILE_GROUPS.fullmatch(",".join(map(str, sizes))) else None
    if len(groups) in (3, 4) and _NANP.fullmatch(_alone(text, groups[0].start(), groups[-1].end())):
        return PHONE
    return PHONE if number[0] == "0" and _has_trunk_zero(number, _sizes(groups)) else None


def _sizes(groups: Sequence[re.Match[str]]) -> tuple[int, ...]:
    return tuple(len(group[0]) for group in groups)


def _has_trunk_zero(number: str, sizes: Sequence[int]) -> bool:
    """A national number with its leading zero; groups as people write them, so that no date and decimal is one."""
    if not (10 <= len(number) <= 12 and number[0] == "0" and number[1] != "0") or len(sizes) > 5 or sizes[0] == 1:
        return False
    if 1 in sizes[:-1] or (sizes[:2] == (2, 2) and set(sizes) != {2}):
        return False
    return any(_is_valid(number, region) for region in _TRUNK_REGIONS)


def _is_valid(number: str, region: str | None) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, region))
    except phonenumbers.NumberParseException:
        return False


def _with_letters(text: str) -> Iterator[Finding]:
    """Numbers whose letters or separators tell what they are; each is checked by its own rule."""
    for shape, is_one, rule in _SHAPES:
        for match in shape.finditer(text):
            if is_one(match[0].upper()):
                yield match.start(), match.end(), rule


def _hong_kong(number: str) -> bool:
    """Immigration Department's rule: weights 9 to 2, a blank before a single letter counts 36. Example: A123456(3)."""
    body, check = number.rstrip(")").split("(")
    values = [36 if char == " " else int(char, 36) for char in body.rjust(8)]
    total = sum(value * weight for value, weight in zip(values, range(9, 1, -1), strict=True))
    return (total + int(check, 36)) % 11 == 0


_TAIWANESE_LETTERS = "ABCDEFGHJKLMNPQRSTUVXYWZIO"  # in the order of their codes, from 10


def _taiwanese(number: str) -> bool:
    """Ministry of the Interior's rule: the letter's code, then the digits, weights 1, 9 to 1, 1. Example: A123456789."""
    code = 10 + _TAIWANESE_LETTERS.index(number[0])
    digits = [code // 10, code % 10, *map(int, number[1:])]
    weights: tuple[int, ...] = (1, *range(9, 0, -1), 1)
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=True)) % 10 == 0


def _singaporean(number: str) -> bool:
    """National registration: weights 2, 7 to 2, an offset by century, a check letter by kind. Example: S1234567D."""
    total = sum(int(digit) * weight for digit, weight in zip(number[1:8], (2, 7, 6, 5, 4, 3, 2), strict=True))
    letters = "JZIHGFEDCBA" if number[0] in "ST" else "XWUTRQPNMLK"
    return letters[(total + (4 if number[0] in "TG" else 0)) % 11] == number[8]


def _machine_readable(line: str) -> bool:
    """The second line of a passport's (ICAO 9303 part 4): number, birth and expiry each with a check digit."""
    return all(_mrz_digit(line[start:end]) == line[end] for start, end in ((0, 9), (13, 19), (21, 27)))


def _mrz_digit(field: str) -> str:
    values = (0 if char == "<" else int(char, 36) for char in field)
    return str(sum(value * (7, 3, 1)[place % 3] for place, value in enumerate(values)) % 10)


def _social_security(number: str) -> bool:
    return bool(ssn.is_valid(number.replace(" ", "-")))


def _shape(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z\d-]){pattern}(?![A-Za-z\d-])", re.I)


_SHAPES: tuple[tuple[re.Pattern[str], Callable[[str], bool], str], ...] = (
    (_shape(r"\d{3}([- ])\d\d\1\d{4}"), _social_security, ID_CARD),
    (_shape(r"\d{6}-[1-8]\d{6}"), rrn.is_valid, ID_CARD),
    (_shape(r"\d{3}\.\d{3}\.\d{3}-\d\d"), cpf.is_valid, ID_CARD),
    (_shape(r"[12] ?\d\d ?\d\d ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d"), nir.is_valid, ID_CARD),
    (_shape(r"\d{8}[- ]?[A-Z]"), dni.is_valid, ID_CARD),
    (_shape(r"[XYZ]-?\d{7}-?[A-Z]"), nie.is_valid, ID_CARD),
    (_shape(r"[A-Z]{6}\d\d[A-Z]\d\d[A-Z]\d{3}[A-Z]"), codicefiscale.is_valid, ID_CARD),
    (_shape(r"[A-Z]{4}\d{6}[HMX][A-Z]{5}[A-Z\d]\d"), curp.is_valid, ID_CARD),
    (_shape(r"[A-Z]{1,2}\d{6}\([\dA]\)"), _hong_kong, ID_CARD),
    (_shape(r"[A-Z][1289]\d{8}"), _taiwanese, ID_CARD),
    (_shape(r"[STFG]\d{7}[A-Z]"), _singaporean, ID_CARD),
    (_shape(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] \d\d \d\d \d\d [A-D]"), bool, ID_CARD),
    (re.compile(r"[A-Z\d<]{9}\d[A-Z<]{3}\d{7}[MFX<]\d{7}[A-Z\d<]{14}[\d<]\d"), _machine_readable, ID_CARD),
    (_shape(r"[A-Z]{2}\d\d(?:[ -]?[A-Z\d]{4}){2,7}(?:[ -]?[A-Z\d]{1,3})?"), iban.is_valid, BANK_ACCOUNT),
)
