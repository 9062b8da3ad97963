"""Humans in the bot's stead: who is asked for, who has a conversation, what they say in it, and how it goes back to the bot.

The truth is a row (`gateway/admin/takeovers.py`). What the person is to see of it (a human's words, that one has come or gone)
goes as an event through the conversation's own lane, behind what runs there: in order, once, and past every crash. An act that
changes the row also notes what is to be told of it, so that whoever looks next goes on with what a crash has cut off; and nobody
tells of the later change, or says anything, before the earlier ones are told.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import msgspec

from adapters.base import MessageEvent
from config.loader import Configuration
from gateway.admin.operations import Disagrees, Invalid, Missing
from gateway.admin.takeovers import AskedBy, Ending, Place, Takeover, TakeoverRows
from gateway.desk import Desk, last_route
from gateway.errors import StoreBusy
from gateway.human_lane import HumanLane, decode_channel, wordless, words_of
from gateway.human_news import Telling
from gateway.inbox.base import Event, Inbox
from gateway.routing import Route, decode, encode
from gateway.taking_over import Wish, asked_in, deadline_ms, place_for, places_in, places_of, settings_of, silent
from memory.errors import StoreUnavailable
from memory.ids import Ids
from memory.key import ANY, encode_conversation, encode_part

logger = logging.getLogger(__name__)

LOOK_S = 60.0
"""The longest time between two looks: settings may have brought a deadline nearer."""

_WAITING: Mapping[str, Literal["waiting", "taken"]] = {"asked": "waiting", "active": "taken"}

_IN_BETWEEN = "something was done here in between; look again"
_GONE = "the conversation can't be written to any more: its channel or its person is gone"

MOST_CHARS = 32_000
SUMMARY_CHARS = 2_000


class Operator(NamedTuple):
    """A human who answers: an id that is nobody else's, and the name that people see."""

    id: str
    name: str


