"""Telling of what came about in take-overs: to the person through the lane, to the staff in their room; in order, once, and past
every crash.

What is to be told stands in rows beside the take-over's own (`gateway/admin/takeovers.py`), written with the change. Anybody may
tell at any time, also two at once: each begins with the oldest, and what was told by another is told to nobody twice.
"""

from __future__ import annotations

import logging

import msgspec

from adapters.base import MessageEvent
from gateway.admin.operations import Missing
from gateway.admin.takeovers import News, Takeover, TakeoverRows
from gateway.desk import Desk
from gateway.errors import StoreBusy
from gateway.human_lane import HumanLane
from gateway.inbox.base import Inbox
from gateway.routing import decode
from memory.errors import StoreUnavailable

logger = logging.getLogger(__name__)


class Telling:
    """Tells of all take-overs."""

    def __init__(self, *, rows: TakeoverRows, desk: Desk, lane: HumanLane, inbox: Inbox) -> None:
        self._rows = rows
        self._desk = desk
        self._lane = lane
        self._inbox = inbox

    async def soon(self, of: Takeover) -> None:
        """Tell of what has just been done. Where that can't be now, it was done all the same: the next look tells."""
        try:
            await self.of(of.id)
        except (StoreBusy, StoreUnavailable):
            logger.warning("not told of yet", exc_info=True, extra={"takeover": of.id, "channel": of.channel})

    async def of(self, takeover_id: int) -> None:
        """Tell of all that has come about in one take-over. Raises `StoreBusy`, `StoreUnavailable`."""
        if news := await self._rows.news(takeover_id):
            row = await self._row(takeover_id)  # read after its news: it knows how it ended
            for one in news:
                await self._told(row, one)

    async def all(self) -> None:
        """Tell of all that has come about anywhere. Raises as `of`."""
        for one in await self._rows.news():
            await self._told(await self._row(one.takeover_id), one)

    async def _row(self, takeover_id: int) -> Takeover:
        found = await self._rows.get(takeover_id)
        if found is None:
            raise Missing(f"there is no take-over {str(takeover_id)!r}")
        return found

    async def _told(self, of: Takeover, news: News) -> None:
        """Tell. What can't be told for good is logged: it must end neither the others nor the gateway."""
        try:
            await self._tell(of, news)
        except (StoreBusy, StoreUnavailable):
            raise
        except Exception:
            logger.exception("of a take-over nobody could be told", extra={"takeover": of.id, "channel": of.channel})
        await self._rows.told(news)

    async def _tell(self, of: Takeover, news: News) -> None:
        match news.what:
            case "asked":
                if of.asked_by == "operator":  # whoever asks by themselves is answered
                    await self._lane.put(of, "asked", "asked")
                await self._desk.asked(of, await self._said(of))
            case "begun":
                then = msgspec.structs.replace(
                    of, operator=news.operator, operator_name=news.operator_name, changes=news.changes
                )
                await self._lane.put(then, "begun", f"begun:{news.changes}")
                await self._desk.begun(then)
            case "ended":
                await self._lane.put(of, "ended", "ended")
                await self._desk.ended(of)

    async def _said(self, of: Takeover) -> str | None:
        """Return what was said in the turn by which a human was asked for; None: nobody knows any more, or the note is all."""
        if of.asked_turn_id is None or of.asked_by == "person":
            return None
        said = []
        for event in await self._inbox.turn_events(of.asked_turn_id):
            try:
                message = decode(event.body).event
            except msgspec.DecodeError:
                continue  # erased, or another release's
            if isinstance(message, MessageEvent):
                said.append(message.text)
        return "\n\n".join(said) or None
