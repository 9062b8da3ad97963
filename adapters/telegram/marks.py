"""A text and its marks (`MessageEntity`), counted as Telegram counts; and names in it made to call nobody. Pure."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"]

_NAME = re.compile(r"(?<!\w)@[A-Za-z0-9_]{2,32}(?!\w)")
"""What Telegram takes for somebody's name, who is told that he was called."""

_WEB = re.compile(
    r"(?<![A-Za-z0-9])https?://(?:[A-Za-z0-9][A-Za-z0-9-]{0,61}\.)+[A-Za-z]{2,}(?::\d{1,5})?/[A-Za-z0-9_@./~%+=&?#-]*"
)
"""What Telegram surely takes for a web address: it looks for no names in one (`…/package/@types/node`)."""

_SILENT = frozenset({"code", "pre", "text_link"})
"""Marks in which it looks for no names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A stretch of text that is shown in some way; `offset` and `length` count UTF-16 units."""

    kind: Kind
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """A message's text, and its marks in order."""

    text: str
    marks: tuple[Mark, ...] = ()


def units(text: str) -> int:
    """Return the length of a text as Telegram counts it: in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def silenced(told: Rendered) -> Rendered:
    """Return the text with the names that would call somebody marked as code, which bears no other mark but a quote's."""
    names = _names(told)
    if not names:
        return told
    marks = [part for mark in told.marks for part in ([mark] if mark.kind == "blockquote" else _around(mark, names))]
    return Rendered(told.text, tuple(sorted((*marks, *names), key=lambda mark: (mark.offset, -mark.length))))


def bare(told: Rendered, *, calls: bool) -> Rendered:
    """Return the text without its marks, for where they are refused. Names in it call nobody: they have another @, of the same
    length; with `calls` they are left as they stand."""
    if calls:
        return Rendered(told.text)
    parts, at = [], 0
    for call in _calls(told.text, bytearray()):
        parts += [told.text[at : call.start()], "＠"]
        at = call.start() + 1
    return Rendered("".join([*parts, told.text[at:]]))


def _names(told: Rendered) -> list[Mark]:
    """Return marks over the names that would call somebody, in order."""
    silent = bytearray(units(told.text))
    for mark in told.marks:
        if mark.kind in _SILENT:
            silent[mark.offset : mark.offset + mark.length] = b"\x01" * mark.length
    names, offset, at = [], 0, 0
    for call in _calls(told.text, silent):
        offset, at = offset + units(told.text[at : call.start()]), call.start()
        length = len(call.group())
        if not any(silent[offset : offset + length]):
            names.append(Mark(kind="code", offset=offset, length=length))
    return names


def _calls(text: str, silent: bytearray) -> Iterator[re.Match[str]]:
    """Give the names in a text, in order; `silent` tells its units that bear a mark. Not those in web addresses, which lead
    nowhere with a mark in them, or beside them."""
    offset, at = 0, 0
    for word in re.finditer(r"\S+", text):
        names = list(_NAME.finditer(text, word.start(), word.end()))
        if not names:
            continue
        offset, at = offset + units(text[at : word.start()]), word.start()
        web = _WEB.search(text, word.start(), word.end())
        inside = web and all(web.start() < name.start() and name.end() <= web.end() for name in names)
        if not inside or any(silent[offset : offset + units(word.group())]):
            yield from names


def _around(mark: Mark, names: Sequence[Mark]) -> Iterator[Mark]:
    """Give what is left of a mark beside the names, which are in order and apart."""
    start, end = mark.offset, mark.offset + mark.length
    for name in names[bisect(names, start, key=lambda name: name.offset + name.length) :]:
        if name.offset >= end:
            break
        if start < name.offset:
            yield replace(mark, offset=start, length=name.offset - start)
        start = name.offset + name.length
    if start < end:
        yield replace(mark, offset=start, length=end - start)
