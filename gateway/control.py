"""What acts at once, past the lane: stops, edits, deletions, observed talk, rooms that move, and the bot's comings and goings.

The event is stored first; a crash in between leaves it accepted, and `recover` applies it then. So the platform's
acknowledgement need not wait for what takes long: names that are looked up. An edit finds its message
waiting (whoever begins it will see the edit: `amending.py`), in memory, or between the two: begun and not yet remembered. Then
the edit waits too, until memory has the message or its turn is over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from weakref import WeakValueDictionary

import msgspec

from adapters.base import DeleteEvent, EditEvent, MessageEvent, MoveEvent, PresenceEvent
from config.loader import Configuration
from gateway.admission import DESK
from gateway.amending import DELETED, amended, emptied, last_edit, places_of
from gateway.commands import parse_command
from gateway.errors import StoreBusy
from gateway.human_lane import by_human
from gateway.inbox.base import Event, Inbox, Outcome
from gateway.lanes import Lanes
from gateway.naming import Naming
from gateway.notices import notice
from gateway.people import People
from gateway.presence import Presence
from gateway.routing import UNREADABLE, Route, decode, place_of
from memory.errors import StoreUnavailable
from memory.ids import now_ms
from memory.service import Memory
from memory.turn import Incoming

logger = logging.getLogger(__name__)

STOPPED = Outcome(state="ignored", rule="stopped")
ACK_S = 0.5
"""What an acknowledgement waits for, at most; platforms give it three seconds."""

STOP_REACH = 1000
"""Messages of a lane that `/stop` looks through for its speaker's."""

MOST_LATER = 1000
"""Edits that wait for a turn; more are taken for edits of messages nobody knows."""

FORGOTTEN_LOOKS = 2
"""Looks after which an event of ours that nobody here knows of is one whose accepting broke off: the database's word that it is
stored never came, and its platform does not repeat it."""


