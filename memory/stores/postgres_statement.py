"""Statements with named parameters, numbered once: the driver would parse a statement of this length at every call."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PARAMETER = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as the server gets it; `names` are its parameters' in the order of their numbers."""

    text: bytes
    names: tuple[str, ...]


def statement(text: str) -> Statement:
    """Return the statement written with parameters `%(name)s`."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(text)))
    numbered = _PARAMETER.sub(lambda match: f"${names.index(match[1]) + 1}", text)
    return Statement(numbered.encode(), names)
