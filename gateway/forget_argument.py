"""What stands behind `/forget`, read as people write it: numbers of a list, everything, or what a thing is called. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory.folding import folded, with_numbers
from memory.rules.nouns import slots_meant
from memory.rules.traditional import SIMPLIFIED

_ALL = ("all of it", "all", "everything about me", "everything", "全部内容", "全部", "所有内容", "所有", "一切")
_ME = frozenset({
    "me", "me altogether", "my data", "all my data", "all of my data", "my messages", "all my messages", "my account",
    "我", "我的数据", "我所有的数据", "我的所有数据", "我的全部数据", "我的聊天记录", "我的所有聊天记录", "我的账号", "我的資料",
    "我的资料",
})  # fmt: skip
_YES = frozenset({"yes", "确定", "確定", "确认", "確認", "是", "是的"})

_NUMBER = r"(?:#|第|编号|no\.?|numbers?|item)?\s*(\d{1,3})\s*[条條号號项項个個]?"
_AND = r"(?:\s*(?:[,，、;；&]|and|和|与|跟|及)\s*|\s+)"
_TO = r"\s*(?:[-~]|to|到|至)\s*"
_RANGE = re.compile(rf"{_NUMBER}(?:{_TO}{_NUMBER})?", re.I)
_NUMBERS = re.compile(rf"{_RANGE.pattern}(?:{_AND}{_RANGE.pattern})*", re.I)
_POLITE = re.compile(r"^(?:please|请)[,，]? ?|[,，]? ?(?:please|pls|thanks|谢谢)$")
_NAMED_MOST = 40


@dataclass(frozen=True, slots=True)
class Numbered:
    """Entries of the list that was shown, as they were named."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Everything:
    confirmed: bool


@dataclass(frozen=True, slots=True)
class Called:
    """All that stands in these slots (`memory/slots.py`)."""

    slots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Altogether:
    """Not what was learned alone: all that is stored of the person, which an admin erases."""


def read(argument: str) -> Numbered | Everything | Called | Altogether | None:
    """Return what is to be forgotten; None: it does not say."""
    said = _POLITE.sub("", " ".join(folded(argument).casefold().split()).strip(" .。!！"))
    counted = with_numbers(said)
    if _NUMBERS.fullmatch(counted):
        return Numbered(tuple(dict.fromkeys(_numbers(counted))))
    for everything in _ALL:
        rest = said.removeprefix(everything).strip()
        if said.startswith(everything) and (not rest or rest in _YES):
            return Everything(confirmed=bool(rest))
    if said in _ME:
        return Altogether()
    slots = slots_meant("".join(SIMPLIFIED.get(char, char) for char in said)) if len(said) <= _NAMED_MOST else []
    return Called(tuple(slots)) if slots else None


def _numbers(counted: str) -> list[int]:
    found: list[int] = []
    for one in _RANGE.finditer(counted):
        first, last = int(one[1]), int(one[2] or one[1])
        found += range(first, last + 1) if first <= last else (first, last)
    return found
