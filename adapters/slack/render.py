"""From a reply's Markdown to Slack messages: pieces that fit, each as one `markdown` block and a text for notifications. Pure.

Three dialects meet here (platform-facts 1.7): the model's Markdown goes into `markdown` blocks, which know headings, lists
and tables; mrkdwn is never made from it. `<` is the one character that could call somebody or hide a link, in code too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from adapters.base import Quote
from adapters.text import beginning as first_piece
from adapters.text import plain, split

PIECE_CHARS = 4_000
"""Characters of one message as Slack gets it: what is comfortable to read; far below the 12,000 a payload's Markdown may
have and the sum of 13,200 over all blocks (bolt-js#2509)."""

TEXT_BYTES = 4_000
"""UTF-8 bytes of the plain text beside the block: `chat.update` refuses more (openclaw#115027)."""

_QUOTE_CHARS = 160
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")
_LIVE = re.compile(r"<(?=[@#]|!(?:here|channel|everyone|group|subteam|date)|https?:|mailto:|tel:)", re.IGNORECASE)
_BRACKET = re.compile(r"(?<!\\)(\\*)<")
_AUTOLINK = re.compile(r"(?<!\\)<(https?://[^\s<>|]+)>")


def chunks(markdown: str) -> list[str]:
    """Split a reply into Markdown pieces, each of which fits one message, posted or edited."""
    return split(markdown, limit=PIECE_CHARS, measure=_measure)


def beginning(markdown: str) -> str:
    """Return the first piece of a reply that is still being made."""
    return first_piece(markdown, limit=PIECE_CHARS, measure=_measure)


def _measure(piece: str) -> int:
    return len(block_text(piece))


def message(piece: str, *, quoted: Quote | None = None) -> dict[str, Any]:
    """Return the arguments of `chat.postMessage` and `chat.update` for one piece; `quoted` is what it answers."""
    shown = f"> {_literal(_quote(quoted))}\n\n{block_text(piece)}" if quoted else block_text(piece)
    return {"text": notification(piece), "blocks": [{"type": "markdown", "text": shown if shown.strip() else "…"}]}


def text_only(piece: str, *, quoted: Quote | None = None) -> dict[str, Any]:
    """Return the arguments without a block, for Markdown that Slack won't take: all of the piece's words."""
    told = plain(piece).strip() or "…"
    return {"text": escaped(f"> {_quote(quoted)}\n\n{told}" if quoted else told)}


def block_text(piece: str) -> str:
    """Return Markdown as a `markdown` block takes it, with nothing in it that is live (PostHog/posthog#95054). Time grows with
    the length, whatever the text."""
    told, prose, fence = list[str](), list[str](), ""
    for line in _LINE.findall(piece):
        mark = _FENCE.match(line)
        if not fence and not mark:
            prose.append(line)
            continue
        told += [_spans("".join(prose)), _code(line)]
        prose.clear()
        if not fence:
            fence = mark[1] if mark else ""
        elif mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = ""
    return "".join((*told, _spans("".join(prose))))


def _spans(text: str) -> str:
    """Return prose with its code spans: each from a run of ticks to the next run of the same length."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    waiting = defaultdict[int, list[int]](list)  # by length, the last first
    for number in range(len(runs) - 1, -1, -1):
        waiting[runs[number][1] - runs[number][0]].append(number)
    told, done, number = list[str](), 0, 0
    while number < len(runs):
        start, end = runs[number]
        same = waiting[end - start]
        while same and same[-1] <= number:
            same.pop()
        if same:
            number = same[-1]
            told += [_prose(text[done:start]), _code(text[start : runs[number][1]])]
            done = runs[number][1]
        number += 1
    return "".join((*told, _prose(text[done:])))


def _code(text: str) -> str:
    """Other brackets in code are left alone: `List<int>` must stay readable."""
    return _LIVE.sub("&lt;", text)


def _prose(text: str) -> str:
    """What the model escaped itself is escaped once: `\\<` would show its backslash."""
    return _BRACKET.sub(lambda match: match[1][: len(match[1]) // 2 * 2] + "&lt;", _AUTOLINK.sub(r"\1", text))


def notification(piece: str) -> str:
    """Return a piece as plain text, cut where Slack's limit for edits is."""
    text = plain(piece).strip() or "…"
    while (size := len(escaped(text).encode())) > TEXT_BYTES:
        text = text[: len(text) * TEXT_BYTES // size - 1].rstrip() + "…"
    return escaped(text)


def escaped(text: str) -> str:
    """Return text as Slack's text fields want it: the mirror of reading it (`reading.unescaped`)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quote(quoted: Quote) -> str:
    """Return the message that is answered as one line to be quoted."""
    said = " ".join(plain(quoted.text).split())
    cut = said if len(said) <= _QUOTE_CHARS else said[:_QUOTE_CHARS].rstrip() + "…"
    return f"{' '.join(quoted.name.split())}: {cut}"


def _literal(text: str) -> str:
    """Return text whose marks show as they are."""
    return re.sub(r"([\\`*_\[\]~|])", r"\\\1", text).replace("<", "&lt;")
