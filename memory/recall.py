"""Recall in two steps, so that a store reads few texts: rank the index's hits, fetch the best ones with what stands around
them (`Derived.fragments`), rank again with those. Pure; the calls between are the caller's.

The second step finds answers, which seldom repeat their question: only a text shows whether it asks something.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date

from memory.base import Corpus, Hit, Message
from memory.ranking import LIMIT, Key, Ranked, rank
from memory.terms import term_ids, terms

FETCHED = 20
"""Messages that are fetched with their neighbours. Measured: 20 find what all would (tests/bench/README.md)."""


def query_of(question: str, person_id: int, *, today: date | None = None) -> dict[int, float]:
    """Return the weights of a question's terms in a person's index; empty: it has none, nothing needs to be looked up.
    `today` is the person's day, from which "yesterday" counts."""
    found = terms(question, today=today)
    return dict(zip(term_ids(person_id, found), map(float, found.values()), strict=True))


def wanted(
    query: Mapping[int, float],
    hits: Sequence[Hit],
    corpus: Corpus,
    *,
    limit: int = LIMIT,
    similar: Mapping[Key, float] | None = None,
) -> list[Key]:
    """Return the messages to fetch with their neighbours, best first; profile items are not among them. For the arguments
    see `memory.ranking.rank`."""
    messages = [hit for hit in hits if hit.scope_id]
    ranked = rank(query, messages, corpus, k=FETCHED, limit=limit, similar=similar)
    return [(one.scope_id, one.id) for one in ranked]


def recalled(
    query: Mapping[int, float],
    hits: Sequence[Hit],
    corpus: Corpus,
    fetched: Sequence[Message],
    *,
    k: int,
    limit: int = LIMIT,
    similar: Mapping[Key, float] | None = None,
) -> list[Ranked]:
    """Return the best `k` of profile items and fetched messages, those that nothing but a neighbour speaks for included.
    A message that hits name and that was not fetched (deleted meanwhile, or further down) is not returned."""
    there = {(row.scope_id, row.id) for row in fetched}
    asking = {(row.scope_id, row.id) for row in fetched if asks(row.text)}
    every = [*hits, *_around(hits, fetched)]
    ranked = rank(query, every, corpus, k=len(every), limit=limit, asking=asking, similar=similar)
    return [one for one in ranked if not one.scope_id or (one.scope_id, one.id) in there][:k]


def asks(text: str) -> bool:
    """Say whether a text ends in a question mark, of any script, emoji and closing marks aside."""
    return text.rstrip(" \n\t\"'”’」』)）🙏🤔😊").endswith(("?", "？", "؟", "⁇", "❓", "⁉"))


def _around(hits: Sequence[Hit], fetched: Sequence[Message]) -> list[Hit]:
    """Make hits without terms of the fetched messages that are none yet. Their positions are counted from the hits they
    were fetched for; a message that was deleted meanwhile lets what stands behind it move up."""
    places = {(hit.scope_id, hit.id): hit.position for hit in hits}
    sessions: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for row in sorted(fetched, key=lambda row: row.id):
        sessions[row.scope_id, row.session_id].append(row.id)
    found = []
    for (scope_id, session_id), ids in sessions.items():
        positions = [places.get((scope_id, id_)) for id_ in ids]
        for at, id_ in enumerate(ids):
            position = _counted(positions, at)
            if positions[at] is None and position is not None:
                found.append(
                    Hit(scope_id=scope_id, id=id_, session_id=session_id, position=position, length=0, terms={})
                )
    return found


def _counted(positions: Sequence[int | None], at: int) -> int | None:
    """Count from the nearest one whose position is known, up to two away; None: that one is somebody else's."""
    for distance in (-1, 1, -2, 2):
        if 0 <= at + distance < len(positions):
            known = positions[at + distance]
            if known is not None and known - distance not in positions:
                return known - distance
    return None
