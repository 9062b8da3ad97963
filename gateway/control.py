"""What acts at once, past the lane: stops, edits, deletions, observed talk, rooms that move, and the bot's comings and goings.

The event is stored first; a crash in between leaves it accepted, and `recover` applies it then. An edit finds its message
waiting (whoever begins it will see the edit: `amending.py`), in memory, or between the two: begun and not yet remembered. Then
the edit waits too, until memory has the message or its turn is over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from adapters.base import DeleteEvent, EditEvent, InboundEvent, MessageEvent, MoveEvent, PresenceEvent
from config.loader import Configuration
from gateway.amending import DELETED, amended
from gateway.commands import parse_command
from gateway.errors import StoreBusy
from gateway.inbox.base import Event, Inbox, Outcome
from gateway.lanes import Lanes
from gateway.naming import Naming
from gateway.people import People
from gateway.presence import Presence
from gateway.routing import UNREADABLE, Route, decode, place_of
from memory.base import AgentChange
from memory.errors import StoreUnavailable
from memory.service import Memory
from memory.turn import Incoming

logger = logging.getLogger(__name__)

STOPPED = Outcome(state="ignored", rule="stopped")
STOP_REACH = 1000
"""Messages of a lane that `/stop` looks through for its speaker's."""

MOST_LATER = 1000
"""Edits that wait for a turn; more are taken for edits of messages nobody knows."""


