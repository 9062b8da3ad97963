"""From a reply's Markdown to Telegram messages: pieces that fit, each as a text and its marks (`MessageEntity`). Pure.

Marks, not a parse mode: nothing has to be escaped, and nothing that was written wrongly can lose the message
(platform-facts 2.9). Read from our own tree and not by `telegramify-markdown`, which leaves `**注意：**请看` as stars, takes
`List<int>` for HTML and drops it, and reads `$7$` as a formula.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from markdown_it.tree import SyntaxTreeNode

from adapters.markdown import tree
from adapters.telegram.marks import Kind, Mark, Rendered, silenced, units
from adapters.text import beginning as first_piece
from adapters.text import split

LIMIT = 4_096
"""UTF-16 units of one message's text, marks not counted."""

MARKS = 100
"""Marks that Telegram honours in one message; what more there are would be lost in silence."""

REQUEST_BYTES = 32_768
"""Bytes of text and marks in one request."""

_TABLE_COLUMNS = 60  # wider ones break their lines on any phone, so that aligning them would help nobody

_PUBLIC = re.compile(r"https?://(?:[^/?#@]*@)?[^/?#@:]+\.[^/?#@:]")

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffc")

_STYLES: dict[str, Kind] = {"strong": "bold", "em": "italic", "s": "strikethrough"}


def chunks(markdown: str) -> list[str]:
    """Split a reply into Markdown pieces, each of which fits one message."""
    pieces = split(markdown, limit=LIMIT, measure=measure)
    if pieces == [""] and markdown.strip():  # nothing but addresses for links that are not there: told as they are
        return split(markdown.replace("[", "\\["), limit=LIMIT, measure=measure)
    return pieces


def beginning(markdown: str) -> str:
    """Return the first piece of a reply that is still being made."""
    return first_piece(markdown, limit=LIMIT, measure=measure) or chunks(markdown[:LIMIT])[0]


