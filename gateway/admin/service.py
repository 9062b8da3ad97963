"""What an admin can ask: what a turn's prompt held and why, and what it would hold under other settings.

The command line, the chat page and the acts that look at turns use it. Rights are their business.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import yaml
from pydantic import BaseModel, ValidationError

from adapters.base import AgentView
from adapters.errors import UnknownTurn
from config.channels.base import RoomSettings
from config.loader import Configuration, from_document
from config.problems import InvalidSettings
from config.settings import AgentSettings
from config.yaml_lines import Unreadable, read_yaml
from gateway.errors import BadRequest
from gateway.inbox.base import Inbox
from gateway.intake import Intake
from gateway.live import Live
from gateway.policy import place_of_ledger, policy_of
from memory.base import Ledger
from memory.derived import FullStore
from memory.policy import Policy
from memory.replay import Explanation, Replay
from memory.service import Memory

Section = TypeVar("Section", bound=BaseModel)

REMEMBERED = 4
"""Revisions whose settings are kept as they were read, those that were read last."""


class Admin:
    """Answers questions about stored turns."""

    def __init__(self, *, memory: Memory, store: FullStore) -> None:
        self._memory = memory
        self._store = store
        self._read = OrderedDict[str, Configuration]()

    async def explain(self, turn_id: int) -> Explanation | None:
        """Return what the model saw in a turn; None: no ledger is kept of it."""
        ledger = await self._store.ledger(turn_id)
        if ledger is None:
            return None
        settings = await self._settings_of(ledger)
        return await self._memory.explain(turn_id, None if settings is None else _policy(ledger, *settings))

    async def replay(
        self, turn_id: int, changes: Sequence[str] = (), *, under: Configuration | None = None
    ) -> Replay | None:
        """Make the turn's prompt again, with `changes` (`memory.window.turns=4`, `agent.system=…`) to the settings `under` (None:
        its own, of then).

        None: no ledger is kept of it, or its message is gone. Raises `BadRequest` for a change that can't be made, and when the
        settings of then are not known any more, or its agent is not among those asked for.
        """
        ledger = await self._store.ledger(turn_id)
        if ledger is None:
            return None
        settings = await self._settings_of(ledger)
        if settings is None:
            raise BadRequest(f"turn {turn_id}: its settings (revision {ledger.revision}) are not stored any more")
        base = settings if under is None else _settings_in(under, ledger)
        was = _policy(ledger, *settings)
        # In a thread: reading a long value takes seconds, in which nobody would be heard.
        tried = _policy(ledger, *await asyncio.to_thread(changed, *base, changes))
        return await self._memory.replay(turn_id, tried, was=was)

    async def _settings_of(self, ledger: Ledger) -> tuple[AgentSettings, RoomSettings] | None:
        """Return agent and place settings as they were; None where that revision is gone or can't be read any more."""
        configuration = await self.configuration_of(ledger.revision)
        if configuration is None or ledger.agent not in configuration.settings.agents:
            return None
        rooms = [moved for moved in await self._store.moved_rooms() if moved.moved_ms <= ledger.now_ms]
        configuration = configuration.moved((moved.channel, moved.room, moved.now_room) for moved in rooms)
        return configuration.settings.agents[ledger.agent], place_of_ledger(ledger, configuration)

    async def configuration_of(self, revision: str) -> Configuration | None:
        """Return the settings of a revision, without their secrets; None where they are gone or can't be read any more."""
        if (known := self._read.get(revision)) is not None:
            return known
        document = await self._store.revision(revision)
        if document is None:
            return None
        try:
            # In a thread, and remembered: of a thousand rooms it takes most of a second, in which nobody would be heard.
            found = await asyncio.to_thread(from_document, document)
        except InvalidSettings:
            return None
        self._read[revision] = found
        while len(self._read) > REMEMBERED:
            self._read.popitem(last=False)
        return found


