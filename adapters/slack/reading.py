"""What a Slack message says, as people read it: rich text, tables and mrkdwn into plain text. Pure.

People and channels stay as `<@U…>` and `<#C…>` where the message holds no name for them; `names.py` fills those in later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Fields = Mapping[str, Any]

TS = re.compile(r"[0-9]{1,11}\.[0-9]{6}")  # a message's id
PERSON = re.compile(r"<@([A-Z0-9_]+)>")
ROOM = re.compile(r"<#([A-Z0-9_]+)>")

_PIECE = re.compile(r"(?P<code>```.*?```|`[^`\n]+`)|<(?P<token>[^<>\n]+)>", re.DOTALL)
_LINK_IN_CODE = re.compile(r"<(?![@#!])(?:[^<>|\n]+\|)?([^<>\n]*)>")
_CODE_POINTS = re.compile(r"(?:(?!d[89a-f])[0-9a-f]{2,4}|1[0-9a-f]{4})(?:-(?:(?!d[89a-f])[0-9a-f]{2,4}|1[0-9a-f]{4}))*")
_ENTITY = re.compile(r"&(lt|gt|amp);")
_CHARACTER = {"lt": "<", "gt": ">", "amp": "&"}
_TRUTH = ("rich_text", "table")  # blocks that say more than `text`, which is derived from them and leaves tables out


def said(message: Fields) -> str:
    """Return a message's text, from whatever part of it holds the words."""
    blocks, text = maps(message, "blocks"), string(message, "text")
    from_blocks = any(block.get("type") in _TRUTH for block in blocks) or not text.strip()
    told = _lines(map(_block, blocks)) if from_blocks else from_mrkdwn(text)
    attachments = maps(message, "attachments")
    parts = [
        told,
        *(_block(block) for one in attachments for block in maps(one, "blocks") if block.get("type") == "table"),
    ]
    if not told.strip():
        parts += [_attachment(one) for one in attachments if not is_shared(one)]
    parts += map(_file, maps(message, "files"))
    return _lines(parts).replace("\x00", "")  # which no store can keep


def mentions(message: Fields) -> frozenset[str]:
    """Return the accounts a message mentions outside code."""
    return frozenset(_called(string(message, "text")).union(*map(_users, maps(message, "blocks"))))


def is_shared(attachment: Fields) -> bool:
    """Whether this attachment is somebody's message, shared or forwarded."""
    return bool(attachment.get("is_share") or attachment.get("is_msg_unfurl"))


def shared_text(attachment: Fields) -> str:
    """Return what a shared message says."""
    inner = [fields for one in maps(attachment, "message_blocks") if isinstance(fields := one.get("message"), Mapping)]
    told = _lines(said(one) for one in inner)
    return (told or from_mrkdwn(string(attachment, "text") or string(attachment, "fallback"))).replace("\x00", "")


def from_mrkdwn(text: str) -> str:
    """Return mrkdwn as people read it: tokens resolved, what stands between them unescaped, once (`&amp;lt;` is a written
    `&lt;`)."""
    told, start = [], 0
    for match in _PIECE.finditer(text):
        told.append(unescaped(text[start : match.start()]))
        told.append(unescaped(_LINK_IN_CODE.sub(r"\1", match["code"]) if match["code"] else _token(match["token"])))
        start = match.end()
    return "".join((*told, unescaped(text[start:])))


def unescaped(text: str) -> str:
    """Return text with Slack's three entities as the characters they stand for."""
    return _ENTITY.sub(lambda match: _CHARACTER[match[1]], text)


def _token(token: str) -> str:
    """Return what a token (`<…>` without its brackets) shows."""
    target, _, label = token.partition("|")
    match target[:1]:
        case "":
            return f"<{token}>"  # nothing of Slack's: `<|endoftext|>`, as other programs post it
        case "@":
            return f"<{target}>"
        case "#":
            return f"#{label.lstrip('#')}" if label else f"<{target}>"
        case "!":
            return _command(target[1:], label)
    return _link(target, label)


def _link(target: str, label: str) -> str:
    shown = target.removeprefix("mailto:").removeprefix("tel:")
    return shown if label in ("", shown, shown.partition("://")[2]) else f"{label} ({shown})"


def _command(target: str, label: str) -> str:
    name, _, argument = target.partition("^")
    if name == "date":
        return label
    return f"@{(label or argument or name).lstrip('@')}"


def _block(block: Fields) -> str:
    match block.get("type"):
        case "rich_text":
            return _lines(map(_rich, maps(block, "elements")))
        case "table":
            rows = block.get("rows")
            told = rows if isinstance(rows, list) else []
            return _lines(" | ".join(map(_cell, row)) for row in told if isinstance(row, list))
        case "markdown":
            return string(block, "text")
        case "image" | "video":
            return string(block, "alt_text")
        case "context":
            return " ".join(map(_text_object, maps(block, "elements")))
    return _lines([_text_object(block.get("text")), *map(_text_object, maps(block, "fields"))])


