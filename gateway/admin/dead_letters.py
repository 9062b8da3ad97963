"""Deals with dead letters: what was given up, and what may not have arrived. Seen, sent or answered again, answered by hand, or
set aside; one by one or many at once, each exactly once.

A letter of a channel that the actor does not handle is none to them. Words are shown only to who may read there.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection

import msgspec

from adapters.base import Address
from config.loader import Configuration
from gateway.admin.acts.dead_letters import (
    ANSWER,
    DISCARD,
    LIST,
    MANY_AT_ONCE,
    RETRY,
    SHOW,
    AnswerAsked,
    DiscardAsked,
    Done,
    How,
    LetterAsked,
    LetterDealt,
    LetterLine,
    LettersAsked,
    LettersPage,
    LetterTold,
    ManyAsked,
    ManyDealt,
    OneOfMany,
    RetryAsked,
    SaidTold,
)
from gateway.admin.letter_lines import UNKNOWN_SEND, channel_of, fitting, line_of, piece_told, route_of, said_told
from gateway.admin.operations import Acting, Disagrees, FieldProblem, Handlers, Invalid, Missing
from gateway.admin.seen import amendments_of, gone
from gateway.errors import StoreBusy
from gateway.inbox.base import Inbox, Target
from gateway.inbox.dead import ByHand, DeadLetters, Letter, Wanted
from gateway.rooms import target_of
from memory.ids import Ids

logger = logging.getLogger(__name__)


class DeadLetterActs:
    """Does the acts. `current` says where an address is now, `dealt` counts (channel, what was done)."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        letters: DeadLetters,
        configuration: Callable[[], Configuration],
        current: Callable[[Address], Address],
        ids: Ids,
        clock: Callable[[], int],
        dealt: Callable[[str, str], None],
    ) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._inbox = inbox
        self._letters = letters
        self._configuration = configuration
        self._current = current
        self._ids = ids
        self._clock = clock
        self._dealt = dealt

    def handlers(self) -> Handlers:
        return {
            LIST: self.list,
            SHOW: self.show,
            RETRY: self.retry,
            DISCARD: self.discard,
            ANSWER: self.answer,
            MANY_AT_ONCE: self.many,
        }

    async def list(self, acting: Acting, asked: LettersAsked) -> LettersPage:
        before_id = None if asked.after is None else int(asked.after)
        found = await self._letters.listed(_wanted(acting, asked, before_id=before_id))
        page = found[: asked.limit]
        more = len(found) > len(page)
        return LettersPage(letters=tuple(map(self._line, page)), next=str(page[-1].turn_id) if more else None)

    async def show(self, acting: Acting, asked: LetterAsked) -> LetterTold:
        letter = await self._found(acting, asked.turn)
        acting.note(turn=asked.turn)
        words = acting.may("read", channel_of(letter))
        return LetterTold(
            letter=self._line(letter),
            said=await self._said(letter) if words else (),
            pieces=tuple(piece_told(chunk, words=words) for chunk in letter.chunks),
        )

    async def _said(self, letter: Letter) -> tuple[SaidTold, ...]:
        about = await amendments_of(self._inbox, letter.events)
        return tuple(said_told(event, gone=gone(event, about)) for event in letter.events)

    async def retry(self, acting: Acting, asked: RetryAsked) -> LetterDealt:
        letter = await self._found(acting, asked.turn)
        acting.note(turn=asked.turn, how=asked.how)
        return await self._retried(letter, asked.how, may_repeat=asked.may_repeat, seen=asked.seen)

    async def discard(self, acting: Acting, asked: DiscardAsked) -> LetterDealt:
        letter = await self._found(acting, asked.turn)
        acting.note(turn=asked.turn)
        return await self._set_aside(letter, seen=asked.seen)

    async def answer(self, acting: Acting, asked: AnswerAsked) -> LetterDealt:
        letter = await self._found(acting, asked.turn)
        acting.note(turn=asked.turn)
        return await self._answered(acting, letter, asked.text, name=asked.name, seen=asked.seen)

    async def many(self, acting: Acting, asked: ManyAsked) -> ManyDealt:
        if asked.act == "answer" and asked.text is None:
            raise _invalid("text", "", "an answer needs words", "give text=…")
        turns, more = await self._named(acting, asked)
        results: list[OneOfMany] = []
        try:
            for turn in turns:
                results += [await self._one(acting, turn, asked)]
        finally:  # also of what was done before it broke off
            acting.channel = asked.channel  # not the first one's
            done = sum(result.done is not None for result in results)
            acting.note(act=asked.act, asked=len(turns), done=done)
        return ManyDealt(results=tuple(results), more=more)

    async def _named(self, acting: Acting, asked: ManyAsked) -> tuple[tuple[str, ...], bool]:
        if asked.turns:
            return tuple(dict.fromkeys(asked.turns)), False
        found = await self._letters.listed(_wanted(acting, asked))
        return tuple(str(letter.turn_id) for letter in found[: asked.limit]), len(found) > asked.limit

    async def _one(self, acting: Acting, turn: str, asked: ManyAsked) -> OneOfMany:
        try:
            letter = await self._found(acting, turn)
            match asked.act:
                case "retry":
                    dealt = await self._retried(letter, asked.how, may_repeat=asked.may_repeat, seen=None)
                case "discard":
                    dealt = await self._set_aside(letter, seen=None)
                case "answer":
                    dealt = await self._answered(acting, letter, asked.text or "", name=asked.name, seen=None)
        except (Missing, Disagrees, Invalid, StoreBusy) as fault:
            return OneOfMany(turn=turn, done=None, problem=str(fault))
        acting.note_one(channel_of(letter), turn=turn, done=dealt.done)
        return OneOfMany(turn=turn, done=dealt.done)

    async def _found(self, acting: Acting, turn: str) -> Letter:
        letter = await self._letters.find(int(turn))
        if letter is None or not acting.may("handle", channel_of(letter)):
            raise Missing(f"turn {turn}: no letter of it waits; it may have been dealt with already")
        acting.require(channel_of(letter))
        return letter

    async def _retried(self, letter: Letter, how: How, *, may_repeat: bool, seen: int | None) -> LetterDealt:
        self._answerable(letter)
        what = fitting(letter) if how == "fitting" else how
        if what == "answer":
            if letter.kind == "unknown":
                raise _invalid("how", how, "it was answered: only its delivery is unknown", "say how=send")
            reopened = self._letters.reopen(letter.turn_id, seen=_seen(letter, seen), answer=None, now_ms=self._clock())
            return await self._done(letter, "answer", reopened)
        if not letter.undelivered():
            raise _invalid("how", how, "nothing of it is left to be sent", "say how=answer")
        if letter.kind == "unknown" and not may_repeat:
            raise _invalid(
                "may_repeat",
                "false",
                "it may have arrived: sent again, people may see it twice",
                "say may_repeat=true if that does no harm",
            )
        sent = self._letters.send_again(
            letter.turn_id, seen=_seen(letter, seen), redirect=self._redirect, now_ms=self._clock()
        )
        return await self._done(letter, "send", sent)

    async def _set_aside(self, letter: Letter, *, seen: int | None) -> LetterDealt:
        aside = self._letters.set_aside(letter.turn_id, seen=_seen(letter, seen), now_ms=self._clock())
        return await self._done(letter, "discard", aside)

    async def _answered(
        self, acting: Acting, letter: Letter, text: str, *, name: str | None, seen: int | None
    ) -> LetterDealt:
        self._answerable(letter)
        if not text.strip():
            raise _invalid("text", repr(text[:20]), "there are no words in it", "write an answer")
        if route_of(letter) is None or letter.events[0].kind != "message":
            raise Invalid(f"turn {letter.turn_id}: only a message can be answered; discard it")
        words = ByHand(id=self._ids.next(), name=" ".join((name or acting.actor.name).split()), text=text.strip())
        reopened = self._letters.reopen(letter.turn_id, seen=_seen(letter, seen), answer=words, now_ms=self._clock())
        return await self._done(letter, "by_hand", reopened)

    async def _done(self, letter: Letter, done: Done, act: Awaitable[bool]) -> LetterDealt:
        if not await act:
            raise Disagrees(f"turn {letter.turn_id}: somebody else has dealt with it meanwhile; look again")
        self._dealt(channel_of(letter), done)
        logger.info("letter dealt with", extra={"turn": letter.turn_id, "channel": channel_of(letter), "done": done})
        return LetterDealt(turn=str(letter.turn_id), done=done)

    def _answerable(self, letter: Letter) -> None:
        if channel_of(letter) not in self._configuration().settings.channels:
            raise Invalid(
                f"channel {channel_of(letter)!r} is not configured any more: nothing can be sent there; configure it, or discard"
            )

    def _redirect(self, encoded: bytes) -> Target | None:
        address = msgspec.msgpack.decode(encoded, type=Address)
        current = self._current(address)
        return None if current is address else target_of(current)

    def _line(self, letter: Letter) -> LetterLine:
        configured = channel_of(letter) in self._configuration().settings.channels
        return line_of(letter, configured=configured, now_ms=self._clock())


def _wanted(acting: Acting, asked: LettersAsked | ManyAsked, *, before_id: int | None = None) -> Wanted:
    """Return what is asked for, and one more. An unknown send has failed with no code; it is named as it is listed."""
    kind, code = asked.kind, asked.code
    if code == UNKNOWN_SEND and kind != "dead":
        kind, code = "unknown", None
    channels = _channels(acting, asked.channel)
    return Wanted(channels=channels, kind=kind, code=code, before_id=before_id, limit=asked.limit + 1)


def _channels(acting: Acting, channel: str | None) -> Collection[str] | None:
    """Return the channels to look in: of those that the actor handles, the one that was asked for."""
    held = acting.channels()
    if channel is None:
        return held
    return (channel,) if held is None or channel in held else ()


def _seen(letter: Letter, seen: int | None) -> int:
    return letter.seen if seen is None else seen


def _invalid(path: str, value: str, problem: str, remedy: str) -> Invalid:
    told = FieldProblem(path=path, value=value, problem=problem, remedy=remedy)
    return Invalid(f"{path}: {problem}; {remedy}", problems=(told,))
