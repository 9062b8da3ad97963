"""Changed settings on their way into force: everything that goes by them, in order; and what becomes of those that can't be."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from config.loader import Configuration
from config.masking import secrets_of
from config.problems import InvalidSettings
from config.settings import Settings
from gateway import logs
from gateway.errors import StoreBusy
from gateway.intake import Intake
from gateway.live import READ_AT_START, Live, MadeAgent
from gateway.metrics import Metrics
from gateway.rescoping import rules, settle
from gateway.rooms import Rooms
from memory.base import Store
from memory.errors import StoreUnavailable
from memory.ids import now_ms
from memory.service import Memory
from memory.tokens import Tokenizers, needs_o200k

logger = logging.getLogger(__name__)


class Placing:
    """Puts settings in place while everything runs."""

    def __init__(
        self,
        started_with: Settings,
        *,
        rooms: Rooms,
        mask: logs.SecretMask,
        store: Store,
        memory: Memory,
        live: Live,
        intake: Intake,
        metrics: Metrics,
        tokenizers: Tokenizers,
        rescheduled: Callable[[], None],
    ) -> None:
        """`rescheduled` is called when all is in place: who works at set times looks at the clock again."""
        self._started_with = started_with
        self._rooms = rooms
        self._mask = mask
        self._store = store
        self._memory = memory
        self._live = live
        self._intake = intake
        self._metrics = metrics
        self._tokenizers = tokenizers
        self._rescheduled = rescheduled

    async def put(self, changed: Configuration, tasks: asyncio.TaskGroup, *, first: bool = False) -> None:
        """Let everything go by these settings; channels run in `tasks`. Raises what a store raises that is away."""
        changed = self._rooms.applied(changed)
        self._mask.know(secrets_of(changed.settings))
        for section in READ_AT_START:
            if getattr(changed.settings, section) != getattr(self._started_with, section):
                logger.warning("a change waits for the next start", extra={"section": section})
        await self._store.put_revision(changed.revision, changed.document, now_ms=now_ms())
        if first or rules(changed) != rules(self._live.configuration):
            # before: what is said under the new names must find what goes on
            await settle(changed, self._memory)
        await self._live.apply(changed, intake=self._intake, tasks=tasks)
        self._metrics.settings_applied(changed.revision, now_ms=now_ms())
        self._rescheduled()
        if any(counts_by_ranks(made) for made in self._live.agents().values()):
            await self._tokenizers.warm()


async def follow_change(
    change: Configuration | InvalidSettings,
    put_in_place: Callable[[Configuration], Awaitable[None]],
    *,
    not_in_force: Callable[[str], None],
    retry_s: float,
) -> None:
    """Put changed settings in place, or say why not; what ran before runs on in that case. Waits for a store that is away:
    the file will not change a second time. `not_in_force` is told what went wrong with settings that are valid."""
    if isinstance(change, InvalidSettings):
        for problem in change.problems:
            logger.error("settings refused; the last good ones stay", extra={"problem": str(problem)})
        return
    while True:
        try:
            await put_in_place(change)
        except (StoreBusy, StoreUnavailable):
            logger.warning("changed settings wait for the store", exc_info=True)
            await asyncio.sleep(retry_s)  # nothing tells when it is back
        except Exception as exc:
            logger.exception("settings could not be put in place; the last good ones stay")
            not_in_force(f"{type(exc).__name__}: could not be put in place; the log says why")
            return
        else:
            logger.info("settings changed", extra={"revision": change.revision})
            return


def counts_by_ranks(made: MadeAgent) -> bool:
    """Whether the agent's prompts are counted with the o200k ranks, which take 0.3 s and 77 MB to load."""
    return needs_o200k(made.settings.tokenizer, made.model)
