"""Makes the vectors that recall by meaning needs: off the answer path, after the replies, by one instance at a time.

What is missing is found by a query in the store, so nothing is lost by a kill, and another embedder's vectors are made in the
same way: in the background, until none is missing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from gateway.metrics import Metrics
from memory.errors import ModelFailed, StoreUnavailable
from memory.meaning import Meaning

logger = logging.getLogger(__name__)

LOOK_S = 600.0
"""Seconds after which the store is asked for what others left, when nothing here tells of anything."""

MAX_WAIT_S = 600.0


class Embedding:
    """Loads the embedder and embeds what is missing, for as long as the gateway runs. `owner` is this process's name among
    those on the same store; `wait_s` the wait after a failure, which doubles each time; `lease_s` how long one batch may take
    before another instance goes on."""

    def __init__(
        self,
        meaning: Meaning,
        *,
        metrics: Metrics,
        owner: str,
        wait_s: float,
        lease_s: float,
        clock: Callable[[], int],
    ) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._meaning = meaning
        self._metrics = metrics
        self._owner = owner
        self._wait_s = wait_s
        self._lease_s = lease_s
        self._clock = clock
        self._wake = asyncio.Event()
        self._failure: str | None = None

    @property
    def problem(self) -> str | None:
        """Why recall is by words alone, or falls behind; None: it does not."""
        return self._failure

    def wake(self) -> None:
        """Look at the store: something was learned."""
        self._wake.set()

    async def run(self) -> None:
        """Work for as long as the gateway runs, then let go of the embedder."""
        failures = 0
        try:
            while True:
                self._wake.clear()
                try:
                    await self._meaning.open()
                    busy = await self._embed()
                except Exception as failed:
                    self._note(failed)
                    failures += 1
                    # Nothing tells when it is back, and each turn that is learned from would ask again.
                    await asyncio.sleep(min(self._wait_s * 2 ** min(failures, 20), MAX_WAIT_S))
                else:
                    failures, self._failure = 0, None
                    await self._wait(self._lease_s if busy else LOOK_S)
        finally:
            await self._meaning.aclose()

    async def _embed(self) -> bool:
        """Embed until nothing is missing. True: another instance is at it."""
        while True:
            done = await self._meaning.embed_some(
                owner=self._owner, now_ms=self._clock(), lease_ms=int(self._lease_s * 1000)
            )
            if done is None:
                return True
            if done == 0:
                await self._meaning.leave(owner=self._owner)
                return False
            self._metrics.learning_ended(work="vectors", outcome="done")

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _note(self, failed: Exception) -> None:
        self._metrics.learning_ended(work="vectors", outcome="put_off")
        if isinstance(failed, ModelFailed | StoreUnavailable):
            self._failure = str(failed)
            logger.warning("vectors are put off", extra={"reason": str(failed)})
        else:
            # A fault of our own must not end the gateway: words alone find most of what was said.
            self._failure = f"vectors could not be made ({type(failed).__name__}); the log tells more"
            logger.error("vectors could not be made", exc_info=failed)
