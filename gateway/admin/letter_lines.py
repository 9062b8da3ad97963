"""Dead letters as they are told. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from adapters.base import MessageEvent
from gateway.admin.acts.dead_letters import LetterLine, PieceTold, SaidTold, SawWhat
from gateway.admin.seen import name_of
from gateway.inbox.base import Chunk, Event
from gateway.inbox.dead import Letter
from gateway.routing import Route, decode

UNKNOWN_SEND = "unknown_send"
"""Stands as the code of what may have arrived."""


def line_of(letter: Letter, *, configured: bool, now_ms: int) -> LetterLine:
    """Return the letter without a word of what was said."""
    route, channel = route_of(letter), channel_of(letter)
    event, head = (None if route is None else route.event), letter.events[0]
    states = [chunk.state for chunk in letter.current()]
    outcome = next((one.outcome for one in letter.concerned() if one.outcome is not None), None)
    errors = [chunk.error for chunk in letter.undelivered() if chunk.error]
    return LetterLine(
        turn=str(letter.turn_id),
        kind=letter.kind,
        channel=channel,
        configured=configured,
        room=None if event is None else event.room,
        thread=None if event is None else event.thread,
        chat_type=None if event is None else event.chat_type,
        messages=len(letter.concerned()),
        code=UNKNOWN_SEND if letter.kind == "unknown" else (outcome.code if outcome else None) or "",
        reason=errors[0] if errors else outcome.reason if outcome else None,
        accepted_ms=head.accepted_ms,
        age_s=max(0.0, (now_ms - head.accepted_ms) / 1000),
        person_saw=_saw(letter),
        sent=states.count("sent"),
        unknown=states.count("unknown"),
        dead=states.count("dead"),
        fits=fitting(letter),
        seen=letter.seen,
    )


def channel_of(letter: Letter) -> str:
    """Return the letter's channel."""
    return letter.events[0].channel


def route_of(letter: Letter) -> Route | None:
    """Return the route of the turn's first message; None: it is no message, or can't be read by this release."""
    try:
        route = decode(letter.events[0].body)
    except msgspec.DecodeError:
        return None
    return route if isinstance(route.event, MessageEvent) else None


def fitting(letter: Letter) -> Literal["send", "answer"]:
    """Return what helps: what could not be delivered is sent again, unless it was the notice that there is no answer."""
    if letter.kind == "unknown":
        return "send"
    return "send" if letter.undelivered() and letter.notice_of is None else "answer"


def _saw(letter: Letter) -> SawWhat:
    """Return what the person saw of it."""
    states = {chunk.state for chunk in letter.current()}
    outcome = next((one.outcome for one in letter.concerned() if one.outcome is not None), None)
    notice = letter.notice_of is not None or (
        outcome is not None and outcome.code is not None and outcome.code != "undeliverable"
    )
    if "unknown" in states and not notice:
        return "part" if "sent" in states and "dead" in states else "perhaps"
    if "unknown" in states:
        return "perhaps_notice"
    if "sent" not in states:
        return "nothing"
    return "notice" if notice else "part"


def said_told(event: Event, *, gone: bool) -> SaidTold:
    """Return what was said, and by whom; no word of what is `gone` from its platform, or can't be read by this release."""
    try:
        way = decode(event.body)
        said = way.event
    except msgspec.DecodeError:
        return SaidTold(event=str(event.id), name="", account="", text="", accepted_ms=event.accepted_ms)
    return SaidTold(
        event=str(event.id),
        name=name_of(way),
        account=said.sender.user,
        text=said.text if isinstance(said, MessageEvent) and not gone else "",
        accepted_ms=event.accepted_ms,
    )


def piece_told(chunk: Chunk, *, words: bool) -> PieceTold:
    """Return a chunk, with its words or without."""
    return PieceTold(
        text=chunk.text if words else "",
        state=chunk.state,
        earlier=chunk.index < 0,
        attempts=chunk.attempts,
        message=chunk.message_id,
        error=chunk.error,
    )
