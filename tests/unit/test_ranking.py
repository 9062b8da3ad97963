"""Which messages a question is about: words, neighbours and sessions (E23, E27, B26)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.base import Corpus, Hit, Load, Owner
from memory.ranking import LIMIT, Ranked, rank
from memory.terms import term_ids, terms

OWNER = 7


def hits_of(question: str, *texts: str, session: str = "s", scope_id: int = 1, first: int = 1) -> list[Hit]:
    """What a store gives of one session's messages for a question, ids from `first`."""
    asked = set(term_ids(OWNER, terms(question)))
    hits = []
    for position, text in enumerate(texts):
        counts = dict(zip(term_ids(OWNER, found := terms(text)), found.values(), strict=True))
        shared = {term: n for term, n in counts.items() if term in asked}
        hits.append(
            Hit(
                scope_id=scope_id, id=first + position, session_id=session, position=position, length=found.total(), terms=shared
            )
        )  # fmt: skip
    return hits


def query_of(question: str) -> dict[int, float]:
    found = terms(question)
    return dict(zip(term_ids(OWNER, found), map(float, found.values()), strict=True))


def corpus_of(hits: list[Hit]) -> Corpus:
    return Corpus(fragments=len(hits), length=sum(hit.length for hit in hits))


def ids(ranked: list[Ranked]) -> list[int]:
    return [one.id for one in ranked]


def recall(question: str, *texts: str, k: int = 10) -> list[int]:
    hits = hits_of(question, *texts)
    return ids(rank(query_of(question), hits, corpus_of(hits), k=k))


@pytest.mark.parametrize(
    ("question", "texts", "best"),
    [
        (
            "what am I allergic to?",
            ("nice weather", "I am allergic to penicillin", "see you", "fine by me", "order it"),
            2,
        ),
        ("我对什么过敏？", ("今天天气不错", "我吃花生会过敏", "好的", "周末去爬山", "再见"), 2),  # mem0ai/mem0#7164
        ("where is order 8821?", ("order 8812 came", "all fine", "no hurry", "order 8821 is late", "yes order it"), 4),
        ("iPhone 的发票呢", ("请把上次的发票寄给我吧", "好", "iPhone 的发票抬头写个人", "谢谢", "iPhone 真好用"), 3),
        ("🎂?", ("hello there", "cake for mum 🎂", "bye"), 2),
    ],
)
def test_the_message_that_answers_comes_first(question: str, texts: tuple[str, ...], best: int) -> None:
    """Exact words, numbers and Chinese words of two characters find what a vector may miss (E23), in any dialogue fragment and
    not in questions alone (E27)."""
    assert best == recall(question, *texts)[0]


def test_nothing_relevant_is_nothing() -> None:
    """A question that shares no term with anything recalls nothing (B26)."""
    assert [] == recall("quantum gravity", "I like tea", "下雨了")
    assert [] == rank({}, [], Corpus(), k=5)
    assert [] == rank({1: 1.0}, [], Corpus(fragments=10, length=50), k=5)


def test_no_more_than_k_come_back() -> None:
    """The best k only, and those in order."""
    everything = recall("tea", *["tea with milk"] * 8)

    assert 3 == len(recall("tea", *["tea with milk"] * 8, k=3))
    assert everything[:3] == recall("tea", *["tea with milk"] * 8, k=3)
    assert [] == recall("tea", "tea", k=0)


def test_equals_come_newest_first() -> None:
    """Of two that fit alike the newer one is first, so that equal words never let an old value win."""
    hits = [
        Hit(scope_id=0, id=id_, session_id="", position=-1, length=3, terms={1: 1}) for id_ in (4, 9, 2)
    ]  # profile items

    assert [9, 4, 2] == ids(rank({1: 1.0}, hits, Corpus(fragments=3, length=9), k=5))


