"""Letting a channel that fetches its events, or is told them over a connection, do so on as few instances as its platform bears.

The rest of the channel runs on every instance: it sends, looks up names, answers requests.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.base import Adapter, Intake, Pulls
from adapters.errors import AdapterFault
from gateway.leases import Held, Leases
from gateway.waits import LONGEST_WAIT_S

logger = logging.getLogger(__name__)

MOST_FAILURES = 3
"""Failures in a row after which another instance, if there is one, may do better: it is this machine's way that is broken. Twice
as many with each time that this did not help, up to `MOST_DOUBLINGS`: it is the platform then, and whoever receives tries on."""

MOST_DOUBLINGS = 3


class _HandedOn(Exception):
    """The platform can't be reached from here."""


class Receiving:
    """One channel's receiving on this instance. Implements `adapters.base.Pulling`."""

    def __init__(self, channel: str, leases: Leases, *, rest_s: float) -> None:
        """`rest_s` is how long others may try first, once it has failed here."""
        self._channel = channel
        self._leases = leases
        self._rest_s = rest_s
        self._held: Held | None = None
        self._handed_on = 0
        self._known = asyncio.Event()  # who receives
        self.here = False
        """Whether this instance receives the channel's events."""

    @asynccontextmanager
    async def running(self, adapter: Adapter, intake: Intake) -> AsyncIterator[None]:
        """Receive, or stand by, for the length of the block, which begins when it is known who does. The channel's faults come
        out as they are."""
        if not isinstance(adapter, Pulls) or not adapter.capabilities.pullers:
            yield
            return
        self._known.clear()
        try:
            async with asyncio.TaskGroup() as tasks:
                receiving = tasks.create_task(self._hold(adapter, intake), name=f"receiving {self._channel}")
                try:
                    await self._known.wait()
                    yield
                finally:
                    receiving.cancel()
        except* AdapterFault as faults:
            reason = str(faults.exceptions[0])
        else:
            return
        raise AdapterFault(reason)

    async def _hold(self, adapter: Pulls, intake: Intake) -> None:
        async def pull(held: Held) -> None:
            self._held = held
            try:
                await adapter.pull(intake, self)
            finally:
                self._held, self.here = None, False

        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await self._leases.hold(
                    f"channel:{self._channel}", pull, slots=adapter.capabilities.pullers, elsewhere=self._known.set
                )
            except _HandedOn:
                self._handed_on = 1 if loop.time() - began > LONGEST_WAIT_S else self._handed_on + 1
                logger.warning("receiving is handed on", extra={"channel": self._channel})
                await asyncio.sleep(self._rest_s)

    # --- what the channel says and asks while it pulls

    def mine(self) -> bool:
        return self._held is not None and self._held.valid()

    def begun(self) -> None:
        self.here = True
        self._known.set()

    def failed(self, times: int) -> None:
        if times >= MOST_FAILURES << min(self._handed_on, MOST_DOUBLINGS) and self._leases.live > 1:
            raise _HandedOn
