"""What a channel's platform was asked before this instance began to send there: its budgets go on, whoever sends.

Told from the outbox. What was only shown stands nowhere; `Pacing.goes_on` allows for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

import msgspec

from adapters.base import Adapter, Address, Paced, Rate
from gateway.errors import StoreBusy
from gateway.inbox.base import Outbox, Sent
from gateway.pacing import Pacing

logger = logging.getLogger(__name__)

WITHIN_S = 60.0
"""Seconds for which platforms count."""


class Channels(Protocol):
    """The channels of the settings, by name (`gateway/live.py`)."""

    def made(self, name: str) -> Adapter | None:
        """Return a channel's adapter; None: no such channel."""
        ...


async def recall(
    channel: str, *, outbox: Outbox, channels: Channels, pacing: Pacing, clock_ms: Callable[[], int]
) -> None:
    """Let the budgets of the channel go on from what was sent within the last minute, by whomever."""
    try:
        found = await outbox.recent(channel, since_ms=clock_ms() - round(WITHIN_S * 1000))
    except StoreBusy:
        logger.warning("what was sent before can't be told", exc_info=True, extra={"channel": channel})
        return
    adapter: object = channels.made(channel)
    if not found or not isinstance(adapter, Paced):
        return
    now, now_ms = asyncio.get_running_loop().time(), clock_ms()
    calls = [
        (_rates(adapter, sent), now - (0.0 if sent.at_ms is None else max(now_ms - sent.at_ms, 0) / 1000))
        for sent in found
    ]
    pacing.goes_on(channel, calls, now=now)


def _rates(adapter: Paced, sent: Sent) -> tuple[Rate, ...]:
    try:
        address = msgspec.msgpack.decode(sent.address, type=Address)
    except msgspec.MsgspecError:
        return ()  # of somebody who was erased since
    return adapter.rates(address, "edit" if sent.edit else "send")
