"""Learns from a turn after its reply: rules first, then one question to the small model, the write bar, the merge, one write.

Whatever fails here never touches an answer. What was kept and what was refused, and why, goes into the turn's own ledger.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from memory.bar import supported, weigh
from memory.base import Ledger, LedgerEntry, Message
from memory.called import Called
from memory.candidates import Candidate, KnownValue, Source
from memory.derived import Derived, Fragment, Learned, Material
from memory.errors import ModelFailed
from memory.extraction import MAX_TOKENS, SCHEMA, candidates_in, question, wanted
from memory.indexing import item_terms, message_terms_of
from memory.merging import Merged, Rules, merge, same_value
from memory.models import SmallModel
from memory.rules.extract import propose
from memory.slots import slot_of

logger = logging.getLogger(__name__)

_IN_OWN_WORDS = frozenset({"wish", "remember", "service"})

NO_PERSON = "nothing learned: the sender is nobody we know"
OFF = "nothing learned: memory.facts is off here"
GIVEN_UP = "nothing learned: it failed again and again; the log says why"
MODEL_FAILED = "the small model failed: learned by rules alone"


class Learning(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn is learned from, by the settings of its place now."""

    namespace: str = "shared"
    facts_ttl_ms: int = 7_200_000
    emails: bool = False  # e-mail addresses may be kept
    enabled: bool = True  # False: nothing is learned in this place


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How learning from a turn went. Not `settled`: the turn changed meanwhile, or somebody else did it; claim again."""

    settled: bool
    model: Literal["not asked", "answered", "failed"] = "not asked"


async def learn(
    derived: Derived, ledger: Ledger, learning: Learning, model: SmallModel | None, *, last_try: bool
) -> Outcome:
    """Learn from the ledger's turn and store it.

    Raises `ModelFailed` when the model failed, unless this is the `last_try`: then rules alone count, and the ledger says so.
    """
    material = await derived.material(ledger, namespace=learning.namespace)
    versions = tuple((row.id, row.version) for row in material.messages if row.deleted_ms is None)
    if material.person_id is None or not learning.enabled:
        noted = msgspec.structs.replace(ledger, notes=_noted(ledger, OFF if material.person_id else NO_PERSON))
        nothing = Learned(
            ledger=noted, person_id=None, namespace=learning.namespace, versions=versions, called=_called(material)
        )
        return Outcome(settled=await derived.settle(nothing))
    notes: tuple[str, ...] = ()
    answered: Literal["not asked", "answered", "failed"] = "not asked"
    said = [_own_words(row) for row in material.messages if row.role == "user" and row.deleted_ms is None]
    found = _by_rules(said, material)
    if model is not None and wanted(said):
        try:
            found += await _by_model(said, material, model)
            answered = "answered"
        except ModelFailed:
            if not last_try:
                raise
            notes, answered = (MODEL_FAILED,), "failed"
    believed, refused = _weighed(found, said, material, emails=learning.emails)
    rules = Rules(namespace=learning.namespace, facts_ttl_ms=learning.facts_ttl_ms, language=ledger.frame.language)
    merged = merge(believed, material, ledger, rules)
    noted = msgspec.structs.replace(ledger, learned=_entries(merged, refused, said), notes=_noted(ledger, *notes))
    settled = await derived.settle(
        Learned(
            ledger=noted,
            person_id=material.person_id,
            namespace=learning.namespace,
            versions=versions,
            material=material,
            facts=merged.facts,
            items=merged.items,
            superseded_facts=merged.superseded_facts,
            retracted_facts=merged.retracted_facts,
            superseded_items=merged.superseded_items,
            retracted_items=merged.retracted_items,
            facts_until_ms=ledger.now_ms + learning.facts_ttl_ms,
            fragments=tuple(_fragments(material, material.person_id)),
            item_terms=tuple(item_terms(item, material.person_id) for item in merged.items),
            called=_called(material),
        )
    )
    return Outcome(settled=settled, model=answered)


async def give_up(derived: Derived, ledger: Ledger) -> None:
    """Learn nothing from a turn, for good, and say so in its ledger."""
    noted = msgspec.structs.replace(ledger, notes=_noted(ledger, GIVEN_UP))
    await derived.settle(Learned(ledger=noted, person_id=None, namespace="", versions=()))


def _fragments(material: Material, person_id: int) -> list[Fragment]:
    """Small talk and deleted messages are not worth finding, nor is a reply to what was deleted: it usually repeats that."""
    if not any(row.role == "user" and row.deleted_ms is None for row in material.messages):
        return []
    return [
        Fragment(scope_id=row.scope_id, id=row.id, terms=message_terms_of(row, person_id))
        for row in material.messages
        if row.deleted_ms is None and not row.low_value
    ]


def _called(material: Material) -> tuple[Called, ...]:
    """Return the names that the speaker has used in the turn."""
    person_id = material.person_id
    if person_id is None:
        return ()
    named = (
        Called(person_id=person_id, channel=row.channel, name=row.speaker_name)
        for row in material.messages
        if row.role == "user" and row.person_id == person_id and row.deleted_ms is None and row.speaker_name
    )
    return tuple(dict.fromkeys(named))


_QUOTED_LINE = re.compile(r"^[ \t]*[>＞].*$", re.M)


def _own_words(row: Message) -> Message:
    """Leave out what a message quotes: it is somebody else's word, whoever is asked about it."""
    return msgspec.structs.replace(row, text=_QUOTED_LINE.sub("", row.text)) if _QUOTED_LINE.search(row.text) else row


