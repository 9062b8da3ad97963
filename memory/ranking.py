"""Which messages and profile items a question is about: keywords first, without a model, the same on every machine.

What is ranked are the index's hits: ids of terms and numbers, no words. A score is BM25, plus what is said next to it, plus
how well its whole session fits; each part stands by itself, so that a claim can be told. Pure.

Words: S. E. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). The weights are
measured: tests/bench/README.md.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

import msgspec

from memory.base import Corpus, Hit

_K1 = 1.2  # how soon one more of the same word stops counting
_B = 0.5  # how much longer texts are discounted: less than among documents, because what is said is short anyway
_SESSION = 5.0  # what belonging to the session that fits best is worth
_MEANING = 10.0  # what a similarity of 1 is worth: about two rare words
_NEIGHBOURS = ((-2, 0.25), (-1, 0.3), (1, 0.3), (2, 0.25))  # shares of the score of what stands so far away
_ANSWER = 1.0  # of a question's score, to what was said after it: "any allergies?", "penicillin"
_QUESTION = 0.7  # of a question's score, to itself: it names what it asks and doesn't know it

LIMIT = 200
"""Hits that a term brings unless a load asks for another number of them: `memory.base.Load.hits`."""

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
    limit: int = LIMIT,
    asking: Collection[Key] = frozenset(),
    similar: Mapping[Key, float] | None = None,
) -> list[Ranked]:
    """Return the `k` hits that fit best, best first, the newest id first among equals; none that nothing speaks for.

    `query` weighs the question's term ids. `hits`, in any order and each once, are what has one of them; those with no
    `terms` at all may be among them, and are found by their neighbours (an answer seldom repeats its question), by their
    session, or by what they mean. `limit` is how many hits a term could bring (`Load.hits`): one that brought so many
    came without its older ones, and counts only if every term did. `asking` are those that end in a
    question mark; `similar` are cosines of an embedder, those that reach its threshold. Linear in the number of hits.
    """
    query = _telling(query, hits, limit)
    sessions = _sessions(hits)
    words = _by_words(query, hits, corpus)
    meaning = [_MEANING * max(0.0, (similar or {}).get((hit.scope_id, hit.id), 0.0)) for hit in hits]
    asks = [(hit.scope_id, hit.id) in asking for hit in hits]
    near = _by_neighbours(sessions, [a + b for a, b in zip(words, meaning, strict=True)], asks)
    whole = _by_session(query, sessions, hits)
    for at, asked in enumerate(asks):
        if asked:
            words[at] *= _QUESTION
            meaning[at] *= _QUESTION
    scores = [sum(parts) for parts in zip(words, meaning, near, whole, strict=True)]
    found = (at for at, score in enumerate(scores) if score > 0)
    return [
        Ranked(
            scope_id=hits[at].scope_id, id=hits[at].id, words=words[at], meaning=meaning[at], neighbours=near[at],
            session=whole[at],
        )
        for at in heapq.nlargest(k, found, key=lambda at: (scores[at], hits[at].id, hits[at].scope_id))
    ]  # fmt: skip


def _telling(query: Mapping[int, float], hits: Sequence[Hit], limit: int) -> Mapping[int, float]:
    """Without terms that half of the talk has: what they would add to its newest part only is worse than nothing."""
    having = _having(query, [hit.terms for hit in hits])
    return {term: weight for term, weight in query.items() if 0 < having[term] < limit} or query


def _sessions(hits: Sequence[Hit]) -> list[dict[int, int]]:
    """For each session, where in `hits` its places are, by position."""
    sessions: defaultdict[tuple[int, str], dict[int, int]] = defaultdict(dict)
    for at, hit in enumerate(hits):
        if hit.session_id:
            sessions[hit.scope_id, hit.session_id][hit.position] = at
    return list(sessions.values())


def _by_words(query: Mapping[int, float], hits: Sequence[Hit], corpus: Corpus) -> list[float]:
    weights = _weights(query, [hit.terms for hit in hits], corpus.fragments)
    average = max(1.0, corpus.length / max(1, corpus.fragments))
    return [_bm25(hit.terms, weights, _K1 * (1 - _B + _B * hit.length / average)) for hit in hits]


def _by_session(query: Mapping[int, float], sessions: Sequence[dict[int, int]], hits: Sequence[Hit]) -> list[float]:
    """A session as one long text. Its length and the sessions without any hit don't count: it made no difference when
    measured."""
    sums: list[dict[int, int]] = []
    for places in sessions:
        terms: dict[int, int] = {}
        for at in places.values():
            for term, n in hits[at].terms.items():
                terms[term] = terms.get(term, 0) + n
        sums.append(terms)
    weights = _weights(query, sums, len(sums))
    fits = [_bm25(terms, weights, _K1) for terms in sums]
    best = max(fits, default=0.0)
    given = [0.0] * len(hits)
    for places, fit in zip(sessions, fits, strict=True):
        for at in places.values() if fit > 0 else ():
            given[at] = _SESSION * fit / best
    return given


def _bm25(terms: Mapping[int, int], weights: Mapping[int, float], room: float) -> float:
    # fsum: the same whatever order a store gives the terms in
    return math.fsum([weights[term] * n / (n + room) for term, n in terms.items() if term in weights]) if terms else 0.0


def _weights(query: Mapping[int, float], among: Sequence[Mapping[int, int]], total: int) -> dict[int, float]:
    """What a term is worth at most: more, the fewer have it. Nobody has more than there are."""
    return {
        term: query[term] * (_K1 + 1) * math.log1p((max(total, n) - n + 0.5) / (n + 0.5))
        for term, n in _having(query, among).items()
    }


def _having(query: Mapping[int, float], among: Sequence[Mapping[int, int]]) -> Counter[int]:
    return Counter([term for terms in among for term in terms if term in query])


def _by_neighbours(sessions: Sequence[dict[int, int]], scores: Sequence[float], asks: Sequence[bool]) -> list[float]:
    given = [0.0] * len(scores)
    for places in sessions:
        for position, at in places.items() if len(places) > 1 else ():
            total = 0.0
            for distance, share in _NEIGHBOURS:
                near = places.get(position + distance)
                if near is not None:
                    total += scores[near] * (_ANSWER if distance == -1 and asks[near] else share)
            given[at] = total
    return given
