"""Rooms that got another id from their platform: their memory, settings and waiting replies go along, in one step that may be
repeated.

The store keeps which rooms moved; here it is remembered, and asked again when another instance moved one: that tells so on the
bus, and as words may be lost there, it is looked at now and then anyway.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import msgspec

from adapters.base import Address
from config.loader import Configuration
from gateway.hot.base import Bus
from gateway.hot.hearing import ProcessBus
from gateway.inbox.base import Outbox, Target
from memory.errors import StoreUnavailable
from memory.key import encode_conversation
from memory.names import Names

logger = logging.getLogger(__name__)

LOOK_S = 5.0
"""Time between two looks at what other instances changed, where they were not heard; the look is one row."""

TOPIC = "names"


class Rooms:
    """Where rooms are now. `changed` is called when that has changed, or accounts are another person's: settings and persons are
    to be looked up anew. `bus` None: there are no other instances."""

    def __init__(
        self,
        *,
        names: Names,
        outbox: Outbox,
        changed: Callable[[], None],
        look_s: float = LOOK_S,
        bus: Bus | None = None,
    ) -> None:
        self._names = names
        self._outbox = outbox
        self._changed = changed
        self._look_s = look_s
        self._now: dict[tuple[str, str], str] = {}
        self._bus = bus or ProcessBus()
        self._told = asyncio.Event()
        self._looking = asyncio.Lock()
        self._known = False  # the store was asked since the last change that it told of

    async def move(self, channel: str, room: str, now_room: str) -> None:
        """Let everything of a room go on under another id: its talk and people's choices of agents, the settings written for
        it, the replies that wait. What its people were told of their talk is not said again. Repeating it, in any order with
        what is said in either room, does no harm.

        Raises `memory.errors.MemoryFault` and `gateway.errors.StoreBusy`: call it again then.
        """
        await self._names.move_room(channel, room, now_room)
        self.tell()
        await self.look()
        await self._outbox.redirect(channel, self._redirect)
        former = [first_use(moved) for (of, moved), now in self._now.items() if (of, now) == (channel, now_room)]
        if await self._outbox.take_back(channel, first_use(now_room), former=former):
            logger.info("a notice taken back: the room had it under its former id", extra={"room": now_room})
        logger.info("room moved", extra={"channel": channel, "room": room, "now_room": now_room})

    async def look(self) -> None:
        """Learn of what other instances changed. Raises `memory.errors.StoreUnavailable`."""
        # One at a time, as an answer that was long on its way would undo a newer one; the store has its own time.
        async with self._looking:
            if await self._names.look():
                self._known = False
            if not self._known:
                rooms = await self._names.moved_rooms()
                self._known = True
                self._now = {(moved.channel, moved.room): moved.now_room for moved in rooms}
                self._changed()

    def tell(self) -> None:
        """Let other instances look at once: a room moved, or accounts are another person's."""
        self._bus.say(TOPIC, b"")

    async def follow(self) -> None:
        """Look as soon as an instance tells, and now and then, for ever."""
        async with self._bus.hear(TOPIC) as words, asyncio.TaskGroup() as tasks:
            tasks.create_task(self._hear(words), name="moved rooms, as told")
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._look_s):
                        await self._told.wait()
                self._told.clear()
                try:
                    await self.look()
                except StoreUnavailable:
                    logger.warning("moved rooms not looked up", exc_info=True)

    async def _hear(self, words: AsyncIterator[bytes]) -> None:
        async for _ in words:
            self._told.set()

    def applied(self, configuration: Configuration) -> Configuration:
        """Return the settings with every room's under its present id, too."""
        return configuration.moved([(channel, room, now_room) for (channel, room), now_room in self._now.items()])

    def current(self, address: Address) -> Address:
        """Return where a reply goes now. Messages' ids are the old room's, so it answers none of the new one's."""
        room = self._now.get((address.channel, address.room))
        return address if room is None else msgspec.structs.replace(address, room=room, reply_to=None, quoted=None)

    def _redirect(self, encoded: bytes) -> Target | None:
        address = msgspec.msgpack.decode(encoded, type=Address)
        current = self.current(address)
        return None if current is address else target_of(current)


def first_use(room: str) -> str:
    """Return the name under which the outbox remembers that a room was told how its talk is kept."""
    return f"first use:{room}"


def target_of(address: Address) -> Target:
    """Return an address as the outbox keeps it: its queue is serial per room and thread."""
    queue = queue_of(address.channel, address.room, address.thread)
    return Target(queue=queue, address=msgspec.msgpack.encode(address))


def queue_of(channel: str, room: str, thread: str | None = None) -> str:
    """Return the name of a place's queue. Raises `memory.key.InvalidKey` for a room that there can't be."""
    return f"{channel}:{encode_conversation(room, thread)}"
