"""One channel's life: started within its time, started again after a fault, lent to who sends, and ended when nobody sends.

A channel that fails takes nothing else with it; its state says why, and its replies wait in the outbox meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from adapters.base import Adapter, Intake
from config.channels.base import ChannelSettings
from gateway.leases import Leases
from gateway.receiving import Receiving
from gateway.waits import LONGEST_WAIT_S, happens, retry_wait_s

logger = logging.getLogger(__name__)

STARTING, ENDING = "starting", "ending"

STARTED_ANEW_S = 1.0
"""Seconds that a start is given before who waits for the channel looks at it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The seconds a channel has to start (and to end), to let its sends finish, and to rest after its first failure."""

    start_s: float
    send_s: float
    rest_s: float


class Channel:
    """A configured channel. `run` is its life, in a task of the caller's; `stop` ends that."""

    def __init__(
        self,
        name: str,
        settings: ChannelSettings,
        make: Callable[[str, ChannelSettings], Adapter],
        *,
        times: Times,
        leases: Leases,
        noted: Callable[[str, str], None],
    ) -> None:
        """Makes the adapter, which opens nothing yet. `leases` say whether it receives here, if not all instances do. `noted`
        hears (channel, "started" or "failed") of each attempt."""
        self.settings = settings
        self.adapter = make(name, settings)
        self.failure: str | None = STARTING
        self._name = name
        self._make = make
        self._times = times
        self._noted = noted
        self.receiving = Receiving(name, leases, rest_s=times.rest_s)
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()
        self._leaving = False
        self._stopping = asyncio.Event()
        self._tried = asyncio.Event()
        self._begun = False
        self._ended = asyncio.Event()
        self._limit: asyncio.Timeout | None = None  # of a start that is under way
        self._next_try = 0.0

    @property
    def running(self) -> bool:
        """Whether it can be sent to and asked."""
        return self.failure is None and not self._leaving

    @property
    def back_s(self) -> float:
        """Seconds until it is worth while to look at it again."""
        rest_s = self._next_try - asyncio.get_running_loop().time()
        return max(rest_s, 0.0) + STARTED_ANEW_S

    @contextmanager
    def lent(self) -> Iterator[Adapter | None]:
        """Lend the adapter for a call; it does not end before that has. None: it does not run now."""
        if not self.running:
            yield None
            return
        self._users += 1
        self._unused.clear()
        try:
            yield self.adapter
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def tried(self) -> None:
        """Wait until the first start has succeeded or failed."""
        await self._tried.wait()

    async def stop(self) -> None:
        """Take nothing more, let the sends under way finish, and end; each within its time."""
        self._leaving = True
        try:
            if not await happens(self._unused, within_s=self._times.send_s):
                logger.warning("channel ends with sends under way", extra={"channel": self._name})
        finally:  # cancelled, too: else it would run on for ever
            self._stopping.set()
            if self._limit is not None:
                self._limit.reschedule(asyncio.get_running_loop().time())
        if self._begun:
            await self._ended.wait()

    async def run(self, intake: Intake) -> None:
        """Be there until stopped; start again, after a rest that doubles, whenever it fails."""
        loop, failures = asyncio.get_running_loop(), 0
        self._begun = True
        try:
            while not self._stopping.is_set():
                began = loop.time()
                try:
                    if failures:  # what the last attempt opened is gone
                        self.adapter = self._make(self._name, self.settings)
                    await self._once(intake)
                except Exception as exc:
                    self._failed(exc)
                    failures = 1 if loop.time() - began > LONGEST_WAIT_S else failures + 1
                    await self._rest(retry_wait_s(failures, first_s=self._times.rest_s))
        finally:
            self._tried.set()
            self._ended.set()

    async def _once(self, intake: Intake) -> None:
        """One stretch of running. Its beginning and its end have their time; what lies between has not."""
        loop, act = asyncio.get_running_loop(), "start"
        try:
            async with asyncio.timeout(self._times.start_s) as limit:
                self._limit = limit
                async with self.adapter.running(intake), self.receiving.running(self.adapter, intake):
                    self._limit = None
                    limit.reschedule(None)
                    self._started()
                    try:
                        await self._stopping.wait()
                    finally:
                        self.failure, act = ENDING, "end"
                        limit.reschedule(loop.time() + self._times.start_s)
        except TimeoutError as exc:
            if not limit.expired():
                raise
            raise TimeoutError(f"did not {act} within {self._times.start_s:g} s") from exc
        finally:
            self._limit = None

    def _started(self) -> None:
        self.failure = None
        self._noted(self._name, "started")
        self._tried.set()

    def _failed(self, exc: Exception) -> None:
        self.failure = _reason(exc)
        self._noted(self._name, "failed")
        if self._stopping.is_set():
            logger.warning("channel ended with a fault", exc_info=exc, extra={"channel": self._name})
        else:
            logger.error("channel failed", exc_info=exc, extra={"channel": self._name})
        self._tried.set()

    async def _rest(self, seconds: float) -> None:
        self._next_try = asyncio.get_running_loop().time() + seconds
        await happens(self._stopping, within_s=seconds)


def _reason(exc: BaseException) -> str:
    """What an admin is told. Of a group of faults the first one: it is what brought the others about."""
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    return f"{type(exc).__name__}: {exc}"
