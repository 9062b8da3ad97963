"""What humans said to people on channels that nothing can be sent to: it waits there until they fetch it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from adapters.base import Said, SaidSince, Sender
from gateway.admin.takeovers import Place, TakeoverRows
from gateway.inbox.base import Inbox, Outbox
from memory.ids import made_ms
from memory.key import ANY, encode_part

AT_ONCE = 50
ON_ITS_WAY_MS = 60_000
"""What is not in its lane after so long was cut off by a crash, and will never be."""


class Mailbox:
    """Implements `adapters.base.Unasked`."""

    def __init__(self, *, rows: TakeoverRows, inbox: Inbox, outbox: Outbox, clock: Callable[[], int]) -> None:
        """`clock` gives milliseconds since 1970."""
        self._rows = rows
        self._clock = clock
        self._inbox = inbox
        self._outbox = outbox

    async def said_to(
        self, channel: str, sender: Sender, *, room: str, chat_type: Literal["private", "group"], after: str | None
    ) -> SaidSince:
        """See the protocol. Raises `StoreBusy`."""
        user = encode_part(sender.user) if chat_type == "private" else ANY
        place = Place(encode_part(channel), encode_part(room), user)
        if after is None:
            return SaidSince(said=(), last=str(await self._beginning(place)))
        turns = await self._rows.said_in(place, after=int(after), limit=AT_ONCE)
        said: list[Said] = []
        last = after
        for turn_id in turns:
            if await self._under_way(turn_id):
                break  # what is behind it waits
            text = await self._outbox.reply(turn_id)
            last = str(turn_id)
            if text:
                said.append(Said(id=last, text=text, said_ms=made_ms(turn_id)))
        return SaidSince(said=tuple(said), last=last)

    async def _under_way(self, turn_id: int) -> bool:
        """Whether it is on its way into the lane or through it; else it can be fetched, has ended without a word, or its time is
        over."""
        event = await self._inbox.event(turn_id)
        if event is None:
            return made_ms(turn_id) > self._clock() - ON_ITS_WAY_MS
        return event.state in ("accepted", "running")

    async def _beginning(self, place: Place) -> int:
        """Return what to begin with: the take-over that is under way, whose number is less than those of all that is said in it;
        else the last thing that was said."""
        live = await self._rows.at([place])
        if live is not None:
            return live.id
        turns = await self._rows.said_in(place, after=None, limit=1)
        return turns[0] if turns else 0
