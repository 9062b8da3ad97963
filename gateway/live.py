"""What the gateway is made of at this moment: the settings, the agents and the channels that run under them.

A valid change of settings is put in place piece by piece: only an agent or channel whose own settings changed is replaced,
new before old, so that no message meets a gap; but where an account bears one connection only, old before new. A turn keeps
the agent it began with until it ends, a send the channel.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Literal, TypeVar

from adapters.base import Adapter, Intake
from config.channels.base import ChannelSettings, RoomSettings
from config.loader import Configuration
from config.settings import AgentSettings, Settings
from gateway.agent import Agent
from gateway.channels import Channel, Times
from gateway.leases import About, Leases, ProcessLeases

_LAYERED = {"rooms", *RoomSettings.model_fields}
"""What is looked up anew for every event: a change of it needs no other adapter (openclaw#70524)."""

LATE_S = 1.5
"""Seconds that a change of settings waits for channels which it adds: one whose platform gives no answer starts on its own, and
the next change is not kept waiting for it."""

READ_AT_START = ("server", "storage", "redis", "database", "queue", "embedder", "telemetry")
"""Sections whose change waits for the next start."""

ReplacedHow = Literal["added", "removed", "restarted"]
T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeAgent:
    """An agent with its kind (`auto` resolved) and its model's name, "" where no model answers."""

    agent: Agent
    settings: AgentSettings
    kind: str
    model: str


@dataclass(slots=True)
class _RunningAgent:
    made: MadeAgent
    users: int = 0
    retired: bool = False


class Live:
    """The running agents and channels. Built once; `apply` brings them to a configuration, first and later alike."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        make_agent: Callable[[str, AgentSettings], MadeAgent],
        make_adapter: Callable[[str, ChannelSettings], Adapter],
        times: Times,
        leases: Leases | None = None,
        noted: Callable[[str, str], None] = lambda channel, outcome: None,
        placed: Callable[[Configuration], Configuration] = lambda configuration: configuration,
        late_s: float = LATE_S,
    ) -> None:
        """`leases` say which channels receive here (None: this process is alone). `noted` hears
        (channel, outcome) of each start of a channel; `placed` gives settings as they count for the rooms' ids of the moment
        (`Rooms.applied`)."""
        self.configuration = configuration
        self._make_agent = make_agent
        self._make_adapter = make_adapter
        self._agents: dict[str, _RunningAgent] = {}
        self._times = times
        self._leases = leases or ProcessLeases(About(release=""), number=None, rest_s=times.rest_s, clock_ms=lambda: 0)
        self._noted = noted
        self.placed = placed
        self._late_s = late_s
        self._channels: dict[str, Channel] = {}
        self._refused: dict[str, str] = {}
        self._applied = asyncio.Event()

    @asynccontextmanager
    async def agent(self, name: str) -> AsyncIterator[MadeAgent]:
        """Lend an agent for the length of a turn. Raises KeyError when none of that name is configured."""
        running = self._agents[name]
        running.users += 1
        try:
            yield running.made
        finally:
            running.users -= 1
            if running.retired and not running.users:
                await running.made.agent.aclose()

    def agents(self) -> dict[str, MadeAgent]:
        """Return the agents by name."""
        return {name: running.made for name, running in self._agents.items()}

    def adapter(self, name: str) -> Adapter | None:
        """Return the channel's adapter; None: no such channel, or it does not run now."""
        channel = self._channels.get(name)
        return channel.adapter if channel is not None and channel.running else None

    def made(self, name: str) -> Adapter | None:
        """Return the channel's adapter, whether or not it runs, for what is pure (`chunks`, `rates`); None: no such channel."""
        channel = self._channels.get(name)
        return channel.adapter if channel is not None else None

    @contextmanager
    def lent(self, name: str) -> Iterator[Adapter | None]:
        """Lend the channel's adapter for one call: it does not end before that has. None: as for `adapter`."""
        channel = self._channels.get(name)
        if channel is None:
            yield None
            return
        with channel.lent() as adapter:
            yield adapter

    def back_s(self, name: str) -> float | None:
        """Return 0 for a channel that runs, else the seconds after which to look at it again; None: no such channel."""
        channel = self._channels.get(name)
        if channel is None:
            return None
        return 0.0 if channel.running else channel.back_s

    async def applied(self) -> None:
        """Wait until a change is in force, the next one from now on."""
        await self._applied.wait()

    async def tried(self, name: str) -> None:
        """Wait until the channel's first start has succeeded or failed; of one that is not configured there is none."""
        if (channel := self._channels.get(name)) is not None:
            await channel.tried()

    def channels(self) -> dict[str, str | None]:
        """Return every configured channel's name and why it does not run (None: it runs)."""
        return {name: channel.failure for name, channel in self._channels.items()}

    def receiving(self) -> dict[str, bool]:
        """Return the channels that only some instances receive, and whether this one does."""
        return {
            name: channel.receiving.here
            for name, channel in self._channels.items()
            if channel.adapter.capabilities.pullers
        }

    def refused(self, name: str) -> str | None:
        """Return why a channel runs on by settings that are not the newest; None: it does not."""
        return self._refused.get(name)

    async def apply(self, configuration: Configuration, *, intake: Intake, tasks: asyncio.TaskGroup) -> None:
        """Bring agents and channels to `configuration`; from then on new events are routed by it.

        What is new is made first, and what takes another's place is started where it can be beside that; then all changes in
        one moment, so that nobody meets one half of a change. The rest starts when the old ones have ended; the first time it is
        waited for until each has been tried, later for a moment.
        """
        first = not self._agents
        settings = configuration.settings
        agents = {name: self._made(name, wanted) for name, wanted in settings.agents.items()}
        channels = {name: self._channel(name, wanted) for name, wanted in settings.channels.items()}
        fresh = {name: channel for name, channel in channels.items() if self._channels.get(name) is not channel}
        late = {name: channel for name, channel in fresh.items() if self._late(name, channel)}
        early = {name: channel for name, channel in fresh.items() if name not in late}
        try:
            await _started(early, intake=intake, tasks=tasks, within_s=None)
        except BaseException:
            await _stopped(early.values())
            raise
        # Settings that don't work are worth less than those that did.
        broken = {name: channel for name, channel in early.items() if channel.failure and name in self._channels}
        channels |= {name: self._channels[name] for name in broken}
        self._refused = {name: channel.failure for name, channel in broken.items() if channel.failure is not None}
        old_agents, old_channels = self._agents, self._channels
        # Placed now: a room may have moved while channels were starting.
        self.configuration, self._agents, self._channels = self.placed(configuration), agents, channels
        applied, self._applied = self._applied, asyncio.Event()
        applied.set()
        for name in (fresh.keys() & old_channels.keys()) - broken.keys():
            logger.info("channel replaced", extra={"channel": name})
        ending = [channel for name, channel in old_channels.items() if channels.get(name) is not channel]
        await _stopped([*ending, *broken.values()])
        for name, running in old_agents.items():
            if agents.get(name) is not running:
                await self._retire(running)
        await _started(late, intake=intake, tasks=tasks, within_s=None if first else self._late_s)

    async def aclose(self) -> None:
        """End the channels and close the agents."""
        await _stopped(self._channels.values())
        for running in self._agents.values():
            await running.made.agent.aclose()

    def _made(self, name: str, settings: AgentSettings) -> _RunningAgent:
        """Return the agent as it runs, or a new one if its settings changed."""
        old = self._agents.get(name)
        if old is not None and _asked_alike(old.made.settings, settings):
            return old
        if old is not None:
            logger.info("agent replaced", extra={"agent": name})
        return _RunningAgent(self._make_agent(name, settings))

    async def _retire(self, running: _RunningAgent) -> None:
        running.retired = True
        if not running.users:
            await running.made.agent.aclose()

    def _channel(self, name: str, settings: ChannelSettings) -> Channel:
        """Return the channel as it is, or a new one, not started, if its own settings changed."""
        old = self._channels.get(name)
        if old is not None and _own(old.settings) == _own(settings):
            return old
        return Channel(name, settings, self._make_adapter, times=self._times, leases=self._leases, noted=self._noted)

    def _late(self, name: str, channel: Channel) -> bool:
        """Whether the channel starts after the change: it takes nobody's place, or must not run beside whose place it takes."""
        old = self._channels.get(name)
        return old is None or any(one.adapter.capabilities.exclusive for one in (channel, old))


async def _started(
    channels: Mapping[str, Channel], *, intake: Intake, tasks: asyncio.TaskGroup, within_s: float | None
) -> None:
    """Let the channels begin, side by side; return when each has been tried, or that time (None: any) is over."""
    for name, channel in channels.items():
        tasks.create_task(channel.run(intake), name=f"channel {name}")
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            for channel in channels.values():
                await channel.tried()


async def _stopped(channels: Iterable[Channel]) -> None:
    """Let the channels end, side by side; return when all have."""
    await asyncio.gather(*(channel.stop() for channel in channels))


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """What a change of settings adds, takes away and makes anew. All else stays as it is."""

    agents: Mapping[str, ReplacedHow]
    channels: Mapping[str, ReplacedHow]


def replaced(old: Settings, new: Settings) -> Replaced:
    """Return what `Live.apply` would do to agents and channels. Pure."""
    return Replaced(
        agents=_replaced(old.agents, new.agents, lambda one, other: one == other),
        channels=_replaced(old.channels, new.channels, lambda one, other: _own(one) == _own(other)),
    )


def _replaced(old: Mapping[str, T], new: Mapping[str, T], same: Callable[[T, T], bool]) -> dict[str, ReplacedHow]:
    found: dict[str, ReplacedHow] = {name: "removed" for name in old if name not in new}
    found |= {name: "added" for name in new if name not in old}
    found |= {name: "restarted" for name in new if name in old and not same(old[name], new[name])}
    return found


def _asked_alike(one: AgentSettings, other: AgentSettings) -> bool:
    """Whether both make the same agent; its quota is looked up anew for every message."""
    return one.model_copy(update={"quota": other.quota}) == other


def _own(settings: ChannelSettings) -> dict[str, object]:
    """Return what the adapter itself is made of."""
    return settings.model_dump(exclude=_LAYERED)
