"""What can be seen of turns, as data: which there were, what became of one and why, and what its prompt would be under other
settings. Done in `gateway/admin/turns.py`, `tracing.py`, `replaying.py` and `tail.py`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from gateway.admin.acts.kinds import Channel, Limit, Turn
from gateway.admin.operations import Operation
from gateway.inbox.base import EventState

Rule = Annotated[
    str, msgspec.Meta(pattern=r"^[a-z_]{1,60}$", description="What decided: mention, not_addressed, bot, …")
]
Person = Annotated[str, msgspec.Meta(pattern=r"^[0-8]?[0-9]{1,18}$", description="A person's number, as text.")]
Room = Annotated[str, msgspec.Meta(min_length=1, max_length=4000, description="A room, as its platform writes it.")]
# As far as ids go.
Ms = Annotated[int, msgspec.Meta(ge=0, le=3_900_000_000_000, description="Milliseconds since 1970, UTC.")]
Cursor = Annotated[str, msgspec.Meta(max_length=200, description="`next` of the page before.")]


class TurnsAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Which turns. `link` is a message's address as its platform gives it, of a person's message or of a reply; `message` its id
    there, `room` its place."""

    channel: Channel | None = None
    states: tuple[EventState, ...] = ()
    rule: Rule | None = None
    room: Room | None = None
    person: Person | None = None
    message: Annotated[str, msgspec.Meta(min_length=1, max_length=4000)] | None = None
    link: Annotated[str, msgspec.Meta(min_length=1, max_length=4000)] | None = None
    since_ms: Ms | None = None
    until_ms: Ms | None = None
    limit: Limit = 50
    after: Cursor | None = None


class TurnLine(msgspec.Struct, frozen=True, kw_only=True):
    """An event, without a word of what was said. `rule` let it in, `code` is how it ended where it got no answer; `user` is ""
    where somebody was erased."""

    turn: str
    channel: str
    state: EventState
    kind: (
        str  # message, edit, delete, move, presence, human (what an operator does); "" where it can't be read any more
    )
    rule: str
    code: str
    agent: str
    room: str
    thread: str | None
    chat_type: str
    user: str
    accepted_ms: int
    part_of: str | None  # the turn that it was answered in, where that is another's


class TurnsPage(msgspec.Struct, frozen=True, kw_only=True):
    """The newest first. A page may be short, or empty, and go on: it passes a bounded number of events."""

    turns: tuple[TurnLine, ...]
    next: str | None


class TurnAsked(msgspec.Struct, frozen=True, kw_only=True):
    turn: Turn


