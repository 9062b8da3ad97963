"""What the gateway answers by itself when a command is written. Recognising commands is `commands.py`'s."""

from __future__ import annotations

import msgspec

from adapters.base import InboundEvent
from config.channels.base import RoomSettings
from gateway.asking import Asking
from gateway.commands import Command, agent_answer, help_text, lasts
from gateway.incoming import message_of
from gateway.linking import Linking
from gateway.live import Live
from gateway.memory_in_chat import MemoryInChat
from gateway.notices import notice
from gateway.people import People, identity_of, vouched
from gateway.routing import Route, language_of
from memory.service import Memory
from memory.window import OUT, Limits, trim


class Commands:
    """Carries commands out, in the scope that memory uses (nanobot#1482)."""

    def __init__(
        self,
        *,
        memory: Memory,
        people: People,
        asking: Asking,
        in_chat: MemoryInChat,
        linking: Linking,
        live: Live,
    ) -> None:
        self._memory = memory
        self._people = people
        self._asking = asking
        self._in_chat = in_chat
        self._linking = linking
        self._live = live

    async def answer(
        self, command: Command, route: Route, room: RoomSettings, *, turn_id: int, again_ms: int | None = None
    ) -> str:
        """Do what the command of this turn says and return what to tell the person. `again_ms`: the turn broke off once, and may
        have done it then; its message came at that time. None: it begins."""
        if lasts(command) and not vouched(route.event.sender):
            return notice("unknown_sender", route.language)
        match command.name:
            case "new":
                await self.new(route, room)
                return notice("new", route.language)
            case "agent":
                return await self._agent(command.argument, route, room)
            case "memory":
                return await self._what_is_known(route, room)
            case "forget" | "unlearn":
                return await self._forget(command, route, room, again=again_ms is not None)
            case "link" | "unlink":
                return await self._link(command, _by_name(route, room), turn_id=turn_id, again_ms=again_ms)
            case "help" | "stop" | "human":  # /stop acts past the lane, /human is said to humans (`human_turns.py`)
                return self._help(route, room)

    def _help(self, route: Route, room: RoomSettings) -> str:
        made, event = self._live.made(route.event.channel), route.event
        prefix = made.capabilities.command_prefix if made is not None else ""
        return help_text(_choices(room, self._live), route.language, chat_type=event.chat_type, prefix=prefix)

    async def new(self, route: Route, room: RoomSettings) -> None:
        """End the session of the route's scope; nothing stored brings it back (openclaw#148766)."""
        await self._memory.end_session(route.memory_scope(), agent_change=room.agent_change)

    async def _agent(self, asked: str, route: Route, room: RoomSettings) -> str:
        known = _choices(room, self._live)
        agent, text = agent_answer(asked, current=route.agent, settings=known, language=route.language)
        if agent is not None:
            await self._people.choose_agent(route.event, agent)
        return text

    async def _what_is_known(self, route: Route, room: RoomSettings) -> str:
        person = await self._person(route.event)
        async with self._asking.lent(route.agent, room) as lent:
            policy = lent.policy
        loaded = await self._memory.load(
            route.memory_scope(), person_id=person, policy=policy, agent_change=room.agent_change
        )
        limits = Limits(
            turns=policy.turns,
            keep_turns=policy.keep_turns,
            messages=policy.messages,
            tokens=policy.tokens,
            hard=policy.tokens,
        )
        rules = trim(loaded.window, limits).rules if loaded.window else []
        count = sum(rule not in OUT for rule in rules)
        window = notice("memory_window" if count else "memory_empty", route.language, count=count)
        return window if person is None else f"{await self._in_chat.shown(person, route)}\n\n{window}"

    async def _forget(self, command: Command, route: Route, room: RoomSettings, *, again: bool) -> str:
        person = await self._person(route.event)
        if person is None:
            return notice("unknown_sender", route.language)
        if command.name == "unlearn":
            return await self._in_chat.unlearn(person, route, room, again=again)
        text, everything = await self._in_chat.forget(person, command.argument, route, room, again=again)
        if everything and route.event.chat_type == "private":
            await self.new(route, room)
        return text

    async def _link(self, command: Command, route: Route, *, turn_id: int, again_ms: int | None) -> str:
        person = await self._person(route.event)
        if person is None:
            return notice("unknown_sender", route.language)
        if command.name == "link":
            return await self._linking.link(person, command.argument, route, again_ms=again_ms)
        identity = identity_of(route.event.sender, kind=self._kind(route.event))
        return await self._linking.unlink(person, identity, route, turn_id=turn_id, again_ms=again_ms)

    async def _person(self, event: InboundEvent) -> int | None:
        return await self._people.person(event.sender, kind=self._kind(event))

    def _kind(self, event: InboundEvent) -> str:
        return self._live.configuration.settings.channels[event.channel].kind


def _by_name(route: Route, room: RoomSettings) -> Route:
    """Return the route in the language of the command's name, where that shows one: a code behind it is of none."""
    said = message_of(route)
    name = said.text.split()[0]
    language = language_of(name, hint=said.language, setting=room.language, spoken=route.language)
    return msgspec.structs.replace(route, language=language)


def _choices(room: RoomSettings, live: Live) -> RoomSettings:
    """Return the room's settings without agents that are not configured (any more)."""
    return room.model_copy(update={"agents": tuple(name for name in room.agents if name in live.agents())})
