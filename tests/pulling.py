"""A channel that runs and receives, as in a gateway that is alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.base import Adapter, Intake
from gateway.leases import About, ProcessLeases
from gateway.receiving import Receiving


class AlwaysOurs:
    """Implements `Pulling` where nobody else is."""

    def mine(self) -> bool:
        return True

    def begun(self) -> None:
        """Nobody waits for it."""

    def failed(self, times: int) -> None:
        """Nobody else could do it."""


def alone() -> ProcessLeases:
    """The leases of a gateway that is alone."""
    return ProcessLeases(About(release="test"), number=None, rest_s=0.01, clock_ms=lambda: 0)


@asynccontextmanager
async def receiving(adapter: Adapter, intake: Intake) -> AsyncIterator[None]:
    """Run the adapter and let it receive, once it does."""
    async with adapter.running(intake), Receiving("acme", alone(), rest_s=0.01).running(adapter, intake):
        yield
