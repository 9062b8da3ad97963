"""Admission with its counts: what a sender has used up, how long bots have been among themselves, which threads are followed.

Deciding is `admission`'s; here is what it has to know, counted as it decides.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from adapters.base import InboundEvent, MessageEvent
from config.channels.base import RoomSettings
from gateway.admission import DESK, Verdict, admit
from gateway.commands import parse_command
from gateway.hot.base import RateLimits
from gateway.talk import Bots
from memory.key import ConversationKey, Scope, scope_of


class Admitted(NamedTuple):
    """A verdict, and what was counted for it: an act of the sender, and one more in a row of bots."""

    verdict: Verdict
    counted: bool = False
    in_row: bool = False


class Admitting:
    """One for all channels. What it counts holds for all instances."""

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
        self._bots = Bots(limits)

    async def admit(self, event: InboundEvent, settings: RoomSettings) -> Admitted:
        """Decide about an event and count it. Raises `memory.errors.StoreUnavailable` and `StoreBusy`."""
        message = event if isinstance(event, MessageEvent) else None
        if message is not None and await self._desk(message):
            return Admitted(Verdict("apply", DESK))
        if message is not None and not message.sender.is_bot and settings.bots == "answer":
            await self._bots.person(message)
        decided = partial(
            admit,
            event,
            settings,
            known_command=message is not None and parse_command(message.text) is not None,
            followed=await self._followed(event, settings),
            taken_over=message is not None and self._taken_over(message),
        )
        verdict = decided(over_limit=False)
        if not _counts(event, verdict):
            return Admitted(verdict)
        # Taken, not looked at: of messages that come at once, wherever, only as many pass as may.
        if not await self._limits.take(_limit_key(event), most=settings.limits.per_minute):
            return Admitted(decided(over_limit=True))
        if message is None or not _among_bots(message, verdict):
            return Admitted(verdict, counted=True)
        if await self._bots.take(message, most=settings.bot_depth):
            return Admitted(verdict, counted=True, in_row=True)
        await self._limits.give_back(_limit_key(event))
        return Admitted(decided(over_limit=False, bots_in_row=settings.bot_depth))

    async def give_back(self, event: InboundEvent, admitted: Admitted) -> None:
        """Undo the counts of an event that was known already, or could not be stored."""
        if admitted.counted:
            await self._limits.give_back(_limit_key(event))
        if admitted.in_row and isinstance(event, MessageEvent):
            await self._bots.give_back(event)

    async def may_complain(self, event: InboundEvent) -> bool:
        """One notice a minute: answering a flood message by message would be a flood of our own."""
        return await self._limits.take(f"notice:{_limit_key(event)}", most=1)

    async def untold(self, event: InboundEvent) -> None:
        """Undo one `may_complain`: its notice was none."""
        await self._limits.give_back(f"notice:{_limit_key(event)}")

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
    """Return by what an event counts: its account on its channel."""
    return f"{event.channel}:{event.sender.user}"
