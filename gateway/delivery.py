"""Replies on their way out: from the durable outbox to the platform, chunk by chunk, each with its receipt.

The only owner of send retries. Serial per room and thread (the outbox hands out heads of queues only), side by side across
them. An attempt is on record before the send; one whose end nobody saw is *unknown*, not failed, and is not repeated.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from adapters.base import Adapter, Address, Receipt
from adapters.errors import Refused, SendFailed, Throttled, Unknown, Unreachable
from gateway.errors import StoreBusy
from gateway.inbox.base import Chunk, Inbox, Outbox
from memory.ids import now_ms

logger = logging.getLogger(__name__)

LONGEST_WAIT_S = 300.0


def retry_wait_s(attempt: int, *, first_s: float) -> float:
    """Return the seconds to wait after the given failed attempt (1 for the first): doubling, at most five minutes.

    With `first_s` 1: 1, 2, 4, 8, ... 256, 300, 300.
    """
    return min(first_s * 2.0 ** min(attempt - 1, 30), LONGEST_WAIT_S)


class Delivery:
    """Sends what is due, for as long as the gateway runs."""

    def __init__(
        self,
        outbox: Outbox,
        inbox: Inbox,
        adapter: Callable[[str], Adapter | None],
        ended: Callable[[int], Awaitable[None]],
        *,
        send_s: float,
        attempts: int,
        first_wait_s: float,
        most: int = 100,
        counted: Callable[[str, str], None] = lambda channel, outcome: None,
    ) -> None:
        """`adapter` finds a channel by name (None: no longer configured); `ended` is told each turn that has reached its
        end; `counted` hears (channel, outcome) of every send. At most `most` sends at once."""
        self._outbox = outbox
        self._inbox = inbox
        self._adapter = adapter
        self._ended = ended
        self._send_s = send_s
        self._attempts = attempts
        self._first_wait_s = first_wait_s
        self._most = most
        self._counted = counted
        self._sending = 0
        self._draining = asyncio.Event()
        self._wake = asyncio.Event()

    def drain(self) -> None:
        """Send what is due now and no more; `run` returns when all of that has its receipts."""
        self._draining.set()

    async def run(self) -> None:
        """Send until drained."""
        seen = 0
        async with asyncio.TaskGroup() as sends:
            while True:
                draining, free = self._draining.is_set(), self._most - self._sending
                try:
                    chunks = await self._outbox.due(now_ms=now_ms(), limit=free) if free else []
                    # With all hands full the next look is when a send has ended, however long something has been due.
                    due_ms = await self._outbox.next_due_ms() if free and not chunks else None
                except StoreBusy:
                    logger.warning("outbox unavailable", exc_info=True)
                    if draining:
                        return
                    await self._pause()
                    continue
                for chunk in chunks:
                    self._sending += 1
                    sends.create_task(self._deliver(chunk), name=f"send {chunk.turn_id}.{chunk.index}")
                if draining and not chunks and not self._sending:
                    return
                if not chunks:
                    seen = await self._rest(seen, due_ms)

    async def _rest(self, seen: int, due_ms: int | None) -> int:
        """Wait until something may be due, a send has ended or the end has come; return the number of the last change."""
        change = asyncio.ensure_future(self._inbox.changed(seen))
        others = [asyncio.ensure_future(self._wake.wait())]
        if not self._draining.is_set():
            others.append(asyncio.ensure_future(self._draining.wait()))
        timeout = None if due_ms is None else max(due_ms - now_ms(), 1) / 1000
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
            while True:
                try:
                    ended = await record()
                    break
                except StoreBusy:
                    # What happened is known and must not be forgotten: the send would be labelled unknown for nothing.
                    logger.warning("receipt not stored yet", exc_info=True, extra={"turn": chunk.turn_id})
                    await self._pause()
                    if self._draining.is_set():
                        return
            if ended is not False:
                await self._ended(chunk.turn_id)
        finally:
            self._sending -= 1
            self._wake.set()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self._first_wait_s):
                await self._draining.wait()
        except TimeoutError:
            return

    async def _attempt(self, chunk: Chunk) -> Callable[[], Awaitable[bool | None]]:
        """Send the chunk, or decide not to; return the write that records how it went. False from it: the turn goes on."""
        adapter = self._adapter(chunk.channel)
        if adapter is None:
            return self._dead(chunk, f"channel {chunk.channel!r} is not configured any more")
        if chunk.state == "unknown":
            return self._unknown(chunk, "the gateway stopped while this was being sent")
        try:
            receipt = await self._send(adapter, chunk)
        except Throttled as fault:
            return self._again(chunk, str(fault), wait_s=fault.retry_after_s, outcome="throttled")
        except Unreachable as fault:
            if chunk.attempts >= self._attempts:
                return self._dead(chunk, f"{fault} ({chunk.attempts} attempts)")
            wait_s = retry_wait_s(chunk.attempts, first_s=self._first_wait_s)
            return self._again(chunk, str(fault), wait_s=wait_s, outcome="retried")
        except Refused as fault:
            return self._dead(chunk, str(fault))
        except SendFailed as fault:
            return self._unknown(chunk, str(fault))
        self._counted(chunk.channel, "sent")
        return lambda: self._outbox.sent(chunk, message_id=receipt.message_id, now_ms=now_ms())

    async def _send(self, adapter: Adapter, chunk: Chunk) -> Receipt:
        address = msgspec.msgpack.decode(chunk.address, type=Address)
        try:
            async with asyncio.timeout(self._send_s):
                return await adapter.send(address, chunk.text, chunk_id=str(chunk.id))
        except TimeoutError as exc:
            raise Unknown(f"no receipt within {self._send_s:g} s") from exc
        except SendFailed:
            raise
        except Exception as exc:
            # A fault of the adapter's own: whether the platform has the message, nobody can tell.
            logger.exception("send broke off", extra={"turn": chunk.turn_id, "channel": chunk.channel})
            raise Unknown(f"{type(exc).__name__} while sending") from exc

    def _again(self, chunk: Chunk, error: str, *, wait_s: float, outcome: str) -> Callable[[], Awaitable[bool]]:
        self._counted(chunk.channel, outcome)
        due_ms = now_ms() + int(wait_s * 1000)

        async def record() -> bool:
            await self._outbox.retry(chunk, due_ms=due_ms, error=error)
            return False

        return record

    def _unknown(self, chunk: Chunk, error: str) -> Callable[[], Awaitable[bool]]:
        self._counted(chunk.channel, "unknown")
        logger.warning("send unknown", extra={"turn": chunk.turn_id, "channel": chunk.channel, "reason": error})
        return lambda: self._outbox.unknown(chunk, error=error, now_ms=now_ms())

    def _dead(self, chunk: Chunk, error: str) -> Callable[[], Awaitable[None]]:
        self._counted(chunk.channel, "dead")
        logger.error("send given up", extra={"turn": chunk.turn_id, "channel": chunk.channel, "reason": error})
        return lambda: self._outbox.dead(chunk, error=error, now_ms=now_ms())
