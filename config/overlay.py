"""What the console's newest revision says over the settings file: a tree that is merged into the file's, key by key. Pure.

None takes out what the file says; a list or a single value replaces it; `{"=": VALUE}` stands whole in its place, also where
VALUE is a section or null. What results is read as if somebody had typed it, but for references: of the environment and of
files, which are the machine's, none is followed from here; secrets are `vault:NAME`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from config.problems import Path
from config.yaml_lines import MAX_DEPTH, Items, Node, Scalar, Table, Unreadable

Said = dict[str, "Said"] | list["Said"] | str | int | float | bool | None
"""One value of an overlay, as JSON has it."""

WHOLE: Final = "="
IN_REVISION: Final = 0
"""The line of what stands in no file."""

FILE_ONLY: tuple[tuple[str, ...], ...] = (
    ("server",),
    ("storage",),
    ("redis",),
    ("database",),
    ("queue",),
    ("telemetry",),
    ("admin",),
    ("retention", "audit_days"),
)
"""What is read before any revision can be, differs between machines, or says who may change the rest and what is kept of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """Revision `number`, from 1, and all that it says. `tree` is never changed."""

    number: int
    tree: Mapping[str, Said]

    def __str__(self) -> str:
        return f"revision {self.number}"


def whole(said: Said) -> bool:
    """Whether this stands in the place of everything below it."""
    return not isinstance(said, dict) or said.keys() == {WHOLE}


def plain(said: Said) -> Said:
    """Return a whole value without its mark."""
    return said[WHOLE] if isinstance(said, dict) and said.keys() == {WHOLE} else said


def file_only(path: tuple[str, ...]) -> bool:
    """Whether this is for the file alone to say, or holds something that is."""
    return any(path[: len(own)] == own[: len(path)] for own in FILE_ONLY)


def overstepping(tree: Mapping[str, Said], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield where an overlay says what is for the file alone."""
    for key, said in tree.items():
        here = (*path, key)
        if not file_only(here):
            continue
        if isinstance(said, dict) and not whole(said) and here not in FILE_ONLY:
            yield from overstepping(said, here)
        else:
            yield here


def laid_over(root: Table, tree: Mapping[str, Said]) -> tuple[Table, dict[Path, int]]:
    """Return the file's tree with the overlay merged in, and the line of each value of the file that is overruled. Raises
    `Unreadable` where it is nested too deep."""
    overruled: dict[Path, int] = {}
    return _merged(root, tree, (), overruled), overruled


def _merged(table: Table, tree: Mapping[str, Said], path: Path, overruled: dict[Path, int]) -> Table:
    entries, lines = dict(table.entries), dict(table.lines)
    for key, said in tree.items():
        here = (*path, key)
        below = entries.get(key)
        if isinstance(said, dict) and not whole(said):
            under = below if isinstance(below, Table) else _EMPTY
            entries[key] = _merged(under, said, here, overruled)
            if under is _EMPTY:
                lines[key] = IN_REVISION
            continue
        if below is not None:
            overruled[here] = lines[key]
        if said is None:
            entries.pop(key, None)
            lines.pop(key, None)
        else:
            entries[key], lines[key] = _node(plain(said), len(here)), IN_REVISION
    return _table(entries, lines, line=table.line)


def _node(value: Said, depth: int) -> Node:
    """Return a value as if it had been written: a text in quotes, the others without."""
    if depth > MAX_DEPTH:
        raise Unreadable(IN_REVISION, f"is nested more than {MAX_DEPTH} levels deep", "settings need far fewer")
    match value:
        case dict():
            entries = {key: _node(item, depth + 1) for key, item in value.items()}
            return _table(entries, dict.fromkeys(entries, IN_REVISION), line=IN_REVISION)
        case list():
            items = tuple(_node(item, depth + 1) for item in value)
            size = 1 + sum(item.size for item in items)
            return Items(IN_REVISION, items, size, 1 + max((item.depth for item in items), default=0))
        case str():
            return Scalar(IN_REVISION, value, plain=False)
        case None:
            return Scalar(IN_REVISION, "null", plain=True)
        case bool():
            return Scalar(IN_REVISION, str(value).lower(), plain=True)
        case _:
            return Scalar(IN_REVISION, repr(value), plain=True)


def _table(entries: dict[str, Node], lines: dict[str, int], *, line: int) -> Table:
    size = 1 + sum(node.size for node in entries.values())
    return Table(line, entries, lines, size, 1 + max((node.depth for node in entries.values()), default=0))


_EMPTY = Table(IN_REVISION, {}, {}, 1, 1)