def measure(piece: str) -> int:
    """Return how much of a message the piece takes, `LIMIT` being all of it: by its text, its marks or its bytes, whatever
    is scarcest."""
    told = message(piece)
    size = len(told.text.encode()) + sum(64 + len((mark.url or "").encode()) for mark in told.marks)
    return max(units(told.text), -(-len(told.marks) * LIMIT // MARKS), -(-size * LIMIT // REQUEST_BYTES))


def message(piece: str, *, calls: bool = False) -> Rendered:
    """Return one piece as it is sent: never empty, which Telegram would refuse. Names in it call nobody; with `calls` they are
    left as they stand."""
    told = rendered(piece)
    if not visible(told.text):
        written = _storable(piece).strip()
        told = Rendered(written if visible(written) else "…")
    return told if calls else silenced(told)


def visible(text: str) -> bool:
    """Whether there is anything to see in a text: Telegram takes spaces, zero-width characters and fillers for nothing."""
    return any(unicodedata.category(one) not in _UNSEEN and one not in _FILLERS for one in text)


def rendered(markdown: str) -> Rendered:
    """Return Markdown as text and marks."""
    writer = _Writer()
    writer.blocks(tree(_storable(markdown)).children)
    text = "".join(writer.parts).rstrip()
    end = units(text)
    fitting = (replace(mark, length=min(mark.length, end - mark.offset)) for mark in writer.marks())
    return Rendered(text, tuple(mark for mark in fitting if mark.length > 0))


def _storable(text: str) -> str:
    """Return the text without halves of characters, which can't be sent."""
    return text.encode(errors="replace").decode()


class _Span:
    """A style while it is open: the stretches it covers so far."""

    def __init__(self, kind: Kind, url: str | None = None) -> None:
        self.kind: Kind = kind
        self.url = url
        self.stretches: list[tuple[int, int]] = []

    def cover(self, start: int, end: int) -> None:
        if self.stretches and self.stretches[-1][1] == start:
            start = self.stretches.pop()[0]
        self.stretches.append((start, end))


class _Writer:
    """Writes a tree down, counting as it goes. Line breaks between blocks are written once something follows them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._at = 0
        self._gap = ""
        self._indent = ""
        self._open: list[_Span] = []
        self._done: list[_Span] = []
        self._blocks: list[Mark] = []  # quotes and code, which cover whole blocks
        self._quoted = False

    def marks(self) -> list[Mark]:
        styles = (
            Mark(kind=span.kind, offset=start, length=end - start, url=span.url)
            for span in self._done
            for start, end in span.stretches
        )
        return sorted((*self._blocks, *styles), key=lambda mark: (mark.offset, -mark.length))

    def blocks(self, nodes: Iterable[SyntaxTreeNode], between: str = "\n\n") -> None:
        for node in nodes:
            self._block(node)
            self._gap = between

    def _block(self, node: SyntaxTreeNode) -> None:
        match node.type:
            case "heading":
                with self._styled("bold"):
                    self._inlines(node.children)
            case "blockquote":
                self._quote(node)
            case "bullet_list" | "ordered_list":
                self._list(node)
            case "table":
                self._pre("\n".join(_rows(node)))
            case "fence" | "code_block":
                language = node.info.split(maxsplit=1)[0] if node.info.strip() else None
                self._pre(node.content.rstrip("\n"), language=language)
            case "hr":
                self._write("———")
            case _:
                self._inlines(node.children)

    def _quote(self, node: SyntaxTreeNode) -> None:
        if self._quoted:  # quotes can't stand in quotes
            self.blocks(node.children)
            return
        self._flush()
        start, self._quoted = self._at, True
        self.blocks(node.children)
        self._quoted = False
        self._blocks.append(Mark(kind="blockquote", offset=start, length=self._at - start))

    def _list(self, node: SyntaxTreeNode) -> None:
        outer, number = self._indent, int(node.attrs.get("start", 1))
        for item in node.children:
            self._write(f"{number}. " if node.type == "ordered_list" else "• ")
            self._indent = outer + "  "
            self.blocks(item.children, "\n")
            self._indent, self._gap, number = outer, "\n", number + 1

    def _pre(self, text: str, *, language: str | None = None) -> None:
        outer, self._indent = self._indent, ""  # which would be part of the code
        self._flush()
        start = self._at
        self._write(text)
        self._indent = outer
        self._blocks.append(Mark(kind="pre", offset=start, length=self._at - start, language=language))

    def _inlines(self, nodes: Iterable[SyntaxTreeNode]) -> None:
        for node in nodes:
            self._inline(node)

    def _inline(self, node: SyntaxTreeNode) -> None:
        match node.type:
            case "softbreak" | "hardbreak":
                self._leaf("\n")
            case "strong" | "em" | "s":
                with self._styled(_STYLES[node.type]):
                    self._inlines(node.children)
            case "link":
                self._link(node, str(node.attrs["href"]))
            case "image":
                self._link(node, str(node.attrs["src"]))
            case "code_inline" if not any(span.kind == "text_link" for span in self._open):
                self._leaf(node.content, code=True)
            case _ if node.children:
                self._inlines(node.children)
            case _:
                self._leaf(node.content)

    def _link(self, node: SyntaxTreeNode, address: str) -> None:
        """A web address stands behind its text; any other one beside it: `tg://user?id=…` would call somebody, and what is no
        public name of a host (`http://wiki/page`) Telegram drops without a word."""
        label = _flat(node)
        if label in ("", address) or address == f"mailto:{label}":
            self._leaf(label or address)
        elif _PUBLIC.match(address):
            with self._styled("text_link", address):
                self._inlines(node.children)
        else:
            self._inlines(node.children)
            self._leaf(f" ({address})")

    @contextmanager
    def _styled(self, kind: Kind, url: str | None = None) -> Iterator[None]:
        if any(one.kind == kind for one in self._open):
            yield  # said already
            return
        span = _Span(kind, url)
        self._open.append(span)
        yield
        self._open.remove(span)
        self._done.append(span)

    def _leaf(self, text: str, *, code: bool = False) -> None:
        self._flush()
        start = self._at
        self._write(text)
        if code:  # which bears no other mark of text
            self._blocks.append(Mark(kind="code", offset=start, length=self._at - start))
            return
        for span in self._open:
            span.cover(start, self._at)

    def _flush(self) -> None:
        gap, self._gap = self._gap, ""
        if gap and self.parts:
            self._put(gap)

    def _write(self, text: str) -> None:
        self._flush()
        self._put(text)

    def _put(self, text: str) -> None:
        text = text.replace("\n", f"\n{self._indent}")
        self.parts.append(text)
        self._at += units(text)


def _rows(table: SyntaxTreeNode) -> list[str]:
    """Return a table's lines, columns under each other where that helps."""
    rows = [
        [_flat(cell).replace("\n", " ") for cell in row.children] for part in table.children for row in part.children
    ]
    widths = [max(map(_columns, column)) for column in zip(*rows, strict=False)]
    if sum(widths) + 3 * len(widths) > _TABLE_COLUMNS:
        return [" | ".join(row) for row in rows]
    padded = [
        " | ".join(cell + " " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]
    return [padded[0], "-+-".join("-" * width for width in widths), *padded[1:]]


def _columns(text: str) -> int:
    """Return the width of a text in code: Chinese characters and emoji take two columns."""
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text
    )


def _flat(node: SyntaxTreeNode) -> str:
    """Return the text under a node, links with their address behind them."""
    return "".join(_flat_inline(child) for child in node.children)


def _flat_inline(node: SyntaxTreeNode) -> str:
    if node.type in ("softbreak", "hardbreak"):
        return "\n"
    text = _flat(node) if node.children else node.content
    address = str(node.attrs.get("href") or node.attrs.get("src") or "")
    return text if not address or address in (text, f"mailto:{text}") else f"{text} ({address})".strip()
