"""Acts of a plan, done to what runs. What can't be done now (its target is away) is passed over, and said so in the log."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

import redis

from tests.chaos.cluster import Cluster
from tests.chaos.people import Way
from tests.chaos.plan import Act
from tests.chaos.proxy import MODES
from tests.services import Postgres, Valkey

FLUSH_S = 2.0


class Acting:
    """Does acts; `log` says what was done when, as a plan does, with what came of it behind `#`."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        postgres: Postgres,
        valkey: Valkey,
        ways: Mapping[str, Way],
        change: Callable[[], None],
    ) -> None:
        """`change` changes the settings file."""
        self._cluster = cluster
        self._postgres = postgres
        self._valkey = valkey
        self._ways = ways
        self._change = change
        self._began = time.monotonic()
        self._flooded: set[str] = set()
        self._database = asyncio.Lock()
        self._away = False
        self.log: list[str] = []

    async def run(self, acts: list[Act]) -> None:
        """Do each at its time; none waits for another's end."""
        self._began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            flooding = tasks.create_task(self._flood(), name="flood")
            async with asyncio.TaskGroup() as doing:
                for act in acts:
                    await asyncio.sleep(max(0.0, act.at_s - self._now()))
                    doing.create_task(self._logged(act), name=str(act))
            flooding.cancel()

    def note(self, what: str) -> None:
        """Write something for people into the log."""
        self.log.append(f"# {self._now():6.1f} {what}")
        print(self.log[-1], file=sys.stderr, flush=True)

    async def heal(self) -> None:
        """Bring back all that is away, whatever the plan has left so."""
        self._flooded.clear()
        await self._server("thaw")
        await self._server("start")
        await self._back()
        self._cluster.whole()

    def _now(self) -> float:
        return time.monotonic() - self._began

    async def _logged(self, act: Act) -> None:
        at_s = self._now()
        came = await self._do(act)
        self.log.append(f"{at_s:8.2f} {act.act} {act.target}" + (f"  # {came}" if came else ""))

    async def _do(self, act: Act) -> str | None:
        """Do one act; return what is worth to be known of it."""
        target, _, link = act.target.partition("/")
        if link or act.act in MODES:
            self._cluster.instances[int(target)].links[link].set(act.act)  # type: ignore[arg-type]
        elif target.isdigit():
            return await self._instance(act.act, int(target))
        elif target == "redis":
            return await self._server(act.act)
        elif target == "postgres":
            await {"crash": self._crash, "stop": self._gone, "start": self._back}[act.act]()
        elif act.act == "roll":
            return ", ".join([await self._restarted(number) for number in range(len(self._cluster.instances))])
        elif act.act == "change":
            self._change()
        elif act.act == "flood":
            self._flooded.add(target)
        elif act.act == "calm":
            self._flooded.discard(target)
        return None

    async def _instance(self, act: str, number: int) -> str | None:
        instance = self._cluster.instances[number]
        if act == "restart":
            return await instance.restart()
        {"kill": instance.kill, "start": instance.start, "freeze": instance.freeze, "thaw": instance.thaw}[act]()
        return None

    async def _restarted(self, number: int) -> str:
        """Restart one, and wait for it, as who rolls a release out does."""
        came = await self._cluster.instances[number].restart()
        with suppress(TimeoutError):
            async with asyncio.timeout(20):
                await self._cluster.instances[number].ready()
        return came

    async def _server(self, act: str) -> str | None:
        """Do something to Redis."""
        process = self._valkey.process
        if act == "start":
            if process is None:
                await asyncio.to_thread(self._valkey.start)
        elif process is None:
            return "away"
        elif act == "kill":
            self._valkey.stop()
        elif act == "flush":
            return await asyncio.to_thread(self._flush)
        else:
            os.kill(process.pid, signal.SIGSTOP if act == "freeze" else signal.SIGCONT)
        return None

    def _flush(self) -> str | None:
        with redis.Redis.from_url(self._valkey.url, socket_timeout=FLUSH_S, socket_connect_timeout=FLUSH_S) as client:
            try:
                client.flushall()
            except redis.RedisError as exc:
                return type(exc).__name__
        return None

    async def _crash(self) -> None:
        async with self._database:
            if not self._away:
                await asyncio.to_thread(self._postgres.stop)
                await asyncio.to_thread(self._postgres.start)

    async def _gone(self) -> None:
        async with self._database:
            if not self._away:
                self._away = True
                await asyncio.to_thread(self._postgres.stop)

    async def _back(self) -> None:
        async with self._database:
            if self._away:
                await asyncio.to_thread(self._postgres.start)
                self._away = False

    async def _flood(self) -> None:
        """Ask everybody of a flooded platform to wait, each second anew."""
        while True:
            for name, way in self._ways.items():
                if name.partition("-")[0] in self._flooded:
                    way.throttle(1)
            await asyncio.sleep(1)
