"""The staff's room: where requests for a human are told, and where what is answered in their threads comes from.

By address and outbox alone, whatever platform the room is on: in a thread of its own where a message may begin one, else as
replies to each other. What is said here is nobody's conversation with an agent and enters no memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from adapters.base import Adapter, Address, InboundEvent, MessageEvent, Quote
from config.effective import places
from config.loader import Configuration
from gateway.admin.takeovers import Post, Takeover, TakeoverRows
from gateway.human_notices import told
from gateway.inbox.base import Announcement, Outbox
from gateway.notices import Language
from gateway.outgoing import chunks_of
from gateway.rooms import target_of
from gateway.routing import Route, decode
from gateway.taking_over import settings_of
from memory.ids import Ids, made_ms
from memory.key import decode_part
from memory.text import neutral_name, one_line

logger = logging.getLogger(__name__)

_MARKS = str.maketrans("*_~#", "    ")

RECEIPT_S = 2.0
"""What an answer is held up for, at most, until it is known what it answers; platforms give an acknowledgement three seconds."""
YOUNG_MS = 60_000
"""Posts without a receipt for longer than this will get none."""

NO_POST = ""
"""Stands for the id of a message that is the staff's own."""


class DeskRoom(NamedTuple):
    """A room of a channel."""

    channel: str
    room: str


class Posts(Outbox, Protocol):
    """The outbox, with what tells which messages came of a post (`gateway/inbox/erasable.py`)."""

    async def changed(self, after: int) -> int:
        """See `gateway.inbox.base.Inbox.changed`."""
        ...

    async def posted(self, turn_ids: Sequence[int]) -> list[tuple[int, str]]:
        """Return (turn, message id) of the platform's messages in which the turns' replies stand."""
        ...


