"""Shall this event be answered, observed, ignored, refused or applied, and by which rule. Pure.

Sits between the adapter's event and the inbox. Commands are parsed elsewhere, rates counted elsewhere; here they only decide.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from adapters.base import EditEvent, InboundEvent, MessageEvent, MoveEvent, PresenceEvent
from config.channels.base import RoomSettings, Trigger

Action = Literal["answer", "observe", "ignore", "refuse", "apply"]


PROBE = "probe"
"""The rule that admits the gateway's own message; no other has it."""

UNHEARD = ("not_addressed", "observe", "empty", "too_long")
"""Rules by which a message was not answered because nothing in it asked for that. Where a platform tells of one message twice,
the other telling may show that it does (openclaw/openclaw#34859)."""

DESK = "desk"
"""The rule of what staff write about a take-over in a room of theirs."""


class Verdict(msgspec.Struct, frozen=True):
    """What happens to an event. `rule` always names what decided.

    answer: `private`, the trigger that fired, or `probe` (the gateway's own message). refuse, with a notice to the person:
    `too_long`, `rate_limited`, and later `quota_…` (`gateway/usage/enforcing.py`). observe: `observe`. apply: `edit`, `delete`,
    `move`, `joined`, `left`. ignore: `bot` (its own, or another program's), `bot_depth` (programs have been among themselves for
    long enough), `empty`, `not_allowed`, `not_addressed`, `too_long` (nobody asked for an answer). What would be refused to a
    program is ignored: notices are for people.
    """

    action: Action
    rule: str

    @property
    def refused(self) -> bool:
        """True when the person gets a notice instead of an answer."""
        return self.action == "refuse"


def admit(
    event: InboundEvent,
    settings: RoomSettings,
    *,
    known_command: bool,
    over_limit: bool,
    followed: bool = False,
    taken_over: bool = False,
    bots_in_row: int = 0,
) -> Verdict:
    """Decide about one event under the settings of its place.

    `known_command`: the text is one of our commands. `over_limit`: this sender has used up the minute. `followed`: the bot
    has answered in the thread before. `taken_over`: a human has this conversation, who is to hear all of it. `bots_in_row`: so
    many bots' messages were answered here since a person spoke. A sender
    the platform doesn't vouch for is answered like anybody, only without a person behind it; an allow-list he can't pass,
    because he can't prove who he is.
    """
    if isinstance(event, MoveEvent):
        return Verdict("apply", "move")  # the platform's own word, whoever is named as its sender
    if isinstance(event, PresenceEvent):
        return Verdict("apply", "joined" if event.present else "left")
    if event.sender.is_bot and settings.bots == "ignore":
        return Verdict("ignore", "bot")
    if isinstance(event, MessageEvent) and event.probe:
        return Verdict("answer", PROBE)  # it is about the way, not about who may talk here
    if not isinstance(event, MessageEvent):
        # An edit or deletion concerns a message that was let in before, whatever the rules are now.
        return Verdict("apply", "edit" if isinstance(event, EditEvent) else "delete")
    # An empty text that quotes another is a question about what it quotes (nanobot#1875).
    if not event.text.strip() and event.quote is None:
        return Verdict("ignore", "empty")
    if not _allowed(event, settings):
        return Verdict("ignore", "not_allowed")
    addressed = _addressed(event, settings, known_command=known_command, followed=followed)
    if addressed is None and taken_over:
        addressed = "taken_over"
    too_long = len(event.text) > settings.limits.message_chars
    if addressed is None:
        if not settings.observe:
            return Verdict("ignore", "not_addressed")
        return Verdict("ignore", "too_long") if too_long else Verdict("observe", "observe")
    refusal = "too_long" if too_long else "rate_limited" if over_limit else None
    if refusal is not None:
        return Verdict("ignore" if event.sender.is_bot else "refuse", refusal)
    if event.sender.is_bot and bots_in_row >= settings.bot_depth:
        return Verdict("ignore", "bot_depth")
    return Verdict("answer", addressed)


def _allowed(event: MessageEvent, settings: RoomSettings) -> bool:
    people = settings.allow.people
    return people is None or (event.sender.trusted and event.sender.user in people)


def _addressed(event: MessageEvent, settings: RoomSettings, *, known_command: bool, followed: bool) -> str | None:
    """Return the rule by which the message asks for an answer; None: it does not."""
    if event.chat_type == "private":
        return "private"
    said = event.text.lstrip().casefold()
    fires: dict[Trigger, bool] = {
        "mention": event.mentions_bot,
        "reply": event.reply_to_bot,
        "command": known_command,
        "prefix": any(said.startswith(prefix.casefold()) for prefix in settings.prefix),
        "thread": event.thread is not None and (followed or event.reply_to_bot),
        "always": True,
    }
    return next((rule for rule in fires if fires[rule] and rule in settings.trigger), None)
