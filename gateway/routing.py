"""From an event and the settings of the moment to everything that later steps must not decide anew. Pure.

A `Route` is stored as the inbox row's body, so a change of settings never moves a message that was accepted before.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from adapters.base import Address, InboundEvent, MessageEvent, PresenceEvent
from config.channels.base import RoomSettings
from config.loader import Configuration
from gateway.inbox.base import Outcome
from gateway.notices import Language, notice
from memory.key import ChatType, ConversationKey, Scope, scope_of
from memory.language import language_in


class Human(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A human's act in a take-over (`gateway/humans.py`). `said`: the event's text is their words. `asked` (by a colleague of
    theirs), `begun`, `ended`: of which the person is told, with `how` it ended; the `summary` is for the agent. `turn_id` is the
    turn before it."""

    takeover: int
    act: Literal["asked", "said", "begun", "ended"]
    operator: str
    name: str
    turn_id: int
    how: str | None = None
    summary: str | None = None


class Route(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event with its way: who answers, whose memory, where the reply goes, under which settings.

    `key` is `str(ConversationKey)`, `scope` the five columns of the `Scope`, `revision` the settings'. `rule` is the rule that
    admitted the event, `refused` says that it gets a notice instead of an answer. The lane is not in it: it is named by
    the stored scope, which this one may be a mere name of (`memory.names`). `human` set: the event's sender is whom a human
    answers, and what is in it was not said by them.
    """

    event: InboundEvent
    key: str
    scope: tuple[str, str, str, ChatType, str]
    address: Address
    agent: str
    revision: str
    language: Language
    rule: str = ""
    refused: bool = False
    human: Human | None = None

    def conversation_key(self) -> ConversationKey:
        """Return the key as its type."""
        return ConversationKey.parse(self.key)

    def memory_scope(self) -> Scope:
        """Return the scope as its type."""
        return Scope(*self.scope)


def route(
    event: InboundEvent,
    *,
    configuration: Configuration,
    chosen_agent: str | None,
    rule: str = "",
    refused: bool = False,
    now_ms: int | None = None,
    spoken: Language | None = None,
) -> Route:
    """Return the event's route under the current settings. `now_ms` is when it was accepted; `spoken` see `language_of`.

    `chosen_agent` is what the person asked for with /agent; it counts only where the admin lists it. The reply goes to the
    event's own room and thread and answers this message. Raises `memory.key.InvalidKey` when a part of the key is empty or
    no valid Unicode, and KeyError for a channel that is not configured.
    """
    settings = configuration.effective(event.channel, event.room, event.thread)
    agent = agent_for(settings, chosen=chosen_agent)
    key = ConversationKey(
        user=event.sender.user,
        channel=event.channel,
        room=event.room,
        thread=event.thread,
        chat_type=event.chat_type,
        agent=agent,
    )
    scope = scope_of(key, mode=settings.scope)
    message = event if isinstance(event, MessageEvent) else None
    hint = event.language if isinstance(event, MessageEvent | PresenceEvent) else None
    return Route(
        event=event,
        key=str(key),
        scope=(scope.user, scope.channel, scope.conversation, scope.chat_type, scope.agent),
        address=Address(
            channel=event.channel,
            room=event.room,
            thread=event.thread,
            reply_to=message.message_id if message else None,
            since_ms=now_ms,
        ),
        agent=agent,
        revision=configuration.revision,
        language=language_of(message.text if message else "", hint=hint, setting=settings.language, spoken=spoken),
        rule=rule,
        refused=refused,
    )


def agent_for(settings: RoomSettings, *, chosen: str | None) -> str:
    """Return the agent that answers: the person's choice if it is (still) on the admin's list, else the place's."""
    return chosen if chosen is not None and chosen in settings.agents else settings.agent


def place_of(event: InboundEvent, configuration: Configuration) -> RoomSettings | None:
    """Return the settings of the event's place as they are now; None: its channel is not configured any more."""
    if event.channel not in configuration.settings.channels:
        return None
    return configuration.effective(event.channel, event.room, event.thread)


_PRIMARY = re.compile(r"([A-Za-z]{2,3})(?:[-_]|$)")


def language_of(
    text: str, *, hint: str | None, setting: Literal["auto", "en", "zh"], spoken: Language | None = None
) -> Language:
    """Return the language for notices and commands: the admin's, else the platform's word (`hint`, BCP 47), else the text's, else
    that in which its sender last wrote (`spoken`).

    Of the two complete languages, whoever speaks neither gets English.
    """
    if setting != "auto":
        return setting
    primary = _PRIMARY.match(hint or "")
    if primary and primary[1].lower() != "und":
        return "zh" if primary[1].lower() in ("zh", "cmn", "yue") else "en"
    return language_shown(text) or spoken or "en"


def language_shown(text: str) -> Language | None:
    """Return the language that a message shows; None: none. Commands have English names for those who write Chinese, too."""
    found = language_in(text)
    return None if found == "en" and text.lstrip().startswith(("/", "／")) else found


def encode(routed: Route) -> bytes:
    """Return the route as it is stored: JSON."""
    return msgspec.json.encode(routed)


_DECODER = msgspec.json.Decoder(Route)


UNREADABLE = Outcome(state="dead", code="unreadable", message=notice("unreadable", "en"))
"""How an event ends whose stored form this release can't read: it must not keep the ones behind it waiting."""


def decode(body: bytes) -> Route:
    """Return a stored route; fields that a newer release added are passed over. Raises `msgspec.DecodeError`."""
    return _DECODER.decode(body)
