"""MarkdownV2 after TDLib's `parse_markdown_v2`; the offsets in complaints are bytes."""

from __future__ import annotations

import re

from tests.emulators.telegram.entities import Entity, units
from tests.emulators.telegram.errors import ApiError
from tests.emulators.telegram.marks import Open, cannot, linked, ordered, python_index, size_bytes

_NAMES = {
    "bold": "Bold", "italic": "Italic", "underline": "Underline", "strikethrough": "Strikethrough", "spoiler": "Spoiler",
    "code": "Code", "pre": "Pre", "pre_code": "PreCode", "text_link": "TextUrl", "custom_emoji": "CustomEmoji",
    "blockquote": "BlockQuote",
}  # fmt: skip
_RESERVED = "_*[]()~`>#+-=|{}.!"
_CODE = ("code", "pre", "pre_code")
_BEGINS = {
    "*": "bold", "_": "italic", "__": "underline", "~": "strikethrough", "||": "spoiler", "`": "code", "[": "text_link",
    "![": "custom_emoji",
}  # fmt: skip
_ENDS = {"*": "bold", "_": "italic", "__": "underline", "~": "strikethrough", "||": "spoiler"}


def parsed(source: str) -> tuple[str, list[Entity]]:
    """Return the text without its markup and the entities. Raises 400 `can't parse entities: …`."""
    return _Markdown(source).parse()


class _Markdown:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.text = ""
        self.open: list[Open] = []
        self.entities: list[Entity] = []
        self.line_begins = True

    def parse(self) -> tuple[str, list[Entity]]:
        while self.at < len(self.source):
            self._step()
        if self.open and self.open[-1].kind == "blockquote":
            self._close({})
        if self.open:
            raise self._unclosed(self.open[-1])
        return self.text, ordered(self.entities)

    def _step(self) -> None:
        char, top = self.source[self.at], self.open[-1].kind if self.open else None
        following = self.source[self.at + 1 : self.at + 2]
        if char == "\\" and following and ord(following) <= 126:
            self._take(following, 2)
        elif top in _CODE:
            self._in_code(char, top)
        elif char == "\n":
            self._newline()
        elif char in _RESERVED:
            self._mark(char, following, top)
        else:
            self._take(char, 1)

    def _take(self, char: str, length: int) -> None:
        self.text += char
        self.at += length
        self.line_begins = self.line_begins and char == "\r"

    def _in_code(self, char: str, top: str) -> None:
        fence = "`" if top == "code" else "```"
        if self.source.startswith(fence, self.at):
            self.at += len(fence)
            argument = self.open[-1].argument
            self._close(
                {"type": "pre", "language": argument} if argument else {"type": "code" if top == "code" else "pre"}
            )
        elif char == "`":
            self._begin("code", 1)
        else:
            self._take(char, 1)

    def _newline(self) -> None:
        quote = next((mark for mark in self.open if mark.kind == "blockquote"), None)
        self._take("\n", 1)
        self.line_begins = True
        if quote is not None and not self.source.startswith(">", self.at):
            if self.open[-1] is not quote:
                raise self._unclosed(self.open[-1])
            self._close({})

    def _mark(self, char: str, following: str, top: str | None) -> None:
        pair = char + following
        token = pair if pair in ("__", "||", "![") else char
        if top is not None and _ENDS.get(token) == top:
            self.at += len(token)
            self._close({})
        elif top in ("text_link", "custom_emoji") and char == "]":
            self._link(top)
        elif char == ">" and self.line_begins:
            if not any(mark.kind == "blockquote" for mark in self.open):
                self._begin("blockquote", 1)
            else:
                self.at += 1
            self.line_begins = False
        elif self.source.startswith("```", self.at):
            self._fence()
        elif token in _BEGINS:
            self._begin(_BEGINS[token], len(token))
        else:
            raise cannot(f"Character '{char}' is reserved and must be escaped with the preceding '\\'")

    def _fence(self) -> None:
        rest = self.source[self.at + 3 :]
        language = re.match(r"[^\s`]*", rest)
        assert language is not None
        named = language.group() if language.end() < len(rest) and rest[language.end()] != "`" else ""
        self._begin("pre_code" if named else "pre", 3 + len(named), argument=named)
        newline = re.match(r"\r\n|\n\r|\n|\r", self.source[self.at :])
        self.at += newline.end() if newline else 0

    def _link(self, kind: str) -> None:
        label = self.text[python_index(self.text, self.open[-1].offset) :]
        self.at += 1
        url = label
        if self.source.startswith("(", self.at):
            begin = self.at + 1
            match = re.compile(r"(?>\\[\x01-\x7e]|[^)])*\)").match(self.source, begin)
            if match is None:
                what = "a URL" if kind == "text_link" else "a custom emoji URL"
                raise cannot(f"Can't find end of {what} at byte offset {size_bytes(self.source[:begin])}")
            url = re.sub(r"\\([\x01-\x7e])", r"\1", match.group()[:-1])
            self.at = match.end()
        elif kind == "custom_emoji":
            raise cannot("Custom emoji entity must contain a tg://emoji URL")
        self._close(linked(url, kind))

    def _begin(self, kind: str, length: int, *, argument: str = "") -> None:
        self.open.append(Open(kind=kind, source=self.at, offset=units(self.text), argument=argument))
        self.at += length
        self.line_begins = False

    def _close(self, more: Entity) -> None:
        mark = self.open.pop()
        length = units(self.text) - mark.offset
        if length and more.get("url") != "":
            self.entities.append({"type": mark.kind, "offset": mark.offset, "length": length} | more)

    def _unclosed(self, mark: Open) -> ApiError:
        return cannot(
            f"Can't find end of {_NAMES[mark.kind]} entity at byte offset {size_bytes(self.source[: mark.source])}"
        )
