"""A reply's blocks in one row, each knowing the quotes and list items it stands in; any stretch of them can be written as
Markdown of its own. What was open where a stretch begins is opened again: a list goes on with its number, a quote with its
mark; only the rest of an item's own text stands without the item's mark, lest it look like another item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from markdown_it.tree import SyntaxTreeNode

from adapters.markdown import References, block_tokens
from adapters.runs import Runs, checked, headed, read

# Further lines of a paragraph that are text only because of where they stand, far to the right or without their quote's mark:
# elsewhere they would underline a heading, rule a table or begin a block.
_MISREAD = re.compile(r"\n(?:[ \t]*(?:=+[ \t]*$|[#>*+-]|\d{1,9}[.)]|```|~~~)|[|:\t -]+$|[ ]{4}|[ ]*\t)", re.MULTILINE)
_OTHER = {"-": "*", "*": "-", "+": "-", ".": ")", ")": "."}
_ALIGNED = {"text-align:left": ":--", "text-align:center": ":-:", "text-align:right": "--:"}


@dataclass(frozen=True, slots=True, eq=False)
class Quote:
    """A block quote around blocks."""


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A list item around blocks; the items of one list share `siblings`."""

    siblings: SyntaxTreeNode
    mark: str  # "-", "12."
    tight: bool


