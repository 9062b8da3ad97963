"""A person's talk in memory, indexed as a store indexes it: what the recall benches ask their questions of."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory.base import Corpus, Hit, Message
from memory.ranking import LIMIT, Key, Ranked
from memory.recall import recalled, wanted
from memory.terms import term_ids

OWNER = 1
SCOPE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message: its terms as the index has them (speaker and day included), and where it stands."""

    session: str
    position: int
    text: str
    terms: Counter[str]


class Talk:
    """Messages by their place in `said`, which is also their id."""

    def __init__(self, said: Sequence[Said]) -> None:
        self._said = said
        self._counts = [dict(zip(term_ids(OWNER, one.terms), one.terms.values(), strict=True)) for one in said]
        self._lengths = [one.terms.total() for one in said]
        self._places = {(one.session, one.position): id_ for id_, one in enumerate(said)}
        self._having: defaultdict[int, list[int]] = defaultdict(list)
        for id_, counts in enumerate(self._counts):
            for term in counts:
                self._having[term].append(id_)
        self.corpus = Corpus(fragments=len(said), length=sum(self._lengths))

    def query(self, terms: Counter[str]) -> dict[int, float]:
        return dict(zip(term_ids(OWNER, terms), map(float, terms.values()), strict=True))

    def hits(self, query: Mapping[int, float], *, similar: Iterable[int] = ()) -> list[Hit]:
        """Return what a store gives for a question: what matches, of each term the newest ones, and what is similar."""
        found: dict[int, dict[int, int]] = {id_: {} for id_ in similar}
        for term in query:
            for id_ in self._having.get(term, [])[-LIMIT:]:
                found.setdefault(id_, {})[term] = self._counts[id_][term]
        return [self._hit(id_, terms) for id_, terms in found.items()]

    def recall(self, terms: Counter[str], *, k: int, similar: Mapping[int, float] | None = None) -> list[Ranked]:
        """Return the best `k` messages for a question's terms, in the two steps of `memory.recall`."""
        query = self.query(terms)
        hits = self.hits(query, similar=similar or ())
        cosines = {(SCOPE, id_): cosine for id_, cosine in (similar or {}).items()}
        keys = wanted(query, hits, self.corpus, similar=cosines)
        return recalled(query, hits, self.corpus, self._fetched(keys), k=k, similar=cosines)

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

    def _fetched(self, keys: Iterable[Key]) -> list[Message]:
        """Return messages with up to two before and behind each, as `Derived.fragments` does."""
        near = {
            self._places.get((self._said[id_].session, self._said[id_].position + distance))
            for _, id_ in keys
            for distance in range(-2, 3)
        }
        return [self._message(id_) for id_ in sorted(id_ for id_ in near if id_ is not None)]

    def _message(self, id_: int) -> Message:
        return Message(
            id=id_, scope_id=SCOPE, session_id=self._said[id_].session, turn_id=id_, event_id=id_, role="user",
            text=self._said[id_].text, user="U1", channel="web", conversation="r1", chat_type="private", agent="helper",
        )  # fmt: skip