def _text_object(found: object) -> str:
    if not isinstance(found, Mapping):
        return ""
    text = string(found, "text")
    return from_mrkdwn(text) if found.get("type") == "mrkdwn" else unescaped(text)


def _rich(element: Fields) -> str:
    inner = maps(element, "elements")
    match element.get("type"):
        case "rich_text_list":
            return "\n".join(_items(element, inner))
        case "rich_text_quote":
            return "\n".join(f"> {line}" for line in _inline(inner).split("\n"))
        case "rich_text_preformatted":
            return f"```\n{_inline(inner)}\n```"
    return _inline(inner).removesuffix("\n")  # a section before a list ends its line itself


def _items(element: Fields, items: Iterable[Fields]) -> Iterator[str]:
    indent, offset = number(element, "indent"), number(element, "offset")
    for n, item in enumerate(items, offset + 1):
        mark = f"{n}." if element.get("style") == "ordered" else "-"
        yield f"{'  ' * min(indent, 8)}{mark} {_inline(maps(item, 'elements'))}"


def _inline(elements: Iterable[Fields]) -> str:
    return "".join(map(_element, elements))


def _element(element: Fields) -> str:
    match element.get("type"):
        case "user":
            return f"<@{string(element, 'user_id')}>"
        case "channel":
            return f"<#{string(element, 'channel_id')}>"
        case "usergroup":
            return f"@{string(element, 'usergroup_id')}"
        case "broadcast":
            return f"@{string(element, 'range')}"
        case "emoji":
            return _emoji(element)
        case "link":
            url, label = string(element, "url"), string(element, "text")
            return _link(url, label) if url else label
        case "date":
            return string(element, "fallback")
        case "color":
            return string(element, "value")
        case "text" if _styled(element, "code"):
            return f"`{string(element, 'text')}`"
    return string(element, "text")


def _styled(element: Fields, style: str) -> bool:
    styles = element.get("style")
    return isinstance(styles, Mapping) and bool(styles.get(style))


def _emoji(element: Fields) -> str:
    """Return the character (`1f44b-1f3fd`: two code points), else the name, as people write it."""
    points = string(element, "unicode")
    if not _CODE_POINTS.fullmatch(points):
        return f":{string(element, 'name')}:"
    return "".join(chr(int(point, 16)) for point in points.split("-"))


def _cell(cell: object) -> str:
    if not isinstance(cell, Mapping):
        return ""
    return _block(cell) if cell.get("type") == "rich_text" else string(cell, "text")


def _called(mrkdwn: str) -> set[str]:
    tokens = (match["token"] or "" for match in _PIECE.finditer(mrkdwn))
    return {token[1:].partition("|")[0] for token in tokens if token.startswith("@")}


def _users(block: Fields) -> set[str]:
    """Return the accounts that a block mentions, in a rich text's elements or in mrkdwn; code holds none."""
    found, waiting = set[str](), [block]
    while waiting:
        fields = waiting.pop()
        match fields.get("type"):
            case "user":
                found.add(string(fields, "user_id"))
            case "mrkdwn":
                found |= _called(string(fields, "text"))
        waiting += filter(None, [mapping(fields, "text"), *maps(fields, "elements"), *maps(fields, "fields")])
    return found


def _attachment(attachment: Fields) -> str:
    """Return what an attachment says that is all there is of a message (alerts of other programs)."""
    blocks = _lines(map(_block, maps(attachment, "blocks")))
    texts = [string(attachment, field) for field in ("pretext", "title", "text")]
    return blocks or _lines(map(from_mrkdwn, texts)) or unescaped(string(attachment, "fallback"))


def _file(file: Fields) -> str:
    name = string(file, "name") or string(file, "title") or string(file, "id")
    return f"[file: {name}]" if name else ""


def _lines(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part.strip())


def string(fields: Fields, name: str) -> str:
    """Return a field's text, "" where it is absent or something else."""
    found = fields.get(name)
    return found if isinstance(found, str) else ""


def number(fields: Fields, name: str) -> int:
    """Return a field's number, 0 where it is absent or something else."""
    found = fields.get(name)
    return found if isinstance(found, int) else 0


def mapping(fields: Fields, name: str) -> Fields:
    """Return a field's object, empty where it is absent or something else."""
    found = fields.get(name)
    return found if isinstance(found, dict) else {}


def maps(fields: Fields, name: str) -> list[Fields]:
    """Return the objects of a field that holds a list; empty where it is absent or something else."""
    found = fields.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
