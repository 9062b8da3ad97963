"""Acts about conversations in which a human answers: who waits, who has what, taking over, answering, handing back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal
from uuid import uuid4

import msgspec

from config.channels.base import RoomSettings
from config.loader import Configuration
from gateway.admin.acts.kinds import Channel, Limit, Number
from gateway.admin.operations import Acting, Disagrees, FieldProblem, Handlers, Invalid, Missing, Operation
from gateway.admin.takeovers import Takeover, TakeoverRows
from gateway.desk import last_route
from gateway.human_lane import decode_channel
from gateway.humans import MOST_CHARS, SUMMARY_CHARS, Humans, Operator
from gateway.routing import Route
from gateway.taking_over import deadline_ms, settings_of
from memory.base import HANDED_BACK, Message
from memory.errors import ModelFailed
from memory.humans import HumanTalk
from memory.key import decode_part
from memory.models import SmallModel

Words = Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_CHARS)]
Note = Annotated[str, msgspec.Meta(max_length=SUMMARY_CHARS)]


class TakeoversAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`state`: those that wait or are under way, those that have ended, or all."""

    state: Literal["live", "ended", "all"] = "live"
    channel: Channel | None = None
    after: Number | None = None
    limit: Limit = 50


class TakeoverTold(msgspec.Struct, frozen=True, kw_only=True):
    """A take-over. `user` is the account in a private talk. `touched_ms` is when the operator last did something, `ends_ms` when
    it ends by itself; None: it has ended. `turn` is the last one, `mine` says that the asker has it."""

    takeover: str
    channel: str
    room: str
    thread: str | None
    chat_type: Literal["private", "group"]
    user: str | None
    state: Literal["asked", "active", "ended"]
    asked_by: str
    operator: str | None
    mine: bool
    created_ms: int
    since_ms: int
    touched_ms: int
    ends_ms: int | None
    how: str | None
    turn: str


