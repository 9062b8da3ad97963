"""Conversations, for who may see or read them: listed, searched by words, and shown as people saw them.

What memory keeps is the thread of it; what the queues keep is laid beside: chunks as they went out, notices, commands and what
was refused. Where the queues' rows are gone (retention), what memory keeps still stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gateway.admin.acts.conversations import (
    LIST,
    SEARCH,
    SHOW,
    ChunkTold,
    ConversationLine,
    ConversationPage,
    ConversationsAsked,
    ConversationsPage,
    EarlierTold,
    FoundLine,
    FoundPage,
    LineTold,
    QuoteTold,
    SearchAsked,
    ShowAsked,
)
from gateway.admin.operations import Acting, FieldProblem, Handlers, Invalid
from gateway.admin.seen import (
    admit,
    amendments_of,
    code_of,
    cursor,
    mark,
    message_id_of,
    missing,
    name_of,
    number,
    route_of,
    rule_of,
    text_of,
    visible,
)
from gateway.amending import DELETED, amended
from gateway.inbox.base import Event, Inbox
from gateway.inbox.looking import Looking, Sent
from gateway.routing import Route
from memory.browsing import Browsing, Line, Page, SearchMark, Talk, Wanted, folded
from memory.key import ANY, decode_part, whereabouts

UNHEARD = 200
"""Events of a page's stretch that are looked at beside memory."""
NEAR = 50
"""Lines of the next page that are looked at for what came in on this one."""
END = 1 << 62


class ConversationActs:
    """Lists, searches and shows."""

    def __init__(self, *, browsing: Browsing, inbox: Inbox, looking: Looking) -> None:
        self._browsing = browsing
        self._inbox = inbox
        self._looking = looking

    def handlers(self) -> Handlers:
        return {LIST: self.listed, SEARCH: self.search, SHOW: self.show}

    async def listed(self, acting: Acting, asked: ConversationsAsked) -> ConversationsPage:
        wanted = _wanted(visible(acting, asked.channel), asked)
        after = mark(asked.after, 2)
        found = await self._browsing.talks(
            wanted, after=None if after is None else (after[0], after[1]), limit=asked.limit
        )
        lines = tuple(_talk(talk, acting) for talk in found.talks)
        acting.note(found=len(lines), titles=sum(bool(line.title) for line in lines))
        return ConversationsPage(conversations=lines, next=None if found.next is None else cursor(*found.next))

    async def search(self, acting: Acting, asked: SearchAsked) -> FoundPage:
        words = folded(asked.words).split()
        if not words:
            problem = FieldProblem(path="words", value=asked.words, problem="holds no word", remedy="give at least one")
            raise Invalid("words: give at least one word", problems=(problem,))
        wanted, after = _wanted(visible(acting, asked.channel), asked), mark(asked.after, 3)
        finds = await self._browsing.search(
            words, wanted, after=None if after is None else SearchMark(*after), limit=asked.limit
        )
        talks = sorted({one.talk.id for one in finds.found})
        acting.note(found=len(finds.found), conversations=" ".join(map(str, talks)))
        found = tuple(_found(one.talk, one.line, acting) for one in finds.found)
        return FoundPage(
            found=found, read=finds.lines, next=None if finds.next is None else cursor(*msgspec.to_builtins(finds.next))
        )

    async def show(self, acting: Acting, asked: ShowAsked) -> ConversationPage:
        what = f"conversation {asked.conversation}"
        talk = await self._browsing.talk(number(asked.conversation, "conversation"))
        if talk is None:
            raise missing(what)
        admit(acting, whereabouts(talk.scope)[0], what)
        acting.note(conversation=str(talk.id), before=asked.before, behind=asked.behind)
        before = None if asked.before is None else number(asked.before, "line")
        behind = None if asked.behind is None else number(asked.behind, "line")
        page = await self._browsing.page(talk.id, limit=asked.limit, before_id=before, after_id=behind)
        lines, cut = await self._beside(talk, page, before_id=before, after_id=behind)
        told = _talk(talk, acting)
        return ConversationPage(conversation=told, lines=lines, before=page.before, behind=page.behind, cut=cut)

    async def _beside(
        self, talk: Talk, page: Page, *, before_id: int | None, after_id: int | None
    ) -> tuple[tuple[LineTold, ...], bool]:
        """Lay what the queues have of the page's stretch beside its lines: from its first line on up to the next page's, so that
        pages meet without a gap. Return also whether some of it was left out."""
        lines = page.lines
        first = after_id if after_id is not None else lines[0].id if page.before and lines else 0
        last = before_id if before_id is not None else lines[-1].id + 1 if page.behind and lines else END
        lanes = [str(scope) for scope in await self._browsing.names(talk.id)]
        events = await self._looking.in_lanes(lanes, after_id=first - 1, before_id=last, limit=UNHEARD)
        # A message is stored before memory has its line: what came in here may stand on the next page.
        following = (
            (await self._browsing.page(talk.id, limit=NEAR, after_id=lines[-1].id)).lines
            if page.behind and lines
            else ()
        )
        near = (*lines, *following)
        of_lines = await self._looking.by_id(sorted({line.event_id for line in near})) if near else ()
        stored = {event.id: event for event in (*events, *of_lines)}
        known = {line.event_id for line in near}
        answered = {_turn_of(line, stored) for line in near if line.role == "assistant" and not line.for_agent}
        turns = sorted({_turn_of(line, stored) for line in lines if line.turn_id} | {event.turn_id for event in events})
        chunks = await self._looking.chunks(turns) if turns else ()
        replies = await self._looking.replies(turns) if turns else {}
        sent = _by_turn(chunks)
        told = [(line.id, _line(line, _event_of(line, stored), sent.get(_turn_of(line, stored), ()))) for line in lines]
        told += await self._unheard([one for one in events if one.id not in known and one.kind == "message"])
        for turn_id in turns:
            head = stored.get(turn_id)
            if turn_id not in answered and replies.get(turn_id) and head is not None:
                told.append((_after(head, told), _notice(head, replies[turn_id], sent)))
        told.sort(key=lambda one: one[0])
        return tuple(line for _, line in told), len(events) == UNHEARD

    async def _unheard(self, events: Sequence[Event]) -> list[tuple[int, LineTold]]:
        """Return what came in and is no part of memory, each with its place; as edits have left it, and without words that were
        deleted. Of an operator's coming and going the notice tells."""
        about = await amendments_of(self._inbox, events)
        told = []
        for event in events:
            route = route_of(event)
            if route is None or route.human is None or route.human.act == "said":
                said = [one for one in about if one.subject == event.subject]
                left = None if route is None or event.outcome == DELETED else amended(route, said)
                told.append((event.id, _unheard(event, route, "" if left is None else text_of(left.event))))
        return told


