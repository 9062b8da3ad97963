"""Borrowing from a pool of connections, with limits that hold when the other side is silent and the driver is patient.

For the stores and the queues, which keep pools of their own. It knows no driver.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar, cast

GRACE_S = 0.5
"""How long something that was told to stop may take to stop."""

Lent = TypeVar("Lent")


class Pool(Protocol[Lent]):
    """A pool with a time limit of its own for the wait for a free connection."""

    async def getconn(self) -> Lent:
        """Hand a connection out."""

    async def putconn(self, conn: Lent) -> None:
        """Take it back, whatever state it is in."""


@asynccontextmanager
async def lent(pool: Pool[Lent], *, limit_s: float) -> AsyncIterator[Lent]:
    """Borrow a connection for `limit_s` seconds, which begin when it is there; it goes back however that ends.

    Raises TimeoutError after that, and what the pool raises when it has none in time.
    """
    task = cast("asyncio.Task[object]", asyncio.current_task())  # what awaits is in a task
    asked = task.cancelling()
    connection = await pool.getconn()
    try:
        if task.cancelling() > asked:  # the pool loses a cancellation that meets the handing out (psycopg/psycopg#1345)
            raise asyncio.CancelledError
        async with within(limit_s):
            yield connection
    finally:
        await pool.putconn(connection)


@asynccontextmanager
async def within(limit_s: float) -> AsyncIterator[None]:
    """Raise TimeoutError after `limit_s` seconds, `GRACE_S` later at the latest.

    Told to stop, the driver asks the server to stop as well and waits for that: ten seconds, when the server is silent. Told
    again, it hangs up (psycopg/psycopg#1371).
    """
    async with asyncio.timeout(limit_s + GRACE_S), asyncio.timeout(limit_s):
        yield
