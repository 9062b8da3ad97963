"""What is known of the person who asks: shown, and forgotten, in chat.

Numbers are bound to rows by the listing that showed them, which the store keeps: a list that has changed meanwhile never makes
somebody forget another thing. One sees and changes only one's own (NousResearch/hermes-agent#28279). In a group the words are
shown only where nobody else sees them; elsewhere there is a count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec

from config.channels.base import RoomSettings
from gateway import forget_argument
from gateway.forget_argument import Altogether, Called, Everything, Numbered
from gateway.live import Live
from gateway.notices import Language, notice
from gateway.personal_memory import PersonalMemory
from gateway.routing import Route
from memory.derived import FullStore
from memory.forgetting import LISTED, Forgotten, KnownEntry, Listing, Place, entries, reads
from memory.key import decode_part
from memory.names import Names

NUMBERS_MS = 600_000
"""How long a listing's numbers, and the question whether really all is to be forgotten, can be answered."""

SHOWN_CHARS = 200


class MemoryInChat:
    """Answers `/memory` and `/forget`."""

    def __init__(
        self, *, personal: PersonalMemory, store: FullStore, names: Names, live: Live, clock: Callable[[], int]
    ) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._personal = personal
        self._store = store
        self._names = names
        self._live = live
        self._clock = clock

    async def shown(self, person_id: int, route: Route) -> str:
        """Return what is known of the person, numbered, as far as it may be shown in this place."""
        found, places = await self._personal.known(person_id)
        language = route.language
        waiting = len({row.turn_id for row in await self._personal.waiting(person_id)})
        late = [notice("known_waiting", language, count=waiting)] if waiting else []
        if not found:
            return "\n".join([notice("known_nothing", language), *late])
        prefix = self._prefix(route)
        if not self._unseen(route):
            return "\n".join([notice("known_count", language, count=len(found), prefix=prefix), *late])
        private = route.event.chat_type == "private"
        here = [entry for entry in found if private or not entry.private][:LISTED]
        listing = Listing(listed_ms=self._clock(), entries=tuple(entry.rows for entry in here))
        await self._store.forgetting.put_listing(person_id, listing)
        lines = [_line(number, entry, places, route) for number, entry in enumerate(here, start=1)]
        if here:
            lines = [notice("known_head", language), *lines, notice("known_foot", language, prefix=prefix)]
        if len(here) < len(found):
            lines.append(notice("known_more", language, count=len(found) - len(here)))
        return "\n".join([*lines, *late])

    async def forget(
        self, person_id: int, argument: str, route: Route, room: RoomSettings, *, again: bool = False
    ) -> tuple[str, bool]:
        """Do what stands behind `/forget` and return what to tell the person, and whether everything was forgotten.
        `again`: a turn that broke off may have done it; what it forgot has no words any more that could be told."""
        language, prefix = route.language, self._prefix(route)
        match forget_argument.read(argument):
            case Numbered(numbers=numbers):
                return await self._forget_numbered(person_id, numbers, route, room, again=again), False
            case Called(slots=slots):
                return await self._forget_called(person_id, slots, route, room, again=again), False
            case Everything(confirmed=False):
                return await self._ask(person_id, language, prefix), False
            case Everything(confirmed=True):
                return await self._forget_all(person_id, language, prefix, again=again)
            case Altogether():
                return await self._ask_erasure(person_id, route), False
        return notice("forget_help", language, prefix=prefix), False

    async def unlearn(self, person_id: int, route: Route, room: RoomSettings, *, again: bool = False) -> str:
        """Forget what was learned from what the person said last, and never learn from it again. `again` as in `forget`."""
        forgotten = await self._store.forgetting.forget_turn(
            await self._scope_id(route, room), person_id=person_id, user=route.event.sender.user, now_ms=self._clock()
        )
        if forgotten is None:
            return notice("unlearn_nothing", route.language)
        stays = notice("unlearn_stays", route.language, prefix=self._prefix(route))
        if not forgotten.items and not forgotten.facts:
            done = again and not forgotten.withheld
            return f"{notice('forgotten_before' if done else 'unlearn_unknown', route.language)}\n{stays}"
        return f"{self._told(forgotten, route)}\n{stays}"

    async def _forget_numbered(
        self, person_id: int, numbers: Sequence[int], route: Route, room: RoomSettings, *, again: bool
    ) -> str:
        language, prefix = route.language, self._prefix(route)
        listing = await self._store.forgetting.listing(person_id)
        if listing is None or self._clock() - listing.listed_ms > NUMBERS_MS:
            return notice("forget_list_first", language, prefix=prefix)
        wrong = [number for number in numbers if not 1 <= number <= len(listing.entries)]
        if wrong:
            return notice("forget_no_such", language, number=wrong[0], count=len(listing.entries), prefix=prefix)
        forgotten = await self._personal.forget(person_id, [listing.entries[number - 1] for number in numbers])
        if not forgotten.items and not forgotten.facts:
            return notice("forgotten_before" if again else "forget_gone", language)
        return await self._told_all(forgotten, route, room)

    async def _forget_called(
        self, person_id: int, slots: Sequence[str], route: Route, room: RoomSettings, *, again: bool
    ) -> str:
        forgotten = await self._personal.forget_slots(person_id, slots)
        if not forgotten.items and not forgotten.facts:
            name = "forgotten_before" if again else "forget_unknown"
            return notice(name, route.language, prefix=self._prefix(route))
        return await self._told_all(forgotten, route, room)

    async def _ask(self, person_id: int, language: Language, prefix: str) -> str:
        now = self._clock()
        listing = await self._store.forgetting.listing(person_id) or Listing(listed_ms=0, entries=())
        await self._store.forgetting.put_listing(person_id, msgspec.structs.replace(listing, all_asked_ms=now))
        found, _ = await self._personal.known(person_id)
        return notice("forget_all_ask", language, count=len(found), prefix=prefix)

    async def _forget_all(self, person_id: int, language: Language, prefix: str, *, again: bool) -> tuple[str, bool]:
        listing = await self._store.forgetting.listing(person_id)
        if again and listing is None and not (await self._personal.known(person_id))[0]:
            await self._personal.forget_all(person_id)  # what recall searches may not have been done with
            return notice("forgotten_all_before", language), True
        asked = listing.all_asked_ms if listing else None
        if asked is None or self._clock() - asked > NUMBERS_MS:
            return await self._ask(person_id, language, prefix), False
        forgotten = await self._personal.forget_all(person_id)
        count = len(entries(forgotten.items, forgotten.facts, {}))
        return notice("forget_all_done", language, count=count), True

    async def _ask_erasure(self, person_id: int, route: Route) -> str:
        """Note that the person wants all of it erased: an admin does that, as it takes the transcript too."""
        asked = await self._store.persons.request(
            person_id, "erasure", channel=route.event.channel, now_ms=self._clock()
        )
        if asked is None:
            return notice("unknown_sender", route.language)
        return notice("erasure_asked", route.language, asked=_day(asked.asked_ms), due=_day(asked.due_ms), id=asked.id)

    async def _told_all(self, forgotten: Forgotten, route: Route, room: RoomSettings) -> str:
        """What was forgotten; and where it was said in this conversation, that the next answers can still quote it."""
        told, scope_id = self._told(forgotten, route), await self._scope_id(route, room)
        if all(fact.scope_id != scope_id for fact in forgotten.facts):
            return told
        return f"{told}\n{notice('unlearn_stays', route.language, prefix=self._prefix(route))}"

    async def _scope_id(self, route: Route, room: RoomSettings) -> int:
        return (await self._names.find(route.memory_scope(), agent_change=room.agent_change)).id

    def _told(self, forgotten: Forgotten, route: Route) -> str:
        gone = entries(forgotten.items, forgotten.facts, {})
        if not self._unseen(route):
            return notice("forgotten_count", route.language, count=len(gone))
        lines = [f"– {_short(reads(entry, language=route.language))}" for entry in gone]
        return "\n".join([notice("forgotten", route.language), *lines])

    def _unseen(self, route: Route) -> bool:
        """Whether nobody but the asker sees the answer."""
        made = self._live.made(route.event.channel)
        return route.event.chat_type == "private" or (made is not None and made.capabilities.whispers)

    def _prefix(self, route: Route) -> str:
        made = self._live.made(route.event.channel)
        return made.capabilities.command_prefix if made is not None else ""


def _line(number: int, entry: KnownEntry, places: dict[int, Place], route: Route) -> str:
    language = route.language
    day = _day(entry.said_ms)
    where = _where(places.get(entry.scope_id), entry.scope_id, route)
    text = _short(reads(entry, language=language))
    name = "known_pinned" if entry.pinned else "known_entry"
    return notice(name, language, number=number, text=text, day=day, where=where)


def _day(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).date().isoformat()


def _where(place: Place | None, scope_id: int, route: Route) -> str:
    language = route.language
    if place is None:
        return notice("known_unsaid" if scope_id else "known_entered", language)
    channel, room = decode_part(place.channel), decode_part(place.conversation.partition("/")[0])
    if place.chat_type != "group":
        if channel == route.event.channel:
            return notice("known_private", language)
        return notice("known_private_at", language, channel=channel)
    if (channel, room) == (route.event.channel, route.event.room):
        return notice("known_here", language)
    return notice("known_group", language, room=room, channel=channel)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARS else line[:SHOWN_CHARS] + "…"
