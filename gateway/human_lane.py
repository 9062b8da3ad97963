"""What humans do in a conversation, on its way to the person: an event in the conversation's own lane, behind what runs there.

So it is in order with all that the agent and the gateway say, is said once, and outlives every crash. The event's sender is the
person whom it is for: an erasure finds it as theirs.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Literal

import msgspec

from adapters.base import Adapter, MessageEvent
from config.loader import Configuration
from gateway.admin.takeovers import Place, Post, Takeover, TakeoverRows
from gateway.desk import NO_POST, last_route
from gateway.inbox.base import Event, Inbox, NewEvent
from gateway.incoming import message_of
from gateway.routing import Human, Route, decode, encode
from gateway.taking_over import places_of, settings_of
from memory.ids import Ids
from memory.key import decode_part
from memory.names import Names

HUMAN = "human"
"""The rule of what a human does."""

Act = Literal["asked", "said", "begun", "ended"]


class HumanLane:
    """The way into all lanes."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        names: Names,
        ids: Ids,
        configuration: Callable[[], Configuration],
        rows: TakeoverRows,
        made: Callable[[str], Adapter | None],
        clock: Callable[[], int],
    ) -> None:
        """`made` gives a channel's adapter, `clock` milliseconds since 1970."""
        self._rows = rows
        self._made = made
        self._inbox = inbox
        self._names = names
        self._ids = ids
        self._configuration = configuration
        self._clock = clock

    async def put(self, of: Takeover, act: Act, key: str, *, text: str = "") -> Event | None:
        """Put an act into the lane, once for each `key`; return the event, None where nobody is left to hear of it. Raises
        `StoreBusy` and `memory.errors.MemoryFault`."""
        route, configuration = last_route(of), self._configuration()
        if route is None or decode_channel(of) not in configuration.settings.channels:
            return None
        scope, settings = route.memory_scope(), settings_of(of, configuration)
        named = await self._names.find(scope, agent_change=settings.agent_change)
        new = NewEvent(
            id=self._ids.next(),
            channel=route.event.channel,
            kind="message",
            speaker=route.event.sender.user,
            body=encode(acted(route, of, act, text)),
            token=secrets.token_urlsafe(24),
            fingerprint=None,
            now_ms=self._clock(),
        )
        adapter = self._made(route.event.channel)
        fetched = adapter is not None and adapter.capabilities.fetches
        if fetched:  # before it is accepted, or a crash would keep it from the page for good
            post = Post(
                turn_id=new.id,
                takeover_id=of.id,
                channel=route.event.channel,
                room=route.event.room,
                message_id=NO_POST,
            )
            await self._rows.posted(post)
        accepted = await self._inbox.accept(new, lane=str(named.root), dedupe_ids=[f"takeover:{of.id}:{key}"])
        if fetched and accepted.event.id != new.id:
            await self._rows.unposted(new.id)
        return accepted.event


def acted(route: Route, of: Takeover, act: Act, text: str) -> Route:
    """Return the route of a human's act, where somebody last spoke by `route`: it bears the human's name. Pure."""
    name = of.operator_name or ""
    human = Human(
        takeover=of.id,
        act=act,
        operator=of.operator or "",
        name=name,
        turn_id=of.turn_id,
        how=of.how if act == "ended" else None,
        summary=of.summary if act == "ended" else None,
    )
    message = message_of(route)
    said = msgspec.structs.replace(message, text=text, sender=msgspec.structs.replace(message.sender, name=name))
    return msgspec.structs.replace(route, event=said, rule=HUMAN, refused=False, human=human)


def places_answered(event: Event) -> tuple[Place, ...]:
    """Return the conversations in which an event is what somebody said; none for what a human does. Pure."""
    try:
        route = decode(event.body)
    except msgspec.DecodeError:
        return ()
    return () if route.human is not None else places_of(route)


def words_of(event: Event) -> str | None:
    """Return what a human said by an event; None: it can't be read any more. Pure."""
    try:
        return message_of(decode(event.body)).text
    except msgspec.DecodeError:
        return None


def by_human(event: Event) -> bool:
    """Whether the event is what a human does for its speaker, and not what its speaker said. Pure."""
    try:
        return decode(event.body).human is not None
    except msgspec.DecodeError:
        return False


def wordless(route: Route) -> Route:
    """Return the route of a message without what it says. Pure."""
    said: MessageEvent = msgspec.structs.replace(
        message_of(route), text="", quote=None, in_reply_to=None, dedupe_ids=()
    )
    address = msgspec.structs.replace(route.address, quoted=None, only_for=None)
    return msgspec.structs.replace(route, event=said, address=address, human=None)


def decode_channel(of: Takeover) -> str:
    """Return the channel's name."""
    return decode_part(of.channel)
