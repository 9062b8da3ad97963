"""The values in what a rule found: the parts of a list, without what is no part of the thing itself."""

from __future__ import annotations

import re
import unicodedata

from memory.rules.rule import Manner, Rule
from memory.rules.sentences import BLOT, Sentence

_MONEY = "$€£¥"
Span = tuple[int, int]


def values(sentence: Sentence, match: re.Match[str], rule: Rule, manner: Manner) -> list[Span]:
    """Return where the values stand in the sentence, in order; of a rule without one an empty place."""
    start, end = _value_span(match)
    if start == end:
        return [(start, end)]
    parts = _parts(sentence.text, (start, end), manner) if rule.many else [_trimmed(sentence.text, (start, end))]
    return [
        part
        for part in parts
        if part[0] < part[1]
        and BLOT not in sentence.own[slice(*part)]
        and not (rule.many and manner.worthless.fullmatch(sentence.text[slice(*part)]))
    ]


def _value_span(match: re.Match[str]) -> Span:
    """Of a rule without a value: the place where it was found, empty."""
    return match.span("v") if "v" in match.re.groupindex else (match.start(), match.start())


def _parts(text: str, span: Span, manner: Manner) -> list[Span]:
    parts, start = [], span[0]
    for mark in (*manner.between.finditer(text[slice(*span)]), None):
        stop = span[0] + mark.start() if mark else span[1]
        parts.append(_bare(text, (start, stop), manner))
        start = span[0] + mark.end() if mark else stop
    return parts


def _bare(text: str, span: Span, manner: Manner) -> Span:
    """Take off what is no part of the thing itself: articles, particles, "very much"."""
    start, end = _trimmed(text, span)
    while start < end and (edge := manner.edges.search(text[start:end])) and edge[0]:
        start, end = _trimmed(text, (start + edge.end(), end) if edge.start() == 0 else (start, start + edge.start()))
    return start, end


def _trimmed(text: str, span: Span) -> Span:
    start, end = span
    while start < end and not (_is_word(text[start]) or text[start] in _MONEY):
        start += 1
    while start < end and not (_is_word(text[end - 1]) or text[end - 1] in f"{_MONEY}+%"):
        end -= 1
    return start, end


def _is_word(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM"
