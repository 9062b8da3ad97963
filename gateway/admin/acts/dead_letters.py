"""What can be done about dead letters, as data: what was given up, and what may not have arrived. Done in
`gateway/admin/dead_letters.py`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from gateway.admin.acts.kinds import Channel, Turn
from gateway.admin.operations import Operation
from gateway.inbox.dead import LetterKind

MANY = 200
"""Letters that one act deals with at most."""

Code = Annotated[
    str, msgspec.Meta(pattern=r"^[a-z_]{1,40}$", description="As it is listed: gave_up, undeliverable, unknown_send, …")
]
Words = Annotated[str, msgspec.Meta(min_length=1, max_length=32_000)]
Seen = Annotated[int, msgspec.Meta(ge=0, description="`seen` of the letter as it was decided on; else as it is now.")]
How = Literal["fitting", "send", "answer"]
Done = Literal["send", "answer", "by_hand", "discard"]
SawWhat = Literal["nothing", "part", "perhaps", "notice", "perhaps_notice"]


class LettersAsked(msgspec.Struct, frozen=True, kw_only=True):
    channel: Channel | None = None
    kind: LetterKind | None = None
    code: Code | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50
    after: Turn | None = None


class LetterLine(msgspec.Struct, frozen=True, kw_only=True):
    """A letter without a word of what was said. `dead`: given up; `unknown`: it may not have arrived. `reason` is for admins
    only, and may be the platform's word.

    `person_saw`: nothing; part (chunks arrived, not all); perhaps (nobody saw the end of the send); notice (that there is no
    answer); perhaps_notice. `sent`, `unknown`, `dead` count the reply's chunks. `fits` is what `retry` would do: send it again,
    or have it answered again. `seen` grows with every act on the letter. `configured`: the channel still is.
    """

    turn: str
    kind: LetterKind
    channel: str
    configured: bool
    room: str | None
    thread: str | None
    chat_type: str | None
    messages: int
    code: str
    reason: str | None
    accepted_ms: int
    age_s: float
    person_saw: SawWhat
    sent: int
    unknown: int
    dead: int
    fits: Literal["send", "answer"]
    seen: int


class LettersPage(msgspec.Struct, frozen=True, kw_only=True):
    letters: tuple[LetterLine, ...]
    next: str | None


class LetterAsked(msgspec.Struct, frozen=True, kw_only=True):
    turn: Turn


class SaidTold(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the person's."""

    event: str
    name: str
    account: str
    text: str
    accepted_ms: int


class PieceTold(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk of what went out or should have. `earlier`: of a former try."""

    text: str
    state: str
    earlier: bool
    attempts: int
    message: str | None
    error: str | None


class LetterTold(msgspec.Struct, frozen=True, kw_only=True):
    """A letter with its words; they are empty to who may not read there."""

    letter: LetterLine
    said: tuple[SaidTold, ...]
    pieces: tuple[PieceTold, ...]


class RetryAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`how`: send what did not arrive, have the agent answer again, or what fits. `may_repeat`: a send of which nobody saw the
    end may appear twice."""

    turn: Turn
    how: How = "fitting"
    may_repeat: bool = False
    seen: Seen | None = None


class DiscardAsked(msgspec.Struct, frozen=True, kw_only=True):
    turn: Turn
    seen: Seen | None = None


class AnswerAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is what the person is told of who answers; left out: the actor's."""

    turn: Turn
    text: Words
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=80)] | None = None
    seen: Seen | None = None


class LetterDealt(msgspec.Struct, frozen=True, kw_only=True):
    """What was begun: it is on its way (`send`), back in its lane (`answer`, `by_hand`), or set aside (`discard`)."""

    turn: str
    done: Done


class ManyAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Letters by their turns, or all that the filter names, the newest first, at most `limit`. `text` is for `answer`."""

    act: Literal["retry", "discard", "answer"]
    turns: Annotated[tuple[Turn, ...], msgspec.Meta(max_length=MANY)] = ()
    channel: Channel | None = None
    kind: LetterKind | None = None
    code: Code | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MANY)] = 50
    how: How = "fitting"
    may_repeat: bool = False
    text: Words | None = None
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=80)] | None = None


class OneOfMany(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one: `done`, or why not."""

    turn: str
    done: Done | None
    problem: str | None = None


class ManyDealt(msgspec.Struct, frozen=True, kw_only=True):
    results: tuple[OneOfMany, ...]
    more: bool  # the filter names others


LIST = Operation(
    name="dead-letters.list",
    told="List what was given up and what may not have arrived, without words, the newest first.",
    method="GET",
    path="/dead-letters",
    right="handle",
    where="any",
    request=LettersAsked,
    result=LettersPage,
    audited="no",
)
SHOW = Operation(
    name="dead-letters.show",
    told="Show what was said, what should have gone back, and what of it arrived.",
    method="GET",
    path="/dead-letters/{turn}",
    right="handle",
    where="any",
    request=LetterAsked,
    result=LetterTold,
    audited="look",
)
RETRY = Operation(
    name="dead-letters.retry",
    told="Send again what did not arrive, or have the message answered again.",
    method="POST",
    path="/dead-letters/{turn}/retry",
    right="handle",
    where="any",
    request=RetryAsked,
    result=LetterDealt,
)
DISCARD = Operation(
    name="dead-letters.discard",
    told="Set it aside: it stays as it ended, and waits no more.",
    method="POST",
    path="/dead-letters/{turn}/discard",
    right="handle",
    where="any",
    request=DiscardAsked,
    result=LetterDealt,
)
ANSWER = Operation(
    name="dead-letters.answer",
    told="Answer it in your own words, under your name, where the reply would have gone.",
    method="POST",
    path="/dead-letters/{turn}/answer",
    right="handle",
    where="any",
    request=AnswerAsked,
    result=LetterDealt,
)
MANY_AT_ONCE = Operation(
    name="dead-letters.many",
    told="Deal with many at once, by turns or by filter; each has its own result.",
    method="POST",
    path="/dead-letters/many",
    right="handle",
    where="any",
    request=ManyAsked,
    result=ManyDealt,
)
OPERATIONS: tuple[Operation, ...] = (LIST, SHOW, RETRY, DISCARD, ANSWER, MANY_AT_ONCE)