def _settings_in(configuration: Configuration, ledger: Ledger) -> tuple[AgentSettings, RoomSettings]:
    """Return agent and place settings of the ledger's turn in other settings. Raises `BadRequest`."""
    agent = configuration.settings.agents.get(ledger.agent)
    if agent is None:
        raise BadRequest(f"agent {ledger.agent!r} is not configured any more; replay with the settings of then")
    return agent, place_of_ledger(ledger, configuration)


def _policy(ledger: Ledger, agent: AgentSettings, room: RoomSettings) -> Policy:
    # A model of "" is an agent without one; otherwise a changed model name counts.
    model = agent.model if ledger.frame.model else ""
    frame = ledger.frame
    return policy_of(
        ledger.agent,
        agent,
        room,
        model=model,
        reports_lookups=frame.reports_lookups,
        summarised=frame.summarised and room.memory.summary.enabled,
    )


def changed(agent: AgentSettings, room: RoomSettings, changes: Sequence[str]) -> tuple[AgentSettings, RoomSettings]:
    """Return the settings with `PATH=VALUE` changes. Paths are those of the settings file: a room's (`memory.window.turns`),
    or an agent's behind `agent.`. Raises `BadRequest`."""
    for change in changes:
        path, equals, value = change.partition("=")
        if not equals:
            raise BadRequest(f"{change!r}: write PATH=VALUE, for example memory.window.turns=4")
        steps = path.strip().split(".")
        if steps == ["agent"]:
            raise BadRequest("agent: the turn was this agent's; change its settings, for example agent.system=…")
        if steps[0] == "agent":
            agent = _with(agent, steps[1:], value, path)
        else:
            room = _with(room, steps, value, path)
    return agent, room


def _with(section: Section, steps: list[str], value: str, path: str) -> Section:
    data: dict[str, Any] = section.model_dump()
    at = data
    for step in steps[:-1]:
        at = at.get(step, {})
        if not isinstance(at, dict):
            raise BadRequest(f"{path!r}: no such setting")
    if steps[-1] not in at:
        raise BadRequest(f"{path!r}: no such setting; `show` lists them")
    try:
        # It stops at a depth, where what tells numbers from words reads three thousand brackets for two seconds.
        _, flaws = read_yaml(value)
        if flaws:  # a tag most often, which could make anything of the value
            raise BadRequest(f"{path}: {value[:200]!r}: {flaws[0].problem}; {flaws[0].remedy}")
        at[steps[-1]] = yaml.safe_load(value)
        return type(section).model_validate(data)
    except (Unreadable, ValueError, yaml.YAMLError) as exc:
        reason = exc.errors(include_url=False)[0]["msg"] if isinstance(exc, ValidationError) else "not readable"
        raise BadRequest(f"{path}: {value[:200]!r}: {reason}") from exc


class Explaining:
    """Implements `adapters.base.Explains`: what a person may see of its own turns."""

    def __init__(self, *, admin: Admin, intake: Intake, inbox: Inbox, live: Live) -> None:
        self._admin = admin
        self._intake = intake
        self._inbox = inbox
        self._live = live

    async def explain(self, channel: str, turn_id: str, *, token: str) -> bytes:
        view = await self._intake.turn(channel, turn_id, token=token)
        event = await self._inbox.event(int(view.turn))
        explanation = None if event is None else await self._admin.explain(event.turn_id)
        if explanation is None:
            raise UnknownTurn(f"no ledger is kept of turn {turn_id!r}: no agent was asked, or its time is over")
        return msgspec.json.encode(explanation)

    def agents(self, channel: str) -> tuple[AgentView, ...]:
        room = self._live.configuration.effective(channel)
        agents = self._live.agents()
        names = dict.fromkeys([room.agent, *room.agents])
        return tuple(
            AgentView(name=name, kind=agents[name].kind, model=agents[name].model or None)
            for name in names
            if name in agents
        )
