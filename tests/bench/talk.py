"""A person's talk in memory, indexed as a store indexes it: what the recall benches ask their questions of."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from memory.base import Corpus, Hit
from memory.ranking import Key, Ranked, rank
from memory.terms import term_ids

OWNER = 1
SCOPE = 1
NEWEST = 200  # messages that a term may bring: as `memory.base.Load.hits`


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message: its terms as the index has them (speaker and day included), and where it stands."""

    session: str
    position: int
    terms: Counter[str]
    asks: bool = False


class Talk:
    """Messages by their place in `said`, which is also their id."""

    def __init__(self, said: Sequence[Said]) -> None:
        self._said = said
        self._counts = [dict(zip(term_ids(OWNER, one.terms), one.terms.values(), strict=True)) for one in said]
        self._lengths = [one.terms.total() for one in said]
        self._places = {(one.session, one.position): id_ for id_, one in enumerate(said)}
        self._asking: frozenset[Key] = frozenset((SCOPE, id_) for id_, one in enumerate(said) if one.asks)
        self._having: defaultdict[int, list[int]] = defaultdict(list)
        for id_, counts in enumerate(self._counts):
            for term in counts:
                self._having[term].append(id_)

    @cached_property
    def corpus(self) -> Corpus:
        return Corpus(fragments=len(self._said), length=sum(self._lengths))

    def query(self, terms: Counter[str]) -> dict[int, float]:
        return dict(zip(term_ids(OWNER, terms), map(float, terms.values()), strict=True))

    def hits(self, query: Mapping[int, float], *, similar: Collection[int] = (), newest: int = NEWEST) -> list[Hit]:
        """Return what a store gives for a question: what matches (of each term the newest ones), is similar, and stands up
        to two places around either."""
        having = {term: self._having.get(term, [])[-newest:] for term in query}
        found: dict[int, dict[int, int]] = {id_: {} for id_ in similar}
        for term, ids in having.items():
            for id_ in ids:
                found.setdefault(id_, {})[term] = self._counts[id_][term]
        for id_ in list(found):
            for near in self._around(id_):
                found.setdefault(near, {})
        return [self._hit(id_, terms) for id_, terms in found.items()]

    def recall(
        self, terms: Counter[str], *, k: int, similar: Mapping[int, float] | None = None, newest: int = NEWEST
    ) -> list[Ranked]:
        """Return the best `k` messages for a question's terms."""
        query, cosines = self.query(terms), similar or {}
        hits = self.hits(query, similar=cosines, newest=newest)
        keys = {(SCOPE, id_): cosine for id_, cosine in cosines.items()}
        return rank(query, hits, self.corpus, k=k, limit=newest, asking=self._asking, similar=keys)

    def _hit(self, id_: int, terms: dict[int, int]) -> Hit:
        one = self._said[id_]
        return Hit(
            scope_id=SCOPE,
            id=id_,
            session_id=one.session,
            position=one.position,
            length=self._lengths[id_],
            terms=terms,
        )

    def _around(self, id_: int) -> Iterator[int]:
        one = self._said[id_]
        for distance in (-2, -1, 1, 2):
            near = self._places.get((one.session, one.position + distance))
            if near is not None:
                yield near
