"""A turn's pieces as an admin is told them; `words` False leaves out what was said, and names. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateway.admin.acts.turns import CallTold, EntryTold, LessonTold, PieceTold, PromptTold, SaidTold
from gateway.admin.seen import kind_of, message_id_of, name_of, route_of, text_of
from gateway.inbox.base import Event
from gateway.inbox.looking import Sent
from memory.base import Call, Ledger
from memory.replay import Explanation


class Prompted(NamedTuple):
    """What is recorded of a turn's prompt."""

    ledger: Ledger
    explanation: Explanation


def said_told(event: Event, *, words: bool) -> SaidTold:
    """Return an event as it is told."""
    route = route_of(event)
    said = None if route is None else route.event
    return SaidTold(
        event=str(event.id),
        kind="" if route is None else kind_of(route),
        accepted_ms=event.accepted_ms,
        user=event.speaker,
        message=None if route is None else message_id_of(route),
        name=name_of(route) if route is not None and words else "",
        text=text_of(said) if said is not None and words else "",
    )


PERSONAL = frozenset({"pinned", "profile", "recalled"})
"""Sections of a prompt that come from wherever the person has talked."""


def elsewhere(section: str, ids: Sequence[str | int], scope_id: int) -> bool:
    """Whether the words of a candidate may have been said in other channels than the turn's. Fails closed: what memory keeps of
    a person is taken to be from anywhere."""
    return section in PERSONAL and not (section == "recalled" and bool(ids) and str(ids[0]) == str(scope_id))


def prompt_told(prompted: Prompted, *, words: bool, everywhere: bool) -> PromptTold:
    """Return the record of a prompt. `everywhere`: to a reader of all channels; others see no words that may come from one that
    they do not hold."""
    ledger, explanation = prompted
    hidden = [not everywhere and elsewhere(one.section, one.ids, ledger.scope_id) for one in explanation.entries]
    entries = tuple(
        EntryTold(
            section=one.section,
            ids=one.ids,
            verdict=one.verdict,
            rule=one.rule,
            tokens=one.tokens,
            role=one.role,
            speaker=one.speaker if words and not hides else "",
            text=one.text if words and not hides else "",
            elsewhere=words and hides,
        )
        for one, hides in zip(explanation.entries, hidden, strict=True)
    )
    return PromptTold(
        now_ms=ledger.now_ms,
        tokenizer=ledger.tokenizer,
        budget=ledger.budget,
        failed=ledger.failed,
        notes=ledger.notes,
        exact=explanation.exact,
        system=explanation.system if words and not any(hidden) else "",
        entries=entries,
    )


def call_told(call: Call) -> CallTold:
    """Return one time that an agent was asked."""
    return CallTold(
        agent=call.agent,
        model=call.model,
        ms=call.ms,
        first_ms=call.first_ms,
        retries=call.retries,
        finish=call.finish,
        code=call.code,
        prompt=call.prompt,
        completion=call.completion,
    )


def piece_told(sent: Sent, *, words: bool) -> PieceTold:
    """Return a chunk with its receipt."""
    chunk = sent.chunk
    return PieceTold(
        index=chunk.index,
        of=chunk.of,
        state=chunk.state,
        attempts=chunk.attempts,
        message=chunk.message_id,
        error=chunk.error,
        put_ms=sent.put_ms,
        settled_ms=sent.settled_ms,
        text=chunk.text if words else "",
    )


def lessons_told(explanation: Explanation, *, words: bool) -> tuple[LessonTold, ...]:
    """Return what was proposed to be remembered."""
    return tuple(
        LessonTold(
            message=one.message,
            by=one.by,
            verdict=one.verdict,
            rule=one.rule,
            reason=one.reason,
            text=one.text if words else "",
        )
        for one in explanation.learned
    )
