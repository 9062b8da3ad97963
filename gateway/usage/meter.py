"""Counts what is spent: entries are taken at once, and written soon after, many in one transaction, off the answer path.

Bounded: what comes while the database is away for long is dropped, in sight. Calls that were dropped, or that a crash left
unwritten, are found in the ledgers of turns and counted then (`gateway/usage/catching_up.py`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import tzinfo

import msgspec

from gateway.errors import StoreBusy
from gateway.usage.counters import Counters
from gateway.usage.entries import NOBODY, Entry, Purpose
from gateway.usage.rows import Subject, UsageRows, person_subject
from gateway.usage.windows import starts
from gateway.waits import happens
from memory.ids import now_ms

logger = logging.getLogger(__name__)

GATHER_S = 0.2
"""How long entries wait for others; on several instances a part of what a hard limit may be passed by."""
RETRY_S = 1.0
REST_S = 5.0
"""How long nothing is read after that failed: not every message shall wait for a database that is away."""
MOST_WAITING = 20_000
AT_ONCE = 200
"""Entries of one transaction: others write to the same file."""
REMEMBERED = 10_000
ERASED = 1_000


class Meter:
    """One for the whole gateway. `run` writes; `note` and `drain` may be called before and after it."""

    def __init__(
        self,
        rows: UsageRows,
        *,
        fresh_s: float | None,
        zone: Callable[[], tzinfo],
        read_s: Callable[[], float],
        counted: Callable[[Entry], None] = lambda entry: None,
        dropped: Callable[[int], None] = lambda count: None,
        clock_ms: Callable[[], int] = now_ms,
        most: int = MOST_WAITING,
    ) -> None:
        """`fresh_s` as of `Counters`; `read_s`: how long a message waits for what was used up to be read; `counted` hears of each
        new entry, `dropped` of how many could not be kept."""
        self._rows = rows
        self._zone = zone
        self._read_s = read_s
        self._counted = counted
        self._dropped = dropped
        self._clock_ms = clock_ms
        self._most = most
        self.counters = Counters(fresh_s=fresh_s)
        self._counted_in = zone()
        self._waiting: list[Entry] = []
        self._noted: OrderedDict[tuple[int, Purpose], None] = OrderedDict()
        self._erased: OrderedDict[int, None] = OrderedDict()
        self._resting_until = 0.0
        self._wake = asyncio.Event()
        self._draining = asyncio.Event()
        self._writing = asyncio.Lock()  # what is read must not overlap with what is just being written

    @property
    def waiting(self) -> int:
        """How many entries are not written yet."""
        return len(self._waiting)

    def note(self, entry: Entry) -> bool:
        """Count an entry; return whether it is a new one here. Noting one again, here or after a crash, counts nothing."""
        key = (entry.id, entry.purpose)
        if key in self._noted:
            return False
        self._noted[key] = None
        if len(self._noted) > REMEMBERED:
            self._noted.popitem(last=False)
        if len(self._waiting) >= self._most:
            self._dropped(1)
            return True
        entry = _without(entry, self._erased)
        self._waiting.append(entry)
        self.counters.add(entry, self._zone())
        self._counted(entry)
        self._wake.set()
        return True

    async def ready(self, subjects: Sequence[Subject]) -> None:
        """Have at hand what these have used up. Never raises for the database: what is at hand counts then."""
        if self._zone() is not self._counted_in:  # days begin at other times now: what is at hand is of none of them
            self._counted_in = self._zone()
            self.counters.clear()
        now = time.monotonic()
        stale = self.counters.stale(subjects, now_s=now)
        if not stale or now < self._resting_until:
            return
        try:
            async with asyncio.timeout(self._read_s()), self._writing:
                await self._read(self.counters.stale(stale, now_s=time.monotonic()))
        except (StoreBusy, TimeoutError):
            self._resting_until = time.monotonic() + REST_S
            logger.warning("what was used up is not known; only what is counted here is heeded", exc_info=True)

    async def _read(self, found: Sequence[Subject]) -> None:
        at_ms, zone = self._clock_ms(), self._zone()
        for subject, read in (await self._rows.counted(found, starts(at_ms, zone))).items():
            self.counters.put(subject, read, self._waiting, at_ms=at_ms, zone=zone, now_s=time.monotonic())

    async def erase(self, person: int) -> int:
        """Take a person out of all that was counted, and of what is noted from now on; the sums stay. Return how many rows by day
        were theirs. Raises `StoreBusy`."""
        self._erased[person] = None
        if len(self._erased) > ERASED:
            self._erased.popitem(last=False)
        async with self._writing:
            self._waiting = [_without(entry, self._erased) for entry in self._waiting]
            self.counters.forget(person_subject(person))
            return await self._rows.erase(person)

    async def join(self, person: int, into: int) -> None:
        """Two persons are one now: what the first used up is the other's. Where the database is away, that stays apart."""
        try:
            async with self._writing:
                self._waiting = [
                    msgspec.structs.replace(entry, person=into) if entry.person == person else entry
                    for entry in self._waiting
                ]
                await self._rows.move(person, into=into)
                self.counters.forget(person_subject(into))
        except StoreBusy:
            logger.warning(
                "what a person used up was not joined", exc_info=True, extra={"person": person, "into": into}
            )

    async def move_room(self, channel: str, room: str, now_room: str) -> None:
        """A room has another id now: it goes on with what it used up. Where the database is away, that stays apart."""
        try:
            async with self._writing:
                await self._rows.move_room(channel, room, into=now_room)
                for name in (room, now_room):
                    self.counters.forget(Subject("room", channel, name))
        except StoreBusy:
            logger.warning("what a room used up did not move", exc_info=True, extra={"channel": channel})

    def drain(self) -> None:
        """Write what waits; `run` returns then."""
        self._draining.set()
        self._wake.set()

    async def run(self) -> None:
        """Write until drained. At the end what can't be written is left to the ledgers."""
        while True:
            if not self._waiting:
                if self._draining.is_set():
                    return
                self._wake.clear()
                await self._wake.wait()
                continue
            if len(self._waiting) < AT_ONCE:
                await happens(self._draining, within_s=GATHER_S)
            try:
                await self.write()
            except StoreBusy:
                logger.warning("what was spent is not written yet", exc_info=True, extra={"entries": self.waiting})
                if self._draining.is_set():
                    return
                await happens(self._draining, within_s=RETRY_S)
            except Exception:
                # What nobody can write must neither hold up the rest nor keep people from being answered.
                logger.exception("entries can't be written")
                self._dropped(len(self._waiting[:AT_ONCE]))
                del self._waiting[:AT_ONCE]

    async def write(self) -> None:
        """Write what waits, as much as fits into one transaction. Raises `StoreBusy`: it waits on."""
        async with self._writing:
            batch = self._waiting[:AT_ONCE]
            fresh = await self._rows.write(batch, self._zone())
            del self._waiting[: len(batch)]
            for entry in batch:
                if (entry.id, entry.purpose) not in fresh:  # by whoever had this turn, or has it now
                    self.counters.counted_before(entry, self._zone())


def _without(entry: Entry, erased: OrderedDict[int, None]) -> Entry:
    if entry.person not in erased:
        return entry
    return msgspec.structs.replace(entry, person=NOBODY)
