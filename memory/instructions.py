"""Tells orders to the assistant, claimed rights and forged roles from facts and wishes of a person, in English and Chinese.
Pure. What is found is not kept; a false alarm costs one memory, a miss steers later answers (B54, mem0#5195).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from memory import claims_chinese, claims_english, orders_chinese, orders_english
from memory.folding import folded

_CJK = "\u3400-\u9fff"


def instruction_like(text: str) -> bool:
    """Say whether `text` orders the assistant about, claims a right, or poses as a role, also where it is dressed as a fact."""
    return next(orders(folded(text)), None) is not None


def no_plain_note(text: str, *, named: bool = False) -> bool:
    """Say whether `text` is no note about the speaker and his own things: it speaks of money and rights or, unless its slot is
    named and says what it is (a wish, a limit), to the assistant, of others who ask it, or begins as an order. Stricter than
    `instruction_like`, for slots whose values may be any sentence."""
    plain = folded(text).lower()
    return any(
        rights.search(plain) or (not named and other.search(plain))
        for script, *_, rights, other in _LANGUAGES
        if script.search(plain)
    )


def orders(plain: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches of folded text that are such, from the start of their sentence to its end. Costs some microseconds
    a character."""
    text = plain.lower()
    reached = 0
    for start, end in _found(text):
        if end > reached:
            first, reached = _sentence(text, start, end)
            yield first, reached
    joined = _SPACED.sub(lambda match: _GAP.sub("", match[0]), text)
    if joined != text and any(True for _ in _found(joined)):
        yield 0, len(plain)


def _found(text: str) -> Iterator[tuple[int, int]]:
    for letters in dict.fromkeys((text, *(text.translate(table) for table in _LEET if _MIXED.search(text)))):
        for script, wishes, expressions, claims, *_ in _LANGUAGES:
            if script.search(letters):
                others = wishes.sub(lambda match: "," * len(match[0]), letters)
                yield from ((match.start(), match.end()) for match in expressions.finditer(others))
                yield from (clause.span() for clause in _CLAUSE.finditer(others) if claims(clause[0]))


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    start = next(
        (at for at in range(start, end) if text[at].isalnum()), start
    )  # it may begin with the last one's full stop
    before = max((text.rfind(mark, 0, start) for mark in _ENDS), default=-1)
    after = min((place for mark in _ENDS if (place := text.find(mark, max(start, end - 1))) >= 0), default=len(text))
    return before + 1, max(after, end)


def _any(expressions: Sequence[str]) -> re.Pattern[str]:
    """Join expressions; what many begin with is tried once at a place, not once for each."""
    parts = []
    for beginning in (r"\b", orders_english.START):
        alike = [part.removeprefix(beginning) for part in expressions if part.startswith(beginning)]
        parts += [f"{beginning}(?:{'|'.join(alike)})"] if alike else []
    others = [part for part in expressions if not part.startswith((r"\b", orders_english.START))]
    return re.compile("|".join((*parts, *others)))


def _claims(claims: Sequence[Sequence[str]], unless: str) -> Callable[[str], bool]:
    """Return what says whether a clause makes one of the claims: has a part of each of its kinds, whatever stands between."""
    compiled = [[re.compile(part) for part in claim] for claim in claims]
    excuse = re.compile(unless)

    def claimed(clause: str) -> bool:
        return any(all(part.search(clause) for part in claim) for claim in compiled) and not excuse.search(clause)

    return claimed


_LANGUAGES = (
    (
        re.compile(r"[a-z]{2}|[<\[#]"),
        _any(orders_english.WISHES),
        _any(orders_english.ORDERS),
        _claims(claims_english.CLAIMS, claims_english.UNLESS),
        re.compile(claims_english.RIGHTS),
        re.compile(f"{claims_english.OTHERS}|{claims_english.BEGINS}"),
    ),
    (
        re.compile(f"[{_CJK}]"),
        _any(orders_chinese.WISHES),
        _any(orders_chinese.ORDERS),
        _claims(claims_chinese.CLAIMS, claims_chinese.UNLESS),
        re.compile(claims_chinese.RIGHTS),
        re.compile(f"{claims_chinese.OTHERS}|{claims_chinese.BEGINS}"),
    ),
)
_CLAUSE = re.compile(r"[^,.;!?。\n]{4,400}")
_ENDS = ".!?。\n"
# Digits and signs in the place of letters; "1" stands for two of them.
_MIXED = re.compile(r"[a-z][013457@$][a-z]|\b[013457@$][a-z]{3}")
_LEET = (str.maketrans("013457@$", "oieastas"), str.maketrans("013457@$", "oleastas"))
# Letters one by one ("i g n o r e"), Chinese characters with something between ("忽 略").
_SPACED = re.compile(rf"\b(?:[a-z][ ._*/-]){{3,}}[a-z]\b|[{_CJK}](?:[ ._*/|~·-]{{1,2}}[{_CJK}])+")
_GAP = re.compile(r"[ ._*/|~·-]")