class Control:
    """Applies control events. `settled` is told each event that has reached its end, `ended` (channel, outcome, rule) of each
    message that is ended before it began."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        memory: Memory,
        people: People,
        naming: Naming,
        lanes: Lanes,
        configuration: Callable[[], Configuration],
        presence: Presence,
        moved: Callable[[str, str, str], Awaitable[None]],
        settled: Callable[[Sequence[Event], str | None], None],
        ended: Callable[[str, str, str], None],
        retry_s: float,
    ) -> None:
        """`moved` carries a room over to another id: (channel, former, present). A store that is away is asked again after
        `retry_s`."""
        self._inbox = inbox
        self._memory = memory
        self._people = people
        self._naming = naming
        self._lanes = lanes
        self._configuration = configuration
        self._presence = presence
        self._moved = moved
        self._settled = settled
        self._ended = ended
        self._retry_s = retry_s
        self._later: dict[int, Event] = {}
        self._wake = asyncio.Event()

    async def act(self, event: Event) -> None:
        """Apply one stored control event and give it its terminal state; or keep it for `run`, where its message is between
        inbox and memory. Applying it again does no harm.

        Raises `StoreBusy` and `memory.errors.MemoryFault`: the event is not applied yet then."""
        outcome: Outcome | None
        try:
            route = decode(event.body)
        except msgspec.DecodeError:
            logger.exception("control event can't be read", extra={"turn": event.id, "channel": event.channel})
            outcome = UNREADABLE
        else:
            outcome = await self._outcome(event, route)
        if outcome is None:
            self._later[event.id] = event
            self._wake.set()
            return
        self._later.pop(event.id, None)
        await self._inbox.finish([event.id], outcome, lane=event.lane, fence=None)
        stored = await self._inbox.event(event.id)
        if stored is not None:
            self._settled([stored], None)

    async def recover(self) -> None:
        """Apply what a process that is gone has accepted and not applied."""
        for event in await self._inbox.controls():
            await self.act(event)

    async def run(self) -> None:
        """Apply what had to wait, as turns go on, for as long as the gateway runs. What is left at its end, `recover` of the
        next one finds."""
        seen = 0
        while True:
            if not self._later:
                self._wake.clear()
                await self._wake.wait()
            try:
                seen = await self._inbox.changed(seen)
                for event in list(self._later.values()):
                    await self.act(event)
            except (StoreBusy, StoreUnavailable):
                logger.warning("edits wait for the store", exc_info=True)
                await asyncio.sleep(self._retry_s)  # nothing tells when it is back

    async def _outcome(self, event: Event, route: Route) -> Outcome | None:
        match route.event:
            case MessageEvent() as message:
                command = parse_command(message.text)
                if command is not None and command.name == "stop" and route.rule != "observe":
                    return await self._stop(event)
                return await self._observe(event, route, message)
            case EditEvent() as edit:
                return await self._edit(event, route, edit)
            case DeleteEvent() as deletion:
                return await self._delete(event, route, deletion)
            case MoveEvent() as move:
                await self._moved(move.channel, move.room, move.new_room)
                return _applied("move", known=True)
            case PresenceEvent() as presence:
                return await self._came_or_went(presence, route)

    async def _came_or_went(self, event: PresenceEvent, route: Route) -> Outcome:
        settings = place_of(event, self._configuration())
        if settings is None:
            return Outcome(state="ignored", rule="channel_removed")
        if event.present:
            await self._presence.joined(event, route, settings)
        else:
            await self._presence.left(event)
        return _applied(route.rule, known=True)

    async def _edit(self, event: Event, route: Route, edit: EditEvent) -> Outcome | None:
        edit = await self._naming.edited(edit)
        pending = await self._pending(event)
        known = await self._memory.edit(
            route.memory_scope(),
            edit.message_id,
            by=route.conversation_key(),
            text=edit.text,
            agent_change=self._agent_change(edit),
        )
        begun = any(message.state == "running" for message in pending)
        return self._amendment(event, "edit", known=known, begun=begun, waiting=bool(pending))

    async def _delete(self, event: Event, route: Route, deletion: DeleteEvent) -> Outcome | None:
        pending = await self._pending(event)
        gone = await self._withdraw(pending, DELETED)
        for message in pending:
            if message.id not in gone:
                self._lanes.withdrawn(message)
        known = await self._memory.delete(
            route.memory_scope(),
            deletion.message_id,
            by=route.conversation_key(),
            agent_change=self._agent_change(deletion),
        )
        return self._amendment(event, "delete", known=known, begun=len(gone) < len(pending), waiting=bool(pending))

    def _amendment(self, event: Event, rule: str, *, known: bool, begun: bool, waiting: bool) -> Outcome | None:
        """Return how an edit or deletion ends; None: it waits, as its message has begun and memory does not know it yet."""
        met_before = event.id in self._later
        if begun and not known and (met_before or len(self._later) < MOST_LATER):
            return None
        return _applied(rule, known=known or waiting or met_before)

    async def _pending(self, event: Event) -> list[Event]:
        return await self._inbox.pending(event.subject) if event.subject is not None else []

    async def _withdraw(self, messages: Sequence[Event], outcome: Outcome) -> set[int]:
        """End those of the messages that have not begun, in sight; return which."""
        ended: set[int] = set()
        for lane in sorted({message.lane for message in messages}):
            ids = [message.id for message in messages if message.lane == lane]
            ended.update(await self._inbox.withdraw(ids, outcome, lane=lane))
        for message in messages:
            if message.id in ended:
                self._settled([msgspec.structs.replace(message, state=outcome.state, outcome=outcome)], None)
                self._ended(message.channel, outcome.state, outcome.rule or "")
        return ended

    def _agent_change(self, event: InboundEvent) -> AgentChange:
        settings = place_of(event, self._configuration())
        return settings.agent_change if settings is not None else "fresh"

    async def _stop(self, event: Event) -> Outcome:
        """`/stop` is meant for all that its speaker had said before it: what runs, and what waits, behind whomever."""
        said = await self._inbox.waiting(event.lane, limit=STOP_REACH)
        meant = [message for message in said if message.speaker == event.speaker and message.id < event.id]
        stopped = await self._withdraw([message for message in meant if message.state == "accepted"], STOPPED)
        turn = self._lanes.running(event.lane)
        if turn is not None and any(
            message.speaker == event.speaker and message.id < event.id for message in turn.events
        ):
            turn.halt("stopped")
        elif not stopped:
            return Outcome(state="applied", rule="nothing_to_stop")
        return Outcome(state="applied", rule="stop")

    async def _observe(self, event: Event, route: Route, message: MessageEvent) -> Outcome:
        configuration = self._configuration()
        settings = place_of(message, configuration)
        if settings is None:
            return Outcome(state="ignored", rule="channel_removed")
        kind = configuration.settings.channels[message.channel].kind
        about = await self._inbox.amendments([event.subject]) if event.subject is not None else []
        now = amended(route, about)
        if now is None or not isinstance(now.event, MessageEvent):
            return DELETED
        message = await self._naming.named(now.event)
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
