"""Who said what where to whom, and whose short-term memory that is.

A `ConversationKey` stands on every message row; a `Scope` is the part of it that shares one window. They are two types
because one string that plays both roles is how other gateways leaked (field-reports 1, A to C). Pure; no I/O.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

KEY_VERSION = 1
"""Of this codec. A store keeps the one that its keys were written in, and is refused under another: the same message would
get another name, and find nothing of what was said before (AstrBot#4331). Changing how a part is encoded takes a new number
and a migration of every key column."""

ChatType = Literal["private", "group"]
ScopeMode = Literal["conversation", "room", "speaker"]

ANY = "*"
"""Stands in a scope's column for "shared by all of them". A part can never be it: `*` is percent-encoded."""

# `%` first among equals: it is the escape itself. `/` parts room from thread, `:` the five parts, `*` is ANY; controls and
# the Unicode line breaks would tear log lines and Redis names apart; what turns the direction of text or is invisible would
# make one name look like another there.
_UNSAFE = re.compile(r"[%:/*\x00-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_ESCAPE = re.compile(rb"%([0-9A-F]{2})")


class InvalidKey(ValueError):
    """A part of a key is empty, not text, not encodable or not in its canonical form."""


def encode_part(part: str, *, name: str = "part") -> str:
    """Return `part` with `%`, `:`, `/`, `*`, blanks, controls and invisible marks percent-encoded as UTF-8 (upper-case hex).

    Never folds case and never normalises: two ids that differ in a byte stay two ids. Raises `InvalidKey`, naming the
    field, for an empty part and for lone surrogates.
    """
    if not isinstance(part, str) or not part:
        raise InvalidKey(f"{name}: {part!r} is not a non-empty text; a conversation key has no empty parts")
    try:
        part.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InvalidKey(f"{name}: {part!r} holds a lone surrogate; send valid Unicode") from exc
    return _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), part)


def decode_part(encoded: str, *, name: str = "part") -> str:
    """Undo `encode_part`. Raises `InvalidKey` when `encoded` is not what `encode_part` would have written."""
    try:
        raw = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), encoded.encode("utf-8"))
        part = raw.decode("utf-8")
    except UnicodeError as exc:
        raise InvalidKey(f"{name}: {encoded!r} is not percent-encoded UTF-8") from exc
    if encode_part(part, name=name) != encoded:
        raise InvalidKey(f"{name}: {encoded!r} is not in canonical form")
    return part


def encode_conversation(room: str, thread: str | None) -> str:
    """Return the third part of the key: `room` or `room/thread`, each encoded."""
    encoded = encode_part(room, name="room")
    return encoded if thread is None else f"{encoded}/{encode_part(thread, name='thread')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationKey:
    """Who (`user`) said something where (`channel`, `room`, `thread`, `chat_type`) to whom (`agent`).

    `user` is the platform account, tenant-qualified where a channel carries several tenants (`T024.U07`); never a person
    id, a display name or a constant. `channel` is the configured connection's name. `thread` is None outside threads.
    Parts are plain text; `columns()` and `str()` are the encoded forms. Raises `InvalidKey` at construction.
    """

    user: str
    channel: str
    room: str
    thread: str | None
    chat_type: ChatType
    agent: str

    def __post_init__(self) -> None:
        if self.chat_type not in ("private", "group"):
            raise InvalidKey(f"chat_type: {self.chat_type!r} is neither 'private' nor 'group'")
        self.columns()

    @property
    def conversation(self) -> str:
        """The encoded third part: `room` or `room/thread`."""
        return encode_conversation(self.room, self.thread)

    def columns(self) -> tuple[str, str, str, str, str]:
        """Return the five encoded parts in order user, channel, conversation, chat_type, agent: the database's columns."""
        return (
            encode_part(self.user, name="user"),
            encode_part(self.channel, name="channel"),
            self.conversation,
            self.chat_type,
            encode_part(self.agent, name="agent"),
        )

    def __str__(self) -> str:
        return ":".join(self.columns())

    @classmethod
    def parse(cls, text: str) -> ConversationKey:
        """Return the key whose `str()` is `text`; raises `InvalidKey` for anything else."""
        parts = text.split(":")
        if len(parts) != 5:
            raise InvalidKey(f"key: {text!r} has {len(parts)} parts; a key is user:channel:conversation:chatType:agent")
        user, channel, conversation, chat_type, agent = parts
        room, slash, thread = conversation.partition("/")
        return cls(
            user=decode_part(user, name="user"),
            channel=decode_part(channel, name="channel"),
            room=decode_part(room, name="room"),
            thread=decode_part(thread, name="thread") if slash else None,
            chat_type=chat_type,  # type: ignore[arg-type]  # checked by __post_init__
            agent=decode_part(agent, name="agent"),
        )


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose short-term memory: five encoded columns like a key's, `*` where everybody or every thread shares.

    Built by `scope_of` only. Equality is by columns; `str()` names the scope in logs, lanes and Redis.
    """

    user: str
    channel: str
    conversation: str
    chat_type: ChatType
    agent: str

    def columns(self) -> tuple[str, str, str, str, str]:
        """Return the five columns in the key's order."""
        return (self.user, self.channel, self.conversation, self.chat_type, self.agent)

    def __str__(self) -> str:
        return ":".join(self.columns())


def mode_of(scope: Scope) -> ScopeMode:
    """Return the setting that a group's scope was made by."""
    if scope.user != ANY:
        return "speaker"
    return "room" if scope.conversation.endswith(f"/{ANY}") else "conversation"


def whereabouts(scope: Scope) -> tuple[str, str, str | None]:
    """Return channel, room and thread of a scope, decoded; thread None also where a room's threads share it."""
    room, slash, thread = scope.conversation.partition("/")
    inside = decode_part(thread, name="thread") if slash and thread != ANY else None
    return decode_part(scope.channel, name="channel"), decode_part(room, name="room"), inside


def shared_as(scope: Scope, *, mode: ScopeMode) -> Scope:
    """Return the scope that a group's `scope` becomes part of under a setting that shares at least as much."""
    room = scope.conversation.partition("/")[0]
    user = scope.user if mode == "speaker" else ANY
    return Scope(
        user, scope.channel, f"{room}/{ANY}" if mode == "room" else scope.conversation, scope.chat_type, scope.agent
    )


def scope_of(key: ConversationKey, *, mode: ScopeMode) -> Scope:
    """Return the scope of `key`: the whole key in private; in groups by the room's setting.

    `conversation`: everybody in this room and thread. `room`: everybody, the room's threads together. `speaker`: the key.
    """
    user, channel, conversation, _, agent = key.columns()
    if key.chat_type == "group" and mode != "speaker":
        user = ANY
        if mode == "room":
            conversation = f"{encode_part(key.room, name='room')}/{ANY}"
    return Scope(user, channel, conversation, key.chat_type, agent)