def test_an_answer_is_found_by_its_question() -> None:
    """What was said after a question that matches stands before that question, though it repeats none of its words; what is
    further away is worth less."""
    question = "which medicine makes me ill?"
    hits = hits_of(question, "Does any medicine make you ill?", "penicillin", "noted", "thanks", "bye")

    ranked = rank(query_of(question), hits, corpus_of(hits), k=5, asking={(1, 1)})
    parts = {one.id: one for one in ranked}

    assert 2 == ranked[0].id
    assert 0 == parts[2].words
    assert parts[2].neighbours > parts[1].words > parts[3].neighbours > 0
    assert 0 == parts[4].neighbours == parts[5].neighbours


def test_neighbours_are_of_the_same_session_and_scope() -> None:
    """The next place in another session, or in a session of that name in another scope, is no neighbour; items have none."""
    matching = Hit(scope_id=1, id=1, session_id="a", position=0, length=1, terms={1: 1})
    others = [
        Hit(scope_id=1, id=2, session_id="b", position=1, length=1, terms={}),
        Hit(scope_id=2, id=3, session_id="a", position=1, length=1, terms={}),
        Hit(scope_id=0, id=4, session_id="", position=-1, length=1, terms={}),
        Hit(scope_id=0, id=5, session_id="", position=0, length=1, terms={1: 1}),
    ]

    ranked = rank({1: 1.0}, [matching, *others], Corpus(fragments=5, length=5), k=9)

    assert {1, 5} == set(ids(ranked))
    assert all(0 == one.neighbours for one in ranked)
    assert [0, 0] == [one.session for one in ranked if one.id == 5] * 2


def test_the_session_that_fits_best_lifts_its_messages() -> None:
    """Of two messages that match alike, the one whose session is about all of the question stands before the other; the
    session that fits best is worth five."""
    question = "hotel in Rome with a pool"
    trip = hits_of(question, "a hotel please", "Rome, in May", "x y z", "and a pool", session="trip")
    stray = hits_of(question, "my hotel bill", "is wrong", session="bill", first=90)
    hits = [*trip, *stray]

    ranked = rank(query_of(question), hits, corpus_of(hits), k=9)
    parts = {one.id: one for one in ranked}

    assert ids(ranked).index(1) < ids(ranked).index(90)
    assert 5 == pytest.approx(parts[1].session)
    assert 0 < parts[90].session < 5


def test_a_similar_message_is_found_without_a_common_word() -> None:
    """An embedder adds what words can't see, and takes nothing from a message that has the words (C.6's cosine: any sign)."""
    hits = hits_of("feline", "my cat is ill", "feline flu", "so sad")
    corpus = corpus_of(hits)

    plain = rank(query_of("feline"), hits, corpus, k=5)
    with_vectors = rank(query_of("feline"), hits, corpus, k=5, similar={(1, 1): 0.8, (1, 3): -0.9})

    assert 8 == pytest.approx(next(one.meaning for one in with_vectors if one.id == 1))
    assert 0 == next(one.meaning for one in with_vectors if one.id == 3)
    assert {one.id: one.words for one in plain} == {one.id: one.words for one in with_vectors}
    assert set(ids(plain)) <= set(ids(with_vectors))


def test_a_term_that_came_in_part_does_not_count_beside_others() -> None:
    """What half of the talk says brings only its newest messages; they would push away the old one that answers. Alone such
    a term still finds them."""
    old = Hit(scope_id=1, id=1, session_id="a", position=0, length=4, terms={1: 1})
    new = [Hit(scope_id=1, id=2 + i, session_id=f"n{i}", position=0, length=4, terms={2: 4}) for i in range(3)]
    corpus = Corpus(fragments=8, length=32)

    assert [1] == ids(rank({1: 1.0, 2: 9.0}, [old, *new], corpus, k=9, limit=3))
    assert 4 == len(rank({1: 1.0, 2: 9.0}, [old, *new], corpus, k=9, limit=4))
    assert [4, 3, 2] == ids(rank({2: 1.0, 3: 1.0}, new, corpus, k=9, limit=3))


def test_a_load_asks_for_as_many_hits_as_ranking_thinks() -> None:
    """Whoever asks for another number says so to both."""
    owner = Owner(scope_id=1, person_id=1, namespace="shared", chat_type="private")

    assert LIMIT == Load(owner=owner, now_ms=0).hits


