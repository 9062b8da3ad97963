"""A reply's Markdown made fit for a platform: split into pieces that each stand on their own, closed while it is unfinished,
or told in plain words. Pure; the platform's own rendering measures, so that limits hold for what is really sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from markdown_it.tree import SyntaxTreeNode

from adapters.blocks import blocks, written
from adapters.cuts import visible
from adapters.markdown import References, block_tokens, inline_tokens, tree
from adapters.packing import Measure, packed

_MARKS = ("``", "`", "***", "**", "~~", "*")  # not `_`: it stands in names
_BARE = re.compile(r"(?<!\S)(?:\*{1,3}|~~|`{1,2})$")
_CLOSED_MOST = 4_000  # characters of a paragraph that is looked at again every few seconds
_ENDS_MOST = 6


def split(markdown: str, *, limit: int, measure: Measure) -> list[str]:
    """Split Markdown into pieces, in order, each valid by itself and with `measure(piece) <= limit`; at least one.

    `measure` is the rendered length in the platform's unit; it should grow with the text. A text that fits stays as it is.
    Cuts fall between blocks, else after a sentence (a line of code, a row), a word, a character as people see it. Fences,
    quotes, lists and tables are opened again in the next piece, with language, number and head. Nothing visible is lost: a
    link too long for one piece becomes its text and its address, a row too long for one becomes text.

    Takes about ten calls of `measure` a piece, on texts of about the limit. A limit too small for a single character with
    its marks and escapes (below some 64) is passed rather than the character lost.
    """
    return list(_pieces(markdown, limit, measure)) or [""]


def beginning(markdown: str, *, limit: int, measure: Measure) -> str:
    """Return the first piece of a reply that is still being made, closed. No more is read than can well stand in it (marks and
    addresses are read and take no room), and no more of that split, however long the reply has become: this is asked every
    few seconds."""
    return next(_pieces(closed(markdown[: 3 * limit]), limit, measure), "")


def _pieces(markdown: str, limit: int, measure: Measure) -> Iterator[str]:
    if measure(markdown) <= limit:
        yield markdown
        return
    row = blocks(markdown)
    while row:
        taken, row = packed(row, limit, measure)
        piece = written(taken)
        if piece.strip() and any(map(visible, taken)):
            yield piece


def closed(markdown: str) -> str:
    """Return unfinished Markdown as Markdown that stands on its own: an open fence gets its end, emphasis and code that have
    begun in the last paragraph get theirs, and a mark behind which nothing stands yet is left out. A link that is not
    finished is text by Markdown's own rules, until it is."""
    found, references = block_tokens(markdown)
    last = next((token for token in reversed(found) if token.nesting != -1), None)
    if last is not None and last.type == "inline":
        return _marks_closed(markdown, last.content, references)
    if last is None or last.type != "fence" or last.map is None:
        return markdown
    start, end = last.map
    inside = last.content.count("\n") + (last.content[-1:] not in ("", "\n"))
    if end - start > inside + 1:
        return markdown
    opening = re.split(r"\r\n?|\n", markdown)[start]
    before = re.sub(r"[^>\s]", " ", opening[: opening.index(last.markup)])  # the marks of quotes, not those of items
    return f"{markdown}{'' if markdown.endswith(chr(10)) else chr(10)}{before}{last.markup}"


def _marks_closed(markdown: str, content: str, references: References) -> str:
    """`content` is the last block's text. A mark is the right one if with it as many characters less are seen: the one that
    opened is none any more."""
    shown, content = markdown.rstrip(), content.rstrip()
    if len(content) > _CLOSED_MOST or not shown.endswith(content.rpartition("\n")[2]):
        return markdown
    if bare := _BARE.search(content):
        shown, content = (text[: len(text) - len(bare[0])].rstrip() for text in (shown, content))
    ends = ""
    while len(ends) < _ENDS_MOST:
        seen = _seen(content + ends, references)
        fits = (mark for mark in _MARKS if _seen(content + ends + mark, references) == seen - len(mark))
        if (mark := next(fits, None)) is None:
            break
        ends += mark
    return shown + ends if bare or ends else markdown


def _seen(content: str, references: References) -> int:
    return sum(len(token.content) for token in inline_tokens(content, references))


def plain(markdown: str) -> str:
    """Return Markdown as plain text, for notifications and where markup is refused: no marks but those of lists and quotes;
    links with their address behind them."""
    return _blocks(tree(markdown).children)


def _blocks(nodes: Iterable[SyntaxTreeNode], between: str = "\n\n") -> str:
    return between.join(told for node in nodes if (told := _block(node)))


def _block(node: SyntaxTreeNode) -> str:
    if node.type == "blockquote":
        return _prefixed(_blocks(node.children), "> ", "> ")
    if node.type in ("bullet_list", "ordered_list"):
        return _list(node)
    if node.type == "table":
        return "\n".join(" | ".join(map(_text, row.children)) for part in node.children for row in part.children)
    if node.type in ("fence", "code_block"):
        return node.content.rstrip("\n")
    return _text(node) if node.children else "———"


def _list(node: SyntaxTreeNode) -> str:
    items, number = [], int(node.attrs.get("start", 1))
    for item in node.children:
        mark = f"{number}. " if node.type == "ordered_list" else "• "
        items.append(_prefixed(_blocks(item.children, "\n"), mark, " " * len(mark)))
        number += 1
    return "\n".join(items)


def _prefixed(text: str, first: str, further: str) -> str:
    return first + re.sub(r"\n(?=.)", f"\n{further}", text)


def _text(node: SyntaxTreeNode) -> str:
    """The text in a block, a link or an emphasis."""
    return "".join(map(_inline, node.children))


def _inline(node: SyntaxTreeNode) -> str:
    if node.type in ("softbreak", "hardbreak"):
        return "\n"
    text = _text(node) if node.children else node.content
    address = str(node.attrs.get("href") or node.attrs.get("src") or "")
    if not address or address in (text, f"mailto:{text}"):
        return text
    return f"{text} ({address})" if text else address
