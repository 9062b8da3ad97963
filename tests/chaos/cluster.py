"""Several real gateways on one settings file, each behind proxies of its own to all that it talks to; and a front before them.

An instance that was killed is started again when the plan says so; one that ends by itself is started again at once, as an
operator's service manager would, and that it ended is kept, as a fault.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from tests.chaos.proxy import Proxy
from tests.forks import warm
from tests.scenarios.world import Gateway, environ

AGAIN_S = 0.5
END_S = 40.0

Upstream = tuple[str, int]


class Instance:
    """One gateway, its links by name, and what became of its processes."""

    def __init__(self, number: int, config: Path, links: Mapping[str, Proxy], urls: Mapping[str, str]) -> None:
        """`urls` holds what the settings file asks the environment for; `{port}` is that link's."""
        self.number = number
        self.links = links
        self.log: list[str] = []
        self.faults: list[str] = []
        self._config = config
        self._environ = environ(**{name.upper(): url.format(port=links[name].port) for name, url in urls.items()})
        self._wanted = asyncio.Event()
        self._ready = asyncio.Event()
        self._meant = False
        self._gateway: Gateway | None = None
        self._frozen = False

    @property
    def port(self) -> int | None:
        """Where it listens; None: it is not there."""
        ready = self._ready.is_set() and self._gateway is not None
        return int(self._gateway.url.rpartition(":")[2]) if ready and self._gateway else None

    async def run(self) -> None:
        """Keep a process running as long as one is wanted; cancelled at the end."""
        while True:
            await self._wanted.wait()
            self._meant = False
            self._gateway = gateway = Gateway(self._config, self._environ)
            gateway.log = self.log
            try:
                await gateway.start()
            except (AssertionError, TimeoutError):  # the database is away, or it was killed in between
                await gateway.kill()
                await asyncio.sleep(AGAIN_S)
                continue
            self._ready.set()
            code = await gateway.over()
            self._ready.clear()
            if not self._meant:
                last = [line for line in self.log[-40:] if '"error"' in line or '"critical"' in line][-3:]
                self.faults.append(f"instance {self.number} ended by itself with {code}: {last}")
                await asyncio.sleep(AGAIN_S)

    async def ready(self) -> None:
        """Wait until it answers."""
        await self._ready.wait()

    def start(self) -> None:
        self._wanted.set()

    def kill(self) -> None:
        """SIGKILL; it stays away until `start`."""
        self._wanted.clear()
        self._signal(signal.SIGKILL, meant=True)
        self._frozen = False

    def freeze(self) -> None:
        self._frozen = True
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._frozen = False
        self._signal(signal.SIGCONT)

    async def restart(self) -> str:
        """Let it end in good order and start again; what came of that. One that is frozen is left alone."""
        if self._frozen or not self._ready.is_set() or self._gateway is None:
            return "not running"
        gateway = self._gateway
        self._signal(signal.SIGTERM, meant=True)
        try:
            async with asyncio.timeout(END_S):
                code = await gateway.over()
        except TimeoutError:
            self._signal(signal.SIGKILL, meant=True)
            return f"killed after {END_S:g} s"
        return f"ended with {code}"

    async def end(self) -> None:
        """End it for good."""
        self._wanted.clear()
        self.thaw()
        if self._gateway is not None:
            self._meant = True
            with suppress(AssertionError, ProcessLookupError):
                await self._gateway.end()

    def _signal(self, how: signal.Signals, *, meant: bool = False) -> None:
        self._meant = self._meant or meant
        if self._gateway is not None and self._gateway.alive:
            with suppress(ProcessLookupError):
                os.kill(self._gateway.pid, how)


class Cluster:
    """All instances, and the front's port."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        self.instances = instances
        self._next = itertools.count()
        self.front = Proxy(self._round)

    @property
    def url(self) -> str:
        """Where platforms and programs find whoever is there."""
        return f"http://127.0.0.1:{self.front.port}"

    def _round(self) -> list[Upstream]:
        """The instances that are there, another one first each time."""
        ports = [instance.port for instance in self.instances]
        first = next(self._next) % len(ports)
        return [("127.0.0.1", port) for port in (*ports[first:], *ports[:first]) if port is not None]

    def whole(self) -> None:
        """Let every link pass, and every instance run."""
        for instance in self.instances:
            for link in instance.links.values():
                link.set("pass")
            instance.thaw()
            instance.start()

    async def ready(self) -> None:
        for instance in self.instances:
            await instance.ready()


@asynccontextmanager
async def cluster(
    config: Path, count: int, *, upstreams: Sequence[Mapping[str, Upstream]], urls: Mapping[str, str]
) -> AsyncIterator[Cluster]:
    """Run them. `upstreams` are what each instance's links lead to; `urls` by the link's name what it is told: `{port}` is
    its proxy's."""
    async with AsyncExitStack() as stack:
        instances = []
        for number in range(count):
            links = {name: Proxy(lambda to=to: [to]) for name, to in upstreams[number].items()}
            for link in links.values():
                await stack.enter_async_context(link.running())
            instances.append(Instance(number, config, links, urls))
        made = Cluster(instances)
        await stack.enter_async_context(made.front.running())
        running = [asyncio.create_task(one.run(), name=f"instance {one.number}") for one in instances]
        try:
            await warm()
            made.whole()
            yield made
        finally:
            for link in (link for one in instances for link in one.links.values()):
                link.set("pass")
            await asyncio.gather(*(one.end() for one in instances))
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
