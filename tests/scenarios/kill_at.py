"""A gateway that dies by SIGKILL at one exact step: `python -m tests.scenarios.kill_at CONFIG [VERB before|after [STOP]]`.
With `SIGSTOP` behind that it stops there, and goes on from there when it is let.

The process is the real one, down to the database; only the object through which it reaches its storage counts the calls of
one verb and, at the first, kills the process before the call is made or after it has returned. Without a verb it lives until
one is named while it runs: `armed(gateway, "queues.accept", "before")`. The parts are `store`, `derived`, `persons`, `links`
and `forgetting` (the store's), and `queues`.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.loader import load
from config.settings import Settings
from gateway import logs
from gateway.app import open_storage, run
from gateway.storage import Storage
from memory.ids import Ids
from tests.scenarios.world import Gateway


@dataclass
class Aim:
    """The step at which to die; none until `verb` is named (`store.append`)."""

    verb: str = ""
    when: str = ""
    how: str = "SIGKILL"

    def met(self) -> None:
        """This is the step, and the only one."""
        self.verb = ""
        os.kill(os.getpid(), signal.Signals[self.how])


class Deadly:
    """Passes everything on to `inner`, the `part` of the storage, and kills the process where the aim says."""

    def __init__(self, inner: Any, part: str, aim: Aim) -> None:
        self._inner, self._part, self._aim = inner, part, aim

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name in ("derived", "persons", "links", "forgetting"):
            return Deadly(found, name, self._aim)
        if not inspect.iscoroutinefunction(found):
            return found

        async def deadly(*args: Any, **more: Any) -> Any:
            if (self._aim.verb, self._aim.when) == (f"{self._part}.{name}", "before"):
                self._aim.met()
            result = await found(*args, **more)
            empty = name in ("due", "claim") and not result  # a look at an empty queue is not the step that is meant
            if self._aim.verb == f"{self._part}.{name}" and not empty:
                self._aim.met()
            return result

        return deadly


def _told(config: Path) -> Path:
    return config.with_suffix(".aim")


async def armed(gateway: Gateway, verb: str, when: str, how: str = "SIGKILL") -> None:
    """Let a process that runs die, or stop, at its next such step."""
    _told(gateway.config).write_text(f"{verb} {when} {how}", "utf-8")
    seen = len(gateway.log)
    gateway.tell(signal.SIGUSR1)
    await gateway.logged("armed", after=seen)


async def main(config: Path, verb: str = "", when: str = "", how: str = "SIGKILL") -> None:
    configuration = load(config, os.environ)
    mask = logs.configure("info")
    aim = Aim(verb, when, how)

    def arm() -> None:
        aim.verb, aim.when, aim.how = _told(config).read_text("utf-8").split()
        print("armed", file=sys.stderr, flush=True)

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, arm)

    @asynccontextmanager
    async def opened(settings: Settings, *, ids: Ids) -> AsyncIterator[Storage]:
        async with open_storage(settings, ids=ids) as storage:
            store: Any = Deadly(storage.store, "store", aim)
            queues: Any = Deadly(storage.queues, "queues", aim)
            yield Storage(store=store, queues=queues, admin=storage.admin, leases=storage.leases)

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
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
