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
from gateway.errors import StoreBusy
from gateway.human_notices import told
from gateway.humans import Humans
from gateway.incoming import message_of
from gateway.lanes import Running
from gateway.notices import Language
from gateway.outgoing import Outgoing
from gateway.routing import Human, Route
from gateway.taking_over import Streaks, Wish, complains, place_for, rule_of, silent, wish_in
from memory.humans import HumanReply, HumanTalk
from memory.text import neutral_name

logger = logging.getLogger(__name__)


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
        self._failures = Streaks()
        self._complaints = Streaks()

    async def outgoing(
        self, turn: Running, head: Route, human: Human, room: RoomSettings, *, person_id: int | None
    ) -> Outgoing:
        """Store what a human said, or left for the agent, and return what the person is to see. Raises `MemoryFault`."""
        text = message_of(head).text if human.act == "said" else human.summary
        if text and human.act != "begun":
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
        notice = human.how or "timed_out" if human.act == "ended" else human.act
        prefix = self._prefix(head)
        return Outgoing(told(notice, head.language, name=shown_name(human.name), text=text or "", prefix=prefix))

    async def before(
        self, turn: Running, routes: Sequence[Route], room: RoomSettings, *, person_id: int | None, said: str | None
    ) -> Before:
        """Decide whether the agent is asked: not where a human has the conversation. `said` stands for the first text. Raises
        `StoreBusy` when the person's words can't be brought to the human."""
        head = routes[0]
        texts = [message_of(route).text for route in routes]
        texts[0] = texts[0] if said is None else said
        of = await self._humans.at(head)
        if of is not None:
            for event, route, text in zip(turn.events, routes, texts, strict=True):
                await self._humans.heard(of, route, event, text, person_id=person_id)
            return Before(rule_of(of)) if silent(of, room.takeover) else Before()
        text, place = "\n\n".join(texts), place_for(head)
        complaints = 0
        if room.takeover.after_complaints:
            complaints = self._complaints.note(place, wrong=complains(text))
        wish = wish_in(text, room.takeover, complaints=complaints, failures=0)
        notice = await self._ask(turn, head, room, wish, person_id=person_id, said=text) if wish is not None else None
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
        if notice is None and hand_over is not None:
            wish: Wish | None = Wish(by="agent", note=hand_over or None)
        else:
            failures = 0
            if room.takeover.after_failures:
                failures = self._failures.note(place_for(head), wrong=outgoing.failed is not None)
            wish = wish_in("", room.takeover, complaints=0, failures=failures) if notice is None else None
        if wish is not None:
            text = message_of(head).text
            notice = await self._ask(turn, head, room, wish, person_id=person_id, said=text)
        return outgoing if notice is None else dataclasses.replace(outgoing, text=f"{outgoing.text}\n\n{notice}")

    async def by_command(
        self, route: Route, room: RoomSettings, *, turn_id: int, person_id: int | None, note: str
    ) -> str:
        """Ask for a human because the person did, and return what to tell them."""
        if not room.takeover.people_may_ask or not self._humans.reaches(route.event.channel):
            return told("off", route.language)
        of, fresh = await self._humans.ask(
            route, Wish(by="person", note=note or None), turn_id=turn_id, person_id=person_id
        )
        return _told(of, room, route.language, fresh=fresh)

    async def _ask(
        self, turn: Running, head: Route, room: RoomSettings, wish: Wish, *, person_id: int | None, said: str
    ) -> str | None:
        if not self._humans.reaches(head.event.channel):
            return None
        try:
            of, fresh = await self._humans.ask(head, wish, turn_id=turn.turn_id, person_id=person_id, said=said)
        except StoreBusy:
            logger.warning("no human could be asked for", exc_info=True, extra={"turn": turn.turn_id})
            return None
        self._failures.note(place_for(head), wrong=False)
        self._complaints.note(place_for(head), wrong=False)
        return _told(of, room, head.language, fresh=True) if fresh else None

    def _prefix(self, head: Route) -> str:
        made = self._made(head.event.channel)
        return made.capabilities.command_prefix if made is not None else ""


def _told(of: Takeover, room: RoomSettings, language: Language, *, fresh: bool) -> str:
    """Return what whoever asked is told."""
    if of.state == "active":
        return told("here_already", language, name=shown_name(of.operator_name or ""))
    if not fresh:
        return told("asked_before", language)
    return told("asked_silent" if room.takeover.while_waiting == "silent" else "asked", language)


def shown_name(name: str) -> str:
    """Return a name that marks nothing, in Markdown and elsewhere."""
    return neutral_name(name.translate(str.maketrans("*_~#`", "     ")), "?")
