"""Makes a turn's prompt again from its ledger, its rows and its settings: to explain it, and to try it under others.

A ledger holds ids and versions, so texts are fetched now: what was deleted since is gone here too, and is said to be.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

import msgspec

from memory.bar_words import RULES
from memory.base import Context, Ledger, LedgerEntry, Load, Loaded, Message, Owner, Summary
from memory.choosing import THRESHOLD
from memory.context import Inputs, assemble, names_in, prompt_digest
from memory.derived import FullStore
from memory.key import decode_part
from memory.policy import Policy
from memory.slots import sentence_of
from memory.tokens import Tokenizer

_TALK = ("window", "message", "carried")
_CLAIMED = ("profile", "recalled")


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the ledger with what stands behind it; `text` is empty where it is gone."""

    section: str
    ids: tuple[str, ...]
    role: str  # system, user, assistant, memory
    speaker: str
    text: str
    tokens: int
    verdict: str
    rule: str


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was proposed to be remembered of a turn's message: kept (`in`) or refused (`out`), and why."""

    message: str  # id of the message that it was taken from
    text: str  # that message; "" where it is gone
    by: str  # "rules" or "model"
    verdict: str
    rule: str
    reason: str  # the rule in words, in the turn's language; "" for what was kept


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What the model saw in a turn; encodes to JSON with ids as strings. `exact`: made again just now, the prompt has the
    digest it had then."""

    turn: str
    agent: str
    model: str
    tokenizer: str
    now_ms: int
    session: str
    revision: str
    channel: str
    conversation: str
    chat_type: str
    language: str
    system: str  # "" where the settings of then are not known
    exact: bool
    budget: dict[str, int]
    failed: tuple[str, ...]
    notes: tuple[str, ...]
    usage: dict[str, int]
    entries: tuple[Candidate, ...]
    learned: tuple[Lesson, ...]


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """A turn's prompt made again. `identical`: byte for byte the one of then. `difference`: lines for a person. `then`: the
    prompt of then; None: it can't be made again exactly, or its settings are not known."""

    context: Context
    ledger: Ledger
    identical: bool
    difference: tuple[str, ...]
    then: Context | None = None


async def explained(store: FullStore, ledger: Ledger, policy: Policy | None, *, tokenizer: Tokenizer) -> Explanation:
    """Return the ledger with texts. `policy` None: its settings are not known, so the system block can't be shown."""
    loaded = await _reloaded(store, ledger, policy or Policy())
    context = None
    if policy is not None and loaded.appended:
        context, _ = assemble(_inputs(ledger, policy, loaded, tokenizer))
    candidates = _Candidates(loaded, ledger.frame.language)
    return Explanation(
        turn=str(ledger.turn_id),
        agent=ledger.agent,
        model=ledger.frame.model,
        tokenizer=ledger.tokenizer,
        now_ms=ledger.now_ms,
        session=ledger.session_id,
        revision=ledger.revision,
        channel=ledger.frame.channel,
        conversation=ledger.frame.conversation,
        chat_type=ledger.frame.chat_type,
        language=ledger.frame.language,
        system=context.system if context else "",
        exact=context is not None and prompt_digest(context) == ledger.prompt_digest,
        budget=ledger.budget,
        failed=ledger.failed,
        notes=ledger.notes,
        usage=ledger.usage,
        entries=tuple(candidates.of(entry) for entry in ledger.entries),
        learned=tuple(_lesson(entry, loaded, ledger.frame.language) for entry in ledger.learned),
    )


async def replayed(
    store: FullStore,
    ledger: Ledger,
    policy: Policy,
    was: Policy | None,
    *,
    tokenizer: Tokenizer,
    tokenizer_then: Tokenizer,
) -> Replay | None:
    """Return the prompt under `policy`, and what differs from the ledger; with `was`, the policy of then, also line by
    line. None: the message that was answered does not exist any more."""
    loaded = await _reloaded(store, ledger, policy)
    if not loaded.appended:
        return None
    context, now = assemble(_inputs(ledger, policy, loaded, tokenizer))
    difference = [*_changed_values(ledger, now), *_changed_entries(ledger, now)]
    exact = None
    if was is not None:
        # Whose rows may be read depends on the settings, too.
        alike = (was.namespace, was.private_in_group) == (policy.namespace, policy.private_in_group)
        before = loaded if alike else await _reloaded(store, ledger, was)
        then, _ = assemble(_inputs(ledger, was, before, tokenizer_then))
        if prompt_digest(then) == ledger.prompt_digest:
            exact = then
        else:
            difference.append("rows have changed since: the prompt of then cannot be made again exactly")
        difference += difflib.unified_diff(_lines(then), _lines(context), "then", "now", lineterm="", n=1)
    identical = prompt_digest(context) == ledger.prompt_digest
    return Replay(context=context, ledger=now, identical=identical, difference=tuple(difference), then=exact)


