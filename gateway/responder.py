"""THE STORY of a turn: append what was said, load what is worth knowing, ask the agent, hand the reply to the outbox.

Called by the lanes, one turn of a scope at a time. Every step can be repeated after a crash: an append is known by its turn,
a stored reply is delivered without asking again, a reply in the outbox ends the turn.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import msgspec

from adapters.base import Address, Quote
from config.channels.base import RoomSettings
from gateway import logs
from gateway.admission import PROBE
from gateway.amending import DELETED, amended
from gateway.asking import Asking, Draft
from gateway.by_hand import AnsweringByHand
from gateway.commands import personal
from gateway.control import taken_out
from gateway.errors import AgentFault
from gateway.hot.base import Streams
from gateway.human_turns import Before, HumanTurns
from gateway.inbox.base import Event, Inbox, Outbox, Outcome, Reply
from gateway.inbox.dead import by_hand
from gateway.incoming import caller_of, incoming, message_of
from gateway.lanes import Running
from gateway.live import Live
from gateway.metrics import Metrics
from gateway.naming import Naming
from gateway.notices import NOTICES, notice
from gateway.outgoing import Outgoing, chunks_of, failure, left_by, refusal, whispered
from gateway.people import People, vouched
from gateway.presence import Presence
from gateway.probing import pong
from gateway.replies import Commands
from gateway.rooms import target_of
from gateway.routing import UNREADABLE, Human, Route, decode, place_of
from gateway.showing import Showing, Shown
from gateway.talk import Talk
from gateway.traces import OFF, Traces
from gateway.usage.enforcing import Quotas
from gateway.usage.quotas import is_quota
from gateway.usage.spending import Spending
from gateway.wishes import command_in
from memory.errors import PersonErased, ScopeMoved, UnknownScope
from memory.ids import now_ms
from memory.service import Memory
from memory.turn import TurnRequest

logger = logging.getLogger(__name__)

NEW_SESSION = "new"
"""Asked for, no session has this id: so the append opens one, and repeating the append after a crash opens no other."""

QUOTED_CHARS = 300
"""Of the message that is answered; a platform shows less."""


class Responder:
    """Answers turns; one for all lanes. `current` says where an address is now, `settled` is told the events that have
    reached their end, and their reply's text."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        outbox: Outbox,
        memory: Memory,
        people: People,
        asking: Asking,
        commands: Commands,
        human_turns: HumanTurns,
        by_hand: AnsweringByHand,
        live: Live,
        naming: Naming,
        presence: Presence,
        talk: Talk,
        showing: Showing,
        streams: Streams,
        metrics: Metrics,
        quotas: Quotas,
        spending: Spending,
        current: Callable[[Address], Address],
        settled: Callable[[Sequence[Event], str | None], None],
        traces: Traces = OFF,
    ) -> None:
        self._inbox = inbox
        self._outbox = outbox
        self._memory = memory
        self._people = people
        self._asking = asking
        self._commands = commands
        self._human_turns = human_turns
        self._by_hand = by_hand
        self._live = live
        self._naming = naming
        self._presence = presence
        self._talk = talk
        self._showing = showing
        self._streams = streams
        self._metrics = metrics
        self._quotas = quotas
        self._spending = spending
        self._current = current
        self._settled = settled
        self._traces = traces

    async def respond(self, turn: Running) -> None:
        """Bring a turn to its reply in the outbox. Raises to have it tried again; returns without a reply when its speaker
        interrupted it."""
        try:
            routes = [decode(event.body) for event in turn.events]
        except msgspec.DecodeError:
            logger.exception("message can't be read", extra={"turn": turn.turn_id})
            await self._end(turn, turn.events, UNREADABLE)
            return
        channel, agent, joined = routes[0].event.channel, routes[0].agent, [event.id for event in turn.events]
        span = self._traces.span(
            "turn", turn=turn.turn_id, joined=joined, channel=channel, agent=agent, attempt=turn.attempts
        )
        with logs.about(turn=turn.turn_id, channel=channel, agent=agent), span as told:
            await self._respond(turn, routes)
            told.note(ended_early=turn.reason)

    async def _respond(self, turn: Running, routes: list[Route]) -> None:
        ids = [event.id for event in turn.events]
        started = await self._inbox.start(ids, turn_id=turn.turn_id, lane=turn.claim.lane, fence=turn.claim.fence)
        if len(started) < len(ids):
            turn.reason = "interrupted"  # one of them was withdrawn since it was read: this start was none
            return
        routes = await self._as_amended(turn, routes)
        if not routes:
            return
        ids = [event.id for event in turn.events]
        if turn.tries > self._most_tries(turn):
            # Not even the notice could be stored: end it without, or it would come back for ever.
            text = notice("gave_up", routes[0].language)
            await self._end(turn, turn.events, Outcome(state="dead", code="gave_up", message=text))
            return
        self._streams.begin(ids)
        try:
            await self._carry_out(turn, routes)
        finally:
            self._streams.left(ids)

    async def _carry_out(self, turn: Running, routes: list[Route]) -> None:
        ids = [event.id for event in turn.events]
        address = await self._addressed(turn, routes[0], self._current(routes[0].address))
        await self._presence.answering(routes[0], address, self._room(routes[0]))
        queue, moved = target_of(address).queue, address.room != routes[0].address.room
        async with self._showing.turn(turn, address, queue=queue, moved=moved) as shown:
            outgoing = await self._outgoing(turn, routes, shown)
            if outgoing is None:
                return
            adapter = self._live.made(address.channel)
            chunks = await chunks_of(adapter, outgoing.text)
            message_id, current = await shown.end(), self._current(address)
            standing = message_id if current is address else None  # else it stays behind in the old room
            # What stands there already was shown before whoever has spoken since: it needs no quote to be understood.
            quoting = current if standing is not None else await self._addressed(turn, routes[0], current)
            target = target_of(whispered(quoting, outgoing, said=message_of(routes[0]), adapter=adapter))
            reply = Reply(
                event_ids=ids,
                turn_id=turn.turn_id,
                channel=address.channel,
                queue=target.queue,
                address=target.address,
                text=outgoing.text,
                chunks=chunks,
                failed=outgoing.failed,
                session=outgoing.session,
                lane=turn.claim.lane,
                fence=turn.claim.fence,
                now_ms=now_ms(),
                shown=standing,
            )
            with self._traces.span("store", chunks=len(chunks)):
                stands = await self._outbox.put(reply)
            if stands:
                await shown.clear()
        if not stands:
            await self._ended_otherwise(turn)
            return
        if reply.state != "replied":
            self._settled([left_by(event, reply) for event in turn.events], reply.text)
        self._note(turn, routes[0], outgoing)

    async def _ended_otherwise(self, turn: Running) -> None:
        """Tell who reads along how the turn has ended meanwhile: by an erasure, most often, on whatever instance."""
        events = [await self._inbox.event(event.id) for event in turn.events]
        self._settled([event for event in events if event is not None], await self._outbox.reply(turn.turn_id))

    async def _addressed(self, turn: Running, head: Route, address: Address) -> Address:
        """Return the address with the message that is answered, where others have spoken since."""
        said = message_of(head)
        if head.human is not None or address.reply_to is None or said.chat_type == "private":
            return address  # what a human says is nothing that the person wrote
        if address.quoted is not None or not self._talk.others_since(said, turn.events[0].id):
            return address
        named = await self._naming.named(said)
        text = " ".join(named.text.split())
        quoted = Quote(name=named.sender.name or named.sender.account, text=text[:QUOTED_CHARS])
        return msgspec.structs.replace(address, quoted=quoted)

    async def _as_amended(self, turn: Running, routes: list[Route]) -> list[Route]:
        """Return the routes as edits have left them since they were stored. A message that was deleted ends and leaves the
        turn. Asked once the turn has begun: an edit that comes later finds it running, and goes to memory."""
        subjects = [event.subject for event in turn.events if event.subject is not None]
        about = await self._inbox.amendments(subjects) if subjects else []
        if not about:
            return routes
        pairs = [
            (event, amended(route, [said for said in about if said.subject == event.subject]))
            for event, route in zip(turn.events, routes, strict=True)
        ]
        gone = [(event, said) for (event, route), said in zip(pairs, routes, strict=True) if route is None]
        for _, said in gone:
            # An earlier start may have remembered it, and its deletion not have come that far: the next turn must not find it.
            await taken_out(self._memory, said, message_of(said).message_id)
        if gone:
            await self._end(turn, [event for event, _ in gone], DELETED)
        turn.events = tuple(event for event, route in pairs if route is not None)
        return [route for _, route in pairs if route is not None]

    async def _outgoing(self, turn: Running, routes: list[Route], shown: Shown) -> Outgoing | None:
        """Decide what the turn needs: a notice, a command's answer or the agent's. None: it begins again."""
        head, room = routes[0], self._room(routes[0])
        if turn.tries >= self._most_tries(turn):
            return failure("gave_up", notice("gave_up", head.language), state="dead")
        if head.event.channel not in self._live.configuration.settings.channels:
            return failure("channel_removed", notice("channel_removed", head.language), state="dead")
        if (words := by_hand(turn.events[0])) is not None:
            return await self._by_human(turn, head, room, partial(self._by_hand.answer, turn, routes, room, words))
        if head.human is not None:
            return await self._by_human(turn, head, room, partial(self._said, turn, head, head.human, room))
        if head.refused:
            return self._used_up(head, head.rule) if is_quota(head.rule) else refusal(head, room)
        if head.agent not in self._live.agents():
            return failure("agent_missing", notice("agent_missing", head.language, agent=head.agent))
        if head.rule == PROBE:
            return await self._probed(turn, head)
        if await self._moved(turn, head, room):
            return None
        command = command_in(message_of(head).text) if len(routes) == 1 else None
        if command is None or command.name == "human":
            return await self._answer(turn, routes, shown)
        if command.name == "new" and command.argument and vouched(head.event.sender):
            return await self._answer(turn, routes, shown, said=command.argument)
        again_ms = turn.events[0].accepted_ms if turn.attempts else None
        text = await self._commands.answer(command, head, room, turn_id=turn.turn_id, again_ms=again_ms)
        return Outgoing(text, personal=personal(command))

    def _most_tries(self, turn: Running) -> int:
        """Return how often the turn may begin: once more where an admin took it up again, as that counts as its first try."""
        return self._live.configuration.settings.queue.attempts + (turn.events[0].outcome is not None)

    async def _by_human(
        self, turn: Running, head: Route, room: RoomSettings, outgoing: Callable[[], Awaitable[Outgoing]]
    ) -> Outgoing | None:
        """What a human says in the agent's stead, or what is told of them. None as for `_answer`."""
        if await self._moved(turn, head, room):
            return None
        try:
            return await outgoing()
        except ScopeMoved:
            await self._moved(turn, head, room)
        except (PersonErased, UnknownScope):
            self._people.forget()
            self._memory.names.forget()
        return None

    async def _said(self, turn: Running, head: Route, human: Human, room: RoomSettings) -> Outgoing:
        kind = self._live.configuration.settings.channels[head.event.channel].kind
        person = await self._people.person(head.event.sender, kind=kind)
        return await self._human_turns.outgoing(turn, head, human, room, person_id=person)

    async def _probed(self, turn: Running, head: Route) -> Outgoing:
        kind = self._live.configuration.settings.channels[head.event.channel].kind
        caller = caller_of(head, kind=kind, person=None)
        spent = partial(self._spending.probed, turn_id=turn.turn_id, caller=caller, agent=head.agent)
        try:
            return Outgoing(await pong(self._live, head.agent, caller, spent=spent))
        except AgentFault as fault:
            logger.warning("agent did not answer the probe", extra={"code": fault.code, "reason": str(fault)})
            return failure(fault.code, notice("agent_failed", head.language))

    async def _answer(
        self, turn: Running, routes: list[Route], shown: Shown, *, said: str | None = None
    ) -> Outgoing | None:
        """Append, load, ask, append. `said` stands for the head's text (what followed `/new`). None: it begins again, as what was
        known of the speaker is no more; a turn of somebody who was erased has ended by then."""
        try:
            return await self._asked(turn, routes, shown, said=said)
        except (PersonErased, UnknownScope):
            self._people.forget()
            self._memory.names.forget()
            return None

    async def _asked(self, turn: Running, routes: list[Route], shown: Shown, *, said: str | None) -> Outgoing | None:
        routes = list(await asyncio.gather(*(self._named(route) for route in routes)))
        head = routes[0]
        kind = self._live.configuration.settings.channels[head.event.channel].kind
        person = await self._people.person(head.event.sender, kind=kind)
        # Agent, policy and revision are of one moment, or a replay of this turn would not find what it was made by.
        room, revision = self._room(head), self._live.configuration.revision
        async with self._asking.lent(head.agent, room) as lent:
            request = TurnRequest(
                turn_id=turn.turn_id,
                scope=head.memory_scope(),
                messages=incoming(turn.events, routes, person, said=said),
                policy=lent.policy,
                fence=turn.claim.fence,
                agent_change=room.agent_change,
                revision=revision,
                language=head.language,
                asked_session=message_of(head).session if said is None else NEW_SESSION,
            )
            try:
                with self._traces.span("load"):
                    prepared = await self._memory.load_and_append(request)
            except ScopeMoved:
                await self._moved(turn, head, room)
                return None
            if prepared.stored_reply is not None:  # a crash came between the stored reply and the outbox
                stored = Outgoing(prepared.stored_reply, session=prepared.session_id)
                return await self._human_turns.again(turn, head, room, stored, person_id=person)
            for part in prepared.ledger.failed:
                self._metrics.memory_part_failed(part)
            draft = Draft(prepared)
            shown.follow(draft)
            before = await self._human_turns.before(turn, routes, room, person_id=person, said=said)
            if before.rule is not None:
                return await self._left_to_human(turn, draft, before)
            caller = caller_of(head, kind=kind, person=person)
            rule = await self._quotas.used_up(message_of(head), room, agent=head.agent, person=person)
            if rule is not None:
                return await self._not_asked(turn, head, draft, rule)
            self._spending.answering([event.id for event in turn.events], caller=caller, agent=head.agent)
            try:
                if not await self._asking.ask(turn, head, draft, lent=lent, caller=caller):
                    return None
            except AgentFault as fault:
                outgoing: Outgoing | None = await self._failed(turn, head, draft, fault)
            else:
                if turn.reason == "taken_over" and not draft.text:
                    taken = await self._human_turns.before(turn, routes, room, person_id=person, said=said)
                    # None: it was handed back in the same moment, and the turn begins again.
                    return None if taken.rule is None else await self._left_to_human(turn, draft, taken)
                outgoing = await self._kept(turn, head, draft)
        if outgoing is None:
            return None
        word = self._quotas.word_for(person, room, language=head.language)
        if word is not None and outgoing.failed is None:  # the gateway's own word: memory keeps the answer without it
            outgoing = dataclasses.replace(outgoing, text=f"{outgoing.text}\n\n{word}")
        return await self._human_turns.after(
            turn, head, room, outgoing, notice=before.notice, hand_over=draft.hand_over, person_id=person
        )

    async def _left_to_human(self, turn: Running, draft: Draft, before: Before) -> Outgoing | None:
        """End a turn that no agent is asked for, in sight: what was said stands in memory, and a human reads it."""
        await self._memory.record(draft.prepared, notes=(f"{before.rule}: no agent was asked",), calls=draft.calls)
        if before.notice is not None:
            return Outgoing(before.notice, session=draft.prepared.session_id)
        await self._end(turn, turn.events, Outcome(state="observed", rule=before.rule))
        return None

    async def _not_asked(self, turn: Running, head: Route, draft: Draft, rule: str) -> Outgoing | None:
        """End a turn for which nothing is left since it was let in, with a notice if that was not said a while ago."""
        await self._memory.record(draft.prepared, notes=(rule,))
        if self._quotas.may_tell(head.event, rule):
            return self._used_up(head, rule, session=draft.prepared.session_id)
        await self._end(turn, turn.events, Outcome(state="ignored", rule=rule))
        return None

    def _used_up(self, head: Route, rule: str, *, session: str | None = None) -> Outgoing:
        since_ms = head.address.since_ms or now_ms()
        return failure(rule, self._quotas.notice(rule, head.language, at_ms=since_ms), session=session)

    async def _named(self, route: Route) -> Route:
        return msgspec.structs.replace(route, event=await self._naming.named(message_of(route)))

    async def _moved(self, turn: Running, head: Route, room: RoomSettings) -> bool:
        """Whether the scope has come under another name since the turn was accepted: then what waits here goes on in that
        one's lane, in order, as two lanes in one scope would fence each other off."""
        lane = await self._lane(head, room)
        if lane != turn.claim.lane:
            # What is remembered may itself be old: two instances must not send a turn back and forth.
            self._memory.names.forget()
            lane = await self._lane(head, room)
        if lane == turn.claim.lane:
            return False
        logger.info("scope has another name", extra={"fence": turn.claim.fence})
        await self._inbox.move(turn.claim, to=lane)
        return True

    async def _lane(self, head: Route, room: RoomSettings) -> str:
        named = await self._memory.names.find(head.memory_scope(), agent_change=room.agent_change)
        return str(named.root)

    async def _kept(self, turn: Running, head: Route, draft: Draft) -> Outgoing | None:
        """Store the answer as far as it came. None: to a message that is gone none was begun; the next look ends it."""
        session = draft.prepared.session_id
        if not draft.text:
            await self._memory.record(draft.prepared, notes=("stopped before the first word",), calls=draft.calls)
            if turn.reason == "withdrawn":
                return None
            return failure("stopped", notice("stopped", head.language), session=session)
        reply = draft.reply()
        with self._traces.span("append"):
            await self._memory.append(draft.prepared, reply, fence=turn.claim.fence)
        return Outgoing(reply.text, session=session)

    async def _failed(self, turn: Running, head: Route, draft: Draft, fault: AgentFault) -> Outgoing:
        logger.error("agent failed", extra={"code": fault.code, "reason": str(fault)})
        await self._memory.record(draft.prepared, notes=(f"{fault.code}: {fault}",), calls=draft.calls)
        if draft.text:
            self._streams.reset([event.id for event in turn.events])
        text = notice(fault.code if fault.code in NOTICES else "agent_failed", head.language)
        return failure(fault.code, text, session=draft.prepared.session_id)

    async def _end(self, turn: Running, events: Sequence[Event], outcome: Outcome) -> None:
        """End events that get no reply, in sight."""
        ids = [event.id for event in events]
        await self._inbox.finish(ids, outcome, lane=turn.claim.lane, fence=turn.claim.fence)
        ended = [msgspec.structs.replace(event, state=outcome.state, outcome=outcome) for event in events]
        self._settled(ended, None)
        for event in ended:
            rule = outcome.rule or outcome.code or ""
            self._metrics.turn_ended(channel=event.channel, agent="", outcome=outcome.state, rule=rule)

    def _room(self, route: Route) -> RoomSettings:
        """The settings of the place now: how to answer may change while a message waits, where it goes may not."""
        configuration = self._live.configuration
        # Of a removed channel a turn still ends in sight.
        return place_of(route.event, configuration) or configuration.settings.defaults

    def _note(self, turn: Running, head: Route, outgoing: Outgoing) -> None:
        """One line and one count for every turn."""
        seconds = (now_ms() - turn.events[0].accepted_ms) / 1000
        outcome = outgoing.failed.state if outgoing.failed else "answered"
        code = (outgoing.failed.code if outgoing.failed else None) or head.rule
        self._metrics.replied(seconds, channel=head.event.channel, agent=head.agent)
        self._metrics.turn_ended(channel=head.event.channel, agent=head.agent, outcome=outcome, rule=code)
        logger.info(
            "turn replied",
            extra={"events": len(turn.events), "outcome": outcome, "rule": code, "seconds": round(seconds, 3)},
        )
