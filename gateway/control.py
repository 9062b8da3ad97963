"""What acts at once, past the lane: stops, edits, deletions and observed talk.

The event is stored first; a crash in between leaves it accepted, and `recover` applies it then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from adapters.base import DeleteEvent, EditEvent, InboundEvent, MessageEvent
from config.loader import Configuration
from gateway.commands import parse_command
from gateway.inbox.base import Event, Inbox, Outcome
from gateway.lanes import Lanes
from gateway.people import People
from gateway.routing import UNREADABLE, Route, decode, place_of
from memory.base import AgentChange
from memory.service import Memory
from memory.turn import Incoming

logger = logging.getLogger(__name__)


class Control:
    """Applies control events. `settled` is told each event that has reached its end."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        memory: Memory,
        people: People,
        lanes: Lanes,
        configuration: Callable[[], Configuration],
        settled: Callable[[Sequence[Event], str | None], None],
    ) -> None:
        self._inbox = inbox
        self._memory = memory
        self._people = people
        self._lanes = lanes
        self._configuration = configuration
        self._settled = settled

    async def act(self, event: Event) -> None:
        """Apply one stored control event and give it its terminal state. Applying it again does no harm.

        Raises `StoreBusy` and `memory.errors.MemoryFault`: the event is not applied yet then."""
        try:
            route = decode(event.body)
        except msgspec.DecodeError:
            logger.exception("control event can't be read", extra={"turn": event.id, "channel": event.channel})
            outcome = UNREADABLE
        else:
            outcome = await self._outcome(event, route)
        await self._inbox.finish([event.id], outcome, lane=event.lane, fence=None)
        stored = await self._inbox.event(event.id)
        if stored is not None:
            self._settled([stored], None)

    async def recover(self) -> None:
        """Apply what a process that is gone has accepted and not applied."""
        for event in await self._inbox.controls():
            await self.act(event)

    async def _outcome(self, event: Event, route: Route) -> Outcome:
        match route.event:
            case MessageEvent() as message:
                command = parse_command(message.text)
                if command is not None and command.name == "stop" and route.rule != "observe":
                    return self._stop(event)
                return await self._observe(event, route, message)
            case EditEvent() as edit:
                known = await self._memory.edit(
                    route.memory_scope(), edit.message_id, text=edit.text, agent_change=self._agent_change(edit)
                )
                return _applied("edit", known=known)
            case DeleteEvent() as deletion:
                known = await self._memory.delete(
                    route.memory_scope(), deletion.message_id, agent_change=self._agent_change(deletion)
                )
                return _applied("delete", known=known)

    def _agent_change(self, event: InboundEvent) -> AgentChange:
        settings = place_of(event, self._configuration())
        return settings.agent_change if settings is not None else "fresh"

    def _stop(self, event: Event) -> Outcome:
        turn = self._lanes.running(event.lane)
        if turn is None or turn.speaker != event.speaker:
            return Outcome(state="applied", rule="nothing_to_stop")
        turn.halt("stopped", by=event.id)
        return Outcome(state="applied", rule="stop")

    async def _observe(self, event: Event, route: Route, message: MessageEvent) -> Outcome:
        configuration = self._configuration()
        settings = place_of(message, configuration)
        if settings is None:
            return Outcome(state="ignored", rule="channel_removed")
        kind = configuration.settings.channels[message.channel].kind
        said = Incoming(
            key=route.conversation_key(),
            event_id=event.id,
            text=message.text,
            speaker_name=message.sender.name,
            person_id=await self._people.person(message.sender, kind=kind),
            platform_message_id=message.message_id,
        )
        await self._memory.observe(route.memory_scope(), said, agent_change=settings.agent_change)
        return Outcome(state="observed", rule=route.rule)


def _applied(rule: str, *, known: bool) -> Outcome:
    return Outcome(state="applied", rule=rule if known else f"{rule}_unknown_message")
