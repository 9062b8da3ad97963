"""Replies on their way out: from the durable outbox to the platform, chunk by chunk, each with its receipt.

The only owner of send retries. Serial per room and thread (the outbox hands out heads of queues only), side by side across
them. What its channel or its budget can't take now waits as it stands. An attempt is on record before the send; one whose
end nobody saw is *unknown*, not failed: looked up where the platform can tell, and else not repeated.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from adapters.errors import Moved, Refused, SendFailed, Throttled, Unreachable
from gateway.errors import StoreBusy
from gateway.inbox.base import Chunk, Inbox, Outbox
from gateway.pacing import Pacing
from gateway.senders import ALONE, Shares
from gateway.sending import Channels, Down, Sending, Unanswered, address_of
from gateway.traces import OFF, Traces
from gateway.waits import happens, retry_wait_s
from memory.errors import StoreUnavailable
from memory.ids import now_ms

logger = logging.getLogger(__name__)

THROTTLED_MOST = 10_000
"""Chunks remembered as asked to wait; beyond that the oldest begin their time anew."""

LOOKS = 2
"""Looks that must find nothing before what may have been sent is sent again."""

Record = Callable[[], Awaitable[bool | None]]
"""The write that says how an attempt went. False from it: the turn goes on."""


class Delivery:
    """Sends what is due, for as long as the gateway runs."""

    def __init__(
        self,
        outbox: Outbox,
        inbox: Inbox,
        channels: Channels,
        ended: Callable[[int], Awaitable[None]],
        *,
        pacing: Pacing,
        shares: Shares = ALONE,
        moved: Callable[[str, str, str], Awaitable[None]],
        send_s: float,
        attempts: int,
        first_wait_s: float,
        throttled_s: float,
        most: int = 100,
        counted: Callable[[str, str], None] = lambda channel, outcome: None,
        limited: Callable[[str, str, float], None] = lambda channel, scope, seconds: None,
        clock_ms: Callable[[], int] = now_ms,
        traces: Traces = OFF,
    ) -> None:
        """`shares` tells which channels are sent here; `ended` is told each turn that has reached its end; `moved` carries a
        room over to another id: (channel, old, new). At most `most` sends at once; a chunk its platform won't have for
        `throttled_s` is given up. `counted` hears (channel, outcome) of every send, `limited` (channel, scope, seconds) of every
        wait that was asked for."""
        self._outbox = outbox
        self._inbox = inbox
        self._pacing = pacing
        self._sending = Sending(
            channels, pacing, send_s=send_s, now_ms=clock_ms, mine=outbox.mine, shares=shares, traces=traces
        )
        self._shares = shares
        self._channels = channels
        self._ended = ended
        self._moved = moved
        self._attempts = attempts
        self._first_wait_s = first_wait_s
        self._throttled_s = throttled_s
        self._throttled_since: OrderedDict[int, float] = OrderedDict()
        self._most = most
        self._counted = counted
        self._limited = limited
        self._now_ms = clock_ms
        self._busy = 0
        self._draining = asyncio.Event()
        self._wake = asyncio.Event()

    def drain(self) -> None:
        """Send what is due now and no more; `run` returns when all of that has its receipts."""
        self._draining.set()

    def look(self) -> None:
        """Look for what is due: there may be more to send here than before."""
        self._wake.set()

    async def run(self) -> None:
        """Send until drained."""
        seen = 0
        async with asyncio.TaskGroup() as sends:
            while True:
                draining, free = self._draining.is_set(), self._most - self._busy
                try:
                    chunks = await self._due(free) if free > 0 else []
                    # With all hands full the next look is when a send has ended, however long something has been due.
                    due_ms = await self._next_due_ms() if free > 0 and not chunks else None
                except StoreBusy:
                    logger.warning("outbox unavailable", exc_info=True)
                    if draining:
                        return
                    await self._pause()
                    continue
                for chunk in chunks:
                    self._busy += 1
                    sends.create_task(self._deliver(chunk), name=f"send {chunk.turn_id}.{chunk.index}")
                if draining and not chunks and not self._busy:
                    return
                if not chunks:
                    seen = await self._rest(seen, due_ms)

    async def _due(self, limit: int) -> list[Chunk]:
        return await self._outbox.due(
            now_ms=self._now_ms(),
            limit=limit,
            not_before=self._sending.not_before,
            elsewhere=self._shares.elsewhere(),
        )

    async def _next_due_ms(self) -> int | None:
        return await self._outbox.next_due_ms(elsewhere=self._shares.elsewhere())

    async def _rest(self, seen: int, due_ms: int | None) -> int:
        """Wait until something may be due, a send has ended or the end has come; return the number of the last change."""
        change = asyncio.ensure_future(self._inbox.changed(seen))
        others = [asyncio.ensure_future(self._wake.wait())]
        if not self._draining.is_set():
            others.append(asyncio.ensure_future(self._draining.wait()))
        timeout = None if due_ms is None else max(due_ms - self._now_ms(), 1) / 1000
        try:
            await asyncio.wait([change, *others], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            self._wake.clear()
            return change.result() if change.done() else seen
        except StoreBusy:
            await self._pause()
            return seen
        finally:
            for waiter in (change, *others):
                waiter.cancel()
            await asyncio.gather(change, *others, return_exceptions=True)

    async def _deliver(self, chunk: Chunk) -> None:
        try:
            record = await self._attempt(chunk)
            while record is not None:
                try:
                    ended = await record()
                    break
                except (StoreBusy, StoreUnavailable):
                    # What happened is known and must not be forgotten: the send would be labelled unknown for nothing.
                    logger.warning("receipt not stored yet", exc_info=True, extra={"turn": chunk.turn_id})
                    await self._pause()
                    if self._draining.is_set():
                        return
            if record is not None and ended is not False:
                await self._ended(chunk.turn_id)
        finally:
            self._busy -= 1
            self._wake.set()

    async def _pause(self) -> None:
        await happens(self._draining, within_s=self._first_wait_s)

    async def _attempt(self, chunk: Chunk) -> Record | None:
        """Send the chunk, or decide not to; return how it went. None: the end has come before that could be told."""
        if self._channels.back_s(chunk.channel) is None:
            return self._dead(chunk, f"channel {chunk.channel!r} is not configured any more")
        if chunk.state == "unknown":
            return await self._looked_up(
                chunk, "the gateway stopped while this was being sent", repeatable=_edits(chunk)
            )
        try:
            receipt = await self._sending.send(chunk)
        except Down as fault:
            return self._again(chunk, str(fault), wait_s=self._first_wait_s, outcome="held", counted=False)
        except Throttled as fault:
            return self._held_back(chunk, fault)
        except Moved as fault:
            return self._follow(chunk, fault)
        except Unreachable as fault:
            return self._retried(chunk, str(fault))
        except Refused as fault:
            return self._dead(chunk, str(fault))
        except Unanswered as fault:
            return await self._looked_up(chunk, str(fault), repeatable=_edits(chunk))
        except SendFailed as fault:
            return await self._looked_up(chunk, str(fault), repeatable=False)
        return self._sent(chunk, receipt.message_id)

    async def _looked_up(self, chunk: Chunk, error: str, *, repeatable: bool) -> Record | None:
        """Find out what became of a send whose end nobody saw, as often as it would have been sent. It may still be under way,
        so each look waits first, and one that finds nothing is followed by another before it is sent again."""
        if not self._sending.can_find(chunk):
            again = repeatable and chunk.attempts < self._attempts
            return self._retried(chunk, error) if again else self._unknown(chunk, error)
        asked_to_wait_s, missing = 0.0, 0
        for attempt in range(1, max(self._attempts, LOOKS) + 1):
            if await self._stood_aside(max(retry_wait_s(attempt, first_s=self._first_wait_s), asked_to_wait_s)):
                return None  # it is still on record as being sent, so it is looked up at the next start
            asked_to_wait_s = 0.0
            try:
                receipt = await self._sending.find(chunk)
            except Throttled as fault:
                asked_to_wait_s = fault.retry_after_s
            except SendFailed:
                logger.debug("what became of a send can't be told yet", exc_info=True, extra={"turn": chunk.turn_id})
            else:
                if receipt is not None:
                    return self._sent(chunk, receipt.message_id)
                missing += 1
                if missing == LOOKS:
                    return self._retried(chunk, error)
        return self._unknown(chunk, error)

    async def _stood_aside(self, seconds: float) -> bool:
        """Wait without taking a place from a send that can go on; True when the gateway ends meanwhile."""
        self._busy -= 1
        self._wake.set()
        try:
            return await happens(self._draining, within_s=seconds)
        finally:
            self._busy += 1

    def _sent(self, chunk: Chunk, message_id: str | None) -> Record:
        self._settled(chunk, "sent")
        return lambda: self._outbox.sent(chunk, message_id=message_id, now_ms=self._now_ms())

    def _held_back(self, chunk: Chunk, fault: Throttled) -> Record:
        """The scope that asked waits, all of it and nothing else. No try is lost, but the patience has an end."""
        now, wait_s = asyncio.get_running_loop().time(), fault.retry_after_s
        scope = fault.scope or chunk.queue
        self._pacing.block(chunk.channel, scope, until=now + wait_s, now=now)
        self._limited(chunk.channel, scope, wait_s)
        logger.warning(
            "platform asks to wait", extra={"channel": chunk.channel, "scope": fault.scope, "seconds": round(wait_s, 3)}
        )
        since = self._throttled_since.setdefault(chunk.id, now)
        if len(self._throttled_since) > THROTTLED_MOST:
            self._throttled_since.popitem(last=False)
        if now + wait_s - since > self._throttled_s:
            return self._dead(chunk, f"{fault} (asked to wait for more than {self._throttled_s:g} s in all)")
        return self._again(chunk, str(fault), wait_s=wait_s, outcome="throttled", counted=False)

    def _follow(self, chunk: Chunk, fault: Moved) -> Record:
        """Put the chunk back first, so that it moves along with all that waits for the room."""
        if chunk.attempts >= self._attempts:
            return self._dead(chunk, f"{fault}; the room is {fault.new_room!r} now ({chunk.attempts} attempts)")
        put_back = self._again(chunk, str(fault), wait_s=self._first_wait_s, outcome="moved")

        back = False

        async def record() -> bool:
            nonlocal back
            if not back:
                await put_back()
                back = True  # once: it may be on its way again while the move is repeated
            try:
                await self._moved(chunk.channel, address_of(chunk).room, fault.new_room)
            except (StoreBusy, StoreUnavailable):
                raise
            except Exception:
                # The chunk meets the move again, as often as it has tries.
                logger.exception("room not moved", extra={"channel": chunk.channel, "turn": chunk.turn_id})
            return False

        return record

    def _retried(self, chunk: Chunk, error: str) -> Record:
        if chunk.attempts >= self._attempts:
            return self._dead(chunk, f"{error} ({chunk.attempts} attempts)")
        wait_s = retry_wait_s(chunk.attempts, first_s=self._first_wait_s)
        return self._again(chunk, error, wait_s=wait_s, outcome="retried")

    def _again(self, chunk: Chunk, error: str, *, wait_s: float, outcome: str, counted: bool = True) -> Record:
        self._counted(chunk.channel, outcome)
        due_ms = self._now_ms() + int(wait_s * 1000)

        async def record() -> bool:
            await self._outbox.retry(chunk, due_ms=due_ms, error=error, counted=counted)
            return False

        return record

    def _unknown(self, chunk: Chunk, error: str) -> Record:
        self._settled(chunk, "unknown")
        logger.warning("send unknown", extra={"turn": chunk.turn_id, "channel": chunk.channel, "reason": error})
        return lambda: self._outbox.unknown(chunk, error=error, now_ms=self._now_ms())

    def _dead(self, chunk: Chunk, error: str) -> Record:
        self._settled(chunk, "dead")
        logger.error("send given up", extra={"turn": chunk.turn_id, "channel": chunk.channel, "reason": error})
        return lambda: self._outbox.dead(chunk, error=error, now_ms=self._now_ms())

    def _settled(self, chunk: Chunk, outcome: str) -> None:
        self._throttled_since.pop(chunk.id, None)
        self._counted(chunk.channel, outcome)


def _edits(chunk: Chunk) -> bool:
    """Whether the chunk goes into a message that stands there: doing that twice does no harm."""
    return chunk.shown is not None
