"""Tasks that run beside for as long as something is open, and end with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

logger = logging.getLogger(__name__)


@asynccontextmanager
async def beside(*work: Coroutine[None, None, None], within_s: float) -> AsyncIterator[None]:
    """Let the coroutines run beside what is done here. One that ends by a fault is told of and missed; hot state may be lost."""
    tasks = [asyncio.create_task(one, name="hot state") for one in work]
    for task in tasks:
        task.add_done_callback(_tell)
    try:
        yield
    finally:
        left = set(tasks)
        while left:
            for task in left:
                task.cancel()
            # Again, if need be: neither driver promises that a cancellation arrives (psycopg/psycopg#1345).
            _, left = await asyncio.wait(left, timeout=within_s)


def _tell(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        logger.error("hot state: a side task broke off", exc_info=fault)
