"""HTML after TDLib's `parse_html`; the offsets in complaints are bytes."""

from __future__ import annotations

import re

from tests.emulators.telegram.entities import Entity, units
from tests.emulators.telegram.marks import Open, cannot, linked, ordered, python_index, size_bytes

_TAGS = {
    "b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
    "s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "span": "spoiler",
    "a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote", "tg-emoji": "custom_emoji",
}  # fmt: skip
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_ATTRIBUTE = re.compile(r"""\s*([^\s=/>"']+)(?:\s*=\s*("[^"]*"|'[^']*'|[A-Za-z0-9.\-]+))?""")


def parsed(source: str) -> tuple[str, list[Entity]]:
    """Return the text without its markup and the entities. Raises 400 `can't parse entities: …`."""
    return _Html(source).parse()


class _Html:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.text = ""
        self.open: list[tuple[str, Open]] = []
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
            raise cannot(f'Can\'t find end tag corresponding to start tag "{self.open[-1][0]}"')
        return self.text, ordered(self.entities)

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
        here = size_bytes(self.source[: self.at])
        match = re.compile(r"<([^\s>/]*)").match(self.source, self.at)
        assert match is not None
        tag, end = match.group(1).lower(), match.end()
        if end >= len(self.source):
            raise cannot(f"Unclosed start tag at byte offset {here}")
        if tag not in _TAGS:
            raise cannot(f'Unsupported start tag "{tag}" at byte offset {here}')
        attributes: dict[str, str] = {}
        while (rest := self.source[end:].lstrip()) and not rest.startswith(">"):
            found = _ATTRIBUTE.match(self.source, end)
            if found is None:
                raise cannot(f'Empty attribute name in the tag "{tag}" at byte offset {here}')
            attributes[found.group(1).lower()] = _unquoted(found.group(2) or "")
            end = found.end()
        if not rest:
            raise cannot(f'Unclosed start tag "{tag}" at byte offset {here}')
        if tag == "span" and attributes.get("class") != "tg-spoiler":
            raise cannot(f'Tag "span" must have class "tg-spoiler" at byte offset {here}')
        self.at = self.source.index(">", end) + 1
        mark = Open(kind=_TAGS[tag], source=here, offset=units(self.text), argument=_argument(tag, attributes))
        self.open.append((tag, mark))

    def _end_tag(self) -> None:
        here = size_bytes(self.source[: self.at])
        if not self.open:
            raise cannot(f"Unexpected end tag at byte offset {here}")
        match = re.compile(r"</([^\s>]*)\s*>").match(self.source, self.at)
        if match is None:
            raise cannot(f"Unclosed end tag at byte offset {here}")
        tag, mark = self.open.pop()
        if match.group(1) and match.group(1).lower() != tag:
            raise cannot(
                f'Unmatched end tag at byte offset {here}, expected "</{tag}>", found "</{match.group(1).lower()}>"'
            )
        self.at = match.end()
        if length := units(self.text) - mark.offset:
            self._keep(mark, length)

    def _keep(self, mark: Open, length: int) -> None:
        more: Entity = {}
        if mark.kind in ("text_link", "custom_emoji"):
            more = linked(mark.argument or self.text[python_index(self.text, mark.offset) :], mark.kind)
            if more.get("url") == "":
                return
        elif mark.kind == "blockquote" and mark.argument:
            more = {"type": "expandable_blockquote"}
        elif mark.kind == "pre" and mark.argument:
            more = {"language": mark.argument}
        elif mark.kind == "code" and mark.argument and self.open:
            outer = self.open[-1][1]
            if outer.kind == "pre" and outer.offset == mark.offset:  # <pre><code class="language-x">: one entity
                outer.argument = mark.argument
                return
        self.entities.append({"type": mark.kind, "offset": mark.offset, "length": length} | more)


def _argument(tag: str, attributes: dict[str, str]) -> str:
    if tag == "a":
        return attributes.get("href", "")
    if tag == "code":
        return attributes.get("class", "").removeprefix("language-")
    if tag == "tg-emoji":
        return f"tg://emoji?id={attributes.get('emoji-id', '')}"
    return "expandable" if "expandable" in attributes else ""


def _decoded(match: re.Match[str]) -> str | None:
    if match.group(3):
        return _NAMED[match.group(3)]
    code = int(match.group(1)) if match.group(1) else int(match.group(2), 16)
    if 0xD800 <= code <= 0xDFFF:
        raise cannot(
            "Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units"
        )
    return chr(code) if 0 < code <= 0x10FFFF else None


def _unquoted(value: str) -> str:
    value = value[1:-1] if value[:1] in ("'", '"') else value
    return re.sub(r"&(lt|gt|amp|quot);", lambda match: _NAMED[match.group(1)], value)
