"""A gateway that dies by SIGKILL at one exact step: `python -m tests.scenarios.kill_at CONFIG VERB before|after`.

The process is the real one, down to the database; only the object through which it reaches its storage counts the calls of
one verb and, at the first, kills the process before the call is made or after it has returned.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from config.loader import load
from config.settings import Settings
from gateway import logs
from gateway.app import Storage, open_storage, run
from memory.ids import Ids


class Deadly:
    """Passes everything on to `inner`, and kills the process at `verb`."""

    def __init__(self, inner: Any, verb: str, when: str) -> None:
        self._inner, self._verb, self._when = inner, verb, when

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name != self._verb:
            return found

        async def deadly(*args: Any, **more: Any) -> Any:
            if self._when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = await found(*args, **more)
            if result or name not in ("due", "claim"):  # an empty look at the queue is not the step that is meant
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return deadly


async def main(config: Path, verb: str, when: str) -> None:
    configuration = load(config, os.environ)
    mask = logs.configure("info")

    @asynccontextmanager
    async def opened(settings: Settings, *, ids: Ids) -> AsyncIterator[Storage]:
        part, _, name = verb.partition(".")
        async with open_storage(settings, ids=ids) as storage:
            store = Deadly(storage.store, name, when) if part == "store" else storage.store
            queues = Deadly(storage.queues, name, when) if part == "queues" else storage.queues
            yield Storage(store=store, queues=queues)

    await run(
        configuration,
        path=config,
        environ=os.environ,
        stop=asyncio.Event(),
        announce=lambda line: print(line, flush=True),
        mask=mask,
        opened=opened,
    )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
