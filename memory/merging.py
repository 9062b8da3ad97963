"""From what was believed of a turn to what changes: which facts and profile items are new, which ones end. Pure.

The law of supersession: a new value ends an old one of the same person and slot only, and only where the slot holds a single
value (mem0ai/mem0#5867, getzep/graphiti#1728). The same again is nothing new, whoever proposes it (mem0ai/mem0#1674).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence

import msgspec

from memory.bar import supported
from memory.base import Fact, Ledger, ProfileItem
from memory.candidates import Candidate
from memory.derived import Material
from memory.folding import folded
from memory.language import language_in
from memory.rules.nouns import slots_named
from memory.slots import SLOTS, Slot, slot_of

_SERVICE_SLOTS = ("request", "product", "order")
_OPPOSITES = {
    "like": "dislike",
    "dislike": "like",
}  # constraints end by a retraction only: a contradiction is asked back


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What merging needs to know beside the turn."""

    namespace: str
    facts_ttl_ms: int
    language: str  # of the sentences that items are made into, where neither the saying nor what it answers tells one


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """The rows that come (their ids are 0) and the ids of those that go."""

    facts: tuple[Fact, ...]
    items: tuple[ProfileItem, ...]
    superseded_facts: tuple[int, ...]
    retracted_facts: tuple[int, ...]
    superseded_items: tuple[int, ...]
    retracted_items: tuple[int, ...]
    kept: tuple[tuple[Candidate, str], ...]  # each candidate with what became of it: the ledger's rule


def merge(believed: Sequence[Candidate], material: Material, ledger: Ledger, rules: Rules) -> Merged:
    """Apply the candidates in their order to what is known. `material.person_id` must be somebody."""
    return _Merging(material, ledger, rules).apply(believed)


def same_value(one: str, other: str) -> bool:
    """Say whether two values are one: case, width, white space and punctuation do not count, but for signs that change what is
    meant (4.5 is not 45, C is not C++)."""
    return _plain(one) == _plain(other)


_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SIGNS = re.compile(r"(?<=\d)[^\w\s](?=\d)|(?<=\w)[+#]+|(?<!\w)-(?=\d)")
_PLURAL = re.compile(r"(?<=[a-z]{3})s(?![^\W_])")


def _plain(value: str) -> str:
    text = _THOUSANDS.sub("", folded(value).casefold())
    signs = {at for match in _SIGNS.finditer(text) for at in range(*match.span())}
    return "".join(char for at, char in enumerate(text) if unicodedata.category(char)[0] in "LMN" or at in signs)


def _near(one: str, other: str) -> bool:
    """Say whether two values of a slot with many are one: an English plural does not count either. Among single values it
    does, or "not Adam, it is Adams" would be lost."""
    return same_value(*(_PLURAL.sub("", folded(value).casefold()) for value in (one, other)))


def _contradicts(candidate: Candidate, slot: str, value: str) -> bool:
    """Say whether a known value of another slot can't stand beside what is said now."""
    if {candidate.slot, slot} == {"wish", "address_as"}:
        wish, form = (candidate.value, value) if slot == "address_as" else (value, candidate.value)
        return _FORM_REFUSED.search(wish) is not None and supported(form, wish)
    return slot == _OPPOSITES.get(candidate.slot) and _near(value, candidate.value)


_FORM_REFUSED = re.compile(
    r"\b(?:don't|do not|never|stop|not) (?:call|address)(?:ing)? me\b|(?:别|不要|不许|勿)再?(?:叫|喊|称呼)我", re.I
)


def _named(value: str, known: Collection[str], slot: Slot, *, confirmed: Collection[str]) -> set[str]:
    """Return which of the known values a retraction means. `confirmed` is what the same message says instead.

    No value: all. Else what is called so exactly; a hard constraint goes by nothing less (D16: "nuts" are no peanuts), others
    also by whole words of it. The one value of a single slot is also meant by the slot's name ("my order number"), but not by
    another value: who no longer lives in Paris may well live in Porto."""
    if not _plain(value):
        return set(known)
    exact = {one for one in known if _near(one, value)}
    if exact or slot.life == "pinned":
        return exact
    known = [one for one in known if not any(same_value(one, said) for said in confirmed)]
    if slot.single and slot.name in (*slots_named(value), "_".join(folded(value).casefold().split())):
        return set(known)
    return {one for one in known if supported(value, one) or supported(one, value)}