def _event_of(line: Line, stored: Mapping[int, Event]) -> Event | None:
    """Return what the line came in by; of a reply in an admin's own words what it answers."""
    return stored.get(line.event_id) or stored.get(line.turn_id)


def _turn_of(line: Line, stored: Mapping[int, Event]) -> int:
    """Return the turn by which a line went out: of an operator's words it is their own, though memory has them with the turn
    before."""
    event = stored.get(line.event_id)
    return line.turn_id if event is None else event.turn_id


def _after(head: Event, told: Sequence[tuple[int, LineTold]]) -> int:
    """Return the place of a notice: behind the last message of its turn."""
    places = [place for place, line in told if line.turn == str(head.turn_id)]
    return max(places, default=head.id)


def _wanted(channels: tuple[str, ...] | None, asked: ConversationsAsked | SearchAsked) -> Wanted:
    person = None if asked.person is None else number(asked.person, "person")
    return Wanted(channels=channels, room=asked.room, person_id=person)


def _talk(talk: Talk, acting: Acting) -> ConversationLine:
    channel, room, thread = whereabouts(talk.scope)
    return ConversationLine(
        conversation=str(talk.id),
        channel=channel,
        room=room,
        thread=thread,
        user=None if talk.scope.user == ANY else decode_part(talk.scope.user),
        chat_type=talk.scope.chat_type,
        agent=decode_part(talk.scope.agent),
        title=talk.title if acting.may("read", channel) else "",
        last_ms=talk.last_ms,
        active=talk.session_id is not None,
    )


def _found(talk: Talk, line: Line, acting: Acting) -> FoundLine:
    return FoundLine(
        conversation=_talk(talk, acting),
        line=str(line.id),
        turn=str(line.event_id) if line.event_id else None,
        role=_role(line),
        name=_name(line),
        user=line.user,
        text=line.text,
        said_ms=line.created_ms,
    )


def _name(line: Line) -> str:
    return line.speaker_name or (decode_part(line.agent) if line.role == "assistant" else "")


def _role(line: Line) -> str:
    if line.role != "assistant" or not line.speaker_name:
        return line.role
    return "note" if line.for_agent else "human"


def _by_turn(chunks: Sequence[Sent]) -> dict[int, tuple[ChunkTold, ...]]:
    found: dict[int, list[ChunkTold]] = {}
    for sent in chunks:
        chunk = sent.chunk
        told = ChunkTold(
            text=chunk.text, state=chunk.state, message=chunk.message_id, error=chunk.error, settled_ms=sent.settled_ms
        )
        found.setdefault(chunk.turn_id, []).append(told)
    return {turn_id: tuple(told) for turn_id, told in found.items()}


def _line(line: Line, event: Event | None, sent: tuple[ChunkTold, ...]) -> LineTold:
    quote = line.quote
    return LineTold(
        line=str(line.id),
        turn=str(event.id if event is not None else line.event_id) if line.event_id else None,
        session=line.session_id,
        role=_role(line),
        name=_name(line),
        user=line.user,
        text=line.text,
        said_ms=line.created_ms,
        edited_ms=line.edited_ms,
        deleted_ms=line.deleted_ms,
        earlier=tuple(EarlierTold(version=one.version, text=one.text) for one in line.earlier),
        message=line.platform_message_id,
        quote=None if quote is None else QuoteTold(name=quote.name, text=quote.text, by_bot=quote.by_bot),
        chunks=sent if line.role == "assistant" and not line.for_agent else (),
        state="" if event is None else event.state,
        rule="" if event is None else code_of(event) or rule_of(event, route_of(event)),
    )


def _unheard(event: Event, route: Route | None, text: str) -> LineTold:
    return LineTold(
        line=str(event.id),
        turn=str(event.id),
        session=event.session or "",
        role="unheard" if route is None or route.human is None else "human",
        name="" if route is None else name_of(route),
        user=event.speaker,
        text=text,
        said_ms=event.accepted_ms,
        message=None if route is None else message_id_of(route),
        state=event.state,
        rule=code_of(event) or rule_of(event, route),
    )


def _notice(head: Event, text: str, sent: Mapping[int, tuple[ChunkTold, ...]]) -> LineTold:
    """Return what the gateway itself said in a turn: a command's answer, or why there is none."""
    chunks = sent.get(head.turn_id, ())
    return LineTold(
        line=str(head.turn_id),
        turn=str(head.turn_id),
        session=head.session or "",
        role="gateway",
        name="",
        user=head.speaker,
        text=text,
        said_ms=chunks[0].settled_ms or head.accepted_ms if chunks else head.accepted_ms,
        chunks=chunks,
        state=head.state,
        rule=code_of(head),
    )
