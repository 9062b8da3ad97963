"""From the tree of a settings file to plain data, and a mark for every value: its line, and how it was written.

References are replaced here. What a secret or a variable holds goes into the data only; the marks keep what the file says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Final

from config.fields import Shape, settings_shape
from config.masking import MASK, masked
from config.overlay import IN_REVISION
from config.problems import Path, Problem, path_text
from config.references import BadReference, Expanded, expand, only_text, open_vault, read_secret, without_default
from config.yaml_lines import Items, Node, Scalar, Table

Data = dict[str, "Data"] | list["Data"] | str | int | float | bool | None

_NULLS = frozenset({"~", "null", "Null", "NULL"})
# YAML 1.1 reads 010 as eight, YAML 1.2 as ten.
_OCTAL = re.compile(r"[-+]?0\d[\d_]*")
_INTEGER = re.compile(r"[-+]?(0|[1-9]\d*)")
_DECIMAL = re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+(\.\d*)?[eE][-+]?\d+)")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_LONGEST_SHOWN = 60


class _Unset:
    """Stands for a value that is nothing but references and came out empty: as if its key were not there."""


_UNSET: Final = _Unset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How a value stands in the file, or, where `line` is 0, in the console's revision. `shown` is fit to print; `reference` is
    None unless the value came by one alone."""

    line: int
    shown: str = ""
    reference: str | None = None
    names: tuple[str, ...] = ()
    literal_secret: bool = False


