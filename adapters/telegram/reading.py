"""The parts of Telegram's objects that Clew reads, and what a message says. Pure.

Everything else in them is passed over, so that a new field, or one that a library believes required, changes nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

Fields = Mapping[str, Any]


class User(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""
    language_code: str = ""


class Chat(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    type: str = ""
    title: str = ""
    username: str = ""


class Entity(msgspec.Struct, frozen=True, kw_only=True):
    """A mark on a text; `offset` and `length` count UTF-16 units."""

    type: str
    offset: int
    length: int
    user: User | None = None


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a forwarded message comes from: one of four kinds, each with its own fields."""

    type: str = ""
    sender_user: User | None = None
    sender_user_name: str = ""
    sender_chat: Chat | None = None
    chat: Chat | None = None


class ExternalReply(msgspec.Struct, frozen=True, kw_only=True):
    """A message of another chat or topic that is replied to; its text is not told, but for the part that is quoted."""

    origin: Origin | None = None


class TextQuote(msgspec.Struct, frozen=True, kw_only=True):
    text: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    message_id: int
    chat: Chat
    edit_date: int = 0
    user: User | None = msgspec.field(name="from", default=None)
    sender_chat: Chat | None = None
    author_signature: str = ""
    via_bot: User | None = None
    is_automatic_forward: bool = False
    message_thread_id: int | None = None
    is_topic_message: bool = False
    text: str = ""
    caption: str = ""
    entities: tuple[Entity, ...] = ()
    caption_entities: tuple[Entity, ...] = ()
    reply_to_message: Message | None = None
    external_reply: ExternalReply | None = None
    quote: TextQuote | None = None
    forward_origin: Origin | None = None
    forum_topic_created: dict[str, Any] | None = None
    migrate_to_chat_id: int | None = None
    migrate_from_chat_id: int | None = None


class Member(msgspec.Struct, frozen=True, kw_only=True):
    status: str
    is_member: bool = False


class MemberChange(msgspec.Struct, frozen=True, kw_only=True):
    """How the bot's own standing in a chat changed, and who did it."""

    chat: Chat
    user: User = msgspec.field(name="from")
    date: int = 0
    old_chat_member: Member
    new_chat_member: Member


_UNSPOKEN = ("code", "pre", "url", "email", "text_link")  # marks in which an @name calls nobody
_QUOTES = ("blockquote", "expandable_blockquote")
_SUFFIX = re.compile(r"\A/([^\s@/]+)@([A-Za-z0-9_]+)(?=\s|\Z)")


def said(message: Message) -> str:
    """Return what a message says: its text, or what stands under its picture. What it quotes in a block is told by ">", as
    everywhere: it is somebody else's word, and none that is learned."""
    return clean(_with_quotes(message.text or message.caption, message.entities or message.caption_entities))


def _with_quotes(text: str, marks: Sequence[Entity]) -> str:
    quotes = [(mark.offset, mark.offset + mark.length) for mark in marks if mark.type in _QUOTES]
    if not quotes:
        return text
    lines, at = [], 0
    for line in text.split("\n"):
        end = at + len(_units(line)) // 2
        quoted = any(start < max(end, at + 1) and at < stop for start, stop in quotes)
        lines.append(f"> {line}" if quoted else line)
        at = end + 1
    return "\n".join(lines)


def clean(text: str) -> str:
    """Return a text as every store can keep it."""
    return text.encode(errors="replace").decode().replace("\x00", "")


def name_of(user: User) -> str:
    """Return the name that people see."""
    return clean(f"{user.first_name} {user.last_name}".strip() or user.username)


def language_of(user: User) -> str | None:
    """Return the person's language (BCP 47); None: not told."""
    return clean(user.language_code) or None


def command_for(text: str) -> str | None:
    """Return the bot that a command is for, in lower case; None: for nobody by name, or no command.

    Not by its mark: Telegram marks no command in Chinese (`/新对话@bot`)."""
    match = _SUFFIX.match(text)
    return match[2].lower() if match else None


def mentions(message: Message, *, account: int, username: str) -> bool:
    """Whether the message calls the account: by its whole @name, in whatever case, outside code; as a person without a name
    is called; or by a command that is for it.

    Looked for in the text and not among the marks: beside Chinese there is no mark (`@bot你好`)."""
    text, marks = message.text or message.caption, message.entities or message.caption_entities
    if any(mark.type == "text_mention" and mark.user is not None and mark.user.id == account for mark in marks):
        return True
    if command_for(text) == username.lower():
        return True
    return _name(username).search(_spoken(text, marks)) is not None


def addressed(message: Message, *, account: int, username: str) -> str:
    """Return the message's words without the bot's mention that they begin with, and a command without its suffix."""
    text = said(message)
    if command_for(text) == username.lower():
        return _SUFFIX.sub(r"/\1", text)
    first = next(iter(message.entities or message.caption_entities), None)
    if first is not None and first.type == "text_mention" and first.offset == 0 and not text.startswith("> "):
        if first.user is not None and first.user.id == account:
            return _units(text)[2 * first.length :].decode("utf-16-le", "replace").lstrip(" \t\n,:，：")
        return text
    return re.sub(rf"\A\s*{_name(username).pattern}[\s,:，：]*", "", text, flags=re.IGNORECASE)


def _name(username: str) -> re.Pattern[str]:
    # Without a name there is none to call: a lone @ is nobody's.
    return re.compile(rf"(?<![A-Za-z0-9_])@{re.escape(username) or '(?!)'}(?![A-Za-z0-9_])", re.IGNORECASE)


def _spoken(text: str, marks: Sequence[Entity]) -> str:
    """Return the text with the stretches blanked out in which a name calls nobody."""
    silent = [mark for mark in marks if mark.type in _UNSPOKEN and mark.offset >= 0 and mark.length >= 0]
    if not silent:
        return text
    units = bytearray(_units(text))
    for mark in silent:
        stretch = slice(2 * mark.offset, 2 * (mark.offset + mark.length))
        units[stretch] = b" \x00" * (len(units[stretch]) // 2)
    return units.decode("utf-16-le", "replace")


def _units(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
