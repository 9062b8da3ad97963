"""Turns what memory holds into the prompt, and accounts for every candidate: pure, and the same bytes for the same inputs.

Order: one system block (role and rules, pinned constraints, profile, summary, session facts, carried and observed talk),
then the window, then the message to answer. The array is strictly alternating, a user's first and last, within budget.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import msgspec

from memory.base import Context, Frame, Ledger, LedgerEntry, Loaded, Message, PromptMessage, Role, Said, Verdict
from memory.labels import labels_for
from memory.policy import Policy
from memory.sections import Section, memory_sections, place_line, recalled_section, role_section, shares
from memory.speech import Speech
from memory.text import distinct_names
from memory.tokens import MESSAGE_OVERHEAD, Tokenizer
from memory.window import OUT, Limits, Trimmed, reach, trim, uncovered

_FLOOR = 64  # tokens that the message to answer gets, whatever the role text takes

SAME_TURN = "same_turn"
"""Out: belongs to the turn that is to be answered, but is no user's message (a reply stored before a crash)."""


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """All that a prompt is made from. `loaded.appended` holds the messages to answer; at least one is a user's."""

    turn_id: int
    scope_id: int
    person_id: int | None
    revision: str
    now_ms: int
    policy: Policy
    frame: Frame
    loaded: Loaded
    tokenizer: Tokenizer
    notes: tuple[str, ...] = ()


def assemble(inputs: Inputs) -> tuple[Context, Ledger]:
    """Return the prompt and its ledger."""
    policy, frame, loaded, tokenizer = inputs.policy, inputs.frame, inputs.loaded, inputs.tokenizer
    labels, group = labels_for(frame.language), frame.chat_type == "group"
    rows, current, strays = _candidates(loaded, inputs.turn_id)
    names = names_in(loaded) if group or loaded.carried or loaded.observed else {}
    place = place_line(labels, frame.channel, frame.conversation, group=group, now_ms=inputs.now_ms)
    limit = policy.window_tokens - policy.output_tokens if frame.limit_tokens is None else frame.limit_tokens
    sections = [
        role_section(policy, labels, place, group=group, tokenizer=tokenizer),
        *memory_sections(
            loaded,
            policy,
            labels,
            names=names,
            group=group,
            language=frame.language,
            share=shares(policy, limit),
            tokenizer=tokenizer,
        ),
    ]
    system_tokens = sum(section.tokens for section in sections)
    hard = max(_FLOOR, limit - system_tokens)
    pending = uncovered(rows, loaded.summary) if frame.summarised else set()
    limits = Limits(
        turns=reach(policy.turns, uncovered=len(pending), unlearned=frame.unlearned),
        keep_turns=policy.keep_turns,
        messages=policy.messages,
        tokens=min(policy.tokens, hard),
        hard=hard,
    )
    speech = Speech(
        rows, policy, labels, names=names, group=group, reports_lookups=frame.reports_lookups, tokenizer=tokenizer
    )
    trimmed = trim(rows, limits, cost=speech.cost)
    shown = {(row.scope_id, row.id) for row, rule in zip(rows, trimmed.rules, strict=True) if rule not in OUT}
    if any((row.scope_id, row.id) in shown for row in loaded.recalled):
        sections = [
            recalled_section(loaded, policy, labels, room=one.tokens, tokenizer=tokenizer, shown=shown)
            if one.name == "recalled"
            else one
            for one in sections
        ]
        system_tokens = sum(section.tokens for section in sections)
    context = Context(
        system="\n\n".join(section.text for section in sections if section.text),
        messages=_messages(rows, trimmed, speech),
        tokens=system_tokens + trimmed.tokens,
        output_tokens=policy.output_tokens,
    )
    ledger = Ledger(
        turn_id=inputs.turn_id,
        scope_id=inputs.scope_id,
        session_id=loaded.session_id,
        person_id=inputs.person_id,
        agent=policy.agent,
        revision=inputs.revision,
        now_ms=inputs.now_ms,
        tokenizer=tokenizer.name,
        budget=_budget(policy, limit, limits, sections, context),
        entries=tuple(
            entry
            for entries in (*(s.entries for s in sections), strays, _entries(rows, trimmed, speech, current))
            for entry in entries
        ),
        failed=loaded.failed,
        notes=(*inputs.notes, *_notes(rows, trimmed, pending, frame, room=limit - system_tokens)),
        prompt_digest=prompt_digest(context),
        usage={},
        frame=frame,
    )
    return context, ledger


