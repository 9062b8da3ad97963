"""Builds the system block: role and rules, then one labelled, escaped section for each source that has something to say.

Everything else people or models wrote stands inside `<memory>` tags that it cannot close. A section that overflows its
share is cut by rule, newest first in; pinned constraints never are. Pure.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from functools import lru_cache

import msgspec

from memory.base import LedgerEntry, Loaded, Message, ProfileItem, Verdict
from memory.choosing import ALWAYS, IN_WINDOW, SUPERSEDED, THRESHOLD
from memory.key import decode_part
from memory.labels import Labels
from memory.policy import Policy
from memory.ranking import Key
from memory.slots import sentence_of, slot_of
from memory.text import cut_middle, enclosed, neutral_name, one_line
from memory.tokens import Tokenizer

_LEAST = 24  # tokens: an item cut shorter says nothing
_ITEM_CHARS = 2_000
_RECALLED_CHARS = 600
IN_FACTS = "in_facts"  # out: said in this very session, so that it stands among its facts
IN_PINNED = "in_pinned"  # out: the pinned constraints have it anyway
OUTDATED = "outdated"  # out: a fact of this session whose slot has got a newer value elsewhere
LATEST = "latest"  # in: the item that has it
_NOT_ASKED = frozenset({THRESHOLD, IN_WINDOW, IN_FACTS, IN_PINNED, OUTDATED})


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the system block. `text` is empty where nothing of it went in."""

    name: str
    text: str
    tokens: int
    entries: tuple[LedgerEntry, ...]


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens that sections may take: never so much that a small model has no room for the talk itself."""

    recall: int
    observed: int
    carried: int


def shares(policy: Policy, limit: int) -> Shares:
    """Return the sections' shares of a prompt that may have `limit` tokens."""
    return Shares(
        recall=min(policy.recall_tokens, limit // 4),
        observed=min(policy.observed_tokens, limit // 8),
        carried=min(policy.tokens // 2, limit // 8),
    )


def role_section(policy: Policy, labels: Labels, place: str, *, group: bool, tokenizer: Tokenizer) -> Section:
    """Return the first part: the admin's role and rules, the hard-coded rules about memory, and where this is."""
    rules = [labels.rules]
    if group:
        rules.append(labels.group_rules)
    if policy.down_weight != "none":
        rules.append(labels.reply_rules)
    text = "\n\n".join(part for part in (policy.system.strip(), "\n".join(rules), place) if part)
    tokens = _role_tokens(tokenizer, text)
    entry = LedgerEntry(section="role", ids=(), version=1, verdict="in", rule="always", tokens=tokens)
    return Section(name="role", text=text, tokens=tokens, entries=(entry,))


@lru_cache(maxsize=256)
def _role_tokens(tokenizer: Tokenizer, text: str) -> int:
    return tokenizer.count(text)  # the longest text of most prompts, and the same in every turn of a room


def place_line(labels: Labels, channel: str, conversation: str, *, group: bool, now_ms: int) -> str:
    """Say where the talk happens, by the encoded columns of the key, and on which day, for memory has dates; a private room has
    no name to tell."""
    day = _day(now_ms)
    if not group:
        return labels.private_place.format(channel=_shown(channel), day=day)
    room, _, thread = conversation.partition("/")
    return labels.group_place.format(
        channel=_shown(channel),
        room=_shown(room),
        thread=labels.thread.format(thread=_shown(thread)) if thread else "",
        day=day,
    )


def _shown(encoded: str) -> str:
    return one_line(enclosed(decode_part(encoded)), 80) if encoded else "?"


def memory_sections(
    loaded: Loaded,
    policy: Policy,
    labels: Labels,
    *,
    names: dict[str, str],
    group: bool,
    language: str,
    share: Shares,
    tokenizer: Tokenizer,
) -> list[Section]:
    """Return all sections after the role, in the prompt's order. Session facts have the first claim on the recall share,
    then profile items, the summary, recalled messages. What one of them says the others leave out."""
    facts = _filled(_facts(loaded, labels, language=language, group=group), share.recall, tokenizer)
    left = share.recall - facts.tokens
    said = {id_ for entry in facts.entries if entry.verdict != "out" for id_ in entry.ids}
    profile = _filled(_profile(loaded, labels, said, most=policy.profile_items), left, tokenizer)
    left -= profile.tokens
    summary = _filled(_summary(loaded, labels), left, tokenizer)
    handover = _filled(_handover(loaded, labels), share.carried, tokenizer)
    return [
        _filled(_pinned(loaded, labels), None, tokenizer),
        profile,
        recalled_section(loaded, policy, labels, room=left - summary.tokens, tokenizer=tokenizer),
        summary,
        facts,
        handover,
        _filled(_carried(loaded, labels, names), share.carried - handover.tokens, tokenizer),
        _filled(_observed(loaded, labels, names, most=policy.observed_messages), share.observed, tokenizer),
    ]


def recalled_section(
    loaded: Loaded,
    policy: Policy,
    labels: Labels,
    *,
    room: int,
    tokenizer: Tokenizer,
    shown: Collection[Key] = (),
) -> Section:
    """Return what is brought back of earlier talk, in at most `room` tokens, without the messages that the window shows."""
    return _filled(_recalled(loaded, labels, shown, most=policy.fragments), room, tokenizer)


class _Item(msgspec.Struct, frozen=True, kw_only=True):
    """One row, as text that is safe to show."""

    id: int
    text: str
    version: int = 1
    rule: str = ""  # why it is there; "": the section's name says it
    scope_id: int = 0  # where it stands, if that needs telling
    place: tuple[int, int] = (0, 0)  # those with a lesser one stand first, whatever their claim


class _Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a section's items come from. `most`: so many at most. `cut`: the marker for an item that goes in with its
    middle left out; None: items go in whole or not at all."""

    name: str
    label: str
    items: Sequence[_Item]  # oldest first, or the best claim last
    most: int | None = None
    cut: str | None = None


def _pinned(loaded: Loaded, labels: Labels) -> _Source:
    items = [_Item(id=row.id, text=f"- {_line(row.text)}") for row in loaded.pinned]
    return _Source(name="pinned", label=labels.pinned, items=items)


def _profile(loaded: Loaded, labels: Labels, said: Collection[int], *, most: int) -> _Source:
    """Without what the facts with these ids say: the same, or what a service event is made of. What happened, or was to be
    remembered ("next week I am away"), has its day."""
    facts = [row for row in loaded.facts if row.id in said]
    here = {(row.slot, row.value) for row in facts}
    sources = {id_ for row in facts for id_ in row.source_ids}
    latest = {item.id for item in _outdating(loaded).values()}
    items = []
    for row in reversed(loaded.profile):
        told = (row.slot, row.value) in here or (row.kind == "service" and not sources.isdisjoint(row.source_ids))
        day = f" ({_day(row.valid_from_ms)})" if row.kind in ("service", "fact") else ""
        text = f"- {_line(row.text)}{day}"
        rule = IN_FACTS if told else LATEST if row.id in latest else loaded.claims.get(row.id, "")
        items.append(_Item(id=row.id, text=text, rule=rule))
    always = sum(1 for item in items if item.rule in (ALWAYS, LATEST))
    return _Source(name="profile", label=labels.profile, items=items, most=most + always)


def _recalled(loaded: Loaded, labels: Labels, shown: Collection[Key], *, most: int) -> _Source:
    """Each with its day; what the person said and what was replied, nothing of others."""
    items = []
    for row in reversed(loaded.recalled):
        speaker = labels.person if row.role == "user" else _answering(row, labels)
        text = cut_middle(_line(row.text), _RECALLED_CHARS, count=len, marker=" […] ")
        rule = IN_WINDOW if (row.scope_id, row.id) in shown else loaded.claims.get(row.id, "")
        speaker += labels.changed if rule == SUPERSEDED else ""
        items.append(
            _Item(
                id=row.id,
                text=f"[{_day(row.created_ms)}, {speaker}]: {text}",
                version=row.version,
                rule=rule,
                scope_id=row.scope_id,
                place=(row.created_ms, row.id),
            )
        )
    return _Source(name="recalled", label=labels.recalled, items=items, most=most)


def _summary(loaded: Loaded, labels: Labels) -> _Source:
    items = [] if loaded.summary is None else [_Item(id=loaded.summary.id, text=enclosed(loaded.summary.text))]
    return _Source(name="summary", label=labels.summary, items=items, cut=labels.cut)


def _facts(loaded: Loaded, labels: Labels, *, language: str, group: bool) -> _Source:
    pinned = {(row.slot, row.value) for row in loaded.pinned}
    outdating = _outdating(loaded)
    items = []
    for row in loaded.facts:
        text = _line(sentence_of(row.slot, row.value, language))
        speaker = f" ({_line(row.speaker_name)})" if group else ""
        rule = IN_PINNED if (row.slot, row.value) in pinned else OUTDATED if row.id in outdating else ""
        items.append(_Item(id=row.id, text=f"- {text}{speaker}", rule=rule))
    return _Source(name="facts", label=labels.facts, items=items)


def _outdating(loaded: Loaded) -> dict[int, ProfileItem]:
    """Return, by the fact's id, the item of the same person that has a newer value of its slot: said in another place, which
    ends no fact of this one's session."""
    newest = {row.slot: row for row in loaded.profile if (slot := slot_of(row.slot)) is not None and slot.single}
    return {
        fact.id: item
        for fact in loaded.facts
        if (item := newest.get(fact.slot)) is not None
        and item.value != fact.value
        and item.valid_from_ms > fact.created_ms
    }


def _handover(loaded: Loaded, labels: Labels) -> _Source:
    items = [] if loaded.handover is None else [_Item(id=loaded.handover.id, text=enclosed(loaded.handover.text))]
    return _Source(name="handover", label=labels.handover, items=items, cut=labels.cut)


def _carried(loaded: Loaded, labels: Labels, names: dict[str, str]) -> _Source:
    items = []
    asked = {row.turn_id for row in loaded.carried if row.role == "user"}
    heard = {row.turn_id for row in loaded.carried if row.role == "user" and row.deleted_ms is None}
    for row in loaded.carried:
        if row.deleted_ms is None and (row.turn_id in heard or row.turn_id not in asked):
            speaker = names[row.user] if row.role == "user" else _answering(row, labels)
            items.append(_Item(id=row.id, text=f"[{speaker}]: {enclosed(row.text)}", version=row.version))
    return _Source(name="carried", label=labels.carried, items=items, cut=labels.cut)


def _answering(row: Message, labels: Labels) -> str:
    """Name whoever wrote a reply."""
    if row.speaker_name:
        return labels.human.format(name=neutral_name(row.speaker_name, "?"))
    return labels.agent.format(name=_shown(row.agent))


def _observed(loaded: Loaded, labels: Labels, names: dict[str, str], *, most: int) -> _Source:
    answered = {
        row.event_id for row in (*loaded.window, *loaded.appended)
    }  # told twice, and at first not as a question
    items = [
        _Item(id=row.id, text=f"[{names[row.user]}]: {_line(row.text)}", version=row.version)
        for row in loaded.observed
        if row.event_id not in answered
    ]
    return _Source(name="observed", label=labels.observed, items=items, most=most, cut=labels.cut)


def _day(ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(ms // 1000))


def _line(text: str) -> str:
    return one_line(enclosed(text), _ITEM_CHARS)


def _filled(source: _Source, budget: int | None, tokenizer: Tokenizer) -> Section:
    """Put in as many items as the budget takes, the last one first; None: all of them. The first that does not fit ends it."""
    if not source.items:
        return Section(name=source.name, text="", tokens=0, entries=())
    opening, closing = f'<memory section="{source.name}">\n{source.label}', "</memory>"
    used = tokenizer.count(f"{opening}\n{closing}\n\n")
    texts: list[tuple[tuple[int, int, int], str]] = []
    entries: list[LedgerEntry] = []
    out: str | None = None
    for item in reversed(source.items):
        text, rule = item.text, item.rule or source.name
        verdict: Verdict = "in"
        tokens = tokenizer.count(text) + 1
        if rule in _NOT_ASKED:
            entries.append(_entry(source.name, item, "out", rule, tokens))
            continue
        if source.most is not None and len(texts) >= source.most:
            out = out or f"{source.name}_limit"
        elif budget is not None and used + tokens > budget and out is None:
            out, room = f"{source.name}_budget", budget - used - 1
            if source.cut is not None and room >= _LEAST:
                text, verdict, rule = cut_middle(text, room, count=tokenizer.count, marker=source.cut), "cut", out
                tokens = tokenizer.count(text) + 1
        if out is not None and verdict == "in":
            verdict, rule = "out", out
        else:
            used += tokens
            texts.append(((*item.place, -len(texts)), text))
        entries.append(_entry(source.name, item, verdict, rule, tokens))
    return Section(
        name=source.name,
        text="\n".join((opening, *(text for _, text in sorted(texts)), closing)) if texts else "",
        tokens=used if texts else 0,
        entries=tuple(reversed(entries)),
    )


def _entry(section: str, item: _Item, verdict: Verdict, rule: str, tokens: int) -> LedgerEntry:
    ids = (item.scope_id, item.id) if item.scope_id else (item.id,)
    return LedgerEntry(section=section, ids=ids, version=item.version, verdict=verdict, rule=rule, tokens=tokens)