Path = tuple[Quote | Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    path: Path = ()  # outermost first
    fresh: int = 0  # so many of them, the innermost, begin with this block


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose(_Block):
    """A paragraph or, with `heading` ("#" to "######", or an underline's sign), a heading. `runs` are kept once it was
    cut; of what is left over, `source` is written when its turn comes (`settled`)."""

    source: str
    heading: str = ""
    runs: Runs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(_Block):
    """A code block; `content` ends without a line break."""

    content: str
    info: str = ""
    sign: str = "`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(_Block):
    """A table; cells are Markdown, `rule` is the line under the head."""

    head: tuple[str, ...]
    rule: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Break(_Block):
    """A thematic break."""


Block = Prose | Code | Table | Break


def blocks(markdown: str) -> list[Block]:
    """Return the blocks of a text, in order; none if there is nothing to see."""
    found, references = block_tokens(markdown)
    row: list[Block] = []
    seen: set[Quote | Item] = set()
    for block in _of(SyntaxTreeNode(found).children, (), references):
        row.append(replace(block, fresh=sum(around not in seen for around in block.path)))
        seen.update(block.path)
    return row


def _of(nodes: Iterable[SyntaxTreeNode], path: Path, references: References) -> Iterator[Block]:
    before = ("", "")
    for node in nodes:
        sign = node.markup
        if node.type == "blockquote":
            yield from _of(node.children, (*path, Quote()), references)
        elif node.type in ("bullet_list", "ordered_list"):
            # Nothing visible stood between two lists of one kind (a link's definition did): they must not become one.
            sign = _OTHER[sign] if before == (node.type, sign) else sign
            for item, within in zip(node.children, _paths(node, path, sign), strict=True):
                yield from list(_of(item.children, within, references)) or [Prose(path=within, source="")]
        else:
            yield _block(node, path, references)
        before = (node.type, sign)


def _paths(node: SyntaxTreeNode, path: Path, sign: str) -> Iterator[Path]:
    loose = any(not child.hidden for item in node.children for child in item.children if child.type == "paragraph")
    first = int(node.attrs.get("start", 1))
    for number in range(first, first + len(node.children)):
        mark = f"{number}{sign}" if node.type == "ordered_list" else sign
        yield (*path, Item(node, mark, not loose))


def _block(node: SyntaxTreeNode, path: Path, references: References) -> Block:
    if node.type == "hr":
        return Break(path=path)
    if node.type in ("fence", "code_block"):
        sign = node.markup[:1] or "`"
        return Code(path=path, content=node.content.removesuffix("\n"), info=node.info.strip(), sign=sign)
    if node.type == "table":
        head, *rows = (
            tuple(_cell(cell, references) for cell in row.children) for part in node.children for row in part.children
        )
        rule = "|".join(
            _ALIGNED.get(str(cell.attrs.get("style")), "---") for cell in node.children[0].children[0].children
        )
        return Table(path=path, head=head, rule=f"|{rule}|", rows=tuple(rows))
    return Prose(path=path, source=_source(node, references), heading=node.markup)


def _source(node: SyntaxTreeNode, references: References) -> str:
    source = node.children[0].content
    elsewhere = references and "[" in source  # its links may have their addresses from another place
    return checked(read(source, references)) if elsewhere or _MISREAD.search(source) else source


def _cell(node: SyntaxTreeNode, references: References) -> str:
    return _source(node, references).replace("|", "\\|").replace("\n", " ")


def settled(block: Block) -> Block:
    """Return it with the source of its runs, if it was cut, so written that it is read again as it is."""
    if isinstance(block, Prose) and block.runs:
        return replace(block, source=checked(block.runs, block.heading))
    return block


def written(row: Sequence[Block]) -> str:
    """Write a stretch of blocks as Markdown of its own."""
    lines: list[str] = []
    opened: set[Quote | Item] = set()
    before: tuple[Block, Path] | None = None
    for block in row:
        path = _kept(block, opened)
        if before and _apart(*before, block, path):
            shared = _shared(before[1], path)
            lines.append("".join(_further(around) for around in path[:shared]).rstrip())
        first = "".join(_further(around) if around in opened else _first(around) for around in path)
        further = "".join(_further(around) for around in path)
        for line in _lines(block):
            lines.append((first + line) if line else first.rstrip())
            first = further
        opened.update(path)
        before = (block, path)
    return "\n".join(lines)


def _kept(block: Block, opened: set[Quote | Item]) -> Path:
    """What is written around a block: all of it if an item begins here, else no item that was begun before this stretch."""
    fresh = block.path[len(block.path) - block.fresh :]
    if any(isinstance(around, Item) for around in fresh):
        return block.path
    return tuple(around for around in block.path if isinstance(around, Quote) or around in opened)


def _apart(before: Block, path_before: Path, block: Block, path: Path) -> bool:
    """Whether a blank line stands between two blocks."""
    shared = _shared(path_before, path)
    last, here = path_before[shared : shared + 1], path[shared : shared + 1]
    if last and here and isinstance(here[0], Item) and _siblings(last[0], here[0]):
        return not here[0].tight
    if not shared or not isinstance(around := path[shared - 1], Item) or not around.tight:
        return True
    quotes = bool(last and here and isinstance(last[0], Quote) and isinstance(here[0], Quote))
    texts = isinstance(before, Prose) and not before.heading and isinstance(block, Prose | Table)
    return quotes or isinstance(before, Table) or (texts and path == path_before)


def depth(before: Block, after: Block) -> int:
    """Return how many quotes and lists go on from one block to the next."""
    shared = _shared(before.path, after.path)
    last, here = before.path[shared : shared + 1], after.path[shared : shared + 1]
    return shared + bool(last and here and _siblings(last[0], here[0]))


def _siblings(one: Quote | Item, other: Quote | Item) -> bool:
    return isinstance(one, Item) and isinstance(other, Item) and one.siblings is other.siblings


def _shared(one: Path, other: Path) -> int:
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a is not b), min(len(one), len(other))
    )


def _first(around: Quote | Item) -> str:
    return "> " if isinstance(around, Quote) else f"{around.mark} "


def _further(around: Quote | Item) -> str:
    return "> " if isinstance(around, Quote) else " " * (len(around.mark) + 1)


def _lines(block: Block) -> list[str]:
    if isinstance(block, Break):
        return ["___"]  # the one sign that neither underlines a heading nor begins a list
    if isinstance(block, Code):
        longest = max((len(run) for run in re.findall(re.escape(block.sign) + "+", block.content)), default=0)
        fence = block.sign * max(3, longest + 1)
        space = " " if block.info.startswith(block.sign) else ""
        return [fence + space + block.info, *block.content.split("\n"), fence]
    if isinstance(block, Table):
        return [_row(block.head), block.rule, *map(_row, block.rows)]
    return headed(block.source, block.heading).split("\n")


def _row(cells: Sequence[str]) -> str:
    return f"|{'|'.join(f' {cell} ' for cell in cells)}|"
