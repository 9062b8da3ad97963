"""Finds turns: by channel, state, rule, room, person and time, or by a message's link; and counts them. Never a word of what was
said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from adapters.base import Linked
from gateway.admin.acts.turns import COUNTS, LIST, CountsAsked, CountsTold, CountTold, TurnLine, TurnsAsked, TurnsPage
from gateway.admin.operations import Acting, FieldProblem, Handlers, Invalid
from gateway.admin.seen import code_of, cursor, kind_of, mark, number, route_of, rule_of, visible
from gateway.amending import subject_named
from gateway.inbox.base import Event
from gateway.inbox.looking import Looking, Wanted
from gateway.inbox.rows import digest_of
from gateway.live import Live
from gateway.rooms import queue_of
from gateway.routing import Route
from memory.key import decode_part
from memory.people import Persons

HOUR_MS = 3_600_000
WALKS = 5
"""Walks over events that one page takes at most."""
PERSONS_ACCOUNTS = 20
"""Accounts of a person of which events are looked for."""

Narrow = Callable[[Route | None], bool]


class TurnActs:
    """Lists and counts."""

    def __init__(self, *, looking: Looking, persons: Persons, live: Live, clock: Callable[[], int]) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._looking = looking
        self._persons = persons
        self._live = live
        self._clock = clock

    def handlers(self) -> Handlers:
        return {LIST: self.listed, COUNTS: self.counts}

    async def listed(self, acting: Acting, asked: TurnsAsked) -> TurnsPage:
        channels = visible(acting, asked.channel)
        if asked.link is not None:
            return await self._linked(channels, asked.link)
        if asked.message is not None:
            if asked.channel is None or asked.room is None:
                raise _needs("message", "counts within its channel and room", "give `channel` and `room`, or a `link`")
            return _page(await self._of_message(asked.channel, asked.room, asked.message))
        if asked.person is not None:
            return await self._of_person(channels, asked)
        return await self._walked(
            _wanted(asked, channels), asked, lambda route: _in_room(route, asked.room), walks=WALKS
        )

    async def counts(self, acting: Acting, asked: CountsAsked) -> CountsTold:
        channels = visible(acting, asked.channel)
        since_ms = self._clock() - asked.hours * HOUR_MS
        counted = await self._looking.tallies(since_ms=since_ms - since_ms % HOUR_MS, channels=channels)
        counts = tuple(
            CountTold(channel=one.channel, hour_ms=one.hour_ms, state=one.state, rule=one.rule, count=one.count)
            for one in counted.tallies
        )
        return CountsTold(counts=counts, from_ms=counted.from_ms)

    async def _walked(self, wanted: Wanted, asked: TurnsAsked, narrow: Narrow, *, walks: int) -> TurnsPage:
        """Walk on until the page is full."""
        after = mark(asked.after, 1)
        before = None if after is None else after[0]
        lines: list[TurnLine] = []
        for _ in range(walks):
            walk = await self._looking.events(wanted, before_id=before, limit=asked.limit)
            for event in walk.events:
                if narrow(route := route_of(event)):
                    lines.append(line_of(event, route))
                if len(lines) == asked.limit:
                    return TurnsPage(turns=tuple(lines), next=cursor(event.id))
            before = walk.next_id
            if before is None:
                return TurnsPage(turns=tuple(lines), next=None)
        return TurnsPage(turns=tuple(lines), next=cursor(before or 0))

    async def _of_person(self, channels: Sequence[str] | None, asked: TurnsAsked) -> TurnsPage:
        """Walk through the events of each of the person's accounts, from the same point on, and merge what is found."""
        assert asked.person is not None  # noqa: S101  # the caller's branch
        accounts = await self._persons.accounts(number(asked.person, "person"))
        theirs = [(decode_part(one.channel), decode_part(one.user)) for one in accounts]
        theirs = [one for one in theirs if channels is None or one[0] in channels][:PERSONS_ACCOUNTS]
        pages = []
        for channel, user in theirs:
            wanted = _wanted(asked, (channel,), speaker=user)
            pages.append(await self._walked(wanted, asked, lambda route: _in_room(route, asked.room), walks=1))
        lines = sorted((line for page in pages for line in page.turns), key=lambda line: -int(line.turn))
        # What lies behind where another account's page ended is still to come.
        edge = max((int(page.next) for page in pages if page.next is not None), default=0)
        lines = [line for line in lines if int(line.turn) >= edge]
        if len(lines) > asked.limit:
            return TurnsPage(turns=tuple(lines[: asked.limit]), next=lines[asked.limit - 1].turn)
        return TurnsPage(turns=tuple(lines), next=cursor(edge) if edge else None)

    async def _linked(self, channels: Sequence[str] | None, link: str) -> TurnsPage:
        """Find what a platform's link names: a person's message, or a message of a reply."""
        found: dict[str, TurnLine] = {}
        known = False
        for name in self._live.channels() if channels is None else channels:
            adapter = self._live.made(name)
            place = adapter.located(link) if adapter is not None and isinstance(adapter, Linked) else None
            if place is not None:
                known = True
                found |= {line.turn: line for line in await self._of_message(name, *place)}
        if not known:
            raise _needs("link", "is no message's address on a channel that you may see", "copy a message's link there")
        return _page(found.values())

    async def _of_message(self, channel: str, room: str, message_id: str) -> list[TurnLine]:
        said = await self._looking.about(digest_of(channel, subject_named(room, message_id)))
        sent = await self._looking.receipted(message_id, queue=queue_of(channel, room))
        of_turns = await self._looking.of_turns(sorted({one.chunk.turn_id for one in sent})) if sent else ()
        found = {event.id: event for event in (*said, *of_turns) if event.channel == channel}
        return [line_of(event, route_of(event)) for event in found.values()]


def line_of(event: Event, route: Route | None) -> TurnLine:
    """Return an event without words. Pure."""
    said = None if route is None else route.event
    return TurnLine(
        turn=str(event.id),
        channel=event.channel,
        state=event.state,
        kind="" if route is None else kind_of(route),
        rule=rule_of(event, route),
        code=code_of(event),
        agent="" if route is None else route.agent,
        room="" if said is None else said.room,
        thread=None if said is None else said.thread,
        chat_type="" if said is None else said.chat_type,
        user=event.speaker,
        accepted_ms=event.accepted_ms,
        part_of=str(event.turn_id) if event.turn_id != event.id else None,
    )


def _page(lines: Iterable[TurnLine]) -> TurnsPage:
    return TurnsPage(turns=tuple(sorted(lines, key=lambda line: -int(line.turn))), next=None)


def _wanted(asked: TurnsAsked, channels: Sequence[str] | None, *, speaker: str | None = None) -> Wanted:
    return Wanted(
        channels=None if channels is None else tuple(channels),
        states=asked.states,
        rule=asked.rule,
        speaker=speaker,
        room=asked.room,
        since_ms=asked.since_ms,
        until_ms=asked.until_ms,
    )


def _in_room(route: Route | None, room: str | None) -> bool:
    return room is None or (route is not None and route.event.room == room)


def _needs(path: str, problem: str, remedy: str) -> Invalid:
    told = FieldProblem(path=path, value="", problem=problem, remedy=remedy)
    return Invalid(f"{path} {problem}; {remedy}", problems=(told,))