def _notes(rows: Sequence[Message], trimmed: Trimmed, pending: set[int], frame: Frame, *, room: int) -> Iterator[str]:
    if room < _FLOOR:
        yield "no room left by role and sections"
    if frame.unlearned:
        yield f"extraction pending: {frame.unlearned} turns"
    shown = {row.turn_id for row, rule in zip(rows, trimmed.rules, strict=True) if rule not in OUT}
    if lost := len(pending - shown):
        yield f"summary pending: {lost} earlier turns are in neither window nor summary"


def prompt_digest(context: Context) -> str:
    """Return the SHA-256 of the prompt's canonical bytes: what the model gets, and nothing else."""
    canonical = msgspec.json.encode([context.system, [[message.role, message.text] for message in context.messages]])
    return hashlib.sha256(canonical).hexdigest()


def _candidates(loaded: Loaded, turn_id: int) -> tuple[list[Message], int, list[LedgerEntry]]:
    """Return the window's candidates with the messages to answer last, where those begin, and the rows that are neither."""
    rows = [row for row in loaded.window if row.turn_id != turn_id]
    strays = [row for row in loaded.window if row.turn_id == turn_id] if len(rows) < len(loaded.window) else []
    strays += [row for row in loaded.appended if row.role != "user"]
    current = len(rows)
    rows += [row for row in loaded.appended if row.role == "user"]
    return rows, current, [_entry(row, "window", "out", SAME_TURN, row.tokens + MESSAGE_OVERHEAD) for row in strays]


def names_in(loaded: Loaded) -> dict[str, str]:
    """Return the name to show for every account that may speak in the prompt."""
    people = [(row.user, row.speaker_name) for row in loaded.carried if row.role == "user" and row.deleted_ms is None]
    people += [(row.user, row.speaker_name) for row in loaded.window if row.role == "user"]
    people += [(row.user, row.speaker_name) for row in loaded.observed]
    people += [(row.user, row.speaker_name) for row in loaded.appended if row.role == "user"]
    return distinct_names(people)


def _messages(rows: Sequence[Message], trimmed: Trimmed, speech: Speech) -> tuple[PromptMessage, ...]:
    """Merge neighbours of one role: whatever was left out between them, the array alternates."""
    merged: list[PromptMessage] = []
    texts: list[str] = []
    said: list[Said] = []
    role: Role = "user"
    for index in range(trimmed.first, len(rows)):
        if trimmed.rules[index] in OUT:
            continue
        row = rows[index]
        if row.role != role:
            merged.append(PromptMessage(role=role, text="\n\n".join(texts), said=tuple(said)))
            texts, said, role = [], [], row.role
        text, who = speech.show(row, trimmed.cuts.get(index))
        texts.append(text)
        said.append(who)
    merged.append(PromptMessage(role=role, text="\n\n".join(texts), said=tuple(said)))
    return tuple(merged)


def _entries(rows: Sequence[Message], trimmed: Trimmed, speech: Speech, current: int) -> list[LedgerEntry]:
    entries = []
    for index, (row, rule) in enumerate(zip(rows, trimmed.rules, strict=True)):
        section = "message" if index >= current else "window"
        if rule in OUT:
            entries.append(_entry(row, section, "out", rule, row.tokens + MESSAGE_OVERHEAD))
        elif index in trimmed.cuts:
            entries.append(_entry(row, section, "cut", rule, trimmed.cuts[index]))
        else:
            entries.append(_entry(row, section, "in", rule, speech.cost(row)))
    return entries


def _entry(row: Message, section: str, verdict: Verdict, rule: str, tokens: int) -> LedgerEntry:
    return LedgerEntry(section=section, ids=(row.id,), version=row.version, verdict=verdict, rule=rule, tokens=tokens)


def _budget(
    policy: Policy, limit: int, limits: Limits, sections: Sequence[Section], context: Context
) -> dict[str, int]:
    """Say what was allowed and what was used, in tokens."""
    used = {section.name: section.tokens for section in sections if section.tokens}
    return {
        "window_tokens": policy.window_tokens,
        "output_reserve": policy.output_tokens,
        "limit": limit,
        **used,
        "history_limit": limits.tokens,
        "history": context.tokens - sum(used.values()),
        "total": context.tokens,
    }
