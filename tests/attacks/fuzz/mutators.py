"""What is done to a payload so that it is none: to one place of its tree, or to its bytes as a whole. Pure, and the same for the
same seed.

A tree is what JSON gives, with two more kinds of leaves: `Raw`, which is written as it is, and `Pairs`, an object whose keys may
repeat.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]
Tree = Any


@dataclass(frozen=True, slots=True)
class Raw:
    """Text of JSON, or of none, to be written where it stands."""

    text: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """An object as it is written: keys may repeat."""

    pairs: tuple[tuple[str, Tree], ...]


@dataclass(frozen=True, slots=True)
class Drop:
    """Nothing: the place goes, key and all."""


def encoded(tree: Tree) -> bytes:
    """Write a tree; a lone surrogate as an escape."""
    return _text(tree).encode("utf-8", "surrogatepass")


def _text(tree: Tree) -> str:
    match tree:
        case Raw(text=text):
            return text
        case Pairs(pairs=pairs):
            return "{" + ",".join(f"{_string(key)}:{_text(value)}" for key, value in pairs) + "}"
        case dict():
            return "{" + ",".join(f"{_string(key)}:{_text(value)}" for key, value in tree.items()) + "}"
        case list():
            return "[" + ",".join(map(_text, tree)) + "]"
        case str():
            return _string(tree)
        case _:
            return json.dumps(tree)


def _string(text: str) -> str:
    whole = not any(0xD800 <= ord(char) < 0xE000 for char in text)
    return json.dumps(text, ensure_ascii=not whole)


def paths(tree: Tree, at: Path = ()) -> Iterator[Path]:
    """Yield every place in a tree below its root, in order."""
    places: Any = ()
    if isinstance(tree, dict):
        places = tree.items()
    elif isinstance(tree, list):
        places = enumerate(tree[:3])
    for key, value in places:
        yield (*at, key)
        yield from paths(value, (*at, key))


def changed(tree: Tree, path: Path, change: Callable[[Tree], Tree]) -> Tree:
    """Return the tree with what is at the path replaced by what `change` makes of it."""
    if not path:
        return change(tree)
    key, rest = path[0], path[1:]
    if isinstance(tree, dict):
        new = {**tree, key: changed(tree[key], rest, change)}
        return {name: value for name, value in new.items() if not isinstance(value, Drop)}
    new = [changed(one, rest, change) if place == key else one for place, one in enumerate(tree)]
    return [one for one in new if not isinstance(one, Drop)]


def _retyped(value: Tree) -> Tree:
    match value:
        case bool():
            return str(value)
        case str():
            return [value]
        case int() | float():
            return str(value)
        case list():
            return dict(enumerate_names(value))
        case dict():
            return list(value.values())
        case _:
            return {"null": None}


def enumerate_names(values: list[Tree]) -> Iterator[tuple[str, Tree]]:
    return ((str(place), value) for place, value in enumerate(values))


def _nested(opening: str, closing: str, depth: int, inside: str = "1") -> Raw:
    return Raw(opening * depth + inside + closing * depth)


def _repeated(value: Tree) -> Tree:
    if isinstance(value, dict) and value:
        return Pairs((*value.items(), *((key, None) for key in value), *value.items()))
    return Pairs((("a", value), ("a", value), ("", 1), ("", 2)))


def _wide(value: Tree) -> Tree:
    """The same in full-width characters: digits and letters that are others."""
    text = value if isinstance(value, str) else str(value)
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


TREE: dict[str, Callable[[Tree], Tree]] = {
    "dropped": lambda _: Drop(),
    "null": lambda _: None,
    "true": lambda _: True,
    "zero": lambda _: 0,
    "minus": lambda _: -1,
    "retyped": _retyped,
    "in a list": lambda value: [value],
    "in an object": lambda value: {"value": value},
    "as text of JSON": lambda value: json.dumps(value),
    "empty text": lambda _: "",
    "empty list": lambda _: [],
    "empty object": lambda _: {},
    "space": lambda _: " \t\r\n\u3000\u200b",
    "twice": lambda value: [value, value],
    "repeated keys": _repeated,
    "more keys": lambda value: (value if isinstance(value, dict) else {}) | {"__proto__": {"x": 1}, "": "", "constructor": 1},
    "many keys": lambda _: {f"k{number}": number for number in range(2_000)},
    "many items": lambda value: [value] * 500,
    "nested lists": lambda _: _nested("[", "]", 1_000),
    "nested objects": lambda _: _nested('{"a":', "}", 1_000),
    "64 bits": lambda _: 2**63 - 1,
    "more than 64 bits": lambda _: 2**64,
    "huge number": lambda _: Raw("9" * 400),
    "number of many digits": lambda _: Raw("1" * 5_000),
    "too great a float": lambda _: Raw("1e999"),
    "tiny float": lambda _: Raw("-1e-999"),
    "not a number": lambda _: Raw("NaN"),
    "infinite": lambda _: Raw("-Infinity"),
    "leading zeros": lambda _: Raw("007"),
    "fraction": lambda _: 1.5,
    "digits as text": lambda _: "0000000000123",
    "full-width": _wide,
    "lone surrogate": lambda value: f"{value}\ud800",
    "surrogates swapped": lambda _: "\udc00\ud83d x",
    "NUL": lambda value: f"a\x00{value}\x00",
    "control characters": lambda value: f"\x1b[31m\x07\x08{value}\x7f\x9b",
    "right to left": lambda value: f"\u202e\u2066{value}\u2069\u200f",
    "line breaks": lambda value: f"{value}\r\nX-Injected: 1\r\n\r\n\u2028\u2029\x85",
    "no characters": lambda _: "\ufffe\uffff\ufdd0",
    "many marks": lambda _: "e" + "\u0301" * 3_000,
    "emoji": lambda _: "👩‍👩‍👧‍👦" * 200,
    "Chinese": lambda value: f"你好，{value}。𠮷野家",
    "long text": lambda _: "长" * 20_000,
    "very long text": lambda _: "x" * 300_000,
    "wildcards": lambda _: "%_*\\?[a-z]",
    "SQL": lambda _: "'; DROP TABLE messages; --",
    "format": lambda _: "%s%n{0}{0.__class__}{{7*7}}${HOME}`id`",
    "path": lambda _: "../../../../etc/passwd\x00.json",
    "address": lambda _: "http://169.254.169.254/latest/meta-data/",
    "markup": lambda _: "<script>alert(1)</script><!--]]>&amp;<@U1>",
    "escapes": lambda _: Raw('"\\u0000\\uD83D\\uDE00\\/\\b"'),
    "bad escape": lambda _: Raw('"\\x41\\u12"'),
    "open text": lambda _: Raw('"'),
    "comment": lambda _: Raw("/* x */ 1"),
    "single quotes": lambda _: Raw("'x'"),
    "trailing comma": lambda _: Raw("[1,]"),
}  # fmt: skip
"""What is done to one place of a tree."""


def _cut(body: bytes, rng: random.Random) -> bytes:
    return body[: rng.randrange(len(body))] if body else b"{"


def _flipped(body: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(max(1, len(body)))
    return body[:at] + bytes([body[at] ^ 1 << rng.randrange(8)]) + body[at + 1 :] if body else b"\xff"


def _spliced(body: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(max(1, len(body)))
    return (
        body[:at]
        + rng.choice((b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b'"', b"{", b"]", b"\xf4\x90\x80\x80"))
        + body[at:]
    )


BYTES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut": _cut,
    "a bit flipped": _flipped,
    "bytes put in": _spliced,
    "a piece taken out": lambda body, rng: body[: (at := rng.randrange(max(1, len(body))))] + body[at + rng.randrange(1, 40) :],
    "empty": lambda body, rng: b"",
    "space alone": lambda body, rng: b" \r\n\t",
    "said twice": lambda body, rng: body + body,
    "more behind it": lambda body, rng: body + rng.choice((b"\x00", b"]", b"//", b"\n{}", b"\xef\xbb\xbf")),
    "a byte order mark": lambda body, rng: b"\xef\xbb\xbf" + body,
    "UTF-16": lambda body, rng: body.decode(errors="replace").encode("utf-16"),
    "UTF-32": lambda body, rng: body.decode(errors="replace").encode("utf-32-be"),
    "Latin-1": lambda body, rng: body.decode(errors="replace").encode("latin-1", "replace") + b"\xe9",
    "GB18030": lambda body, rng: body.decode(errors="replace").encode("gb18030"),
    "UTF-7": lambda body, rng: body.decode(errors="replace").encode("utf-7", "replace"),
    "packed": lambda body, rng: gzip.compress(body),
    "null": lambda body, rng: b"null",
    "a number": lambda body, rng: b"1",
    "a text": lambda body, rng: b'"x"',
    "a list": lambda body, rng: b"[" + body + b"]",
    "brackets": lambda body, rng: b"[" * 100_000,
    "braces": lambda body, rng: b'{"a":' * 100_000,
    "brackets, closed": lambda body, rng: b"[" * 50_000 + b"]" * 50_000,
    "big": lambda body, rng: b'{"x":"' + b"x" * 3_000_000 + b'"}',
    "big, behind it": lambda body, rng: body + b" " * 3_000_000,
    "a form": lambda body, rng: b"payload=" + body.replace(b"&", b"%26").replace(b"+", b"%2B"),
    "random": lambda body, rng: rng.randbytes(rng.randrange(1, 2_000)),
}  # fmt: skip
"""What is done to all of a body."""
