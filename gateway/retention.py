"""The retention job: what has had its time goes, in small batches, and is counted (openclaw#88005: settings that did nothing)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from config.settings import RetentionSettings
from gateway.errors import StoreBusy
from gateway.inbox.base import Inbox
from gateway.metrics import Metrics
from memory.derived import Backlog, FullStore
from memory.errors import StoreUnavailable
from memory.ids import now_ms

logger = logging.getLogger(__name__)

DAY_MS = 86_400_000
BATCH = 1000
MESSAGES = 200
"""As many messages go in one step: with each go some twenty rows of the index."""
LOOK_S = 60.0
"""Seconds between two looks at the tables' sizes, and at what is to be learned."""


def kept_from_ms(days: float, *, now_ms: int) -> int:
    """Return the moment from which on something is kept that is kept for so many days, in milliseconds since 1970; of
    however many, not before that. Pure."""
    return max(0, now_ms - int(min(days, now_ms / DAY_MS) * DAY_MS))


class Retention:
    """Cleans up at the start and then every `every_s`. Messages stay, unless the settings limit their time."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        store: FullStore,
        metrics: Metrics,
        settings: Callable[[], RetentionSettings],
        expire_acts: Callable[[int], Awaitable[int]] | None = None,
    ) -> None:
        """`settings` gives those of the moment; `expire_acts` deletes entries of the audit log from before a moment (milliseconds
        since 1970), and returns how many."""
        self._expire_acts = expire_acts
        self._inbox = inbox
        self._store = store
        self._metrics = metrics
        self._settings = settings
        self._changed = asyncio.Event()
        self.problem: str | None = None
        """Why the last clean-up came to no end; None: it did, or another instance cleans up."""

    def rescheduled(self) -> None:
        """Look at `every_s` again: the settings have changed."""
        self._changed.set()

    async def run(self) -> None:
        """Clean up, and tell how big the tables are, for as long as the gateway runs."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._clean_up(), name="clean-up")
                tasks.create_task(self._watch(), name="table-sizes")
        finally:  # another instance may have the job from now on, and tell
            self.problem = None
            self._metrics.tables((), oldest_finished_ms=None, now_ms=now_ms())
            self._metrics.to_learn(Backlog(turns=0, oldest=None), now_ms=now_ms())

    async def look(self, *, now_ms: int) -> None:
        """Tell in the metrics how big the tables are, how old the queue's oldest finished row is, and how much is still to be
        learned from."""
        sizes, oldest_ms = await self._store.tables(), await self._inbox.oldest_finished_ms()
        self._metrics.tables(sizes, oldest_finished_ms=oldest_ms, now_ms=now_ms)
        self._metrics.to_learn(await self._store.derived.backlog(), now_ms=now_ms)

    async def _watch(self) -> None:
        while True:
            try:
                await self.look(now_ms=now_ms())
            except (StoreBusy, StoreUnavailable):
                logger.warning("the tables' sizes are not known", exc_info=True)
            await asyncio.sleep(LOOK_S)

    async def _clean_up(self) -> None:
        while True:
            try:
                await self.clean(now_ms=now_ms())
            except (StoreBusy, StoreUnavailable) as fault:
                self.problem = f"clean-up put off, what is old stays for now: {fault}"
                logger.warning("clean-up put off", exc_info=True)
            else:
                self.problem = None
            await self._rest()

    async def _rest(self) -> None:
        """Wait `every_s` from now on, whatever that is changed to meanwhile."""
        loop = asyncio.get_running_loop()
        since = loop.time()
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout_at(since + self._settings().every_s):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def _forget_messages(self, before_ms: int) -> int:
        gone = 0
        while rows := await self._store.purge_messages(before_ms=before_ms, limit=MESSAGES):
            gone += rows
        return gone

    async def clean(self, *, now_ms: int) -> dict[str, int]:
        """Delete all that is older than its days at `now_ms`, bytes and all; return how many rows of each kind. The bytes of what
        people deleted and had forgotten since the last time go too."""
        settings = self._settings()
        queue_ms, ledger_ms, dedupe_ms = (
            kept_from_ms(days, now_ms=now_ms)
            for days in (settings.queue_days, settings.ledger_days, settings.dedupe_days)
        )
        await self._store.make_room(now_ms=now_ms)
        deleted = {"queue": 0, "ledger": 0}
        while rows := await self._inbox.purge(before_ms=queue_ms, dedupe_before_ms=dedupe_ms, limit=BATCH):
            deleted["queue"] += rows
        while rows := await self._store.purge_ledgers(before_ms=ledger_ms, limit=BATCH):
            deleted["ledger"] += rows
        if settings.message_days is not None:
            deleted["messages"] = await self._forget_messages(kept_from_ms(settings.message_days, now_ms=now_ms))
        if settings.audit_days is not None and self._expire_acts is not None:
            deleted["audit"] = await self._expire_acts(kept_from_ms(settings.audit_days, now_ms=now_ms))
        await self._store.wipe()
        for kind, count in deleted.items():
            self._metrics.deleted(kind, count)
        if any(deleted.values()):
            logger.info("cleaned up", extra=deleted)
        return deleted
