"""The counting parts for tests that need them beside what they are about: on an empty file of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.base import MessageEvent
from config.loader import Configuration
from gateway.metrics import Metrics
from gateway.people import People
from gateway.usage.parts import UsageParts, usage_parts
from gateway.usage.rows import UsageRows
from memory.base import Store
from memory.ids import Ids, now_ms
from tests.contracts.admin_database import open_admin_database


@asynccontextmanager
async def counting(
    folder: Path,
    *,
    store: Store,
    configuration: Callable[[], Configuration],
    metrics: Metrics | None = None,
    taken_over: Callable[[MessageEvent], bool] = lambda message: False,
    clock_ms: Callable[[], int] = now_ms,
) -> AsyncIterator[UsageParts]:
    """Give the parts as one instance has them; what is counted stands in the folder."""
    async with open_admin_database(f"sqlite:///{folder / 'usage.db'}") as database:
        yield usage_parts(
            UsageRows(database),
            several=False,
            people=People(store),
            ids=Ids(9),
            metrics=metrics or Metrics(version="1"),
            configuration=configuration,
            taken_over=taken_over,
            clock_ms=clock_ms,
        )