class Control:
    """Applies control events. `settled` is told each event that has reached its end, `ended` (channel, outcome, rule) likewise,
    and of each message that is ended before it began."""

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
        desk_said: Callable[[Event, MessageEvent], Awaitable[None]],
        settled: Callable[[Sequence[Event], str | None], None],
        ended: Callable[[str, str, str], None],
        retry_s: float,
        look_s: float,
    ) -> None:
        """`moved` carries a room over to another id: (channel, former, present); `desk_said` acts on what staff write about a
        take-over. A store that is away is asked again after
        `retry_s`; `look_s` is the time between two looks for what instances left that are gone."""
        self._inbox = inbox
        self._memory = memory
        self._people = people
        self._naming = naming
        self._lanes = lanes
        self._configuration = configuration
        self._presence = presence
        self._moved = moved
        self._desk_said = desk_said
        self._settled = settled
        self._ended = ended
        self._retry_s = retry_s
        self._look_s = look_s
        self._later: dict[int, Event] = {}
        self._acting: set[int] = set()
        self._met: set[int] = set()  # of these: whose message had begun
        self._desks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._wake = asyncio.Event()
        self._runs = False
        self._behind: set[asyncio.Task[None]] = set()  # owned by `run`

    async def take(self, event: Event) -> None:
        """Apply one stored control event, as `act` does. What takes longer than `ACK_S` goes on when this has returned."""
        if not self._runs or len(self._behind) >= MOST_LATER:
            await self.act(event)
            return
        task = asyncio.create_task(self.act(event), name=f"control {event.id}")
        self._behind.add(task)
        task.add_done_callback(self._acted)
        await asyncio.wait({task}, timeout=ACK_S)
        if task.done():
            task.result()

    def _acted(self, task: asyncio.Task[None]) -> None:
        self._behind.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            logger.warning("not applied yet", exc_info=fault, extra={"task": task.get_name()})

    async def act(self, event: Event) -> None:
        """Apply one stored control event and give it its terminal state; or keep it for `run`, where its message is between
        inbox and memory. Applying it again does no harm.

        Raises `StoreBusy` and `memory.errors.StoreUnavailable`: the event is kept for `run` then, too."""
        self._acting.add(event.id)
        try:
            outcome = await self._apply(event)
            if outcome is None:
                self._met.add(event.id)
                self._keep(event)
                return
            await self._inbox.finish([event.id], outcome, lane=event.lane, fence=None)
            stored = await self._inbox.event(event.id)
        except (StoreBusy, StoreUnavailable):
            self._keep(event)
            raise
        finally:
            self._acting.discard(event.id)
        self._later.pop(event.id, None)
        self._met.discard(event.id)
        self._ended(event.channel, outcome.state, outcome.rule or outcome.code or "")
        if stored is not None:
            self._settled([stored], None)

    async def recover(self) -> None:
        """Apply what processes that are gone have accepted and not applied, and what was stored here unknown to us. Raises
        `StoreBusy`."""
        forgotten_ms = now_ms() - int(FORGOTTEN_LOOKS * self._look_s * 1000)
        for event in await self._inbox.controls(before_ms=forgotten_ms):
            if event.id in self._acting or event.id in self._later:
                continue
            try:
                await self.act(event)
            except (StoreBusy, StoreUnavailable):
                logger.warning("not applied yet", exc_info=True, extra={"turn": event.id, "channel": event.channel})

    async def follow(self) -> None:
        """Recover now and then, for ever: other instances go while this one runs."""
        while True:
            await asyncio.sleep(self._look_s)
            try:
                await self.recover()
            except StoreBusy:
                logger.warning("what others left not looked up", exc_info=True)

    async def run(self) -> None:
        """Apply what had to wait, as turns go on, for as long as the gateway runs. What is left at its end, `recover` of the
        next one finds."""
        self._runs = True
        try:
            await self._apply_later()
        finally:
            self._runs = False
            for task in self._behind:
                task.cancel()
            await asyncio.gather(*self._behind, return_exceptions=True)

    async def _apply_later(self) -> None:
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

    def _keep(self, event: Event) -> None:
        if len(self._later) < MOST_LATER:
            self._later[event.id] = event
            self._wake.set()

    async def _apply(self, event: Event) -> Outcome | None:
        """Apply the event. One that can't be applied ends in sight: it must keep neither the others nor the next start."""
        extra = {"turn": event.id, "channel": event.channel}
        try:
            return await self._outcome(event, decode(event.body))
        except (StoreBusy, StoreUnavailable):
            raise
        except msgspec.DecodeError:
            logger.exception("control event can't be read", extra=extra)
            return UNREADABLE
        except Exception as exc:
            logger.exception("control event can't be applied", extra=extra)
            text = notice("not_applied", "en")
            return Outcome(state="dead", code="not_applied", message=text, reason=type(exc).__name__)

    async def _outcome(self, event: Event, route: Route) -> Outcome | None:
        match route.event:
            case MessageEvent() as message if route.rule == DESK:
                # In the order in which it came, whoever's name takes long: it is said to the person in that order.
                async with self._desks.setdefault((message.channel, message.room), asyncio.Lock()):
                    await self._desk_said(event, await self._naming.named(message))
                return _applied(DESK, known=True)
            case MessageEvent() as message:
                command = parse_command(message.text)
                if command is not None and command.name == "stop" and route.rule != "observe":
                    return await self._stop(event)
                return await self._observe(event, route, message)
            case EditEvent() as edit if not emptied(edit):
                return await self._edit(event, route, edit)
            case EditEvent() | DeleteEvent() as gone:
                return await self._delete(event, route, gone)
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
        pending = await self._pending(event)
        known = await self._mend(event, route, edit)
        begun = any(message.state == "running" for message in pending)
        return self._amendment(event, "edit", known=known, begun=begun, waiting=bool(pending))

    async def _mend(self, event: Event, route: Route, edit: EditEvent) -> bool:
        """Give the message its last edit's text; whether memory knows it. `edit` may have waited, or its names may have: the
        last one stored counts, and is looked for again when the text is written, as another may write at the same time."""
        known, written, last = False, None, await self._last_edit(event) or edit
        while last != written:
            written, named = last, await self._naming.edited(last)
            known = False
            for scope, key in places_of(route):
                known = known or await self._memory.edit(scope, edit.message_id, by=key, text=named.text)
            last = await self._last_edit(event) or edit
        return known

    async def _last_edit(self, event: Event) -> EditEvent | None:
        return last_edit(await self._about(event))

    async def _about(self, event: Event) -> list[Event]:
        """Return what was said of the event's message so far."""
        return await self._inbox.amendments([event.subject]) if event.subject is not None else []

    async def _delete(self, event: Event, route: Route, said: DeleteEvent | EditEvent) -> Outcome | None:
        """Take the message out of what waits and of memory: it was deleted, or edited to no words."""
        pending = await self._pending(event)
        gone = await self._withdraw(pending, DELETED)
        # Before its turn ends: the one behind it loads what is there then.
        known = await taken_out(self._memory, route, said.message_id)
        await self._lanes.halt({message.id for message in pending} - gone, "withdrawn")
        known = known or await taken_out(self._memory, route, said.message_id)
        rule = "delete" if isinstance(said, DeleteEvent) else "edit"
        return self._amendment(event, rule, known=known, begun=len(gone) < len(pending), waiting=bool(pending))

    def _amendment(self, event: Event, rule: str, *, known: bool, begun: bool, waiting: bool) -> Outcome | None:
        """Return how an edit or deletion ends; None: it waits, as its message has begun and memory does not know it yet."""
        met_before = event.id in self._met
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

    async def _stop(self, event: Event) -> Outcome:
        """`/stop` is meant for all that its speaker had said before it: what runs, and what waits, behind whomever."""
        said = await self._inbox.waiting(event.lane, limit=STOP_REACH)
        mine = [message for message in said if message.speaker == event.speaker and message.id < event.id]
        meant = [message for message in mine if not by_human(message)]
        stopped = await self._withdraw([message for message in meant if message.state == "accepted"], STOPPED)
        halted = await self._lanes.halt({message.id for message in meant} - stopped, "stopped")
        if not halted and not stopped:
            return Outcome(state="applied", rule="nothing_to_stop")
        return Outcome(state="applied", rule="stop")

    async def _observe(self, event: Event, route: Route, message: MessageEvent) -> Outcome:
        configuration = self._configuration()
        settings = place_of(message, configuration)
        if settings is None:
            return Outcome(state="ignored", rule="channel_removed")
        kind = configuration.settings.channels[message.channel].kind
        message = await self._naming.named(message)
        said = Incoming(
            key=route.conversation_key(),
            event_id=event.id,
            text=message.text,
            speaker_name=message.sender.name,
            person_id=await self._people.person(message.sender, kind=kind),
            platform_message_id=message.message_id,
        )
        await self._memory.observe(route.memory_scope(), said, agent_change=settings.agent_change)
        # Looked for once it is stored: what is said of it later finds it there.
        about = await self._about(event)
        if amended(route, about) is None:
            await self._memory.delete(route.memory_scope(), message.message_id, by=route.conversation_key())
            return DELETED
        if (edit := last_edit(about)) is not None:
            await self._mend(event, route, edit)
        return Outcome(state="observed", rule=route.rule)


async def taken_out(memory: Memory, route: Route, message_id: str) -> bool:
    """Take a message that is gone out of memory; whether it was there. Repeating it changes nothing."""
    for scope, key in places_of(route):
        if await memory.delete(scope, message_id, by=key):
            return True
    return False


def _applied(rule: str, *, known: bool) -> Outcome:
    return Outcome(state="applied", rule=rule if known else f"{rule}_unknown_message")
