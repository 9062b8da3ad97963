"""When a human is to be asked for, where a take-over counts, and until when. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from adapters.base import InboundEvent, MessageEvent
from config.channels.base import RoomSettings, TakeoverSettings
from config.loader import Configuration
from gateway.admin.takeovers import AskedBy, Place, Takeover
from gateway.routing import Route
from memory.base import Message
from memory.key import ANY, decode_part, encode_conversation, encode_part

_COMPLAINT = re.compile(
    r"\b(?:useless|ridiculous|unacceptable|terrible|horrible|awful|worst|rubbish|garbage|stupid|idiot\w*|scam|fraud|"
    r"disgust\w*|pathetic|furious|angry|annoy\w*|frustrat\w*|wtf|nonsense|waste of time|fed up|not (?:help\w*|work\w*)|"
    r"doesn'?t (?:help|work)|(?:did|do)n'?t understand|wrong again|still wrong|i (?:want to )?complain\w*)\b"
    r"|[!！]{3,}"
    r"|没用|垃圾|太差|差劲|骗子|骗人|投诉|气死|生气|愤怒|无语|什么玩意|烦死|糊弄|敷衍|退钱|废话|听不懂|答非所问|不满意|忍无可忍|太慢|胡说|智障|白痴",
    re.IGNORECASE,
)


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """That a human be asked for; `note` is why, in the agent's or the person's words."""

    by: AskedBy
    note: str | None = None


def places_of(route: Route) -> tuple[Place, ...]:
    """Return where a take-over would count for a message, the nearest first: its own conversation; the room where the message
    begins a thread there, and in private the room always, as all of it is one person's."""
    return places_in(route.event)


def places_in(event: InboundEvent) -> tuple[Place, ...]:
    """Return the same of an event that has no route yet."""
    user = encode_part(event.sender.user) if event.chat_type == "private" else ANY
    channel = encode_part(event.channel)
    own = Place(channel, encode_conversation(event.room, event.thread), user)
    begins = isinstance(event, MessageEvent) and event.thread == event.message_id
    if event.thread is None or not (begins or event.chat_type == "private"):
        return (own,)
    return own, Place(channel, encode_part(event.room), user)


def place_for(route: Route) -> Place:
    """Return where a take-over that begins with a message counts: where the talk goes on."""
    return places_of(route)[0]


def wish_in(text: str, settings: TakeoverSettings, *, complaints: int, failures: int) -> Wish | None:
    """Return the wish that the rules find in what was said; `complaints` and `failures` are how many there were in a row, this
    message's own complaint included."""
    said = text.casefold()
    if any(word.casefold() in said for word in settings.words):
        return Wish(by="words")
    if settings.after_failures and failures >= settings.after_failures:
        return Wish(by="failures")
    if settings.after_complaints and complaints >= settings.after_complaints:
        return Wish(by="complaints")
    return None


def complains(text: str) -> bool:
    """Whether a message sounds angry, in English or Chinese: by words, for a rule that wants several in a row."""
    return _COMPLAINT.search(text) is not None


def asked_in(takeover: Takeover, turn_id: int) -> bool:
    """Whether it waits for a human because of this turn."""
    return takeover.state == "asked" and takeover.asked_turn_id == turn_id


def turns_of(rows: Sequence[Message], *, conversation: str, after: int) -> list[tuple[int, str]]:
    """Return (turn, what was said in it) of people's turns in a conversation behind the turn `after`, the last one first; `rows`
    oldest first."""
    said: dict[int, list[str]] = {}
    for row in rows:
        if row.role == "user" and row.conversation == conversation and row.turn_id > after:
            said.setdefault(row.turn_id, []).append(row.text)
    return [(turn_id, "\n\n".join(said[turn_id])) for turn_id in sorted(said, reverse=True)]


def settings_of(takeover: Takeover, configuration: Configuration) -> RoomSettings:
    """Return what is set for the place of a take-over; the defaults for a channel that is no more."""
    channel = decode_part(takeover.channel)
    if channel not in configuration.settings.channels or not takeover.conversation:
        return configuration.settings.defaults
    room, slash, thread = takeover.conversation.partition("/")
    return configuration.effective(channel, decode_part(room), decode_part(thread) if slash else None)


def deadline_ms(takeover: Takeover, settings: TakeoverSettings) -> int:
    """Return when it ends by itself, in milliseconds since 1970."""
    seconds = settings.wait_s if takeover.state == "asked" else settings.timeout_s
    return takeover.touched_ms + int(seconds * 1000)


def silent(takeover: Takeover | None, settings: TakeoverSettings) -> bool:
    """Whether the agent is not asked."""
    if takeover is None or takeover.state == "ended":
        return False
    return takeover.state == "active" or settings.while_waiting == "silent"


Rule = Literal["taken_over", "waiting_for_human"]


def rule_of(takeover: Takeover) -> Rule:
    """Return the rule by which a message is not answered."""
    return "taken_over" if takeover.state == "active" else "waiting_for_human"
