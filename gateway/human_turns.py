"""Turns in which a human has a part: what a human says on its way out, what the person says to them, and who asks for one.

Between the responder, which runs turns, and `humans.py`, which knows who has which conversation.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from adapters.base import Adapter
from config.channels.base import RoomSettings
from gateway.admin.takeovers import Takeover
from gateway.agent import HAND_OVER
from gateway.errors import StoreBusy
from gateway.human_notices import told
from gateway.humans import Humans
from gateway.incoming import message_of
from gateway.lanes import Running
from gateway.notices import Language
from gateway.outgoing import Outgoing
from gateway.routing import Human, Route
from gateway.taking_over import Wish, asked_in, complains, place_for, rule_of, silent, turns_of, wish_in
from gateway.wishes import command_in
from memory.errors import StoreUnavailable
from memory.humans import READ, HumanReply, HumanTalk
from memory.text import neutral_name

logger = logging.getLogger(__name__)

BY_NAME = "asked_for_human"
"""Why no agent is asked by `/human`."""


class Before(NamedTuple):
    """What is decided before the agent is asked. `rule` not None: it is not, by this rule. `notice`: what the person is told
    besides; without an agent's answer it is the reply."""

    rule: str | None = None
    notice: str | None = None


class HumanTurns:
    """For all lanes. `made` gives a channel's adapter."""

    def __init__(self, *, humans: Humans, talk: HumanTalk, made: Callable[[str], Adapter | None]) -> None:
        self._humans = humans
        self._talk = talk
        self._made = made

    async def outgoing(
        self, turn: Running, head: Route, human: Human, room: RoomSettings, *, person_id: int | None
    ) -> Outgoing:
        """Store what a human said, or left for the agent, and return what the person is to see. Raises `MemoryFault`."""
        text = message_of(head).text if human.act == "said" else human.summary
        if text and human.act in ("said", "ended"):
            said = HumanReply(
                key=head.conversation_key(),
                turn_id=human.turn_id,
                event_id=turn.turn_id,
                text=text,
                name=human.name,
                person_id=person_id,  # what was said to them is theirs: it is exported and erased with them
                for_agent=human.act == "ended",
            )
            await self._talk.append(
                head.memory_scope(),
                said,
                idle_ms=int(room.memory.session.idle_s * 1000),
                fence=turn.claim.fence,
                agent_change=room.agent_change,
            )
        notice = {"asked": _asked(room), "ended": human.how or "timed_out"}.get(human.act, human.act)
        prefix = self._prefix(head)
        return Outgoing(told(notice, head.language, name=shown_name(human.name), text=text or "", prefix=prefix))

    async def before(
        self, turn: Running, routes: Sequence[Route], room: RoomSettings, *, person_id: int | None, said: str | None
    ) -> Before:
        """Decide whether the agent is asked: not where a human has the conversation, nor by `/human`. `said` stands for the first
        text. Raises `StoreBusy` when the person's words can't be brought to the human."""
        head = routes[0]
        texts = [message_of(route).text for route in routes]
        texts[0] = texts[0] if said is None else said
        command = command_in(message_of(head).text) if len(routes) == 1 else None
        by_name = command is not None and command.name == "human"
        of = await self._humans.at(head)
        if of is not None:
            fresh = asked_in(of, turn.turn_id)  # a crash came between: the person does not know yet
            if not fresh:
                for event, route, text in zip(turn.events, routes, texts, strict=True):
                    await self._humans.heard(of, route, event, text, person_id=person_id)
            rule = rule_of(of) if silent(of, room.takeover) else BY_NAME if by_name else None
            return Before(rule, _told(of, room, head.language, fresh=fresh) if fresh or by_name else None)
        if command is not None and by_name:
            return Before(BY_NAME, await self._by_name(turn, head, room, person_id=person_id, note=command.argument))
        text, complaints = "\n\n".join(texts), 0
        if room.takeover.after_complaints and complains(text):
            complaints = await self._complaints(head, room)
        wish = wish_in(text, room.takeover, complaints=complaints, failures=0)
        notice = await self._ask(turn, head, room, wish, person_id=person_id) if wish is not None else None
        rule = "waiting_for_human" if notice is not None and room.takeover.while_waiting == "silent" else None
        return Before(rule, notice)

    async def after(
        self,
        turn: Running,
        head: Route,
        room: RoomSettings,
        outgoing: Outgoing,
        *,
        notice: str | None,
        hand_over: str | None,
        person_id: int | None,
    ) -> Outgoing:
        """Return what goes out, with the notice that a human was asked for: by `notice` before, by the agent
        (`hand_over` is why), or because answers fail."""
        wish = None
        if notice is None and hand_over is not None:
            wish = Wish(by="agent", note=hand_over or None)
        elif notice is None and _failed(outgoing) and room.takeover.after_failures:
            wish = wish_in("", room.takeover, complaints=0, failures=await self._failures(turn, head, room))
        if wish is not None:
            notice = await self._ask(turn, head, room, wish, person_id=person_id)
        return outgoing if notice is None else dataclasses.replace(outgoing, text=f"{outgoing.text}\n\n{notice}")

    async def again(
        self, turn: Running, head: Route, room: RoomSettings, outgoing: Outgoing, *, person_id: int | None
    ) -> Outgoing:
        """Return what goes out of a turn whose answer was stored before a crash: with what was still to be done and told of it.
        Raises `StoreUnavailable`."""
        of = await self._humans.at(head)
        notice = _told(of, room, head.language, fresh=True) if of is not None and asked_in(of, turn.turn_id) else None
        steps = await self._talk.steps(head.memory_scope(), turn.turn_id, agent_change=room.agent_change)
        wishes = next((step.detail for step in steps if step.name == HAND_OVER), None)
        return await self.after(turn, head, room, outgoing, notice=notice, hand_over=wishes, person_id=person_id)

    async def _by_name(
        self, turn: Running, head: Route, room: RoomSettings, *, person_id: int | None, note: str
    ) -> str:
        """Ask for a human because the person did, and return what to tell them."""
        if not room.takeover.people_may_ask or not self._humans.reaches(head.event.channel):
            return told("off", head.language)
        wish = Wish(by="person", note=note or None)
        of, fresh = await self._humans.ask(head, wish, turn_id=turn.turn_id, person_id=person_id)
        return _told(of, room, head.language, fresh=fresh)

    async def _ask(
        self, turn: Running, head: Route, room: RoomSettings, wish: Wish, *, person_id: int | None
    ) -> str | None:
        if not self._humans.reaches(head.event.channel):
            return None
        try:
            of, fresh = await self._humans.ask(head, wish, turn_id=turn.turn_id, person_id=person_id)
        except StoreBusy:
            logger.warning("no human could be asked for", exc_info=True, extra={"turn": turn.turn_id})
            return None
        return _told(of, room, head.language, fresh=True) if fresh else None

    # How often in a row, by what is stored: so all instances know, and a restart forgets nothing. A turn that begins again is
    # one turn; what came before a take-over, and before the running session, counts no more.

    async def _complaints(self, head: Route, room: RoomSettings) -> int:
        turns = await self._turns(head, room, most=room.takeover.after_complaints)
        return next((n for n, (_, said) in enumerate(turns) if not complains(said)), len(turns))

    async def _failures(self, turn: Running, head: Route, room: RoomSettings) -> int:
        most, count = room.takeover.after_failures, 1
        for turn_id, _ in await self._turns(head, room, most=most):
            if turn_id == turn.turn_id:
                continue
            if count >= most or not await self._talk.failed(turn_id):
                break
            count += 1
        return count

    async def _turns(self, head: Route, room: RoomSettings, *, most: int) -> list[tuple[int, str]]:
        """Return the last turns of the head's conversation, the last one first; none while they can't be read."""
        try:
            rows = await self._talk.recent(
                head.memory_scope(), agent_change=room.agent_change, most=max(READ, 4 * most)
            )
            after = await self._humans.last_turn(head)
        except (StoreBusy, StoreUnavailable):
            logger.warning("not known how often in a row", exc_info=True)
            return []
        return turns_of(rows, conversation=place_for(head).conversation, after=after)

    def _prefix(self, head: Route) -> str:
        made = self._made(head.event.channel)
        return made.capabilities.command_prefix if made is not None else ""


def _told(of: Takeover, room: RoomSettings, language: Language, *, fresh: bool) -> str:
    """Return what whoever asked is told."""
    if of.state == "active":
        return told("here_already", language, name=shown_name(of.operator_name or ""))
    if not fresh:
        return told("asked_before", language)
    return told(_asked(room), language)


def _asked(room: RoomSettings) -> str:
    return "asked_silent" if room.takeover.while_waiting == "silent" else "asked"


def _failed(outgoing: Outgoing) -> bool:
    """Whether the answer failed; one that its speaker stopped did not."""
    return outgoing.failed is not None and outgoing.failed.code != "stopped"


def shown_name(name: str) -> str:
    """Return a name that marks nothing, in Markdown and elsewhere."""
    return neutral_name(name.translate(str.maketrans("*_~#`", "     ")), "?")