class _Merging:
    """What is known while candidates are applied, one by one."""

    def __init__(self, material: Material, ledger: Ledger, rules: Rules) -> None:
        self._ledger = ledger
        self._rules = rules
        self._person_id = material.person_id or 0
        self._said = {row.id: row for row in material.messages}
        self._asked = material.before.text if material.before else ""
        own = set(self._said)
        # What an earlier run made of this very turn goes when this run is stored: it counts as unknown.
        self._facts = [row for row in material.facts if own.isdisjoint(row.source_ids)]
        self._items = [
            row for row in material.items if row.scope_id != ledger.scope_id or own.isdisjoint(row.source_ids)
        ]
        self._new_facts: list[Fact] = []
        self._new_items: list[ProfileItem] = []
        self._ended: dict[str, list[int]] = {"superseded_facts": [], "retracted_facts": []}
        self._ended |= {"superseded_items": [], "retracted_items": []}

    def apply(self, believed: Sequence[Candidate]) -> Merged:
        kept = []
        for candidate in believed:
            slot = slot_of(candidate.slot)
            if slot is not None:
                rule = self._set(candidate, slot) if candidate.op == "set" else self._retract(candidate, slot, believed)
                kept.append((candidate, rule))
        self._note_service([one for one in believed if one.slot in _SERVICE_SLOTS])
        return Merged(
            facts=tuple(self._new_facts),
            items=tuple(self._new_items),
            kept=tuple(kept),
            **{name: tuple(ids) for name, ids in self._ended.items()},
        )

    def _set(self, candidate: Candidate, slot: Slot) -> str:
        if self._outdone(candidate, slot):
            return "outdated"
        self._end_opposite(candidate)
        known_facts = [row for row in self._facts_now() if row.slot == slot.name]
        known_items = [row for row in self._items_now() if row.slot == slot.name]
        same = same_value if slot.single else _near
        new_fact = not any(same(row.value, candidate.value) for row in known_facts)
        if new_fact:
            if slot.single:
                self._end_facts(known_facts, "superseded")
            self._new_facts.append(self._fact(candidate, slot))
        if slot.life == "session":
            return f"fact_{slot.name}" if new_fact else "known_already"
        shown_here = self._said[candidate.source_id].chat_type
        equal = [row for row in known_items if same(row.value or row.text, candidate.value)]
        if any(row.chat_type in ("group", shown_here) for row in equal):
            return "known_already"
        if slot.single or slot.life == "lasting":
            # What was said in private alone, and now to a group too, is one item that the group may see.
            self._end_items(known_items if slot.single else equal, "superseded")
        self._new_items.append(self._item(slot, candidate.value, candidate.source_id))
        return f"{'pinned' if slot.life == 'pinned' else 'profile'}_{slot.name}"

    def _outdone(self, candidate: Candidate, slot: Slot) -> bool:
        """Say whether something later is known that this would end: entered as a correction, or said in another room, while
        the turn waited, or before its message was edited. The latest word counts (B47), whichever is learned from first."""
        said = self._said[candidate.source_id]
        facts, items = self._opposites(candidate)
        if slot.single:
            facts += [
                row for row in self._facts_now() if row.slot == slot.name and not same_value(row.value, candidate.value)
            ]
            items += [
                row for row in self._items_now() if row.slot == slot.name and not same_value(row.value, candidate.value)
            ]
        return any(row.created_ms > said.created_ms for row in facts) or any(
            row.valid_from_ms > said.created_ms for row in items
        )

    def _opposites(self, candidate: Candidate) -> tuple[list[Fact], list[ProfileItem]]:
        facts = [row for row in self._facts_now() if _contradicts(candidate, row.slot, row.value)]
        items = [row for row in self._items_now() if _contradicts(candidate, row.slot, row.value)]
        return facts, items

    def _end_opposite(self, candidate: Candidate) -> None:
        """Who now dislikes what he liked likes it no more: the latest word counts (B47)."""
        facts, items = self._opposites(candidate)
        self._end_facts(facts, "superseded")
        self._end_items(items, "superseded")

    def _retract(self, candidate: Candidate, slot: Slot, believed: Sequence[Candidate]) -> str:
        at_ms = self._said[candidate.source_id].created_ms  # what is known since then is not meant
        facts = [row for row in self._facts_now() if row.slot == slot.name and row.created_ms <= at_ms]
        items = [row for row in self._items_now() if row.slot == slot.name and row.valid_from_ms <= at_ms]
        beside = [one for one in believed if (one.slot, one.source_id) == (slot.name, candidate.source_id)]
        confirmed = [one.value for one in beside if one.op == "set"]
        values = {row.value for row in facts} | {row.value or row.text for row in items}
        named = _named(candidate.value, values, slot, confirmed=confirmed)
        self._end_facts([row for row in facts if row.value in named], "retracted")
        self._end_items([row for row in items if (row.value or row.text) in named], "retracted")
        return f"retracted_{slot.name}" if named else "nothing_to_retract"

    def _note_service(self, said: Sequence[Candidate]) -> None:
        """Keep what was asked for in this session as a service event, so that the next session knows it (B21, B60): one item,
        that changes with the session's request, product and order. `said` is what the turn says of them."""
        if not said:
            return
        facts = {row.slot: row for row in self._facts_now() if row.slot in _SERVICE_SLOTS}
        sources = _sources(facts.values()) | {one.source_id for one in said if one.op == "set"}
        own = sources | _sources(row for row in self._facts if row.slot in _SERVICE_SLOTS)
        here = (row for row in self._items_now() if (row.slot, row.scope_id) == ("service", self._ledger.scope_id))
        earlier = [row for row in here if not own.isdisjoint(row.source_ids)]
        words = ", ".join(facts[slot].value for slot in ("product", "order") if slot in facts)
        request = facts["request"].value if "request" in facts else ""
        value = f"{request} ({words})" if words else request
        if request and any(same_value(row.value, value) for row in earlier):
            return
        self._end_items(earlier, "retracted" if any(one.op == "retract" for one in said) else "superseded")
        if request:
            self._new_items.append(self._item(_SERVICE, value, said[-1].source_id, sources=sources))

    def _facts_now(self) -> list[Fact]:
        ended = {*self._ended["superseded_facts"], *self._ended["retracted_facts"]}
        return [row for row in self._facts if row.id not in ended] + self._new_facts

    def _items_now(self) -> list[ProfileItem]:
        ended = {*self._ended["superseded_items"], *self._ended["retracted_items"]}
        return [row for row in self._items if row.id not in ended] + self._new_items

    def _end_facts(self, rows: Sequence[Fact], how: str) -> None:
        self._ended[f"{how}_facts"] += [row.id for row in rows if row.id]
        self._new_facts = [row for row in self._new_facts if row not in rows]

    def _end_items(self, rows: Sequence[ProfileItem], how: str) -> None:
        self._ended[f"{how}_items"] += [row.id for row in rows if row.id]
        self._new_items = [row for row in self._new_items if row not in rows]

    def _fact(self, candidate: Candidate, slot: Slot) -> Fact:
        said = self._said[candidate.source_id]
        return Fact(
            id=0,
            scope_id=self._ledger.scope_id,
            session_id=said.session_id,
            person_id=self._person_id,
            speaker_name=said.speaker_name,
            slot=slot.name,
            value=candidate.value,
            source_ids=(candidate.source_id,),
            status="active",
            created_ms=said.created_ms,
            expires_ms=said.created_ms + self._rules.facts_ttl_ms,
        )

    def _item(self, slot: Slot, value: str, said_id: int, *, sources: Collection[int] = ()) -> ProfileItem:
        """Return the item that the message `said_id` has brought, made from it alone unless more `sources` are named."""
        said = self._said[said_id]
        # "42" is worded as the question was that it answers
        language = language_in(said.text) or language_in(self._asked) or self._rules.language
        return ProfileItem(
            id=0,
            person_id=self._person_id,
            namespace=self._rules.namespace,
            kind=slot.kind,
            slot=slot.name,
            text=slot.sentence(value, language),
            pinned=slot.life == "pinned",
            chat_type=said.chat_type,
            source_ids=tuple(sorted(sources or (said_id,))),
            status="active",
            valid_from_ms=said.created_ms,
            valid_to_ms=None,
            scope_id=self._ledger.scope_id,
            value=value,
        )


def _sources(facts: Iterable[Fact]) -> set[int]:
    return {id_ for row in facts for id_ in row.source_ids}


_SERVICE = SLOTS["service"]