class SaidTold(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the turn, or about its messages (an edit, a deletion). `user` is whose turn it is, `name` who said it: of the
    kind `human` an operator. Name and text are for who may read there."""

    event: str
    kind: str
    accepted_ms: int
    user: str
    message: str | None
    name: str
    text: str


class WayTold(msgspec.Struct, frozen=True, kw_only=True):
    """How it was routed and let in. `revision` is the settings' of then, `number` the console's revision that made them."""

    rule: str
    refused: bool
    key: str
    scope: str
    agent: str
    revision: str
    number: int | None
    language: str
    room: str
    thread: str | None
    chat_type: str


class EndTold(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended; `reason` is for admins only, and may be the platform's own words. Of the `attempts`, those `excused` counted
    as no try: cut short by who wrote, or broken off by the database."""

    state: EventState
    rule: str
    code: str
    reason: str
    attempts: int
    excused: int


class EntryTold(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate of the prompt: whether it went in, whole or cut, by which rule. Speaker and text are for who may read.
    `elsewhere`: they are not shown, as they may have been said in a channel that the reader does not hold."""

    section: str
    ids: tuple[str, ...]
    verdict: str
    rule: str
    tokens: int
    role: str
    speaker: str
    text: str
    elsewhere: bool = False


class CallTold(msgspec.Struct, frozen=True, kw_only=True):
    """One time an agent was asked. Neither `finish` nor `code`: it was cut short."""

    agent: str
    model: str
    ms: int
    first_ms: int | None
    retries: int
    finish: str
    code: str
    prompt: int | None
    completion: int | None


class SpentTold(msgspec.Struct, frozen=True, kw_only=True):
    """What a call was counted as. `purpose`: answer or memory; `money` None: its price is not known; in units of `currency`."""

    purpose: str
    agent: str
    model: str
    prompt: int
    completion: int
    estimated: bool
    money: float | None
    currency: str


class PieceTold(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk as it went out, with its receipt. The text is for who may read."""

    index: int
    of: int
    state: str
    attempts: int
    message: str | None
    error: str | None
    put_ms: int
    settled_ms: int | None
    text: str


class LessonTold(msgspec.Struct, frozen=True, kw_only=True):
    """Something proposed to be remembered: kept (`in`) or refused (`out`), and why."""

    message: str
    by: str
    verdict: str
    rule: str
    reason: str
    text: str


class PromptTold(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a prompt: what it was made from. `exact`: made again just now, it is byte for byte the one of then.
    `system` is for who may read."""

    now_ms: int
    tokenizer: str
    budget: dict[str, int]
    failed: tuple[str, ...]
    notes: tuple[str, ...]
    exact: bool
    system: str
    entries: tuple[EntryTold, ...]


class TurnTrace(msgspec.Struct, frozen=True, kw_only=True):
    """A turn from what came in to what was learned. `words`: what was said is shown; else all texts and names are empty.

    `way` None: the event was erased, or this release can't read it. `prompt` None: no agent was asked, or its record is gone.
    `learning`: `none`, `pending`, `done`. `conversation` is where it stands in memory; None: nowhere.
    """

    turn: str
    channel: str
    words: bool
    said: tuple[SaidTold, ...]
    about: tuple[SaidTold, ...]
    way: WayTold | None
    end: EndTold
    conversation: str | None
    session: str | None
    prompt: PromptTold | None
    calls: tuple[CallTold, ...]
    spent: tuple[SpentTold, ...]
    reply: str | None
    pieces: tuple[PieceTold, ...]
    learning: Literal["none", "pending", "done"]
    learned: tuple[LessonTold, ...]


class SettingTold(msgspec.Struct, frozen=True, kw_only=True):
    """The setting that decided: its path in the settings file where it applies, its value as JSON when the turn was accepted
    (None: not known any more) and now, and where the value of now comes from. `at`: the most specific place that can say
    otherwise."""

    path: str
    then: str | None
    now: str | None
    origin: str
    at: str


class WhyTold(msgspec.Struct, frozen=True, kw_only=True):
    """One plain sentence on why the turn ended as it did, in English and Chinese, and what would change that."""

    turn: str
    channel: str
    state: EventState
    rule: str
    en: str
    zh: str
    setting: SettingTold | None


class ReplayAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`settings`: those of `then` or of `now`, with `changes` (`memory.window.turns=4`, `agent.system=…`) on top."""

    turn: Turn
    settings: Literal["then", "now"] = "then"
    changes: Annotated[tuple[Annotated[str, msgspec.Meta(max_length=40_000)], ...], msgspec.Meta(max_length=50)] = ()


class PromptMessageTold(msgspec.Struct, frozen=True, kw_only=True):
    role: str
    text: str


class PromptShown(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as the model gets it."""

    tokens: int
    system: str
    messages: tuple[PromptMessageTold, ...]


class ReplayTold(msgspec.Struct, frozen=True, kw_only=True):
    """Two prompts side by side. `then` None: it can't be made again exactly, as rows have changed since. `difference`: lines for
    a person, those of a text comparison among them."""

    turn: str
    identical: bool
    then: PromptShown | None
    now: PromptShown
    difference: tuple[str, ...]


class CountsAsked(msgspec.Struct, frozen=True, kw_only=True):
    channel: Channel | None = None
    hours: Annotated[int, msgspec.Meta(ge=1, le=24 * 30)] = 24


class CountTold(msgspec.Struct, frozen=True, kw_only=True):
    """How many messages of an hour (its first millisecond) are in a state by a rule or code ("": by none)."""

    channel: str
    hour_ms: int
    state: EventState
    rule: str
    count: int


class CountsTold(msgspec.Struct, frozen=True, kw_only=True):
    """`from_ms`: so far back it was counted, where that is less than was asked."""

    counts: tuple[CountTold, ...]
    from_ms: int | None


class TailAsked(msgspec.Struct, frozen=True, kw_only=True):
    channel: Channel | None = None


LIST = Operation(
    name="turns.list",
    told="List messages and what became of them, without words: by channel, state, rule, room, person, time, or message link.",
    method="GET",
    path="/turns",
    right="see",
    where="any",
    request=TurnsAsked,
    result=TurnsPage,
    audited="no",
)
TRACE = Operation(
    name="turns.trace",
    told="Show a turn from event to receipt: rule, settings, prompt, calls, cost, chunks, what was learned.",
    method="GET",
    path="/turns/{turn}",
    right="see",
    where="any",
    request=TurnAsked,
    result=TurnTrace,
    audited="look",
)
WHY = Operation(
    name="turns.why",
    told="Say in one sentence why a message was answered, ignored, observed, or failed, and which setting decided.",
    method="GET",
    path="/turns/{turn}/why",
    right="see",
    where="any",
    request=TurnAsked,
    result=WhyTold,
    audited="no",
)
REPLAY = Operation(
    name="turns.replay",
    told="Make a turn's prompt again under its settings, the present ones, or with changes, and show both side by side.",
    method="POST",
    path="/turns/{turn}/replay",
    right="read",
    where="any",
    request=ReplayAsked,
    result=ReplayTold,
    audited="look",
)
COUNTS = Operation(
    name="turns.counts",
    told="Count messages by channel, hour, state and rule.",
    method="GET",
    path="/turn-counts",
    right="see",
    where="any",
    request=CountsAsked,
    result=CountsTold,
    audited="no",
)
TAIL = Operation(
    name="turns.tail",
    told="Follow messages as they are accepted and end, as server-sent events.",
    method="GET",
    path="/tail",
    right="see",
    where="any",
    request=TailAsked,
    result="text/event-stream",
    audited="look",
)
OPERATIONS: tuple[Operation, ...] = (LIST, TRACE, WHY, REPLAY, COUNTS, TAIL)