class Desk:
    """The staff's rooms of all channels."""

    def __init__(
        self,
        *,
        rows: TakeoverRows,
        outbox: Posts,
        ids: Ids,
        configuration: Callable[[], Configuration],
        made: Callable[[str], Adapter | None],
        current: Callable[[Address], Address],
        clock: Callable[[], int],
    ) -> None:
        """`made` gives a channel's adapter, `current` where an address is now (a room may have got another id since the settings
        were written), `clock` milliseconds since 1970."""
        self._rows = rows
        self._outbox = outbox
        self._ids = ids
        self._configuration = configuration
        self._made = made
        self._current = current
        self._clock = clock
        self._rooms_of: tuple[str, frozenset[DeskRoom]] = ("", frozenset())

    async def asked(self, of: Takeover, said: str | None) -> None:
        """Tell of a request; `said` is what the person wrote, None: nobody knows any more. Repeating it does no harm."""
        language, shows = self._language(of), self._shows(of)
        words = [word for word in (of.note, said) if word] if shows == "words" else []
        quoted = "".join(f"\n\n> {one_line(word, 1000)}" for word in words)
        why = told(f"why_{of.asked_by}", language)
        await self._post(of, "asked", told("desk_asked", language, who=self.who(of), why=why, said=quoted))

    async def begun(self, of: Takeover) -> None:
        """Tell who has it now."""
        text = told("desk_begun", self._language(of), who=self.who(of), name=_plain(of.operator_name))
        await self._post(of, f"begun {of.changes}", text)

    async def ended(self, of: Takeover) -> None:
        """Tell how it ended."""
        text = told(f"desk_{of.how}", self._language(of), who=self.who(of), name=_plain(of.operator_name))
        await self._post(of, "ended", text)

    async def heard(self, of: Takeover, event_id: int, text: str) -> None:
        """Tell what was written by whoever spoke last, as far as the room may know."""
        language = self._language(of)
        if self._shows(of) == "words":
            shown = told("desk_heard", language, who=self.who(of), text=text)
        else:
            shown = told("desk_heard_hidden", language, who=self.who(of))
        await self._post(of, f"heard {event_id}", shown)

    async def said(self, of: Takeover, event_id: int, text: str) -> None:
        """Tell what was answered in the console."""
        if self._shows(of) == "words":
            shown = told("desk_said", self._language(of), name=_plain(of.operator_name), text=text)
            await self._post(of, f"said {event_id}", shown)

    async def other_has_it(self, of: Takeover, account: str) -> None:
        """Tell somebody, once, that what they write goes to nobody."""
        text = told("desk_other_has_it", self._language(of), name=_plain(of.operator_name))
        await self._post(of, f"other {of.operator} {account}", text)

    async def not_passed_on(self, of: Takeover, event_id: int, *, chars: int, most: int) -> None:
        """Tell that a message of the staff's has gone to nobody, and why."""
        text = told("desk_not_passed_on", self._language(of), chars=chars, most=most)
        await self._post(of, f"not passed on {event_id}", text)

    async def over(self, of: Takeover, event: MessageEvent) -> None:
        """Tell whoever wrote on, once, that it has ended: where they did, as of an erased person's the place is not known any
        more."""
        room = DeskRoom(event.channel, event.room)
        await self._post(of, "over", told("desk_over", self._spoken_in(room)), room=room)

    def ids_last(self, channel: str) -> bool:
        """Whether a room's messages keep their ids when it gets another one: they do where they name threads."""
        made = self._made(channel)
        return made is not None and made.capabilities.threads

    def who(self, of: Takeover) -> str:
        """Return how the room calls the person, or the group."""
        last = last_route(of)
        if last is None:
            return of.channel
        place = f"{of.channel}, {decode_part(of.conversation.partition('/')[0])}"
        if self._shows(of) == "ids":
            return _plain(f"{last.event.sender.user} ({place})")
        name = _plain(neutral_name(last.event.sender.name, last.event.sender.account))
        return f"{name} ({_plain(place if of.chat_type == 'group' else of.channel)})"

    async def about(self, event: InboundEvent) -> Takeover | None:
        """Return the take-over that a message in a staff's room answers; None: it is like any other. Raises `StoreBusy`."""
        room = DeskRoom(event.channel, event.room)
        if not isinstance(event, MessageEvent) or event.sender.is_bot or not self._is_desk(room):
            return None
        answered = [one for one in (event.thread, event.in_reply_to) if one is not None]
        people = self._configuration().effective(event.channel, event.room, event.thread).allow.people
        if not answered or (people is not None and not (event.sender.trusted and event.sender.user in people)):
            return None
        found = await self._rows.by_message(*room, answered)
        if found is not None:
            return found
        seen = 0
        try:
            async with asyncio.timeout(RECEIPT_S):
                while found is None and (waiting := await self._under_way(room)):
                    if await self._learned(room, waiting):
                        found = await self._rows.by_message(*room, answered)
                    else:
                        seen = await self._outbox.changed(seen)
        except TimeoutError:
            pass
        return found

    async def _under_way(self, room: DeskRoom) -> list[Post]:
        """Return what was posted just now and has no receipt yet: people may answer it before we have that."""
        young = self._clock() - YOUNG_MS
        return [post for post in await self._rows.unknown_posts(*room) if made_ms(post.turn_id) > young]

    async def keep(self, of: Takeover, event_id: int, message: MessageEvent) -> None:
        """Note that a message of the staff's is about it, so that an erasure finds it: whoever answers that answers nobody."""
        of_staff = Post(
            turn_id=event_id, takeover_id=of.id, channel=message.channel, room=message.room, message_id=NO_POST
        )
        await self._rows.posted(of_staff)

    def _is_desk(self, room: DeskRoom) -> bool:
        """Whether it is a staff's room, under the id that the settings name or the one it has now."""
        return room in self._rooms() or any(self._now(named) == room for named in self._rooms())

    def _now(self, room: DeskRoom) -> DeskRoom:
        return DeskRoom(room.channel, self._current(Address(channel=room.channel, room=room.room)).room)

    def _rooms(self) -> frozenset[DeskRoom]:
        """Return the staff's rooms that the settings name."""
        configuration = self._configuration()
        if self._rooms_of[0] != configuration.revision:
            named = {configuration.effective(*place).takeover.desk for place in places(configuration.settings)}
            rooms = frozenset(DeskRoom(*desk.split("/", 1)) for desk in named if desk is not None)
            self._rooms_of = configuration.revision, rooms
        return self._rooms_of[1]

    async def _learned(self, room: DeskRoom, posts: Sequence[Post] | None = None) -> bool:
        """Ask the outbox which messages came of what was posted (None: of all that is not known); whether there was any."""
        asked = await self._rows.unknown_posts(*room) if posts is None else posts
        unknown = {post.turn_id: post for post in asked}
        found = await self._outbox.posted(sorted(unknown)) if unknown else []
        for turn_id, message_id in reversed(found):  # the first message of a long one
            await self._rows.posted(msgspec.structs.replace(unknown[turn_id], message_id=message_id))
        return bool(found)

    async def _post(self, of: Takeover, name: str, text: str, *, room: DeskRoom | None = None) -> None:
        room = room or self._room(of)
        adapter = None if room is None else self._made(room.channel)
        if room is None or adapter is None:
            return
        turn_id = self._ids.next()
        post = Post(
            turn_id=turn_id,
            takeover_id=of.id,
            channel=room.channel,
            room=room.room,
            message_id=None,
            person_id=of.last_person_id,
        )
        await self._rows.posted(post)
        target = target_of(await self._address(of, room, adapter))
        announcement = Announcement(
            turn_id=turn_id,
            channel=room.channel,
            names=[f"takeover {of.id} {name}"],
            queue=target.queue,
            address=target.address,
            chunks=await chunks_of(adapter, text),
            now_ms=self._clock(),
        )
        if not await self._outbox.announce(announcement):
            await self._rows.unposted(turn_id)

    async def _address(self, of: Takeover, room: DeskRoom, adapter: Adapter) -> Address:
        """Return where the next post goes: to the first one, once the platform has named that."""
        await self._learned(room)
        root = await self._rows.first_post(of.id, *room)
        address = Address(channel=room.channel, room=room.room, since_ms=self._clock())
        if root is None:
            return address
        if adapter.capabilities.threads:
            return msgspec.structs.replace(address, thread=root.message_id)
        return msgspec.structs.replace(address, reply_to=root.message_id, quoted=Quote(name=self.who(of), text=""))

    def _room(self, of: Takeover) -> DeskRoom | None:
        desk = settings_of(of, self._configuration()).takeover.desk
        return None if desk is None else self._now(DeskRoom(*desk.split("/", 1)))

    def _shows(self, of: Takeover) -> str:
        return settings_of(of, self._configuration()).takeover.desk_shows

    def _language(self, of: Takeover) -> Language:
        return self._spoken_in(self._room(of))

    def _spoken_in(self, room: DeskRoom | None) -> Language:
        configuration = self._configuration()
        if room is None or room.channel not in configuration.settings.channels:
            return "en"
        return "zh" if configuration.effective(room.channel, room.room).language == "zh" else "en"


def last_route(of: Takeover) -> Route | None:
    """Return where somebody last spoke, a route without words; None: they were erased, or another release stored it."""
    try:
        return decode(of.last)
    except msgspec.DecodeError:
        return None


def _plain(name: str | None) -> str:
    """Return a name that marks nothing."""
    return one_line((name or "?").translate(_MARKS), 80)
