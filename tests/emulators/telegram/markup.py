"""`parse_mode` MarkdownV2 and HTML: text and entities out of markup, or the platform's own complaint about it.

Follows TDLib's `parse_markdown_v2` and `parse_html`, whose test tables are the measure; offsets in complaints are bytes.
Legacy Markdown is refused here: nothing should send it any more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.emulators.telegram.entities import Entity, units
from tests.emulators.telegram.errors import ApiError, bad_request

_NAMES = {
    "bold": "Bold", "italic": "Italic", "underline": "Underline", "strikethrough": "Strikethrough", "spoiler": "Spoiler",
    "code": "Code", "pre": "Pre", "pre_code": "PreCode", "text_link": "TextUrl", "custom_emoji": "CustomEmoji",
    "blockquote": "BlockQuote",
}  # fmt: skip
_RESERVED = "_*[]()~`>#+-=|{}.!"
_CODE = ("code", "pre", "pre_code")


def parsed(text: str, parse_mode: str) -> tuple[str, list[Entity]]:
    """Return the text without its markup and the entities. Raises 400 `can't parse entities: …`."""
    if parse_mode.lower() == "markdownv2":
        return _Markdown(text).parse()
    if parse_mode.lower() == "html":
        return _Html(text).parse()
    raise bad_request("unsupported parse_mode")


def _cannot(problem: str) -> ApiError:
    return bad_request(f"can't parse entities: {problem}")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@dataclass(kw_only=True)
class _Open:
    """A mark that was begun: where in the markup and where in the text."""

    kind: str
    source: int
    offset: int
    argument: str = ""


class _Markdown:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.text = ""
        self.open: list[_Open] = []
        self.entities: list[Entity] = []
        self.line_begins = True

    def parse(self) -> tuple[str, list[Entity]]:
        while self.at < len(self.source):
            self._step()
        if self.open and self.open[-1].kind == "blockquote":
            self._close({})
        if self.open:
            raise self._unclosed(self.open[-1])
        return self.text, _sorted(self.entities)

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
            raise _cannot(f"Character '{char}' is reserved and must be escaped with the preceding '\\'")

    def _fence(self) -> None:
        rest = self.source[self.at + 3 :]
        language = re.match(r"[^\s`]*", rest)
        assert language is not None
        named = language.group() if language.end() < len(rest) and rest[language.end()] != "`" else ""
        self._begin("pre_code" if named else "pre", 3 + len(named), argument=named)
        newline = re.match(r"\r\n|\n\r|\n|\r", self.source[self.at :])
        self.at += newline.end() if newline else 0

    def _link(self, kind: str) -> None:
        label = self.text[_index(self.text, self.open[-1].offset) :]
        self.at += 1
        url = label
        if self.source.startswith("(", self.at):
            begin = self.at + 1
            match = re.compile(r"(?>\\[\x01-\x7e]|[^)])*\)").match(self.source, begin)
            if match is None:
                what = "a URL" if kind == "text_link" else "a custom emoji URL"
                raise _cannot(f"Can't find end of {what} at byte offset {_bytes(self.source[:begin])}")
            url = re.sub(r"\\([\x01-\x7e])", r"\1", match.group()[:-1])
            self.at = match.end()
        elif kind == "custom_emoji":
            raise _cannot("Custom emoji entity must contain a tg://emoji URL")
        self._close(_linked(url, kind))

    def _begin(self, kind: str, length: int, *, argument: str = "") -> None:
        self.open.append(_Open(kind=kind, source=self.at, offset=units(self.text), argument=argument))
        self.at += length
        self.line_begins = False

    def _close(self, more: Entity) -> None:
        mark = self.open.pop()
        length = units(self.text) - mark.offset
        if length and more.get("url") != "":
            self.entities.append({"type": mark.kind, "offset": mark.offset, "length": length} | more)

    def _unclosed(self, mark: _Open) -> ApiError:
        return _cannot(
            f"Can't find end of {_NAMES[mark.kind]} entity at byte offset {_bytes(self.source[: mark.source])}"
        )


_BEGINS = {
    "*": "bold", "_": "italic", "__": "underline", "~": "strikethrough", "||": "spoiler", "`": "code", "[": "text_link",
    "![": "custom_emoji",
}  # fmt: skip
_ENDS = {"*": "bold", "_": "italic", "__": "underline", "~": "strikethrough", "||": "spoiler"}

_TAGS = {
    "b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
    "s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "span": "spoiler",
    "a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote", "tg-emoji": "custom_emoji",
}  # fmt: skip
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_ATTRIBUTE = re.compile(r"""\s*([^\s=/>"']+)(?:\s*=\s*("[^"]*"|'[^']*'|[A-Za-z0-9.\-]+))?""")


class _Html:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.text = ""
        self.open: list[tuple[str, _Open]] = []
        self.entities: list[Entity] = []

    def parse(self) -> tuple[str, list[Entity]]:
        while self.at < len(self.source):
            char = self.source[self.at]
            if char == "&":
                self._reference()
            elif self.source.startswith("</", self.at):
                self._end_tag()
            elif char == "<":
                self._start_tag()
            else:
                self.text += char
                self.at += 1
        if self.open:
            raise _cannot(f'Can\'t find end tag corresponding to start tag "{self.open[-1][0]}"')
        return self.text, _sorted(self.entities)

    def _reference(self) -> None:
        match = re.compile(r"&(?:#(\d+)|#[xX]([0-9a-fA-F]+)|(lt|gt|amp|quot));?").match(self.source, self.at)
        decoded = _decoded(match) if match else None
        if match is None or decoded is None:
            self.text += "&"
            self.at += 1
        else:
            self.text += decoded
            self.at = match.end()

    def _start_tag(self) -> None:
        here = _bytes(self.source[: self.at])
        match = re.compile(r"<([^\s>/]*)").match(self.source, self.at)
        assert match is not None
        tag, end = match.group(1).lower(), match.end()
        if end >= len(self.source):
            raise _cannot(f"Unclosed start tag at byte offset {here}")
        if tag not in _TAGS:
            raise _cannot(f'Unsupported start tag "{tag}" at byte offset {here}')
        attributes: dict[str, str] = {}
        while (rest := self.source[end:].lstrip()) and not rest.startswith(">"):
            found = _ATTRIBUTE.match(self.source, end)
            if found is None:
                raise _cannot(f'Empty attribute name in the tag "{tag}" at byte offset {here}')
            attributes[found.group(1).lower()] = _unquoted(found.group(2) or "")
            end = found.end()
        if not rest:
            raise _cannot(f'Unclosed start tag "{tag}" at byte offset {here}')
        if tag == "span" and attributes.get("class") != "tg-spoiler":
            raise _cannot(f'Tag "span" must have class "tg-spoiler" at byte offset {here}')
        self.at = self.source.index(">", end) + 1
        mark = _Open(kind=_TAGS[tag], source=here, offset=units(self.text), argument=_argument(tag, attributes))
        self.open.append((tag, mark))

    def _end_tag(self) -> None:
        here = _bytes(self.source[: self.at])
        if not self.open:
            raise _cannot(f"Unexpected end tag at byte offset {here}")
        match = re.compile(r"</([^\s>]*)\s*>").match(self.source, self.at)
        if match is None:
            raise _cannot(f"Unclosed end tag at byte offset {here}")
        tag, mark = self.open.pop()
        if match.group(1) and match.group(1).lower() != tag:
            raise _cannot(
                f'Unmatched end tag at byte offset {here}, expected "</{tag}>", found "</{match.group(1).lower()}>"'
            )
        self.at = match.end()
        length = units(self.text) - mark.offset
        if not length:
            return
        more: Entity = {}
        if mark.kind in ("text_link", "custom_emoji"):
            more = _linked(mark.argument or self.text[_index(self.text, mark.offset) :], mark.kind)
            if not more.get("url", "-"):
                return
        elif mark.kind == "blockquote" and mark.argument:
            more = {"type": "expandable_blockquote"}
        elif mark.kind == "code" and mark.argument:
            if not (self.open and self.open[-1][1].kind == "pre" and self.open[-1][1].offset == mark.offset):
                more = {}
            else:  # <pre><code class="language-x">: one entity, named by the outer tag
                self.open[-1][1].argument = mark.argument
                return
        elif mark.kind == "pre" and mark.argument:
            more = {"language": mark.argument}
        self.entities.append({"type": mark.kind, "offset": mark.offset, "length": length} | more)


def _argument(tag: str, attributes: dict[str, str]) -> str:
    if tag == "a":
        return attributes.get("href", "")
    if tag == "code":
        return attributes.get("class", "").removeprefix("language-")
    if tag == "tg-emoji":
        return f"tg://emoji?id={attributes.get('emoji-id', '')}"
    return "expandable" if "expandable" in attributes else ""


def _linked(url: str, kind: str) -> Entity:
    """Return what a link makes of its entity; an address the platform does not take leaves plain text (`url` empty)."""
    if kind == "custom_emoji":
        number = re.fullmatch(r"tg:(?://)?emoji/?\?(?:[^#]*&)?id=(\d+)(?:[&#].*)?", url, re.IGNORECASE)
        if number is None:
            raise _cannot("Invalid custom emoji identifier specified")
        return {"custom_emoji_id": number.group(1)}
    person = re.fullmatch(r"tg:(?://)?user\?id=(\d+)", url, re.IGNORECASE)
    if person is not None:
        return {"type": "text_mention", "user": {"id": int(person.group(1)), "is_bot": False, "first_name": "User"}}
    url = url.strip()
    if not re.match(r"[a-z][a-z0-9+.-]*:", url, re.IGNORECASE):
        url = f"http://{url}" if re.match(r"[^\s/]+\.[^\s/.]+", url) else ""
    if re.fullmatch(r"https?://[^/?#]+", url):
        url += "/"
    return {"url": url}


def _decoded(match: re.Match[str]) -> str | None:
    if match.group(3):
        return _NAMED[match.group(3)]
    code = int(match.group(1)) if match.group(1) else int(match.group(2), 16)
    if 0xD800 <= code <= 0xDFFF:
        raise _cannot(
            "Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units"
        )
    return chr(code) if 0 < code <= 0x10FFFF else None


def _unquoted(value: str) -> str:
    value = value[1:-1] if value[:1] in ("'", '"') else value
    return re.sub(r"&(lt|gt|amp|quot);", lambda match: _NAMED[match.group(1)], value)


def _index(text: str, offset: int) -> int:
    """Return the Python index of a UTF-16 offset."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * offset].decode("utf-16-le", "surrogatepass"))


def _sorted(entities: list[Entity]) -> list[Entity]:
    return sorted(entities, key=lambda mark: (mark["offset"], -mark["length"]))
