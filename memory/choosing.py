"""Chooses what of a person's memory a question is about: profile items and earlier messages, by the words they share and,
where an embedder is on, by what they mean.

Between the load and the prompt; the ranking is `memory/recall.py`'s. What was chosen is in the ledger with its reason, so that
a replay needs no second search.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice

import msgspec

from memory.base import Hit, Loaded, Message, Owner, ProfileItem
from memory.derived import Derived, Ended
from memory.errors import UNREADABLE
from memory.policy import Policy
from memory.ranking import Key, Ranked
from memory.recall import query_of, recalled, wanted
from memory.slots import slot_of
from memory.window import OUT, Limits, reach, trim, uncovered

logger = logging.getLogger(__name__)

ALWAYS = "always"  # how to call the person: needed in every answer
WORDS = "words"  # shares words with the question
MEANING = "meaning"  # means something like it, and shares no words
BESIDE = "beside"  # stands next to a message that is there for its words or meaning
SUPERSEDED = "superseded"  # in, marked: what the message says has changed since
SUCCESSOR = "successor"  # is what an earlier message that fits says now
RECENT = "recent"  # nothing better is known: the newest ones
THRESHOLD = "threshold"  # out: compared, and not related
IN_WINDOW = "in_window"  # out: the window shows the message anyway
NAMED = 10
"""Earlier messages that are named at most, the best ones; so many of them as the room allows are shown."""
MOST_TERMS = 48
"""Terms of a question that are looked up; of a longer one the first."""

_ALWAYS_SLOTS = frozenset({"name", "address_as"})
_SERVICE = "service"
_NOTHING: Mapping[str, float] = {}

Query = Mapping[int, float]
"""The question's terms in the person's index, and their weights."""


class Near(msgspec.Struct, frozen=True, kw_only=True):
    """What means something like the question, of what the owner's person may be shown there.

    `similar` are cosines from the embedder's threshold on, `hits` the places of these; `compared` are the ids of all profile
    items that the question was compared with."""

    similar: Mapping[Key, float] = {}
    hits: tuple[Hit, ...] = ()
    compared: frozenset[int] = frozenset()


UNKNOWN = Near()
"""Nothing was compared with the question."""


def asked(texts: Sequence[str], person_id: int | None, *, now_ms: int) -> Query:
    """Return the query of what was just said; nobody has an index."""
    if person_id is None:
        return {}
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    return dict(islice(query_of("\n".join(texts), person_id, today=today).items(), MOST_TERMS))


async def chosen(
    derived: Derived,
    owner: Owner,
    loaded: Loaded,
    policy: Policy,
    query: Query,
    near: Near = UNKNOWN,
    *,
    now_ms: int,
) -> Loaded:
    """Return what was loaded, with the profile in the order of its claims and with the earlier messages that fit.

    What can't be read is logged and named in `failed`; the rest stands."""
    if owner.person_id is None:
        return loaded
    failed = loaded.failed
    fetched: tuple[Message, ...] = ()
    loaded = _with_near(loaded, near)
    shown = in_window(loaded, policy)
    hits = fitting(loaded, shown, query, near.similar)
    try:
        if policy.fragments and (keys := wanted(query, hits, loaded.corpus, similar=near.similar)):
            fetched = tuple(row for row in await derived.fragments(owner, keys) if row.id not in shown)
        loaded = await _with_older_items(derived, owner, loaded, now_ms=now_ms)
    except UNREADABLE:
        logger.exception("earlier talk could not be read", extra={"scope": owner.scope_id})
        failed = (*failed, "recalled")
    most = len(hits) + len(fetched)
    ranked = recalled(query, hits, loaded.corpus, fetched, k=most, similar=near.similar) if hits else []
    rows, claims = _messages(ranked, fetched, hits)
    try:
        ended = await derived.ended(owner, [(row.scope_id, row.session_id) for row in rows]) if rows else ()
    except UNREADABLE:
        logger.exception("what has changed since could not be read", extra={"scope": owner.scope_id})
        ended, failed = (), (*failed, "recalled")
    changed = outdated(fetched, ended, loaded, owner)
    claims |= {row.id: SUPERSEDED for row in rows if row.turn_id in changed}
    profile, of_items = claimed(loaded.profile, ranked, near, slots=_places(rows, ranked, changed))
    return msgspec.structs.replace(loaded, profile=profile, recalled=rows, claims=claims | of_items, failed=failed)


def _with_near(loaded: Loaded, near: Near) -> Loaded:
    """Add to the hits those that share no words with the question."""
    known = {(hit.scope_id, hit.id) for hit in loaded.hits}
    more = [hit for hit in near.hits if (hit.scope_id, hit.id) not in known]
    return msgspec.structs.replace(loaded, hits=(*loaded.hits, *more)) if more else loaded


def fitting(loaded: Loaded, shown: Collection[int], query: Query, similar: Mapping[Key, float]) -> list[Hit]:
    """Return the hits that say enough, without the messages that the window shows. Pure.

    Of a message that is not similar one shared word of many says little: at least two, or half of the question's, must be
    shared."""
    return [
        hit
        for hit in loaded.hits
        if not hit.scope_id or (hit.id not in shown and ((hit.scope_id, hit.id) in similar or _shares(hit, query)))
    ]


def _shares(hit: Hit, query: Query) -> bool:
    return len(hit.terms) >= 2 or 2 * len(hit.terms) >= len(query)


