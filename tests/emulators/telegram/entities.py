"""Marks in a text, counted in UTF-16 units as the platform counts: checked when a bot sends them, found when a person writes.

Texts of errors and rules of detection follow TDLib's `MessageEntity.cpp`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tests.emulators.telegram.errors import bad_request
from tests.emulators.telegram.links import checked_link

Entity = dict[str, Any]
MAX_ENTITIES = 100  # the rest is not honoured, and nobody is told

_FOUND = (
    ("url", re.compile(r"https?://[^\s<>\"']*[^\s<>\"'.,;:!?)\]}]")),
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")),
    ("bot_command", re.compile(r"(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>])")),
    ("mention", re.compile(r"(?<!\w)@[A-Za-z0-9_]{2,32}(?!\w)")),
    ("hashtag", re.compile(r"(?<!\w)#\w+")),
)


def units(text: str) -> int:
    """Return the text's length in UTF-16 units: 1 for most characters, 2 for 😀."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, offset: int, length: int) -> str:
    """Return the part of the text an entity covers."""
    raw = text.encode("utf-16-le", "surrogatepass")
    return raw[2 * offset : 2 * (offset + length)].decode("utf-16-le", "surrogatepass")


def covering(text: str, words: str, kind: str, **more: Any) -> Entity:
    """Return an entity over the first place of `words` in the text: `covering(text, "Clew", "text_mention", user=…)`."""
    return {"type": kind, "offset": units(text[: text.index(words)]), "length": units(words)} | more


def found(text: str, known: Sequence[Entity] = ()) -> list[Entity]:
    """Return the known entities and those the platform finds by itself outside them, by their place."""
    marks = list(known)
    for kind, pattern in _FOUND:
        for match in pattern.finditer(text):
            mark = {"type": kind, "offset": units(text[: match.start()]), "length": units(match.group())}
            if not any(_overlap(mark, other) for other in marks if other["type"] not in _STYLES):
                marks.append(mark)
    return sorted(marks, key=lambda mark: (mark["offset"], -mark["length"]))


def checked(text: str, entities: Iterable[Entity]) -> list[Entity]:
    """Return the entities as the platform keeps them; raises 400 for one that does not lie on whole characters of the
    text."""
    size = units(text)
    inside = _inside_pairs(text)
    kept = []
    for entity in entities:
        begin, length = entity["offset"], entity["length"]
        if begin < 0:
            raise bad_request(f"receive an entity with incorrect offset {begin}")
        if length < 0:
            raise bad_request(f"receive an entity with incorrect length {length}")
        end = begin + length
        if begin > size or (begin == size and length):
            raise bad_request(f"Entity begins after the end of the text at UTF-16 offset {begin}")
        if begin in inside:
            raise bad_request(f"Entity begins in a middle of a UTF-16 symbol at UTF-16 offset {begin}")
        if end > size:
            raise bad_request(
                f"Entity beginning at UTF-16 offset {begin} ends after the end of the text at UTF-16 offset {end}"
            )
        if end in inside:
            raise bad_request(
                f"Entity beginning at UTF-16 offset {begin} ends in a middle of a UTF-16 symbol at UTF-16 offset {end}"
            )
        link = {"url": checked_link(entity.get("url", ""))} if entity["type"] == "text_link" else {}
        if cut(text, begin, length).strip() and link.get("url") != "":
            kept.append(entity | link)
    return kept[:MAX_ENTITIES]


def trimmed(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    """Return both as the platform stores them: other control characters are spaces, the end is stripped, and so is the
    beginning up to the first entity (indentation in front of a plain first line is lost)."""
    text = "".join(" " if char < " " and char not in "\n\r" else char for char in text).rstrip()
    first = min((mark["offset"] for mark in entities), default=units(text))
    head = 0
    while head < len(text) and head < first and text[head] in " \n":
        head += 1
    text = text[head:]
    size = units(text)
    marks = []
    for mark in entities:
        offset = mark["offset"] - head
        length = min(mark["length"], size - offset)
        if length > 0:
            marks.append(mark | {"offset": offset, "length": length})
    return text, marks


_STYLES = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler", "blockquote", "expandable_blockquote"})


def _overlap(one: Entity, other: Entity) -> bool:
    return bool(one["offset"] < other["offset"] + other["length"] and other["offset"] < one["offset"] + one["length"])


def _inside_pairs(text: str) -> set[int]:
    """Return the offsets between the two halves of a surrogate pair."""
    inside, at = set(), 0
    for char in text:
        if char > "\uffff":
            inside.add(at + 1)
            at += 1
        at += 1
    return inside
