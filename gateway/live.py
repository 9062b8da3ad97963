"""What the gateway is made of at this moment: the settings, the agents and the channels that run under them.

A valid change of settings is put in place piece by piece: only an agent or channel whose own settings changed is replaced,
new before old, so that no message meets a gap. A turn keeps the agent it began with until it ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from adapters.base import Adapter, Intake
from config.channels.base import ChannelSettings, RoomSettings
from config.loader import Configuration
from config.settings import AgentSettings
from gateway.agent import Agent

_LAYERED = {"rooms", *RoomSettings.model_fields}
"""What is looked up anew for every event: a change of it needs no other adapter (openclaw#70524)."""

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


@dataclass(slots=True)
class _RunningChannel:
    settings: ChannelSettings
    adapter: Adapter
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    failure: str | None = None


class Live:
    """The running agents and channels. Built once; `apply` brings them to a configuration, first and later alike."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        make_agent: Callable[[str, AgentSettings], MadeAgent],
        make_adapter: Callable[[str, ChannelSettings], Adapter],
    ) -> None:
        self.configuration = configuration
        self._make_agent = make_agent
        self._make_adapter = make_adapter
        self._agents: dict[str, _RunningAgent] = {}
        self._channels: dict[str, _RunningChannel] = {}

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
        """Return the channel's adapter; None: no such channel, or it failed to start."""
        channel = self._channels.get(name)
        return channel.adapter if channel is not None and channel.failure is None else None

    def channels(self) -> dict[str, str | None]:
        """Return every configured channel's name and why it failed to start (None: it runs)."""
        return {name: channel.failure for name, channel in self._channels.items()}

    async def apply(self, configuration: Configuration, *, intake: Intake, tasks: asyncio.TaskGroup) -> None:
        """Bring agents and channels to `configuration`; from then on new events are routed by it.

        What is new is made and started first; then all changes in one moment, so that nobody meets one half of a change.
        """
        settings = configuration.settings
        agents = {name: self._made(name, wanted) for name, wanted in settings.agents.items()}
        channels: dict[str, _RunningChannel] = {}
        try:
            for name, wanted in settings.channels.items():
                channels[name] = await self._started(name, wanted, intake=intake, tasks=tasks)
        except BaseException:
            _stop(channels, but=self._channels)
            raise
        old_agents, old_channels = self._agents, self._channels
        self.configuration, self._agents, self._channels = configuration, agents, channels
        _stop(old_channels, but=channels)
        for name, running in old_agents.items():
            if agents.get(name) is not running:
                await self._retire(running)

    async def aclose(self) -> None:
        """Close the agents; channels end with the task group they were started in."""
        for channel in self._channels.values():
            channel.stop.set()
        for running in self._agents.values():
            await running.made.agent.aclose()

    def _made(self, name: str, settings: AgentSettings) -> _RunningAgent:
        """Return the agent as it runs, or a new one if its settings changed."""
        old = self._agents.get(name)
        if old is not None and old.made.settings == settings:
            return old
        if old is not None:
            logger.info("agent replaced", extra={"agent": name})
        return _RunningAgent(self._make_agent(name, settings))

    async def _retire(self, running: _RunningAgent) -> None:
        running.retired = True
        if not running.users:
            await running.made.agent.aclose()

    async def _started(
        self, name: str, settings: ChannelSettings, *, intake: Intake, tasks: asyncio.TaskGroup
    ) -> _RunningChannel:
        """Return the channel as it runs, or a new one, started, if its own settings changed."""
        old = self._channels.get(name)
        if old is not None and _own(old.settings) == _own(settings):
            return old
        channel = _RunningChannel(settings, self._make_adapter(name, settings))
        tasks.create_task(self._run(name, channel, intake), name=f"channel {name}")
        await channel.started.wait()
        if old is None:
            return channel
        if channel.failure is not None:
            return old  # settings that don't work are worth less than those that did
        logger.info("channel replaced", extra={"channel": name})
        return channel

    async def _run(self, name: str, channel: _RunningChannel, intake: Intake) -> None:
        """One channel's life. A channel that fails takes nothing else with it; its state says why."""
        try:
            async with channel.adapter.running(intake):
                channel.started.set()
                await channel.stop.wait()
        except Exception as exc:
            channel.failure = f"{type(exc).__name__}: {exc}"
            logger.exception("channel failed", extra={"channel": name})
        finally:
            channel.started.set()


def _stop(channels: dict[str, _RunningChannel], *, but: dict[str, _RunningChannel]) -> None:
    """Let the channels end that are not also in `but`."""
    for name, channel in channels.items():
        if but.get(name) is not channel:
            channel.stop.set()


def _own(settings: ChannelSettings) -> dict[str, object]:
    """Return what the adapter itself is made of."""
    return settings.model_dump(exclude=_LAYERED)