@dataclass(slots=True)
class Reading:
    """What one file, and the console's revision over it, say: `data` for the models, a mark per path, the secret files named,
    the problems so far and their paths. `vault` holds the secrets that are kept in the database; None: it is not open, and
    what refers to it (`unopened`) is no more looked at than what is faulty."""

    file: str
    folder: FilePath
    environ: Mapping[str, str]
    revision: str = ""
    vault: Mapping[str, str] | None = None
    marks: dict[Path, Mark] = field(default_factory=dict)
    secret_files: list[FilePath] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    faulty: list[Path] = field(default_factory=list)
    unopened: list[Path] = field(default_factory=list)

    def line(self, path: Path) -> int:
        """Return the line of `path`, or of the nearest thing above it that has one."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks[path].line if path in self.marks else 1

    def report(self, path: Path, problem: str, remedy: str) -> None:
        """Add a problem about the value at `path`."""
        self.faulty.append(path)
        shown = self.marks[path].shown if path in self.marks else "(not set)"
        self.problems.append(
            Problem(
                file=self.file if self.line(path) else self.revision,
                line=self.line(path),
                path=path_text(path),
                value=shown,
                problem=problem,
                remedy=remedy,
            )
        )

    def read(self, root: Table) -> dict[str, Data]:
        """Return the file's data; `x-…` keys at the top hold anchors and are passed over."""
        entries = {key: node for key, node in root.entries.items() if not key.startswith("x-")}
        self.marks[()] = Mark(line=root.line)
        return self._table(Table(root.line, entries, root.lines, root.size, root.depth), settings_shape(), ())

    def _table(self, table: Table, shape: Shape | None, path: Path) -> dict[str, Data]:
        if shape is not None and shape.variants:
            kind = table.entries.get("kind")
            shape = shape.variant(kind.text if isinstance(kind, Scalar) else None)
        data: dict[str, Data] = {}
        for key, node in table.entries.items():
            here = (*path, key)
            value = self._value(node, shape and shape.child(key), here, line=table.lines[key])
            if "${" in key:
                self.report(here, "a key can't be a reference", "write the key itself")
            if not isinstance(value, _Unset):
                data[key] = value
        return data

    def _value(self, node: Node, shape: Shape | None, path: Path, *, line: int) -> Data | _Unset:
        if isinstance(node, Scalar):
            return self._scalar(node, shape, path)
        self.marks[path] = Mark(line=line, shown="(a list)" if isinstance(node, Items) else "(a section)")
        if isinstance(node, Table):
            return self._table(node, shape, path)
        return self._items(node, shape, path)

    def _items(self, node: Items, shape: Shape | None, path: Path) -> list[Data]:
        data: list[Data] = []
        for item in node.items:
            # Numbered as the data is: an item that came out unset leaves no gap.
            value = self._value(item, shape and shape.item, (*path, len(data)), line=item.line)
            if isinstance(value, _Unset):
                self.marks.pop((*path, len(data)), None)
            else:
                data.append(value)
        return data

    def _scalar(self, node: Scalar, shape: Shape | None, path: Path) -> Data | _Unset:
        self.marks[path] = Mark(line=node.line, shown=_shown(_as_written(node.text, shape, by_reference=False)))
        if node.plain and not node.text:
            return self._nothing(shape, path)
        if node.plain and node.text in _NULLS:
            return None
        try:
            return self._text(node, shape, path)
        except BadReference as bad:
            self.report(path, bad.problem, bad.remedy)
            return _UNSET

    def _nothing(self, shape: Shape | None, path: Path) -> Data | _Unset:
        """A key with nothing behind it: an empty section, but never a guess at a value (an empty `people:` could mean all or
        nobody)."""
        if shape is None or shape.kind in ("section", "map"):
            return {}
        self.report(path, "has no value", "write one, null for none, or remove the key")
        return _UNSET

    def _text(self, node: Scalar, shape: Shape | None, path: Path) -> Data | _Unset:
        expanded = self._expanded(node)
        text, by_reference = expanded.text, expanded.bare
        if expanded.bare and not text:
            return _UNSET
        if shape is not None and shape.from_file and text.startswith("file:"):
            text, by_reference = self._from_file(node, text.removeprefix("file:")), True
        elif shape is not None and shape.secret and text.startswith("vault:"):
            text, by_reference = self._from_vault(path, text), True
        written = _as_written(node.text, shape, by_reference=by_reference)
        masks = shape is not None and (shape.secret or (shape.url and not expanded.names)) and written != node.text
        self.marks[path] = Mark(
            line=node.line,
            shown=_shown(written),
            reference=written if by_reference else None,
            names=expanded.names,
            literal_secret=masks,
        )
        if shape is not None and shape.number and _OCTAL.fullmatch(text):
            self.report(path, "is a number that begins with 0, which YAML reads in two ways", "write it without the 0")
            return _UNSET
        return _typed(text) if node.plain and shape is not None and shape.free else text

    def _expanded(self, node: Scalar) -> Expanded:
        if node.line == IN_REVISION:
            return Expanded(text=only_text(node.text), names=(), bare=False)
        return expand(node.text, self.environ)

    def _from_file(self, node: Scalar, name: str) -> str:
        if node.line == IN_REVISION:
            raise BadReference("refers to a file of the machine", "store the secret here, or write this into the file")
        self.secret_files.append(self.folder / name)
        return read_secret(self.folder / name)

    def _from_vault(self, path: Path, text: str) -> str:
        if self.vault is None:
            self.unopened.append(path)
            return text
        return open_vault(text.removeprefix("vault:"), self.vault)


def _as_written(text: str, shape: Shape | None, *, by_reference: bool) -> str:
    """Return what the file says as it may be printed and stored: no secret. Unknown keys may hold anything: not shown."""
    if shape is None or shape.kind in ("section", "map") or (shape.item is not None and shape.item.secret):
        return MASK
    if shape.secret:
        return without_default(text) if by_reference else MASK
    return masked(text) if shape.url else text


def _shown(written: str) -> str:
    """Return a value for a message: in quotes, on one line, not too long."""
    return written if written == MASK else repr(written[:_LONGEST_SHOWN] + "…" * (len(written) > _LONGEST_SHOWN))


def _typed(text: str) -> Data:
    """Read a plain scalar by YAML 1.2's core schema, for the few values whose type is the admin's choice."""
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