COUNTS = st.dictionaries(st.integers(0, 5), st.integers(1, 50), max_size=4)
HITS = st.lists(
    st.builds(
        Hit,
        scope_id=st.integers(0, 2),
        id=st.integers(0, 2**62),
        session_id=st.sampled_from(["", "a", "b"]),
        position=st.integers(-1, 9),
        length=st.integers(0, 10_000),
        terms=COUNTS,
    ),
    max_size=12,
    unique_by=lambda hit: (hit.scope_id, hit.id),
)
CORPORA = st.builds(Corpus, fragments=st.integers(0, 1_000), length=st.integers(0, 10**6))
QUERIES = st.dictionaries(st.integers(0, 5), st.floats(0.1, 10), max_size=4)


@given(QUERIES, HITS, CORPORA, st.integers(0, 9), st.integers(1, 5))
def test_any_hits_can_be_ranked(query: dict[int, float], hits: list[Hit], corpus: Corpus, k: int, limit: int) -> None:
    """Numbers that don't fit together raise nothing; scores are finite, positive, best first, and the sum of their parts."""
    ranked = rank(query, hits, corpus, k=k, limit=limit, asking={(hit.scope_id, hit.id) for hit in hits[::2]})

    assert len(ranked) <= k
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert all(0 < one.score < math.inf for one in ranked)
    assert all(min(one.words, one.meaning, one.neighbours, one.session) >= 0 for one in ranked)


@given(QUERIES, HITS.flatmap(lambda hits: st.tuples(st.just(hits), st.permutations(hits))), CORPORA)
def test_the_order_of_hits_does_not_matter(
    query: dict[int, float], orders: tuple[list[Hit], list[Hit]], corpus: Corpus
) -> None:
    """Stores give hits in no order; the ranking, scores included, is the same for each. (Two hits may claim one place of a
    session only in this test: then either is the neighbour.)"""
    given_, shuffled = orders
    places = [(hit.scope_id, hit.session_id, hit.position) for hit in given_ if hit.session_id]
    if len(places) == len(set(places)):
        assert rank(query, given_, corpus, k=20) == rank(query, shuffled, corpus, k=20)


@given(st.lists(COUNTS, min_size=1, max_size=8), QUERIES)
def test_an_unrelated_fragment_leaves_the_order_alone(counts: list[dict[int, int]], query: dict[int, float]) -> None:
    """One more hit that matches nothing, in a session of its own, changes no score of the others while the corpus is the
    same."""
    hits = [
        Hit(scope_id=1, id=i, session_id="s", position=i, length=sum(terms.values()), terms=terms)
        for i, terms in enumerate(counts)
    ]
    corpus = Corpus(fragments=100, length=1_000)
    stranger = Hit(scope_id=1, id=99, session_id="", position=-1, length=5, terms={77: 3})

    assert rank(query, hits, corpus, k=20) == rank(query, [*hits, stranger], corpus, k=20)


def test_a_rare_term_counts_more_than_a_common_one() -> None:
    """Inverse document frequency: what few messages say tells more."""
    hits = [
        Hit(scope_id=1, id=i, session_id="", position=-1, length=4, terms={1: 1} if i else {2: 1}) for i in range(6)
    ]

    assert 0 == rank({1: 1.0, 2: 1.0}, hits, Corpus(fragments=50, length=200), k=1)[0].id


def test_bm25_is_the_one_of_the_paper() -> None:
    """A worked number: one of 10 fragments has the term twice, at average length: ln(1 + 9.5/1.5) · 2·2.2/(2 + 1.2)."""
    hit = Hit(scope_id=0, id=1, session_id="", position=-1, length=10, terms={1: 2})

    (only,) = rank({1: 1.0}, [hit], Corpus(fragments=10, length=100), k=1)

    assert math.log(1 + 9.5 / 1.5) * 2 * 2.2 / 3.2 == pytest.approx(only.words)
    assert only.words == only.score
