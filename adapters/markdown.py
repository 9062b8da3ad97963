"""Markdown as a tree: the one reading of a reply that splitting and every channel's rendering build on.

CommonMark with tables and strikethrough; no HTML (it stays text), no bare links (an address stays text). Emphasis is also
seen where it touches Chinese, Japanese or Korean without a space (`**注意：**请看`), which CommonMark alone leaves as stars.

The nodes of a tree, by `type`:

- blocks: `root`, `paragraph` (`hidden`: of a tight list), `heading` (`tag` h1 to h6), `blockquote`, `bullet_list`,
  `ordered_list` (`attrs["start"]`, absent: 1), `list_item`, `fence` (`info`, `content`), `code_block` (`content`), `hr`,
  `table` of `thead` and `tbody` of `tr` of `th` and `td` (`attrs["style"]`: "text-align:left", "…right", "…center").
- `inline`: the one child of a paragraph, heading, `th` or `td`; its children are the text.
- text: `text` (`content`, may be empty), `code_inline` (`content`), `em`, `strong`, `s`, `link` (`attrs["href"]`,
  `attrs["title"]`), `image` (`attrs["src"]`; its children are the description), `softbreak`, `hardbreak`.
"""

from __future__ import annotations

import unicodedata
from typing import cast

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from markdown_it.utils import EnvType

DEPTH = 40
"""Levels of nesting that are read as such: quotes and lists beyond them make the whole text literal, emphasis its own
paragraph. (The library loses the text of blocks beyond its limit, and Python's stack ends some hundred levels further.)"""


def tree(markdown: str) -> SyntaxTreeNode:
    """Read Markdown, finished or not. Takes any text, loses none of it; 100,000 characters take about 0.3 s."""
    return SyntaxTreeNode(_read(_TREE, markdown, {}))


def tokens(markdown: str) -> list[Token]:
    """Return the tokens of a text, with escapes and entities as tokens of their own (`text_special`, source in `markup`)."""
    return _read(_SOURCE, markdown, {})


References = dict[str, object]
"""Where `[text][label]` links lead, for `inline_tokens`; empty if the text defines none."""


def block_tokens(markdown: str) -> tuple[list[Token], References]:
    """Return the tokens of the blocks alone, their texts unread, and the text's references."""
    env: dict[str, object] = {}
    found = _read(_BLOCKS, markdown, env)
    return found, cast("References", env.get("references", {}))


def inline_tokens(source: str, references: References | None = None) -> list[Token]:
    """Return the tokens of one block's text (`content` of its `inline` token), as `tokens` does."""
    env: dict[str, object] = {"references": references or {}}
    return _SOURCE.parseInline(source, env)[0].children or []


def _read(reader: MarkdownIt, markdown: str, env: dict[str, object]) -> list[Token]:
    found = reader.parse(markdown, env)
    if any(token.level >= DEPTH - 1 for token in found):
        env.clear()
        return _LITERAL.parse(markdown)
    return found


class _State(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 - the library's names
        """Let a run of `*`, `_` or `~` beside a wide character open and close unless a space stands there (the amendment
        of the markdown-cjk-friendly specification)."""
        scanned = super().scanDelims(start, canSplitWord)
        end = start + scanned.length
        before = self.src[start - 1] if start else " "
        after = self.src[end] if end < self.posMax else " "
        if not (_wide(before) or _wide(after)):
            return scanned
        left, right = not after.isspace(), not before.isspace()
        return Scanned(
            left and (canSplitWord or not right or _punctuation(before)),
            right and (canSplitWord or not left or _punctuation(after)),
            scanned.length,
        )


class _Inline(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def _wide(char: str) -> bool:
    return char >= "\u1100" and unicodedata.east_asian_width(char) in {"W", "F", "H"}


def _punctuation(char: str) -> bool:
    return isMdAsciiPunct(ord(char)) or isPunctChar(char)


def _flattened(state: StateCore) -> None:
    for token in state.tokens:
        if token.children and any(child.level >= DEPTH for child in token.children):
            token.children = [Token("text", "", 0, content=token.content)]


def _joined(state: StateCore) -> None:
    """Do in the descriptions of images what `text_join` does outside of them."""
    images = [child for token in state.tokens for child in token.children or () if child.type == "image"]
    while images:
        for child in images.pop().children or ():
            child.type = "text" if child.type == "text_special" else child.type
            images += [child] if child.type == "image" else []


def _reader(*left_out: str) -> MarkdownIt:
    reader = MarkdownIt()
    reader.inline = _Inline()
    reader.configure("commonmark", {"html": False, "maxNesting": DEPTH})
    reader.core.ruler.after("inline", "flattened", _flattened)
    reader.core.ruler.push("images_joined", _joined)
    return reader.enable(["table", "strikethrough", "flattened", "images_joined"]).disable(left_out)


_TREE = _reader()
_SOURCE = _reader("text_join", "images_joined")
_BLOCKS = _reader("inline")
_LITERAL = MarkdownIt("zero")
