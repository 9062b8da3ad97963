"""Long polling: updates fetched, stored, and only then confirmed.

Not the SDK's poller (platform-facts 2.4). Telegram keeps what is not confirmed for a day and gives it again, so no offset is
kept here: what comes a second time is known by its ids.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from adapters.base import Pulling
from adapters.errors import AdapterFault, Overloaded, SendFailed, Throttled, Unreachable
from adapters.telegram.reading import Fields
from adapters.telegram.receiving import NotTaken

logger = logging.getLogger(__name__)

_FIRST_WAIT_S = 0.5


class Contested(Unreachable):
    """Another poller of the same bot came in between: of an instance that is late, or a stranger's."""


class Poller:
    """Takes updates for as long as `run` runs. `pulling` says whether it may. `fetch` gets what comes from an
    offset on (None: all that is unconfirmed), oldest first, and confirms what lies below; `take` stores one: see
    `Receiver.take`."""

    def __init__(
        self,
        *,
        fetch: Callable[[int | None], Awaitable[Sequence[Fields]]],
        take: Callable[[Fields], Awaitable[None]],
        pulling: Pulling,
        reconnect_s: float,
        name: str,
    ) -> None:
        self._fetch = fetch
        self._take = take
        self._pulling = pulling
        self._reconnect_s = reconnect_s
        self._name = name
        self._offset: int | None = None
        self.problem: str | None = None
        """Why no updates come in now; None: they do."""

    async def run(self) -> None:
        """Poll until cancelled, or until another one is to."""
        failures = unreached = 0
        while self._pulling.mine():
            try:
                await self._round()
                failures, unreached, self.problem = 0, 0, None
            except Exception as exc:
                failures += 1
                unreached = unreached + 1 if _not_reached(exc) else 0
                self._note(exc)
                if unreached:
                    self._pulling.failed(unreached)
                asked_s = exc.retry_after_s if isinstance(exc, Overloaded | Throttled) else 0.0
                growing_s = min(_FIRST_WAIT_S * 2 ** min(failures - 1, 20), self._reconnect_s)
                await asyncio.sleep(max(growing_s, asked_s))

    async def _round(self) -> None:
        confirmed = self._offset
        updates = await self._fetch(confirmed)
        if not updates:
            # All that was is confirmed. After a quiet week the numbers begin anew somewhere, also below this offset, which
            # would then confirm what nobody has seen.
            self._offset = None
        held: NotTaken | None = None
        for update in updates:
            number = update.get("update_id")
            try:
                await self._take(update)
            except NotTaken as failed:
                if not failed.held and held is None:
                    raise
                # Those behind it tell whether it is this update or all of them; until then none of them is confirmed.
                held = held or failed
            if isinstance(number, int) and held is None:
                self._offset = number + 1
        if held is not None:
            raise held
        if updates and self._offset == confirmed:  # they would come again at once, and for ever
            raise AdapterFault("updates without a number come in: look at api_url")

    def _note(self, exc: Exception) -> None:
        if isinstance(exc, AdapterFault):
            self.problem = str(exc)
            logger.warning("no updates", extra={"channel": self._name, "reason": self.problem})
        else:
            self.problem = f"{type(exc).__name__}"
            logger.warning("no updates", exc_info=exc, extra={"channel": self._name})


def _not_reached(exc: Exception) -> bool:
    """Whether it may be this machine's way to the platform. A 409 and a 429 are answers, and what is not stored is ours."""
    return isinstance(exc, SendFailed) and not isinstance(exc, Contested | Throttled)
