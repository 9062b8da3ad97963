"""Answering a turn in an admin's own words, in its place in the lane: what was said and what answers it go into the transcript,
and no agent is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from config.channels.base import RoomSettings
from gateway.asking import Asking
from gateway.human_notices import told
from gateway.human_turns import shown_name
from gateway.inbox.base import Outcome
from gateway.inbox.dead import BY_HAND, ByHand
from gateway.incoming import incoming
from gateway.lanes import Running
from gateway.live import Live
from gateway.outgoing import Outgoing
from gateway.people import People
from gateway.routing import Route
from memory.humans import HumanReply, HumanTalk
from memory.service import Memory
from memory.turn import TurnRequest

ANSWERED = Outcome(state="answered", rule=BY_HAND)


class AnsweringByHand:
    """For the responder. Every step can be repeated."""

    def __init__(self, *, memory: Memory, humans: HumanTalk, people: People, asking: Asking, live: Live) -> None:
        self._memory = memory
        self._humans = humans
        self._people = people
        self._asking = asking
        self._live = live

    async def answer(self, turn: Running, routes: Sequence[Route], room: RoomSettings, words: ByHand) -> Outgoing:
        """Store what was said, and the words under their writer's name; return what the person is told. Where the agent is not
        configured any more, what was said is kept by what it was kept before; what a human said was nothing that the person did.
        Raises `memory.errors.MemoryFault`."""
        head, configuration = routes[0], self._live.configuration
        person = await self._people.person(
            head.event.sender, kind=configuration.settings.channels[head.event.channel].kind
        )
        session = None
        if head.human is None and head.agent in self._live.agents():
            async with self._asking.lent(head.agent, room) as lent:
                request = TurnRequest(
                    turn_id=turn.turn_id,
                    scope=head.memory_scope(),
                    messages=incoming(turn.events, routes, person, said=None),
                    policy=lent.policy,
                    fence=turn.claim.fence,
                    agent_change=room.agent_change,
                    revision=configuration.revision,
                    language=head.language,
                )
                prepared = await self._memory.load_and_append(request)
                session = prepared.session_id
                if prepared.stored_reply is None:
                    await self._memory.record(prepared, notes=("answered by hand",))
        said = HumanReply(
            key=head.conversation_key(),
            turn_id=turn.turn_id if head.human is None else head.human.turn_id,
            event_id=words.id,
            text=words.text,
            name=words.name,
            person_id=person,
        )
        idle_ms = int(room.memory.session.idle_s * 1000)
        await self._humans.append(
            head.memory_scope(), said, idle_ms=idle_ms, fence=turn.claim.fence, agent_change=room.agent_change
        )
        text = told("said", head.language, name=shown_name(words.name), text=words.text)
        return Outgoing(text, failed=ANSWERED, session=session)
