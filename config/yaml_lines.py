"""YAML text to a tree that knows its lines.

Every scalar stays the text that was written (`no`, `1_000`, `2024-01-01` are words until a setting's type says otherwise), so
that none of YAML's guesses ever touches an id. Aliases and merge keys work; size and depth are bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.reader import ReaderError

MAX_NODES = 200_000
MAX_DEPTH = 40

# The pure Python parser says the same, ten times slower; PyYAML without libyaml has only that.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text as written. `plain`: without quotes or block marks."""

    line: int
    text: str
    plain: bool
    size: int = 1
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    line: int
    items: tuple[Node, ...]
    size: int
    depth: int


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping, merge keys resolved. `lines` holds each key's own line."""

    line: int
    entries: dict[str, Node]
    lines: dict[str, int]
    size: int
    depth: int


Node = Scalar | Items | Table


class Unreadable(Exception):
    """The text is not YAML, or too large; nothing of it can be used."""

    def __init__(self, line: int, problem: str, remedy: str) -> None:
        super().__init__(f"{line}: {problem}; {remedy}")
        self.line, self.problem, self.remedy = line, problem, remedy


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something wrong that does not stop the reading: a doubled key, a tag, a key that is no text."""

    line: int
    where: str
    problem: str
    remedy: str


@dataclass(slots=True)
class _Reader:
    events: Iterator[Any]
    flaws: list[Flaw] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)

    def node(self, event: Any, depth: int = 1) -> Node:
        line = _line(event)
        if depth > MAX_DEPTH:
            raise Unreadable(line, f"is nested more than {MAX_DEPTH} levels deep", "settings need far fewer")
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise Unreadable(line, f"the alias *{event.anchor} has no anchor before it", f"write &{event.anchor}")
            return self.anchors[event.anchor]
        if event.tag is not None:
            self.flaws.append(Flaw(line, "", f"the tag {event.tag!r} has no meaning here", "remove it"))
        node: Node
        if isinstance(event, yaml.ScalarEvent):
            node = Scalar(line, event.value, event.style is None or event.style == "")
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._items(line, depth)
        else:
            node = self._table(line, depth)
        if node.size > MAX_NODES or node.depth > MAX_DEPTH:
            raise Unreadable(
                line,
                f"holds more than {MAX_NODES:,} values or {MAX_DEPTH} levels, aliases counted",
                "use fewer aliases",
            )
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _items(self, line: int, depth: int) -> Items:
        items = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.node(event, depth + 1))
        return Items(line, tuple(items), 1 + sum(i.size for i in items), 1 + max((i.depth for i in items), default=0))

    def _table(self, line: int, depth: int) -> Table:
        entries: dict[str, Node] = {}
        lines: dict[str, int] = {}
        merges: list[Node] = []
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key, value = self.node(event, depth + 1), self.node(next(self.events), depth + 1)
            if not isinstance(key, Scalar):
                self.flaws.append(Flaw(key.line, "", "this key is not a text", "write a word before the colon"))
            elif key.plain and key.text == "<<":
                merges.append(value)
            elif key.text in entries:
                first = lines[key.text]
                self.flaws.append(Flaw(key.line, key.text, f"is here twice, first in line {first}", "keep one of them"))
            else:
                entries[key.text], lines[key.text] = value, key.line
        for merge in merges:
            self._merge(merge, entries, lines)
        sizes = [node.size for node in entries.values()]
        depths = [node.depth for node in entries.values()]
        return Table(line, entries, lines, 1 + sum(sizes), 1 + max(depths, default=0))

    def _merge(self, merge: Node, entries: dict[str, Node], lines: dict[str, int]) -> None:
        for table in merge.items if isinstance(merge, Items) else (merge,):
            if not isinstance(table, Table):
                self.flaws.append(
                    Flaw(merge.line, "<<", "merges something that has no keys", "name an anchored section")
                )
                continue
            for key, value in table.entries.items():
                entries.setdefault(key, value)
                lines.setdefault(key, table.lines[key])


def read_yaml(text: str) -> tuple[Node | None, list[Flaw]]:
    """Return the tree of the one document in `text` (None: there is nothing) and its flaws; raises `Unreadable`."""
    reader = _Reader(yaml.parse(text, Loader=_LOADER))
    root: Node | None = None
    try:
        for event in reader.events:
            if isinstance(event, yaml.NodeEvent):
                if root is not None:
                    line = _line(event)
                    raise Unreadable(line, "a second document begins here", "keep one; remove the line ---")
                root = reader.node(event)
    except yaml.YAMLError as exc:
        raise _unreadable(exc, text) from None
    return root, reader.flaws


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _unreadable(exc: yaml.YAMLError, text: str) -> Unreadable:
    """Say a parser's error in an admin's words. Its own text is not used whole: it quotes the file, secrets and all."""
    if isinstance(exc, ReaderError):
        line = next((n for n, row in enumerate(text.split("\n"), 1) if any(_control(c) for c in row)), 1)
        return Unreadable(line, "holds a control character", "remove it, or write it as an escape in double quotes")
    mark: Any = getattr(exc, "problem_mark", None)
    problem = getattr(exc, "problem", None) or "this is not YAML"
    line = mark.line + 1 if mark is not None else 1
    rows = text.split("\n")
    row = rows[line - 1] if line <= len(rows) else ""
    if "\t" in row[: len(row) - len(row.lstrip())]:
        return Unreadable(line, "is indented with a tab", "use spaces")
    if "${" in row:
        return Unreadable(line, problem, "put quotes around ${…} where it stands inside { } or [ ]")
    return Unreadable(line, problem, "check the indentation, and quote values that begin with a special character")


def _control(char: str) -> bool:
    return (char < " " and char not in "\t\r") or "\x7f" <= char <= "\x9f" or char in "\ufffe\uffff"
