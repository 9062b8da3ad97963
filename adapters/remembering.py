"""What an adapter remembers of rooms, messages and names: the newest only, so that it never grows without end."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def remember(known: OrderedDict[_Key, _Value], key: _Key, value: _Value, *, most: int) -> None:
    """Put the value under the key, as the newest; beyond `most` entries the oldest are forgotten."""
    known[key] = value
    known.move_to_end(key)
    while len(known) > most:
        known.popitem(last=False)
