"""The bot in a room: what people there are told once, and what becomes of replies when it is there no longer.

The notice is said when the bot is brought in, or ahead of its first answer, whichever comes first; in private chats it is not,
as who writes to a bot by himself knows that it reads. Rooms are remembered by the outbox, so that it is said once for good, also
where the bot is taken out and brought back. What the platform refused is said again ahead of a later answer, a few times.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from adapters.base import Adapter, Address, Capabilities, PresenceEvent
from config.channels.base import RoomSettings
from gateway.inbox.base import Announcement, Outbox
from gateway.notices import Language, notice
from gateway.rooms import first_use, target_of
from gateway.routing import Route
from memory.ids import Ids, now_ms
from memory.names import Names

logger = logging.getLogger(__name__)

REMEMBERED = 10_000
"""Rooms known to have been told; for others the outbox is asked."""

JOINED_WAIT_MS = 2_000
"""A room that the bot was brought into is told after this time: it may be one that only has another id, of which the platform
tells a moment later."""

LEFT = "the bot is not in the room any more"


class Presence:
    """For all rooms of all channels."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        names: Names,
        ids: Ids,
        made: Callable[[str], Adapter | None],
        ended: Callable[[int], Awaitable[None]],
    ) -> None:
        """`made` gives a channel's adapter, `ended` is told each turn that ends here."""
        self._outbox = outbox
        self._names = names
        self._ids = ids
        self._made = made
        self._ended = ended
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def joined(self, event: PresenceEvent, route: Route, settings: RoomSettings) -> None:
        """Tell the room, in both languages where nobody said which. Repeating it does no harm. Raises `StoreBusy` and
        `memory.errors.MemoryFault`."""
        logger.info("brought into a room", extra={"channel": event.channel, "room": event.room})
        if event.chat_type == "group":
            unknown = settings.language == "auto" and event.language is None
            await self._tell(
                route.address, settings, ("en", "zh") if unknown else (route.language,), wait_ms=JOINED_WAIT_MS
            )

    async def left(self, event: PresenceEvent) -> None:
        """Give up what waits for the room. Repeating it does no harm. Raises `StoreBusy`."""
        logger.info("taken out of a room", extra={"channel": event.channel, "room": event.room})

        def gone(address: bytes) -> bool:
            return msgspec.msgpack.decode(address, type=Address).room == event.room

        for turn_id in await self._outbox.give_up(event.channel, gone, error=LEFT, now_ms=now_ms()):
            logger.error("send given up", extra={"turn": turn_id, "channel": event.channel, "reason": LEFT})
            await self._ended(turn_id)

    async def answering(self, route: Route, address: Address, settings: RoomSettings) -> None:
        """Tell a group that gets its first answer now. Raises as `joined`."""
        if route.event.chat_type == "group":
            await self._tell(address, settings, (route.language,), wait_ms=0)

    async def _tell(
        self, address: Address, settings: RoomSettings, languages: Sequence[Language], *, wait_ms: int
    ) -> None:
        room, adapter = (address.channel, address.room), self._made(address.channel)
        if not settings.first_use_notice or room in self._told or adapter is None or adapter.capabilities.collected:
            return
        former = [moved.room for moved in await self._names.moved_rooms() if (moved.channel, moved.now_room) == room]
        text = "\n\n".join(first_use_text(settings, language, adapter.capabilities) for language in languages)
        target = target_of(msgspec.structs.replace(address, reply_to=None, quoted=None))
        announcement = Announcement(
            turn_id=self._ids.next(),
            channel=address.channel,
            names=[first_use(name) for name in (address.room, *former)],
            queue=target.queue,
            address=target.address,
            chunks=adapter.chunks(text),
            now_ms=now_ms(),
            wait_ms=wait_ms,
        )
        if await self._outbox.announce(announcement):
            return  # the platform may refuse it: asked again at the next occasion
        self._told[room] = None
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)


def first_use_text(settings: RoomSettings, language: Language, capabilities: Capabilities) -> str:
    """Return what a group is told: what is kept, how to see it, how to have it erased."""
    parts = ["first_use_kept"]
    if settings.observe:
        parts.append("first_use_observed")
    parts += ["first_use_see", "first_use_erase_by_hand" if capabilities.deletions else "first_use_erase"]
    joint = " " if language == "en" else ""
    return joint.join(notice(part, language, prefix=capabilities.command_prefix) for part in parts)