async def _reloaded(store: FullStore, ledger: Ledger, policy: Policy) -> Loaded:
    """Fetch the rows the ledger names, and only those."""
    frame = ledger.frame
    owner = Owner(
        scope_id=ledger.scope_id,
        person_id=await _living(store, ledger.person_id),
        namespace=policy.namespace,
        chat_type=frame.chat_type,
        private_in_group=policy.private_in_group,
    )
    talk = {
        section: [(id_, e.version) for e in ledger.entries if e.section == section for id_ in e.ids]
        for section in _TALK
    }
    window = await store.messages_by_id(owner, talk["window"]) if talk["window"] else ()
    appended = await store.messages_by_id(owner, talk["message"])
    carried: tuple[Message, ...] = ()
    if frame.carried_scope_id is not None:
        source = msgspec.structs.replace(owner, scope_id=frame.carried_scope_id)
        carried = await store.messages_by_id(source, talk["carried"])
    observed = _ids(ledger, "observed")
    parts = Loaded()
    if observed:
        load = Load(owner=owner, now_ms=ledger.now_ms, page=1, observed=200, profile=0)
        parts = await store.load(load, session_id=ledger.session_id)
    shown = await store.derived.shown(
        owner,
        facts=_ids(ledger, "facts"),
        items=_ids(ledger, "pinned") + _ids(ledger, "profile"),
        summaries=_ids(ledger, "summary"),
    )
    items = {row.id: row for row in shown.items}
    return Loaded(
        session_id=ledger.session_id,
        appended=appended,
        window=window,
        carried=carried,
        observed=tuple(row for row in parts.observed if row.id in observed),
        summary=shown.summaries[0] if shown.summaries else None,
        facts=shown.facts,
        pinned=tuple(items[id_] for id_ in _ids(ledger, "pinned") if id_ in items),
        # The last entry has the best claim.
        profile=tuple(items[id_] for id_ in reversed(_ids(ledger, "profile")) if id_ in items),
        handover=await _handed_over(store, ledger, owner),
        recalled=await _recalled(store, ledger, owner),
        claims={
            entry.ids[-1]: entry.rule
            for entry in ledger.entries
            if entry.section in _CLAIMED and (entry.verdict != "out" or entry.rule == THRESHOLD)
        },
        failed=ledger.failed,
    )


async def _handed_over(store: FullStore, ledger: Ledger, owner: Owner) -> Summary | None:
    ids, scope_id = _ids(ledger, "handover"), ledger.frame.carried_scope_id
    if not ids or scope_id is None:
        return None
    there = msgspec.structs.replace(owner, scope_id=scope_id, person_id=None)
    shown = await store.derived.shown(there, facts=(), items=(), summaries=ids)
    return shown.summaries[0] if shown.summaries else None


async def _recalled(store: FullStore, ledger: Ledger, owner: Owner) -> tuple[Message, ...]:
    """Fetch earlier messages, of whatever scope of the person's they were; the last entry has the best claim."""
    rows: list[Message] = []
    for entry in reversed(ledger.entries):
        if entry.section == "recalled":
            scope_id, id_ = entry.ids
            there = msgspec.structs.replace(owner, scope_id=scope_id)
            found = await store.messages_by_id(there, [(id_, entry.version)])
            rows += [row for row in found if row.deleted_ms is None and await _is_asked(store, there, row)]
    theirs = {id_ for id_ in {row.person_id for row in rows} if await _living(store, id_) == owner.person_id}
    return tuple(row for row in rows if row.person_id in theirs)


async def _is_asked(store: FullStore, there: Owner, row: Message) -> bool:
    """Say whether something is left of what a reply answers: it usually repeats what was deleted."""
    if row.role == "user":
        return True
    turn = await store.turn_messages(there, row.turn_id)
    return any(one.role == "user" and one.deleted_ms is None for one in turn)


async def _living(store: FullStore, person_id: int | None) -> int | None:
    """Return the person, or whom they are one with now: messages and ledgers keep the one of then."""
    found = None if person_id is None else await store.persons.find(person_id)
    return person_id if found is None or found.erased_ms is not None else found.id


