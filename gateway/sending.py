"""One call to a platform about one chunk, with its time and its budget: sending it, and finding out whether it arrived.

Says how it went by raising an `adapters.errors.SendFailed`; what follows from that is `delivery.py`'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from adapters.base import Adapter, Address, Paced, Rate, Receipt, Reconciles
from adapters.errors import SendFailed, Unknown, Unreachable
from gateway.inbox.base import Chunk
from gateway.pacing import Pacing
from gateway.senders import ALONE, Shares
from gateway.traces import OFF, Traces

logger = logging.getLogger(__name__)

LATER_S = 0.1


class Channels(Protocol):
    """The channels that run, by name (`gateway/live.py`)."""

    def made(self, name: str) -> Adapter | None:
        """Return the adapter for what is pure, whether or not the channel runs; None: no such channel."""
        ...

    def lent(self, name: str) -> AbstractContextManager[Adapter | None]:
        """Lend the adapter for one call; None: the channel does not run."""
        ...

    def back_s(self, name: str) -> float | None:
        """Return 0 for a channel that runs, else the seconds after which to look again; None: no such channel."""
        ...


class Down(Unreachable):
    """The channel does not run now."""


class Unanswered(Unknown):
    """The call was given up, or broke off: not even the adapter can tell what it had come to."""


class Sending:
    """Calls adapters for delivery."""

    def __init__(
        self,
        channels: Channels,
        pacing: Pacing,
        *,
        send_s: float,
        now_ms: Callable[[], int],
        mine: Callable[[Chunk], bool] = lambda chunk: True,
        shares: Shares = ALONE,
        traces: Traces = OFF,
    ) -> None:
        """`send_s` is the time of one call; `now_ms` the clock of the outbox; `mine` says whether a chunk of it is still ours,
        `shares` which channels are sent here, and how fast."""
        self._mine = mine
        self._shares = shares
        self._traces = traces
        self._channels = channels
        self._pacing = pacing
        self._send_s = send_s
        self._now_ms = now_ms

    def not_before(self, chunk: Chunk) -> int:
        """Return when the chunk may be sent, in the outbox's milliseconds; 0: now, and then its call is counted."""
        adapter, back_s = self._channels.made(chunk.channel), self._channels.back_s(chunk.channel)
        if adapter is None or back_s is None:
            return 0  # to be given up
        if back_s:
            self._shares.down(chunk.channel)
            return self._now_ms() + _ms(back_s)
        if chunk.channel in self._shares.elsewhere():
            return self._now_ms() + _ms(LATER_S)  # it has just become another instance's
        rates = () if chunk.state == "unknown" else self._shares.to_send(_rates(adapter, chunk))
        now = asyncio.get_running_loop().time()
        at = self._pacing.turn_at(chunk.channel, chunk.queue, rates, now=now)
        return 0 if at <= now else self._now_ms() + _ms(at - now)

    async def send(self, chunk: Chunk) -> Receipt:
        """Hand the chunk to its platform. Raises `SendFailed`; `Down` where nothing could be tried."""
        with self._traces.span(
            "send", turn=chunk.turn_id, chunk=chunk.id, channel=chunk.channel, index=chunk.index, attempt=chunk.attempts
        ):
            try:
                receipt = await self._send(chunk)
            except Down:
                raise
            except (Unreachable, Unknown):
                self._shares.unreached(chunk.channel)
                raise
            except SendFailed:
                self._shares.reached(chunk.channel)
                raise
            self._shares.reached(chunk.channel)
            return receipt

    async def _send(self, chunk: Chunk) -> Receipt:
        with self._channels.lent(chunk.channel) as adapter:
            if adapter is None:
                raise Down(f"channel {chunk.channel!r} does not run")
            if not self._mine(chunk):  # in one step with the call: another instance may be sending it
                raise Down("this instance's lease has run out, by its own clock")
            try:
                address = address_of(chunk)
                async with asyncio.timeout(self._send_s):
                    return await adapter.send(address, chunk.text, chunk_id=str(chunk.id), shown=chunk.shown)
            except TimeoutError as exc:
                raise Unanswered(f"no receipt within {self._send_s:g} s") from exc
            except SendFailed:
                raise
            except Exception as exc:
                # A fault of the adapter's own: whether the platform has the message, nobody can tell.
                logger.exception("send broke off", extra={"turn": chunk.turn_id, "channel": chunk.channel})
                raise Unanswered(f"{type(exc).__name__} while sending") from exc

    def can_find(self, chunk: Chunk) -> bool:
        """Whether the channel's platform can tell what became of a send."""
        adapter = self._channels.made(chunk.channel)
        return adapter is not None and isinstance(adapter, Reconciles)

    async def find(self, chunk: Chunk) -> Receipt | None:
        """Return the chunk's receipt if its platform has it, None if it surely has not. Raises `SendFailed` when that can't
        be told now."""
        with self._channels.lent(chunk.channel) as adapter:
            if adapter is None or not isinstance(adapter, Reconciles):
                raise Down(f"channel {chunk.channel!r} does not run")
            try:
                async with asyncio.timeout(self._send_s):
                    return await adapter.find(address_of(chunk), chunk_id=str(chunk.id))
            except TimeoutError as exc:
                raise Unreachable(f"no answer within {self._send_s:g} s") from exc
            except SendFailed:
                raise
            except Exception as exc:
                logger.exception("look-up broke off", extra={"turn": chunk.turn_id, "channel": chunk.channel})
                raise Unreachable(f"{type(exc).__name__} while looking the chunk up") from exc


def address_of(chunk: Chunk) -> Address:
    """Return where the chunk goes; what is answered is quoted by the first of a reply's only. Raises `msgspec.DecodeError`."""
    address = msgspec.msgpack.decode(chunk.address, type=Address)
    return msgspec.structs.replace(address, quoted=None) if chunk.index and address.quoted is not None else address


def _rates(adapter: Adapter, chunk: Chunk) -> tuple[Rate, ...]:
    if not isinstance(adapter, Paced):
        return ()
    try:
        return adapter.rates(address_of(chunk), "send" if chunk.shown is None else "edit")
    except Exception:
        # Its send says what is wrong with it, and is settled; here it would keep all chunks from being sent.
        logger.exception("limits can't be told", extra={"channel": chunk.channel, "turn": chunk.turn_id})
        return ()


def _ms(seconds: float) -> int:
    return int(seconds * 1000) + 1
