"""Which messages and profile items a question is about: keywords first, without a model, the same on every machine.

What is ranked are the index's hits: ids of terms and numbers, no words. A score is BM25, plus what is said next to it, plus
how well its whole session fits; each part stands by itself, for the ledger. Pure.

Words: S. E. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). Fusing ranks: G. V.
Cormack et al., "Reciprocal Rank Fusion" (SIGIR 2009). The weights are measured: tests/bench/README.md.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from memory.base import Corpus, Hit

_K1 = 1.2  # how soon one more of the same word stops counting
_B = 0.75  # how much longer texts are discounted
_SESSION = 5.0  # what belonging to the session that fits best is worth
_MEANING = 10.0  # what a similarity of 1 is worth: about two rare words
_NEXT, _SECOND = 0.3, 0.25  # of the score of what stands one and two places away
_ANSWER = 1.0  # of a question's score, to what was said after it: "any allergies?", "penicillin"
_QUESTION = 0.7  # of a question's score, to itself: it names what it asks and doesn't know it

Key = tuple[int, int]
"""Of a hit: its scope's id (0: a profile item) and its own."""


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """A hit's score and what it is made of."""

    scope_id: int
    id: int
    words: float
    meaning: float
    neighbours: float
    session: float

    @property
    def score(self) -> float:
        """The sum of the parts; comparable within one ranking only."""
        return self.words + self.meaning + self.neighbours + self.session


def rank(
    query: Mapping[int, float],
    hits: Sequence[Hit],
    corpus: Corpus,
    *,
    k: int,
    limit: int | None = None,
    asking: Collection[Key] = frozenset(),
    similar: Mapping[Key, float] | None = None,
) -> list[Ranked]:
    """Return the `k` hits that fit best, best first, the newest id first among equals; none that nothing speaks for.

    `query` weighs the question's term ids. `hits`, in any order and each once, are what has one of them; those with no
    `terms` at all may be among them, and are found by their neighbours (an answer seldom repeats its question), by their
    session, or by what they mean. `limit` is how many hits a term could bring (`Load.hits`; None: any number): one that
    brought so many came without its older ones, and counts only if every term did. `asking` are those that end in a
    question mark; `similar` are cosines of an embedder, those that reach its threshold. Linear in the number of hits.
    """
    similar = similar or {}
    query = _telling(query, hits, limit)
    words = _by_words(query, hits, corpus)
    meaning = [_MEANING * max(0.0, similar.get((hit.scope_id, hit.id), 0.0)) for hit in hits]
    asks = [(hit.scope_id, hit.id) in asking for hit in hits]
    near = _by_neighbours(hits, [a + b for a, b in zip(words, meaning, strict=True)], asks)
    whole = _by_session(query, hits)
    ranked = (
        Ranked(
            scope_id=hit.scope_id,
            id=hit.id,
            words=words[at] * (_QUESTION if asks[at] else 1.0),
            meaning=meaning[at] * (_QUESTION if asks[at] else 1.0),
            neighbours=near[at],
            session=whole.get((hit.scope_id, hit.session_id), 0.0),
        )
        for at, hit in enumerate(hits)
    )
    return heapq.nlargest(
        k, (one for one in ranked if one.score > 0), key=lambda one: (one.score, one.id, one.scope_id)
    )


def _telling(query: Mapping[int, float], hits: Sequence[Hit], limit: int | None) -> Mapping[int, float]:
    """Without terms that half of the talk has: what they would add to its newest part only is worse than nothing."""
    if limit is None:
        return query
    having = _having(query, [hit.terms for hit in hits])
    return {term: weight for term, weight in query.items() if 0 < having[term] < limit} or query


def _by_words(query: Mapping[int, float], hits: Sequence[Hit], corpus: Corpus) -> list[float]:
    weights = _weights(query, [hit.terms for hit in hits], corpus.fragments)
    average = max(1.0, corpus.length / max(1, corpus.fragments))
    scores = []
    for hit in hits:
        room = _K1 * (1 - _B + _B * hit.length / average)
        scores.append(math.fsum(weights[term] * n / (n + room) for term, n in hit.terms.items() if term in weights))
    return scores


def _by_session(query: Mapping[int, float], hits: Sequence[Hit]) -> dict[tuple[int, str], float]:
    """A session as one long text. Its length and the sessions without any hit don't count: it made no difference when
    measured."""
    sums: defaultdict[tuple[int, str], Counter[int]] = defaultdict(Counter)
    for hit in hits:
        if hit.session_id:
            sums[hit.scope_id, hit.session_id].update(hit.terms)
    weights = _weights(query, sums.values(), len(sums))
    scores = {
        session: math.fsum(weights[term] * n / (n + _K1) for term, n in terms.items() if term in weights)
        for session, terms in sums.items()
    }
    best = max(scores.values(), default=0.0)
    return {session: _SESSION * score / best for session, score in scores.items()} if best > 0 else {}


def _weights(query: Mapping[int, float], among: Collection[Mapping[int, int]], total: int) -> dict[int, float]:
    """What a term is worth at most: more, the fewer have it. Nobody has more than there are."""
    having = _having(query, among)
    return {
        term: query[term] * (_K1 + 1) * math.log1p((max(total, n) - n + 0.5) / (n + 0.5)) for term, n in having.items()
    }


def _having(query: Mapping[int, float], among: Iterable[Mapping[int, int]]) -> Counter[int]:
    return Counter(term for terms in among for term in terms if term in query)


def _by_neighbours(hits: Sequence[Hit], scores: Sequence[float], asks: Sequence[bool]) -> list[float]:
    places = {(hit.scope_id, hit.session_id, hit.position): at for at, hit in enumerate(hits) if hit.session_id}

    def share(hit: Hit, distance: int) -> float:
        at = places.get((hit.scope_id, hit.session_id, hit.position + distance))
        if at is None:
            return 0.0
        beside = _ANSWER if distance == -1 and asks[at] else _NEXT
        return scores[at] * (beside if abs(distance) == 1 else _SECOND)

    return [share(hit, -2) + share(hit, -1) + share(hit, 1) + share(hit, 2) for hit in hits]


def fuse(*rankings: Sequence[int], k: int = 60, weights: Sequence[float] = ()) -> list[int]:
    """Return every id of any ranking (each best first), those first that stand high in several; the newest id first among
    equals. Nothing is lost that only one of them found. `weights`, one for each, say whose word counts more; none: equal."""
    scores: defaultdict[int, list[float]] = defaultdict(list)
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for place, id_ in enumerate(dict.fromkeys(ranking), 1):
            scores[id_].append(weight / (k + place))
    return sorted(scores, key=lambda id_: (math.fsum(scores[id_]), id_), reverse=True)


def current(ids: Iterable[int], successors: Mapping[int, int]) -> list[int]:
    """Return `ids` with each that has a live successor replaced by its newest one, each once, at the best place that it or
    one of its predecessors had: a question asked in the words of the old value finds the new one, and never the old."""
    return list(dict.fromkeys(_newest(id_, successors) for id_ in ids))


def _newest(id_: int, successors: Mapping[int, int]) -> int:
    seen = {id_}
    while (successor := successors.get(id_)) is not None and successor not in seen:
        seen.add(successor)
        id_ = successor
    return id_