def _ids(ledger: Ledger, section: str) -> list[int]:
    """Return the ids of a section's rows in their order."""
    return [id_ for entry in ledger.entries if entry.section == section for id_ in entry.ids]


def _inputs(ledger: Ledger, policy: Policy, loaded: Loaded, tokenizer: Tokenizer) -> Inputs:
    return Inputs(
        turn_id=ledger.turn_id,
        scope_id=ledger.scope_id,
        person_id=ledger.person_id,
        revision=ledger.revision,
        now_ms=ledger.now_ms,
        policy=policy,
        frame=ledger.frame,
        loaded=loaded,
        tokenizer=tokenizer,
    )


def _lesson(entry: LedgerEntry, loaded: Loaded, language: str) -> Lesson:
    english, chinese = RULES.get(entry.rule, ("", ""))
    return Lesson(
        message=str(entry.ids[0]),
        text=next((row.text for row in loaded.appended if row.id == entry.ids[0]), ""),
        by=entry.section,
        verdict=entry.verdict,
        rule=entry.rule,
        reason=chinese if language == "zh" else english,
    )


class _Candidates:
    """Finds the row behind an entry."""

    def __init__(self, loaded: Loaded, language: str) -> None:
        self._names = names_in(loaded)
        self._messages = {row.id: row for row in (*loaded.carried, *loaded.window, *loaded.appended)}
        self._recalled = {row.id: row for row in loaded.recalled}
        self._texts = {
            **{("pinned", row.id): ("", row.text) for row in loaded.pinned},
            **{("profile", row.id): ("", row.text) for row in loaded.profile},
            **{
                ("facts", row.id): (row.speaker_name, sentence_of(row.slot, row.value, language))
                for row in loaded.facts
            },
            **{("observed", row.id): (self._names[row.user], row.text) for row in loaded.observed},
        }
        if loaded.summary is not None:
            self._texts["summary", loaded.summary.id] = ("", loaded.summary.text)
        if loaded.handover is not None:
            self._texts["handover", loaded.handover.id] = ("", loaded.handover.text)

    def of(self, entry: LedgerEntry) -> Candidate:
        role, speaker, text = self._behind(entry)
        return Candidate(
            section=entry.section,
            ids=tuple(map(str, entry.ids)),
            role=role,
            speaker=speaker,
            text=text,
            tokens=entry.tokens,
            verdict=entry.verdict,
            rule=entry.rule,
        )

    def _behind(self, entry: LedgerEntry) -> tuple[str, str, str]:
        if not entry.ids:
            return "system", "", ""
        row = self._messages.get(entry.ids[0]) if entry.section in _TALK else None
        if entry.section == "recalled":
            row = self._recalled.get(entry.ids[-1])
        if row is not None:
            answering = row.speaker_name or decode_part(row.agent)
            speaker = self._names.get(row.user, row.speaker_name) if row.role == "user" else answering
            return row.role, speaker, row.text
        speaker, text = self._texts.get((entry.section, entry.ids[0]), ("", ""))
        return "memory", speaker, text


def _changed_values(then: Ledger, now: Ledger) -> Iterator[str]:
    if then.tokenizer != now.tokenizer:
        yield f"tokenizer: {then.tokenizer} -> {now.tokenizer}"
    for name in sorted(then.budget.keys() | now.budget.keys()):
        before, after = then.budget.get(name, 0), now.budget.get(name, 0)
        if before != after:
            yield f"{name}: {before} -> {after} tokens"


def _changed_entries(then: Ledger, now: Ledger) -> Iterator[str]:
    """Compare row by row, in the order of then; the role has no row and shows in the budget."""
    after = {(entry.section, entry.ids): entry for entry in now.entries}
    for entry in then.entries:
        other = after.get((entry.section, entry.ids))
        if other is None:
            yield f"{_named(entry)}: {_verdict(entry)} -> no longer kept"
        elif entry.ids and _verdict(entry) != _verdict(other):
            yield f"{_named(entry)}: {_verdict(entry)} -> {_verdict(other)}"


def _named(entry: LedgerEntry) -> str:
    return f"{entry.section} {','.join(map(str, entry.ids))}"


def _verdict(entry: LedgerEntry) -> str:
    return f"{entry.verdict} ({entry.rule}, {entry.tokens} tokens)"


def _lines(context: Context) -> Sequence[str]:
    lines = ["system:", *context.system.splitlines()]
    for message in context.messages:
        lines += [f"{message.role}:", *message.text.splitlines()]
    return lines
