"""Admission with its counts: what a sender has used up, how long bots have been among themselves, which threads are followed.

Deciding is `admission`'s; here is what it has to know, counted as it decides.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from adapters.base import InboundEvent, MessageEvent
from config.channels.base import RoomSettings
from gateway.admission import DESK, Verdict, admit
from gateway.commands import parse_command
from gateway.hot.base import RateLimits
from gateway.talk import Bots
from memory.key import ConversationKey, Scope, scope_of


class Admitting:
    """One for all channels."""

    def __init__(
        self,
        *,
        limits: RateLimits,
        answered: Callable[[Scope, str | None], Awaitable[bool]],
        desk: Callable[[MessageEvent], Awaitable[bool]],
        taken_over: Callable[[MessageEvent], bool],
    ) -> None:
        """`answered` is `memory.base.Store.answered`; asked for what is said in threads only, where the room wants it. `desk`
        says whether staff write about a take-over, `taken_over` whether a human has the conversation."""
        self._limits = limits
        self._answered = answered
        self._desk = desk
        self._taken_over = taken_over
        self._bots = Bots()

    async def admit(self, event: InboundEvent, settings: RoomSettings) -> Verdict:
        """Decide about an event and count it. Raises `memory.errors.StoreUnavailable` and `StoreBusy`."""
        if isinstance(event, MessageEvent) and await self._desk(event):
            return Verdict("apply", DESK)
        followed = await self._followed(event, settings)
        # No waiting from here on: of messages that come at once only as many pass as may.
        who, now = _limit_key(event), time.monotonic()
        message = event if isinstance(event, MessageEvent) else None
        if message is not None and not message.sender.is_bot:
            self._bots.person(message)
        verdict = admit(
            event,
            settings,
            known_command=message is not None and parse_command(message.text) is not None,
            over_limit=not (stops(event) or self._limits.allows(who, per_minute=settings.limits.per_minute, now=now)),
            followed=followed,
            taken_over=message is not None and self._taken_over(message),
            bots_in_row=self._bots.in_row(message) if message is not None and message.sender.is_bot else 0,
        )
        if _counts(event, verdict):
            self._limits.count(who, now=now)
        if message is not None and _among_bots(message, verdict):
            self._bots.count(message)
        return verdict

    def take_back(self, event: InboundEvent, verdict: Verdict) -> None:
        """Undo the counts of an event that was known already, or could not be stored."""
        if _counts(event, verdict):
            self._limits.take_back(_limit_key(event), now=time.monotonic())
        if isinstance(event, MessageEvent) and _among_bots(event, verdict):
            self._bots.take_back(event)

    def may_complain(self, event: InboundEvent) -> bool:
        """One notice a minute: answering a flood message by message would be a flood of our own."""
        who, now = f"notice:{_limit_key(event)}", time.monotonic()
        allowed = self._limits.allows(who, per_minute=1, now=now)
        if allowed:
            self._limits.count(who, now=now)
        return allowed

    def untold(self, event: InboundEvent) -> None:
        """Undo one `may_complain`: its notice was none."""
        self._limits.take_back(f"notice:{_limit_key(event)}", now=time.monotonic())

    async def _followed(self, event: InboundEvent, settings: RoomSettings) -> bool:
        if "thread" not in settings.trigger or not isinstance(event, MessageEvent):
            return False
        if event.thread is None or event.chat_type == "private" or event.mentions_bot or event.reply_to_bot:
            return False  # it asks for no answer by its thread, or in ways of its own
        sender = event.sender.user
        key = ConversationKey(
            user=sender, channel=event.channel, room=event.room, thread=event.thread, chat_type="group", agent="any"
        )
        within = key.conversation if settings.scope == "room" else None
        return await self._answered(scope_of(key, mode=settings.scope), within)


def stops(event: InboundEvent) -> bool:
    """Whether this is `/stop`: it acts at once, whatever else its speaker has sent."""
    command = parse_command(event.text) if isinstance(event, MessageEvent) else None
    return command is not None and command.name == "stop"


def _counts(event: InboundEvent, verdict: Verdict) -> bool:
    """Whether the event counts for its speaker's limit: what asks for an answer does, not what people say to each other."""
    return verdict.action in ("answer", "refuse") and not stops(event)


def _among_bots(event: MessageEvent, verdict: Verdict) -> bool:
    return event.sender.is_bot and verdict.action == "answer"


def _limit_key(event: InboundEvent) -> str:
    return f"{event.channel}:{event.sender.user}"