class TakeoversPage(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first."""

    takeovers: tuple[TakeoverTold, ...]
    next: str | None


class TakeoverAsked(msgspec.Struct, frozen=True, kw_only=True):
    takeover: Number


class TurnOf(msgspec.Struct, frozen=True, kw_only=True):
    """`turn`: one of the conversation. `note`: why, for colleagues."""

    turn: Number
    note: Note | None = None


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """By a turn of the conversation, or the number of a request. `over`: also from a colleague who has it."""

    turn: Number | None = None
    takeover: Number | None = None
    over: bool = False


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """`message`: the sender's own id of it; the same one sends nothing twice, and other words under it are refused."""

    takeover: Number
    text: Words
    message: Annotated[str, msgspec.Meta(min_length=1, max_length=100)] | None = None


class SaidTold(msgspec.Struct, frozen=True, kw_only=True):
    """The turn in which the words are on their way; its trace tells whether they arrived."""

    turn: str


class HandBack(msgspec.Struct, frozen=True, kw_only=True):
    """`summary`: what the agent is to know; the person does not see it."""

    takeover: Number
    summary: Note | None = None


class MessagesAsked(msgspec.Struct, frozen=True, kw_only=True):
    takeover: Number
    limit: Limit = 50


class MessageTold(msgspec.Struct, frozen=True, kw_only=True):
    """`by`: a person, the agent, or a human in its stead; `hidden`: the agent alone is to see it."""

    message: str
    by: Literal["person", "agent", "human"]
    name: str
    text: str
    at_ms: int
    hidden: bool
    deleted: bool


class MessagesTold(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the running session, oldest first; `note`: why a human was asked for, `summary`: what was left for the agent."""

    messages: tuple[MessageTold, ...]
    note: str | None
    summary: str | None


class DraftTold(msgspec.Struct, frozen=True, kw_only=True):
    summary: str


LIST = Operation(
    name="takeovers.list",
    told="List conversations in which a human answers or is asked for",
    method="GET",
    path="/takeovers",
    right="see",
    where="any",
    request=TakeoversAsked,
    result=TakeoversPage,
    audited="no",
)
SHOW = Operation(
    name="takeovers.show",
    told="Show one take-over",
    method="GET",
    path="/takeovers/{takeover}",
    right="see",
    where="any",
    request=TakeoverAsked,
    result=TakeoverTold,
    audited="no",
)
ASK = Operation(
    name="takeovers.ask",
    told="Ask for a human in the conversation of a turn",
    method="POST",
    path="/takeover-requests",
    right="handle",
    where="any",
    request=TurnOf,
    result=TakeoverTold,
)
BEGIN = Operation(
    name="takeovers.begin",
    told="Take a conversation over: by one of its turns, or by the number of a request",
    method="POST",
    path="/takeovers",
    right="handle",
    where="any",
    request=Begin,
    result=TakeoverTold,
)
MESSAGES = Operation(
    name="takeovers.messages",
    told="Read the end of a conversation that is taken over or asked for",
    method="GET",
    path="/takeovers/{takeover}/messages",
    right="read",
    where="any",
    request=MessagesAsked,
    result=MessagesTold,
    audited="look",
)
SAY = Operation(
    name="takeovers.say",
    told="Answer the person in a conversation that one has taken over",
    method="POST",
    path="/takeovers/{takeover}/messages",
    right="handle",
    where="any",
    request=Said,
    result=SaidTold,
)
DRAFT = Operation(
    name="takeovers.draft_summary",
    told="Have the memory's model draft a summary of the conversation",
    method="POST",
    path="/takeovers/{takeover}/summary-drafts",
    right="read",
    where="any",
    request=TakeoverAsked,
    result=DraftTold,
    audited="look",
)
HAND_BACK = Operation(
    name="takeovers.hand_back",
    told="Hand a conversation back to the bot, or dismiss a request",
    method="POST",
    path="/takeovers/{takeover}/end",
    right="handle",
    where="any",
    request=HandBack,
    result=TakeoverTold,
)

OPERATIONS: tuple[Operation, ...] = (LIST, SHOW, ASK, BEGIN, MESSAGES, SAY, DRAFT, HAND_BACK)

ModelOf = Callable[[Takeover, Route, RoomSettings], Awaitable[SmallModel | None]]
"""Gives the model that drafts summaries (`gateway/human_drafts.py`); None: there is none."""


class TakeoverActs:
    """Carries them out over `Humans`."""

    def __init__(
        self,
        *,
        humans: Humans,
        rows: TakeoverRows,
        talk: HumanTalk,
        model: ModelOf,
        configuration: Callable[[], Configuration],
    ) -> None:
        self._humans = humans
        self._rows = rows
        self._talk = talk
        self._model = model
        self._configuration = configuration

    def handlers(self) -> Handlers:
        """Return what each operation is done by."""
        return {
            LIST: self.list,
            SHOW: self.show,
            ASK: self.ask,
            BEGIN: self.begin,
            MESSAGES: self.messages,
            SAY: self.say,
            DRAFT: self.draft,
            HAND_BACK: self.hand_back,
        }

    async def list(self, acting: Acting, asked: TakeoversAsked) -> TakeoversPage:
        channels = acting.channels()
        if asked.channel is not None:
            acting.require(asked.channel)
            channels = frozenset({asked.channel})
        found = await self._rows.page(
            channels=channels,
            live={"live": True, "ended": False, "all": None}[asked.state],
            before=None if asked.after is None else _number(asked.after),
            limit=asked.limit + 1,
        )
        shown = found[: asked.limit]
        more = len(found) > asked.limit
        return TakeoversPage(
            takeovers=tuple(self._told(acting, row) for row in shown), next=str(shown[-1].id) if more else None
        )

    async def show(self, acting: Acting, asked: TakeoverAsked) -> TakeoverTold:
        return self._told(acting, await self._found(acting, asked.takeover))

    async def ask(self, acting: Acting, asked: TurnOf) -> TakeoverTold:
        turn_id = await self._turn(acting, asked.turn)
        return self._done(acting, await self._humans.ask_for(turn_id, asked.note))

    async def begin(self, acting: Acting, asked: Begin) -> TakeoverTold:
        operator = _operator(acting)
        if (asked.turn is None) == (asked.takeover is None):
            problem = FieldProblem(path="turn", value="", problem="is no way to tell which one", remedy="give either")
            raise Invalid("give either a turn of the conversation or the number of a request", problems=(problem,))
        if asked.takeover is not None:
            found = await self._found(acting, asked.takeover)
            return self._done(acting, await self._humans.take(found, operator, over=asked.over))
        turn_id = await self._turn(acting, asked.turn or "")
        return self._done(acting, await self._humans.begin(turn_id, operator, over=asked.over))

    async def messages(self, acting: Acting, asked: MessagesAsked) -> MessagesTold:
        found = await self._found(acting, asked.takeover)
        acting.note(takeover=str(found.id))
        route, room = self._place(found)
        rows = await self._talk.recent(route.memory_scope(), agent_change=room.agent_change, most=asked.limit)
        return MessagesTold(messages=tuple(_message(row) for row in rows), note=found.note, summary=found.summary)

    async def say(self, acting: Acting, asked: Said) -> SaidTold:
        found = await self._found(acting, asked.takeover)
        operator, key = _operator(acting), asked.message or uuid4().hex
        turn_id = await self._humans.say(found, operator, asked.text, key=f"{operator.id}:{key}")
        acting.note(takeover=str(found.id), turn=str(turn_id))
        return SaidTold(turn=str(turn_id))

    async def draft(self, acting: Acting, asked: TakeoverAsked) -> DraftTold:
        found = await self._found(acting, asked.takeover)
        acting.note(takeover=str(found.id))
        route, room = self._place(found)
        model = await self._model(found, route, room)
        if model is None:
            raise Disagrees("no model summarises here (`memory.model`); write the summary yourself")
        from memory.summary import Summarising  # a start does not pay for it

        rules = Summarising(
            max_chars=room.memory.summary.max_chars, language=route.language, group=found.chat_type == "group"
        )
        try:
            text = await self._talk.draft_summary(route.memory_scope(), model, rules, agent_change=room.agent_change)
        except ModelFailed as fault:
            raise Disagrees(f"no draft was made: {fault}; write the summary yourself") from fault
        return DraftTold(summary=text)

    async def hand_back(self, acting: Acting, asked: HandBack) -> TakeoverTold:
        found = await self._found(acting, asked.takeover)
        return self._done(acting, await self._humans.hand_back(found, _operator(acting), asked.summary))

    async def _found(self, acting: Acting, takeover: str) -> Takeover:
        """Return the row, if the actor may know of it."""
        found = await self._humans.find(_number(takeover))
        if not acting.may("see", decode_channel(found)):
            raise Missing(f"there is no take-over {str(found.id)!r}")
        acting.require(decode_channel(found))
        return found

    async def _turn(self, acting: Acting, turn: str) -> int:
        """Return the number of a turn, if the actor may know of it."""
        event, _ = await self._humans.event(_number(turn))
        if not acting.may("see", event.channel):
            raise Missing(f"there is no message {str(event.id)!r} any more by which a conversation could be taken over")
        acting.require(event.channel)
        return event.id

    def _place(self, of: Takeover) -> tuple[Route, RoomSettings]:
        route = last_route(of)
        if route is None:
            raise Missing(f"take-over {str(of.id)!r} has no conversation any more: its person was erased")
        return route, settings_of(of, self._configuration())

    def _done(self, acting: Acting, of: Takeover) -> TakeoverTold:
        acting.note(takeover=str(of.id), turn=str(of.turn_id))
        return self._told(acting, of)

    def _told(self, acting: Acting, of: Takeover) -> TakeoverTold:
        channel = decode_channel(of)
        room, slash, thread = of.conversation.partition("/")
        ends_ms = deadline_ms(of, settings_of(of, self._configuration()).takeover)
        return TakeoverTold(
            takeover=str(of.id),
            channel=channel,
            room=decode_part(room) if room else "",
            thread=decode_part(thread) if slash else None,
            chat_type=of.chat_type,
            user=decode_part(of.user) if of.chat_type == "private" and of.user else None,
            state=of.state,
            asked_by=of.asked_by,
            operator=of.operator_name,
            mine=of.operator == _operator(acting).id,
            created_ms=of.created_ms,
            since_ms=of.since_ms,
            touched_ms=of.touched_ms,
            ends_ms=None if of.state == "ended" else ends_ms,
            how=of.how,
            turn=str(of.turn_id),
        )


def _operator(acting: Acting) -> Operator:
    return Operator(acting.actor.id, acting.actor.name)


def _message(row: Message) -> MessageTold:
    by: Literal["person", "agent", "human"] = (
        "person" if row.role == "user" else "human" if row.speaker_name else "agent"
    )
    return MessageTold(
        message=str(row.id),
        by=by,
        name=(row.speaker_name or row.user) if by != "agent" else decode_part(row.agent),
        text=row.text,
        at_ms=row.created_ms,
        hidden=any(step.name == HANDED_BACK for step in row.steps),
        deleted=row.deleted_ms is not None,
    )


def _number(text: str) -> int:
    """Return the number; too large ones are nobody's."""
    number = int(text)
    if number.bit_length() > 63:
        raise Missing(f"there is nothing with the number {text!r}")
    return number
