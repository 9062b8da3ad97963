"""From an adapter's event to a stored row: route, admit, keep, and only then let the platform be acknowledged.

Also what the sender may see of its turn afterwards. Deciding is `routing`'s and `admission`'s; keeping the inbox's.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from hmac import compare_digest

import msgspec

from adapters.base import (
    TERMINAL,
    InboundEvent,
    MessageEvent,
    StreamEvent,
    TurnStatus,
    TurnView,
)
from adapters.errors import Conflict, Overloaded, UnknownTurn
from config.channels.base import RoomSettings
from config.loader import Configuration
from gateway.admission import DESK, PROBE, UNHEARD, Verdict
from gateway.admitting import Admitting, stops
from gateway.amending import subject_of, within
from gateway.errors import StoreBusy
from gateway.hot.base import Streams
from gateway.inbox.base import Event, Inbox, NewEvent, Outbox, Outcome
from gateway.notices import notice
from gateway.people import People
from gateway.routing import Route, agent_for, decode, encode, route
from gateway.talk import Talk
from gateway.traces import OFF, Traces
from gateway.usage.enforcing import Quotas
from gateway.usage.quotas import is_quota
from memory.errors import StoreUnavailable
from memory.ids import Ids, now_ms
from memory.names import Names

logger = logging.getLogger(__name__)

ID_BITS = 63

RETRY_AFTER_S = 2.0
"""What senders are told to wait while the memory store is away."""


class Intake:
    """Implements `adapters.base.Intake` over one inbox; `act` is called with every control event (which may come to its end
    later), `arrived` with every message that waits in a lane, once it is stored."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        outbox: Outbox,
        streams: Streams,
        admitting: Admitting,
        quotas: Quotas,
        talk: Talk,
        people: People,
        names: Names,
        ids: Ids,
        configuration: Callable[[], Configuration],
        act: Callable[[Event], Awaitable[None]],
        arrived: Callable[[Event], Awaitable[None]],
        ended_at_once: Callable[[str, str, str], None],
        delivered: Callable[[str, float], None],
        poll_s: float,
        traces: Traces = OFF,
    ) -> None:
        """`talk` hears every message; `configuration` gives the settings of the moment; `ended_at_once` hears (channel,
        outcome, rule) of every new event that ends as it is stored, `delivered` (channel, seconds since it was accepted) of every
        turn whose reply went out."""
        self._inbox = inbox
        self._outbox = outbox
        self._streams = streams
        self._admitting = admitting
        self._quotas = quotas
        self._talk = talk
        self._people = people
        self._names = names
        self._ids = ids
        self._configuration = configuration
        self._act = act
        self._arrived = arrived
        self._ended_at_once = ended_at_once
        self._delivered = delivered
        self._poll_s = poll_s
        self._traces = traces

    async def accept(self, event: InboundEvent, *, fingerprint: str | None = None) -> TurnView:
        try:
            return await self._accept(event, fingerprint)
        except StoreBusy as busy:
            raise Overloaded(str(busy), retry_after_s=busy.retry_after_s) from busy
        except StoreUnavailable as fault:
            raise Overloaded(str(fault), retry_after_s=RETRY_AFTER_S) from fault

    async def _accept(self, event: InboundEvent, fingerprint: str | None) -> TurnView:
        since_ns, configuration = time.time_ns(), self._configuration()
        if event.channel not in configuration.settings.channels:
            raise Overloaded(f"channel {event.channel!r} was removed while this came in", retry_after_s=1)
        settings = configuration.effective(event.channel, event.room, event.thread)
        event = within(event, settings.limits.message_chars)
        chosen = await self._people.chosen_agent(event) if settings.agents else None
        admitted, accepted_ms = await self._admitting.admit(event, settings), now_ms()
        verdict, held, told = admitted.verdict, None, False
        fresh = False  # stored now, or a sibling's row revived
        try:
            agent = agent_for(settings, chosen=chosen)
            limited = await self._quotas.admit(event, settings, agent=agent, verdict=verdict)
            verdict, held = limited.verdict, limited.held
            routed = route(
                event,
                configuration=configuration,
                chosen_agent=chosen,
                rule=verdict.rule,
                refused=verdict.refused,
                now_ms=accepted_ms,
                spoken=self._talk.language(event),
            )
            told = verdict.refused and await self._may_tell(event, verdict.rule)
            if verdict.refused and not told:
                verdict = Verdict("ignore", verdict.rule)
            new, lane = await self._new(routed, settings, verdict, fingerprint=fingerprint, now_ms=accepted_ms)
            accepted = await self._inbox.accept(new, lane=lane, dedupe_ids=event.dedupe_ids)
            fresh = accepted.verdict == "accepted"
        finally:
            if not fresh:
                await self._admitting.give_back(event, admitted)
                if held is not None:
                    self._quotas.take_back(held)
                if told:
                    await self._untold(event, verdict.rule)
        stored = accepted.event
        if fresh and held is not None:
            self._quotas.stored(held, stored.id)
        if not fresh:  # why nothing new stands in the inbox, for who looks for what was acknowledged
            told_again = {"channel": event.channel, "event_id": stored.id, "verdict": accepted.verdict}
            logger.debug("event came again", extra=told_again)
        self._traces.accepted(
            stored.id, since_ns=since_ns, first=fresh, channel=event.channel, kind=stored.kind, rule=verdict.rule
        )
        if stored.fingerprint != fingerprint:
            raise Conflict("this message id came before with another body; give a new message a new id")
        if fresh and isinstance(event, MessageEvent):
            self._talk.heard(event, stored.id)
        pending = stored.kind == "control" and stored.outcome is None
        if pending:  # new, or applying it failed when it was
            await self._act(stored)
            stored = await self._inbox.event(stored.id) or stored
        elif fresh and stored.outcome is not None:
            self._ended_at_once(event.channel, stored.outcome.state, stored.outcome.rule or verdict.rule)
        elif fresh and stored.kind == "message":
            if stored.id != new.id:
                self._streams.begin([stored.id])  # the revived sibling's has ended
            await self._arrived(stored)
        return msgspec.structs.replace(await self._view(stored), token=stored.token, duplicate=not fresh)

    async def _new(
        self, routed: Route, settings: RoomSettings, verdict: Verdict, *, fingerprint: str | None, now_ms: int
    ) -> tuple[NewEvent, str]:
        """Return the event as it is to be stored, and its lane."""
        event = routed.event
        control = verdict.action in ("observe", "apply") or stops(event)
        new = NewEvent(
            id=self._ids.next(),
            channel=event.channel,
            kind="control" if control else "message",
            speaker=event.sender.user,
            body=encode(routed),
            token=secrets.token_urlsafe(24),
            fingerprint=fingerprint,
            now_ms=now_ms,
            outcome=Outcome(state="ignored", rule=verdict.rule) if verdict.action == "ignore" else None,
            # Only of ids that are the platform's own is anything said later, or twice.
            subject=subject_of(event) if fingerprint is None else None,
            revives=UNHEARD if fingerprint is None else (),
        )
        return new, await self._lane(routed, settings, verdict)

    async def _may_tell(self, event: InboundEvent, rule: str) -> bool:
        if is_quota(rule):
            return self._quotas.may_tell(event, rule)
        return rule != "rate_limited" or await self._admitting.may_complain(event)

    async def _untold(self, event: InboundEvent, rule: str) -> None:
        """The message was known already, or could not be stored: its sender was not told of its refusal."""
        if is_quota(rule):
            self._quotas.untold(event, rule)
        elif rule == "rate_limited":
            await self._admitting.untold(event)

    async def _lane(self, routed: Route, settings: RoomSettings, verdict: Verdict) -> str:
        """Name the lane: by the stored scope, so that all names of one scope share it. What says nothing opens no scope."""
        scope = routed.memory_scope()
        if verdict.action == "ignore" or verdict.rule in (PROBE, DESK) or not isinstance(routed.event, MessageEvent):
            return str(scope)
        return str((await self._names.find(scope, agent_change=settings.agent_change)).root)

    async def turn(self, channel: str, turn_id: str, *, token: str) -> TurnView:
        event = await self._event(channel, turn_id)
        if event is None or not compare_digest(event.token.encode(), token.encode("utf-8", "replace")):
            raise UnknownTurn(f"no turn {turn_id!r} for this token")
        return await self._view(event)

    async def wait(self, channel: str, turn_id: str, *, timeout_s: float) -> TurnView:
        event = await self._event(channel, turn_id)
        if event is None:
            raise UnknownTurn(f"no turn {turn_id!r}")
        view = await self._view(event)
        if view.status in TERMINAL:
            return view
        try:
            async with asyncio.timeout(timeout_s), aclosing(self._follow(event, view, after=None)) as events:
                async for item in events:
                    if item.name in ("done", "failed"):
                        return msgspec.json.decode(item.data, type=TurnView)
        except TimeoutError:
            pass
        return await self._view(await self._inbox.event(event.id) or event)

    async def events(
        self, channel: str, turn_id: str, *, after: int | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        event = await self._event(channel, turn_id)
        if event is None:
            raise UnknownTurn(f"no turn {turn_id!r}")
        async with aclosing(self._follow(event, await self._view(event), after=after)) as events:
            async for item in events:
                yield item

    async def _follow(self, event: Event, view: TurnView, *, after: int | None) -> AsyncGenerator[StreamEvent, None]:
        yield StreamEvent(id=after or 0, name="turn", data=msgspec.json.encode(view))
        if view.status not in TERMINAL or self._streams.knows(event.id):
            async with aclosing(self._streams.follow(event.id, after=after, idle_s=self._poll_s)) as stream:
                async for item in stream:
                    if item is not None:
                        yield item
                        if item.name in ("done", "failed"):
                            return
                        continue
                    # Nothing came for a while: perhaps the turn ran elsewhere. The row tells.
                    try:
                        view = await self._view(await self._inbox.event(event.id) or event)
                    except StoreBusy:
                        continue
                    if view.status in TERMINAL:
                        break
        text = (view.reply or {}).get("text", "")
        yield StreamEvent(id=(after or 0) + 1, name="reset", data=msgspec.json.encode({"text": text}))
        name, data = closing(view)
        yield StreamEvent(id=(after or 0) + 2, name="failed" if name == "failed" else "done", data=data)

    async def ended(self, turn_id: int) -> None:
        """Tell the readers of a turn's events that it has ended, and count how long it took."""
        try:
            self.settled(await self._inbox.turn_events(turn_id), await self._outbox.reply(turn_id))
        except StoreBusy:
            logger.warning("end of a turn not told; its readers look for themselves", exc_info=True)

    def settled(self, events: Sequence[Event], text: str | None) -> None:
        """As `ended`, for events that are at hand as they ended, with their reply's text."""
        if events and events[0].state in ("answered", "failed"):
            self._delivered(events[0].channel, (now_ms() - events[0].accepted_ms) / 1000)
        for event in events:
            view = view_of(event, text)
            if view.status in TERMINAL:
                name, data = closing(view)
                self._streams.close(event.id, name=name, view=data)

    async def _event(self, channel: str, turn_id: str) -> Event | None:
        if not (turn_id.isascii() and turn_id.isdigit() and len(turn_id) <= 19):
            return None
        number = int(turn_id)
        event = await self._inbox.event(number) if number.bit_length() <= ID_BITS else None
        return event if event is not None and event.channel == channel else None

    async def _view(self, event: Event) -> TurnView:
        return view_of(event, await self._outbox.reply(event.turn_id) if event.state == "answered" else None)


def view_of(event: Event, text: str | None) -> TurnView:
    """Return what the sender may see of an event; `text` is its reply's, shown once it is answered."""
    outcome = event.outcome
    status: TurnStatus = "running" if event.state == "replied" else event.state
    failed = outcome is not None and outcome.code is not None and event.state != "replied"
    return TurnView(
        turn=str(event.id),
        status=status,
        session=event.session,
        rule=outcome.rule if outcome else None,
        reply={"text": text} if text is not None and status == "answered" else None,
        error={"code": outcome.code or "", "message": _told(event, outcome)} if outcome and failed else None,
        part_of=str(event.turn_id) if event.turn_id != event.id else None,
    )


def _told(event: Event, outcome: Outcome) -> str:
    """Return what the sender is told of a failure: our own words, never a platform's about another message or room."""
    if outcome.code != "undeliverable":
        return outcome.message or ""
    try:
        language = decode(event.body).language
    except msgspec.DecodeError:
        language = "en"
    return notice("undeliverable", language)


def closing(view: TurnView) -> tuple[str, bytes]:
    """Return the name and data of the event that ends a stream."""
    return ("failed" if view.status in ("failed", "dead") else "done"), msgspec.json.encode(view)