def _by_rules(said: Sequence[Message], material: Material) -> list[Candidate]:
    sources = [Source(id=row.id, person_id=row.person_id or 0, text=row.text) for row in said]
    return list(propose(sources, known=_known(material), asked=material.before.text if material.before else ""))


async def _by_model(said: Sequence[Message], material: Material, model: SmallModel) -> list[Candidate]:
    before = material.before.text if material.before else ""
    system, prompt = question(said, before=before, known=_known(material))
    answer = await model.complete(system=system, prompt=prompt, schema=SCHEMA, max_tokens=MAX_TOKENS)
    return list(candidates_in(answer, said))


def _known(material: Material) -> list[KnownValue]:
    lasting = [KnownValue(slot=row.slot, value=row.value) for row in material.items if row.slot and row.value]
    return lasting + [KnownValue(slot=row.slot, value=row.value) for row in material.facts]


def _weighed(
    found: Sequence[Candidate], said: Sequence[Message], material: Material, *, emails: bool
) -> tuple[list[Candidate], list[tuple[Candidate, str]]]:
    """Ask the write bar about each; what rules and model both propose is asked once, and of a single slot in one message the
    rules' word counts. Of what somebody wishes or wants kept, in his own words, whoever took in more of them counts."""
    sources = {row.id: Source(id=row.id, person_id=row.person_id or 0, text=row.text) for row in said}
    asked = material.before.text if material.before else ""
    believed: list[Candidate] = []
    refused: list[tuple[Candidate, str]] = []
    for candidate in found:
        if candidate.by == "model" and _said_already(candidate, believed):
            continue
        rule = weigh(candidate, sources, speaker=material.person_id or 0, emails=emails, asked=asked)
        if rule is None:
            believed = [one for one in believed if not _says_more(candidate, one)]
            believed.append(candidate)
        else:
            refused.append((candidate, rule))
    return sorted(believed, key=lambda one: one.source_id), refused


def _said_already(candidate: Candidate, believed: Sequence[Candidate]) -> bool:
    slot = slot_of(candidate.slot)
    single = slot is not None and slot.single
    return any(
        (
            one.slot == candidate.slot
            and one.op == candidate.op
            and (same_value(one.value, candidate.value) or (single and one.source_id == candidate.source_id))
        )
        or _says_more(one, candidate)
        for one in believed
    )


def _says_more(one: Candidate, other: Candidate) -> bool:
    """Say whether the one holds all the words of the other, taken from the same sentence; among things ("nuts", "tree nuts")
    that would tell nothing."""
    return (
        one.slot in _IN_OWN_WORDS
        and (one.slot, one.op, one.source_id) == (other.slot, other.op, other.source_id)
        and one.by != other.by
        and supported(other.value, one.value)
    )


def _entries(
    merged: Merged, refused: Sequence[tuple[Candidate, str]], said: Sequence[Message]
) -> tuple[LedgerEntry, ...]:
    version = {row.id: row.version for row in said}

    def entry(candidate: Candidate, rule: str, *, kept: bool) -> LedgerEntry:
        return LedgerEntry(
            section=candidate.by,
            ids=(candidate.source_id,),
            version=version.get(candidate.source_id, 0),
            verdict="in" if kept else "out",
            rule=rule,
            tokens=0,
        )

    return (
        *(entry(candidate, rule, kept=True) for candidate, rule in merged.kept),
        *(entry(candidate, rule, kept=False) for candidate, rule in refused),
    )


def _noted(ledger: Ledger, *notes: str) -> tuple[str, ...]:
    return (*ledger.notes, *(note for note in notes if note not in ledger.notes))