def in_window(loaded: Loaded, policy: Policy) -> set[int]:
    """Return the ids of the messages that the window will show, reckoned before the prompt is made: by their stored counts,
    and as if the rest of the prompt left it all its room. Pure."""
    now = {row.turn_id for row in loaded.appended}
    rows = [row for row in loaded.window if row.turn_id not in now] + [r for r in loaded.appended if r.role == "user"]
    pending = uncovered(rows, loaded.summary) if policy.summarised else ()
    limits = Limits(
        turns=reach(policy.turns, uncovered=len(pending), unlearned=loaded.unlearned),
        keep_turns=policy.keep_turns,
        messages=policy.messages,
        tokens=policy.tokens,
        hard=policy.window_tokens,
    )
    rules = trim(rows, limits).rules if rows else ()
    shown = {row.id for row, rule in zip(rows, rules, strict=True) if rule not in OUT}
    return shown | {row.id for row in loaded.appended}


async def _with_older_items(derived: Derived, owner: Owner, loaded: Loaded, *, now_ms: int) -> Loaded:
    """Add the items that were found, are older than those that were loaded, and are valid now."""
    known = {row.id for row in (*loaded.profile, *loaded.pinned)}
    missing = [hit.id for hit in loaded.hits if not hit.scope_id and hit.id not in known]
    if not missing:
        return loaded
    older = [
        row
        for row in await derived.items(owner, missing)
        if not row.pinned and row.valid_from_ms <= now_ms and (row.valid_to_ms is None or row.valid_to_ms > now_ms)
    ]
    return msgspec.structs.replace(loaded, profile=(*loaded.profile, *older))


def _messages(
    ranked: Sequence[Ranked], fetched: Sequence[Message], hits: Sequence[Hit]
) -> tuple[tuple[Message, ...], dict[int, str]]:
    """Return the best messages, the best one first, and why each is there. Pure."""
    texts = {(row.scope_id, row.id): row for row in fetched}
    named = {(hit.scope_id, hit.id): WORDS if hit.terms else MEANING for hit in hits}
    rows = tuple(texts[one.scope_id, one.id] for one in ranked if one.scope_id)[:NAMED]
    return rows, {row.id: named.get((row.scope_id, row.id), BESIDE) for row in rows}


def outdated(
    fetched: Sequence[Message], ended: Sequence[Ended], loaded: Loaded, owner: Owner
) -> dict[int, frozenset[str]]:
    """Return the turns in which something was said that has changed since, and its slots. Pure.

    In a group only what changed there, or what has a successor that may be shown there, counts: that something changed in
    private is nobody's business either. A service item changes with its session, and says nothing of its messages."""
    told = owner.chat_type == "private" or owner.private_in_group
    now = {(row.slot, row.value) for row in (*loaded.profile, *loaded.pinned)}
    here = {row.slot for row in loaded.profile}
    slots: defaultdict[Key, set[str]] = defaultdict(set)
    for one in ended:
        if (one.slot, one.value) not in now and one.slot != _SERVICE and (told or not one.lasting or one.slot in here):
            for id_ in one.source_ids:
                slots[one.scope_id, id_].add(one.slot)
    return {row.turn_id: frozenset(slots[key]) for row in fetched if (key := (row.scope_id, row.id)) in slots}


def _places(
    rows: Sequence[Message], ranked: Sequence[Ranked], changed: Mapping[int, frozenset[str]]
) -> dict[str, float]:
    """Return the slots that messages told of, with the best score of these."""
    scores = {(one.scope_id, one.id): one.score for one in ranked}
    found: dict[str, float] = {}
    for row in rows:
        for slot in changed.get(row.turn_id, ()):
            found[slot] = max(found.get(slot, 0.0), scores[row.scope_id, row.id])
    return found


def claimed(
    profile: Sequence[ProfileItem],
    ranked: Sequence[Ranked],
    near: Near = UNKNOWN,
    *,
    slots: Mapping[str, float] = _NOTHING,
) -> tuple[tuple[ProfileItem, ...], dict[int, str]]:
    """Return profile items, the best claim first, and each one's claim. An item has at least the score that `slots` gives to
    its slot, where that holds a single value: people ask in the words that they used first. Pure."""
    scores = {one.id: one.score for one in ranked if not one.scope_id}
    heirs = {row.id: slots[row.slot] for row in profile if row.slot in slots and _is_single(row.slot)}
    scores |= {id_: score for id_, score in heirs.items() if score > scores.get(id_, 0.0)}
    found = {one.id for one in ranked if not one.scope_id}
    worded = {one.id for one in ranked if not one.scope_id and one.words > 0}

    def claim(row: ProfileItem) -> str:
        if row.slot in _ALWAYS_SLOTS:
            return ALWAYS
        if row.id in scores:
            return WORDS if row.id in worded else MEANING if row.id in found else SUCCESSOR
        return THRESHOLD if row.id in near.compared else RECENT

    claims = {row.id: claim(row) for row in profile}
    order = {ALWAYS: 0, WORDS: 1, MEANING: 1, SUCCESSOR: 1, RECENT: 2, THRESHOLD: 3}
    best = sorted(profile, key=lambda row: (order[claims[row.id]], -scores.get(row.id, 0.0), -row.id))
    return tuple(best), claims


def _is_single(name: str) -> bool:
    slot = slot_of(name)
    return slot is not None and slot.single
