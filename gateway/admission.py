"""Shall this event be answered, observed, ignored, refused or applied, and by which rule. Pure.

Sits between the adapter's event and the inbox. Commands are parsed elsewhere, rates counted elsewhere; here they only decide.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from adapters.base import EditEvent, InboundEvent, MessageEvent, MoveEvent
from config.channels.base import RoomSettings, Trigger

Action = Literal["answer", "observe", "ignore", "refuse", "apply"]


UNHEARD = ("not_addressed", "observe", "empty", "too_long")
"""Rules by which a message was not answered because nothing in it asked for that. Where a platform tells of one message twice,
the other telling may show that it does (openclaw/openclaw#34859)."""


class Verdict(msgspec.Struct, frozen=True):
    """What happens to an event. `rule` always names what decided.

    answer: `private`, or the trigger that fired. refuse, with a notice to the person: `too_long`, `rate_limited`. observe:
    `observe`. apply: `edit`, `delete`, `move`. ignore: `bot` (its own, or another program's), `empty`, `not_allowed`,
    `not_addressed`, `too_long` (nobody asked for an answer).
    """

    action: Action
    rule: str

    @property
    def refused(self) -> bool:
        """True when the person gets a notice instead of an answer."""
        return self.action == "refuse"


def admit(event: InboundEvent, settings: RoomSettings, *, known_command: bool, over_limit: bool) -> Verdict:
    """Decide about one event under the settings of its place.

    `known_command`: the text is one of our commands. `over_limit`: this sender has used up the minute. A sender the platform
    doesn't vouch for is answered like anybody, only without a person behind it; an allow-list he can't pass, because he
    can't prove who he is.
    """
    if isinstance(event, MoveEvent):
        return Verdict("apply", "move")  # the platform's own word, whoever is named as its sender
    if event.sender.is_bot:
        return Verdict("ignore", "bot")
    if not isinstance(event, MessageEvent):
        # An edit or deletion concerns a message that was let in before, whatever the rules are now.
        return Verdict("apply", "edit" if isinstance(event, EditEvent) else "delete")
    # An empty text that quotes another is a question about what it quotes (nanobot#1875).
    if not event.text.strip() and event.quote is None:
        return Verdict("ignore", "empty")
    if not _allowed(event, settings):
        return Verdict("ignore", "not_allowed")
    addressed = _addressed(event, settings, known_command=known_command)
    too_long = len(event.text) > settings.limits.message_chars
    if addressed is None:
        if not settings.observe:
            return Verdict("ignore", "not_addressed")
        return Verdict("ignore", "too_long") if too_long else Verdict("observe", "observe")
    if too_long:
        return Verdict("refuse", "too_long")
    return Verdict("refuse", "rate_limited") if over_limit else Verdict("answer", addressed)


def _allowed(event: MessageEvent, settings: RoomSettings) -> bool:
    people = settings.allow.people
    return people is None or (event.sender.trusted and event.sender.user in people)


def _addressed(event: MessageEvent, settings: RoomSettings, *, known_command: bool) -> str | None:
    """Return the rule by which the message asks for an answer; None: it does not."""
    if event.chat_type == "private":
        return "private"
    return next(
        (rule for rule in _TRIGGERS if rule in settings.trigger and _fires(rule, event, settings, known_command)), None
    )


_TRIGGERS: tuple[Trigger, ...] = ("mention", "reply", "command", "prefix", "always")


def _fires(rule: Trigger, event: MessageEvent, settings: RoomSettings, known_command: bool) -> bool:
    match rule:
        case "mention":
            return event.mentions_bot
        case "reply":
            return event.reply_to_bot
        case "command":
            return known_command
        case "prefix":
            said = event.text.lstrip().casefold()
            return any(said.startswith(prefix.casefold()) for prefix in settings.prefix)
        case "always":
            return True
