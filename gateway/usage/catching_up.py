"""What must be done for the counts now and then: find calls that a crash left uncounted, and delete what has had its time.

A call is noted as it ends and written a moment later; its turn's ledger keeps it, too. So whatever instance looks next finds it
there, whichever of them died.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from config.settings import PriceSettings, Settings
from gateway.errors import StoreBusy
from gateway.retention import kept_from_ms
from gateway.usage.entries import Entry, call
from gateway.usage.meter import Meter
from gateway.usage.rows import UsageRows
from gateway.usage.spending import cause_of_ledger, reported
from gateway.usage.windows import Starts, starts, zone
from memory.base import Ledger, Store
from memory.errors import StoreUnavailable

logger = logging.getLogger(__name__)

REACH_MS = 900_000
"""How long before the last look a ledger may have been made and not finished: longer than a turn takes with all its retries."""
SETTLED_MS = 5_000
"""What is younger is left to the instance that has it."""
PAGE = 200
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
KEPT_MS = (HOUR_MS, 3 * DAY_MS, 70 * DAY_MS)
"""How long counts of a minute, a day and a month are kept: no quota looks at one that is over, and there are ever new ones."""


class CatchingUp:
    """Works at the start and then as often as the other clean-ups."""

    def __init__(
        self,
        rows: UsageRows,
        *,
        store: Store,
        meter: Meter,
        settings: Callable[[], Settings],
        clock_ms: Callable[[], int],
        deleted: Callable[[int], None] = lambda rows: None,
    ) -> None:
        """`deleted` hears how many rows had had their time."""
        self._deleted = deleted
        self._rows = rows
        self._store = store
        self._meter = meter
        self._settings = settings
        self._clock_ms = clock_ms
        self._since_ms: int | None = None

    async def run(self) -> None:
        """Work for as long as the gateway runs."""
        while True:
            try:
                found = await self.catch_up()
                if found:
                    logger.info("calls counted that a crash had left", extra={"calls": found})
                self._deleted(await self.clean())
            except (StoreBusy, StoreUnavailable):
                logger.warning("counts are not caught up with", exc_info=True)
            except Exception:  # a ledger of another release, perhaps; people are answered all the same
                logger.exception("counts can't be caught up with")
            await asyncio.sleep(self._settings().retention.every_s)

    async def catch_up(self) -> int:
        """Note the calls of ledgers that were never counted; return how many. Where nothing was ever counted there is nothing to
        catch up with: what was before is not made up afterwards."""
        now = self._clock_ms()
        since = self._since_ms if self._since_ms is not None else await self._rows.last_ms()
        found = 0
        if since is not None:
            after = (since - REACH_MS, 0)
            while page := await self._store.ledgers(after=after, limit=PAGE):
                after = page[-1][0]
                found += await self._count([one for (made, _), one in page if one and made < now - SETTLED_MS])
        self._since_ms = now
        return found

    async def _count(self, ledgers: Sequence[Ledger]) -> int:
        prices = self._settings().prices
        entries = [entry for ledger in ledgers for entry in entries_of(ledger, prices)]
        known = await self._rows.known([entry.id for entry in entries])
        # What waits here to be written is not noted again: it has the same id.
        return sum(self._meter.note(entry) for entry in entries if entry.id not in known)

    async def clean(self) -> int:
        """Delete what is older than its days; return how many rows."""
        now, settings = self._clock_ms(), self._settings()
        days_before = (
            datetime.fromtimestamp(kept_from_ms(settings.usage.days, now_ms=now) / 1000, UTC).date().isoformat()
        )
        where = zone(settings.usage.time_zone)
        minute, day, month = (starts(now - kept, where) for kept in KEPT_MS)
        return await self._rows.purge(
            entries_before_ms=kept_from_ms(settings.retention.ledger_days, now_ms=now),
            counts_before=Starts(minute.minute, day.day, month.month),
            days_before=days_before,
        )


def entries_of(ledger: Ledger, prices: PriceSettings) -> list[Entry]:
    """Return the entries of a turn's calls as they were noted when they ended, as far as services told of them. Pure.

    They have the ids that they were noted by, so whoever finds them, and whenever, they count once.
    """
    return [
        call(
            one.id,
            "answer",
            turn_id=ledger.turn_id,
            cause=cause_of_ledger(ledger),
            agent=one.agent,
            model=one.model,
            tokens=tokens,
            failed=bool(one.code),
            at_ms=ledger.now_ms,
            prices=prices,
        )
        for one in ledger.calls
        if one.id and (tokens := reported(one)) is not None
    ]