class Humans:
    """All take-overs. `halt` cuts short the turns that run here and answer one of the given places; `paused` hears at each look
    how many conversations the bot is silent in, by (channel, state)."""

    def __init__(
        self,
        *,
        rows: TakeoverRows,
        desk: Desk,
        inbox: Inbox,
        lane: HumanLane,
        ids: Ids,
        configuration: Callable[[], Configuration],
        reaches: Callable[[str], bool],
        halt: Callable[[frozenset[Place]], None],
        paused: Callable[[Mapping[tuple[str, Literal["waiting", "taken"]], int]], None],
        clock: Callable[[], int],
        retry_s: float,
    ) -> None:
        """`reaches` says of a channel whether something can be said in it unasked. `clock` gives milliseconds since 1970; a store
        that is away is asked again after `retry_s`."""
        self._rows = rows
        self._desk = desk
        self._inbox = inbox
        self._lane = lane
        self._telling = Telling(rows=rows, desk=desk, lane=lane, inbox=inbox)
        self._ids = ids
        self._configuration = configuration
        self._reaches = reaches
        self._halt = halt
        self._paused = paused
        self._clock = clock
        self._retry_s = retry_s
        self._live: dict[Place, Takeover] = {}  # as of the last look: what admission goes by, and a broken database

    # What turns ask

    async def at(self, route: Route) -> Takeover | None:
        """Return the live take-over of a message's conversation. While the database is away: as of the last look, as people are
        answered without it."""
        places = places_of(route)
        try:
            return await self._rows.at(places)
        except StoreBusy:
            logger.warning("take-over not looked up", exc_info=True)
            return next((self._live[place] for place in places if place in self._live), None)

    def covers(self, event: MessageEvent) -> bool:
        """Whether a group's message is in a conversation that is a human's alone, as of the last look: one has it, or the bot is
        silent until one comes. Then it needs no mention."""
        if event.chat_type != "group" or not self._live:
            return False
        channel = encode_part(event.channel)
        return self._silent(Place(channel, encode_conversation(event.room, event.thread), ANY))

    def has(self, event: MessageEvent) -> bool:
        """Whether a message, private or not, is in a conversation that is a human's alone, as of the last look: no agent is
        asked, so no quota holds there."""
        return bool(self._live) and any(self._silent(place) for place in places_in(event))

    def _silent(self, place: Place) -> bool:
        row = self._live.get(place)
        return row is not None and silent(row, settings_of(row, self._configuration()).takeover)

    def reaches(self, channel: str) -> bool:
        """Whether a human could answer there at all."""
        return self._reaches(channel)

    async def heard(self, of: Takeover, route: Route, event: Event, text: str, *, person_id: int | None) -> None:
        """Note what a person said in it, and let the staff's room know. Repeating it does no harm."""
        last = encode(wordless(route))
        await self._rows.heard(of.id, last=last, turn_id=event.turn_id, person_id=person_id)
        # The row was read before this: in a group somebody else has spoken last then, and the room would be told their name.
        await self._desk.heard(msgspec.structs.replace(of, last=last, last_person_id=person_id), event.id, text)

    async def last_turn(self, route: Route) -> int:
        """Return the last turn of a message's conversation that was part of a take-over, ended or not; 0: none was. Raises
        `StoreBusy`."""
        return await self._rows.last_turn(places_of(route))

    async def ask(self, route: Route, wish: Wish, *, turn_id: int, person_id: int | None) -> tuple[Takeover, bool]:
        """Ask for a human; return the conversation's take-over, and whether it waits by this turn's asking (also before a
        crash)."""
        found = await self._rows.at(places_of(route))
        if found is not None:
            return found, asked_in(found, turn_id)
        new = self._new(route, turn_id=turn_id, person_id=person_id, asked_by=wish.by, note=wish.note)
        made, fresh = await self._rows.add(new)
        if fresh:
            logger.info(
                "a human is asked for", extra={"takeover": made.id, "channel": route.event.channel, "by": wish.by}
            )
            await self._telling.soon(made)
        return made, asked_in(made, turn_id)

    # What operators do

    async def find(self, takeover_id: int) -> Takeover:
        """Return the row. Raises `Missing`."""
        found = await self._rows.get(takeover_id)
        if found is None:
            raise Missing(f"there is no take-over {str(takeover_id)!r}")
        return found

    async def event(self, turn_id: int) -> tuple[Event, Route]:
        """Return a turn's event and its route. Raises `Missing`."""
        event = await self._inbox.event(turn_id)
        try:
            route = decode(event.body) if event is not None else None
        except msgspec.DecodeError:
            route = None
        if event is None or route is None or not isinstance(route.event, MessageEvent):
            raise Missing(f"there is no message {str(turn_id)!r} any more by which a conversation could be taken over")
        return event, route

    async def _reached(self, turn_id: int) -> tuple[int, Route]:
        """Return the turn in which a person spoke, and its route: of what a human did, the one before."""
        event, route = await self.event(turn_id)
        if not self._reaches(event.channel):
            raise Disagrees(f"on channel {event.channel!r} people get answers to what they ask, and nothing else")
        if route.human is None:
            return event.turn_id, route
        of = await self.find(route.human.takeover)
        last = last_route(of)
        if last is None:
            raise Missing(f"take-over {str(of.id)!r} has no conversation any more: its person was erased")
        return of.turn_id, last

    async def ask_for(self, turn_id: int, note: str | None) -> Takeover:
        """Ask for a colleague in a turn's conversation. Raises `Missing`, `Disagrees`."""
        spoken, route = await self._reached(turn_id)
        made, _ = await self.ask(route, Wish(by="operator", note=note), turn_id=spoken, person_id=None)
        return made

    async def begin(self, turn_id: int, operator: Operator, *, over: bool) -> Takeover:
        """Take a turn's conversation over. `over`: also from whoever has it. Raises `Missing`, `Disagrees`."""
        spoken, route = await self._reached(turn_id)
        found = await self._rows.at(places_of(route))
        if found is None:
            new = self._new(route, turn_id=spoken, person_id=None, asked_by="operator", note=None)
            begun = msgspec.structs.replace(new, state="active", operator=operator.id, operator_name=operator.name)
            found, fresh = await self._rows.add(begun)
            if fresh:
                return await self._begun(found)
        return await self.take(found, operator, over=over)

    async def take(self, of: Takeover, operator: Operator, *, over: bool) -> Takeover:
        """Take a request, or with `over` also somebody's conversation. Raises `Disagrees`, which names who has it."""
        if of.state == "ended":
            raise Disagrees(f"take-over {str(of.id)!r} has ended ({of.how})")
        if of.state == "active" and of.operator == operator.id:
            return of
        if of.state == "active" and not over:
            raise Disagrees(f"{of.operator_name} has this conversation; take it over from them if you have to")
        taken = await self._rows.take(of, operator=operator.id, name=operator.name, now_ms=self._clock())
        if taken is None:
            raise Disagrees("somebody else was faster, or it has just ended; look again")
        return await self._begun(taken)

    async def _begun(self, of: Takeover) -> Takeover:
        logger.info("taken over", extra={"takeover": of.id, "channel": of.channel, "operator": of.operator})
        self._live[of.place] = of
        self._halt(frozenset({of.place}))
        await self._telling.soon(of)
        return of

    async def say(self, of: Takeover, operator: Operator, text: str, *, key: str, at_desk: bool = False) -> int:
        """Send a human's words; return their turn. The same `key` sends nothing twice, and other words not at all. Raises
        `Disagrees`, `Invalid`, `StoreBusy`."""
        if not text.strip() or len(text) > MOST_CHARS:
            raise Invalid(f"text: {len(text)} characters; write 1 to {MOST_CHARS}")
        self._held_by(of, operator)
        if not await self._rows.touch(of, now_ms=self._clock()):
            raise Disagrees(_IN_BETWEEN)
        await self._telling.of(of.id)
        said = await self._lane.put(of, "said", f"said:{key}", text=text)
        if said is None:
            raise Disagrees(_GONE)
        if not at_desk:
            if words_of(said) != text:
                raise Disagrees("message: its id was given to other words before; give new words an id of their own")
            await self._tell_desk(of, said.id, text)
        return said.id

    async def _tell_desk(self, of: Takeover, turn_id: int, text: str) -> None:
        """Let the staff's room know. Where that can't be, the words are on their way all the same."""
        try:
            await self._desk.said(of, turn_id, text)
        except StoreBusy:
            logger.warning("the staff's room was not told what was answered", exc_info=True, extra={"takeover": of.id})

    async def hand_back(self, of: Takeover, operator: Operator, summary: str | None) -> Takeover:
        """Give the conversation back to the bot, which is left the summary; of a request: say that no human is needed. Raises
        `Disagrees`, `Invalid`."""
        left = (summary or "").strip() or None
        if left is not None and len(left) > SUMMARY_CHARS:
            raise Invalid(f"summary: {len(left)} characters; write at most {SUMMARY_CHARS}")
        if of.state != "asked":
            self._held_by(of, operator)
        return await self._end(of, "handed_back" if of.state == "active" else "dismissed", summary=left)

    def _held_by(self, of: Takeover, operator: Operator) -> None:
        if of.state == "ended":
            raise Disagrees(f"take-over {str(of.id)!r} has ended ({of.how})")
        if of.state == "asked":
            raise Disagrees("nobody has this conversation yet; take it over first")
        if of.operator != operator.id:
            raise Disagrees(f"{of.operator_name} has this conversation; take it over from them if you have to")
        if last_route(of) is None or decode_channel(of) not in self._configuration().settings.channels:
            raise Disagrees(_GONE)

    async def _end(self, of: Takeover, how: Ending, *, summary: str | None) -> Takeover:
        ended = await self._rows.end(of, how, summary=summary, now_ms=self._clock())
        if ended is None:
            raise Disagrees(_IN_BETWEEN)
        self._ended(ended)
        await self._telling.soon(ended)
        return ended

    def _ended(self, of: Takeover) -> None:
        logger.info("take-over ended", extra={"takeover": of.id, "channel": of.channel, "how": of.how})
        self._live.pop(of.place, None)

    # What the staff's room says

    async def at_desk(self, event: MessageEvent) -> bool:
        """Whether a message in a staff's room is about a take-over, and for nobody's agent. Raises `StoreBusy`."""
        return await self._desk.about(event) is not None

    async def desk_said(self, event: Event, message: MessageEvent) -> None:
        """Act on what a staff member wrote about a take-over. Repeating it does no harm."""
        of = await self._desk.about(message)
        if of is None:
            return
        await self._desk.keep(of, event.id, message)
        operator = Operator(
            f"desk:{message.channel}:{message.sender.user}", message.sender.name or message.sender.account
        )
        word, rest = _command(message.text)
        try:
            if of.state == "ended":
                await self._desk.over(of, message)
            elif word == "back":
                await self.hand_back(of, operator, rest)
            elif word == "take":
                await self.take(of, operator, over=True)
            else:
                if of.state == "asked":
                    of = await self.take(of, operator, over=False)
                await self.say(of, operator, message.text, key=f"desk:{event.id}", at_desk=True)
        except Invalid:
            most = SUMMARY_CHARS if word == "back" else MOST_CHARS
            await self._desk.not_passed_on(of, event.id, chars=len(message.text), most=most)
        except Disagrees:
            now = await self.find(of.id)
            if now.state == "ended":
                await self._desk.over(now, message)
            else:
                await self._desk.other_has_it(now, message.sender.user)

    # What lasts

    async def follow(self) -> None:
        """Hear of what other instances do, end what is overdue, and tell what is owed, for as long as the gateway runs."""
        seen = 0
        while True:
            try:
                within_s = await self.look()
                seen = await self._changed(seen, within_s=within_s)
            except (StoreBusy, StoreUnavailable):
                logger.warning("take-overs not looked at", exc_info=True)
                await asyncio.sleep(self._retry_s)  # nothing tells when it is back

    async def look(self) -> float:
        """Do once what `follow` does for ever; return the seconds until there is something to do by itself."""
        live = await self.learn()
        if taken := frozenset(row.place for row in live if row.state == "active"):
            self._halt(taken)
        await self._telling.all()
        now, left_s = self._clock(), LOOK_S
        for row in live:
            due = deadline_ms(row, settings_of(row, self._configuration()).takeover)
            if due > now:
                left_s = min(left_s, (due - now) / 1000)
            elif ended := await self._rows.end(
                row, "timed_out" if row.state == "active" else "not_taken", summary=None, now_ms=now
            ):
                self._ended(ended)
                await self._telling.of(ended.id)
        return max(left_s, 0.01)

    async def move(self, channel: str, room: str, now_room: str) -> None:
        """Let take-overs of a room go on under its new id, at once: what is said there may be on its way in already."""
        await self._rows.move(channel, room, now_room, ids_last=self._desk.ids_last(channel))
        await self.learn()

    async def learn(self) -> list[Takeover]:
        """Learn which conversations humans have, and return them. Before the first message comes in: what groups say to a human
        is known by it. Raises `StoreBusy`."""
        live = await self._rows.live()
        self._live = {row.place: row for row in live}
        self._paused(Counter((decode_channel(row), _WAITING[row.state]) for row in live))
        return live

    async def _changed(self, seen: int, *, within_s: float) -> int:
        try:
            async with asyncio.timeout(within_s):
                return await self._rows.changed(seen)
        except TimeoutError:
            return seen

    def _new(
        self, route: Route, *, turn_id: int, person_id: int | None, asked_by: AskedBy, note: str | None
    ) -> Takeover:
        place, now = place_for(route), self._clock()
        return Takeover(
            id=self._ids.next(),
            channel=place.channel,
            conversation=place.conversation,
            user=place.user,
            chat_type=route.event.chat_type,
            state="asked",
            asked_by=asked_by,
            note=note[:SUMMARY_CHARS] if note else None,
            person_id=person_id,
            operator=None,
            operator_name=None,
            since_ms=now,
            touched_ms=now,
            created_ms=now,
            how=None,
            summary=None,
            last=encode(wordless(route)),
            last_person_id=person_id,
            turn_id=turn_id,
            asked_turn_id=None if asked_by == "operator" else turn_id,
            changes=0,
        )


_COMMANDS = {"back": "back", "交还": "back", "take": "take", "接手": "take"}


def _command(text: str) -> tuple[str, str]:
    """Return what a staff member's message orders ("": nothing, it is for the person), and what stands behind that. A slash is
    not enough: there are platforms that take it for a command of their own."""
    word, *rest = text.strip().split(maxsplit=1) or [""]
    marked = word[:1] in ("!", "！", "/", "／")
    return (_COMMANDS.get(word[1:].lower(), "") if marked else ""), "".join(rest)
