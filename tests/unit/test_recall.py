"""Recall in two steps: which texts are fetched, and what is found with those around them (E23, E27, B26)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest

from memory.base import Corpus, Hit, Message
from memory.ranking import Ranked
from memory.recall import FETCHED, asks, query_of, recalled, wanted
from memory.terms import term_ids, terms

ALICE = 7


def said(id_: int, text: str, *, scope_id: int = 1, session: str = "s") -> Message:
    return Message(
        id=id_, scope_id=scope_id, session_id=session, turn_id=id_, event_id=id_, role="user", text=text, user="U1",
        channel="web", conversation="r1", chat_type="private", agent="helper", person_id=ALICE,
    )  # fmt: skip


def hits_in(messages: Sequence[Message], query: dict[int, float], *, first: int = 0) -> list[Hit]:
    """The index's hits among one session's messages, whose positions count from `first`."""
    hits = []
    for position, row in enumerate(messages, first):
        found = terms(row.text)
        counts = zip(term_ids(ALICE, found), found.values(), strict=True)
        shared = {term: n for term, n in counts if term in query}
        if shared:
            hits.append(
                Hit(
                    scope_id=row.scope_id, id=row.id, session_id=row.session_id, position=position, length=found.total(),
                    terms=shared,
                )
            )  # fmt: skip
    return hits


def ids(ranked: Sequence[Ranked]) -> list[int]:
    return [one.id for one in ranked]


@pytest.mark.parametrize(
    ("question", "talk", "answer"),
    [
        (
            "which medicine can't I take?",
            ["Morning!", "Is there any medicine you can't take?", "Penicillin.", "Noted.", "Bye"],
            3,
        ),
        ("我不能吃什么药？", ["早上好", "有什么药是您不能吃的吗？", "青霉素", "记下了", "再见"], 3),
    ],
)
def test_an_answer_without_any_common_word_is_recalled(question: str, talk: list[str], answer: int) -> None:
    """The hit is the question that the bot asked; its answer stands beside it, is fetched along, and comes out first."""
    messages = [said(id_, text) for id_, text in enumerate(talk, 1)]
    query = query_of(question, ALICE)
    hits, corpus = hits_in(messages, query), Corpus(fragments=50, length=250)

    keys = wanted(query, hits, corpus)
    found = recalled(query, hits, corpus, messages, k=3)

    assert [(1, 2)] == keys
    assert answer == found[0].id
    assert 0 == found[0].words < found[0].neighbours


def test_only_messages_are_fetched_and_few_of_them() -> None:
    """Profile items have their text already; of a thousand messages that match, the best twenty are read."""
    query = {1: 1.0}
    items = [Hit(scope_id=0, id=9_000, session_id="", position=-1, length=3, terms={1: 1})]
    messages = [Hit(scope_id=1, id=at, session_id=f"s{at}", position=0, length=3, terms={1: 1}) for at in range(1_000)]

    keys = wanted(query, items + messages, Corpus(fragments=2_000, length=6_000), limit=5_000)

    assert [(1, at) for at in range(999, 999 - FETCHED, -1)] == keys
    assert [] == wanted(query, [], Corpus())


def test_a_message_that_could_not_be_fetched_is_not_recalled() -> None:
    """Deleted between the two steps, or hidden from this place: what the store does not show is nowhere in the result;
    profile items need no fetching."""
    messages = [said(1, "my cat is ill"), said(2, "the cat is well")]
    query = query_of("cat", ALICE)
    item = Hit(scope_id=0, id=1, session_id="", position=-1, length=2, terms={next(iter(query)): 1})
    hits, corpus = [*hits_in(messages, query), item], Corpus(fragments=9, length=30)

    found = recalled(query, hits, corpus, messages[1:], k=5)

    assert {(1, 2), (0, 1)} == {(one.scope_id, one.id) for one in found}


def test_neighbours_stand_where_the_hits_say() -> None:
    """Between two hits far from each other, each neighbour counts to the one it was fetched for; another scope's or
    session's messages are nobody's neighbours."""
    talk = [said(id_, "Where is the lamp?" if id_ in (3, 10) else "well well") for id_ in range(1, 13)]
    query = query_of("lamp", ALICE)
    hits, corpus = hits_in(talk, query), Corpus(fragments=99, length=300)
    around = [row for row in talk if row.id not in (6, 7)]
    strangers = [said(4, "well well", session="other"), said(5, "well well", scope_id=2)]

    found = {(one.scope_id, one.id): one for one in recalled(query, hits, corpus, around, k=20)}
    with_strangers = recalled(query, hits, corpus, strangers, k=20)

    assert {1, 2, 3, 4, 5, 8, 9, 10, 11, 12} == {id_ for _, id_ in found}
    assert found[1, 4].neighbours == pytest.approx(found[1, 11].neighbours)
    assert found[1, 4].neighbours > found[1, 2].neighbours > found[1, 1].neighbours
    assert found[1, 2].neighbours == pytest.approx(found[1, 9].neighbours)
    assert [] == with_strangers


def test_a_deleted_neighbour_moves_nobody_onto_another() -> None:
    """Where one of the places between two hits is gone, what is left is counted once and takes no hit's place."""
    talk = [said(1, "a lamp"), said(3, "well well"), said(4, "a lamp")]
    query = query_of("lamp", ALICE)
    hits = [
        Hit(scope_id=1, id=id_, session_id="s", position=position, length=1, terms=dict.fromkeys(query, 1))
        for id_, position in ((1, 0), (4, 1))
    ]

    found = recalled(query, hits, Corpus(fragments=9, length=20), talk, k=9)

    assert [4, 1] == ids(found)


def test_similar_messages_take_part_in_both_steps() -> None:
    """What only an embedder finds is fetched and recalled as well."""
    hit = Hit(scope_id=1, id=5, session_id="s", position=0, length=2, terms={})

    keys = wanted({1: 1.0}, [hit], Corpus(), similar={(1, 5): 0.5})
    found = recalled({1: 1.0}, [hit], Corpus(), [said(5, "x")], k=1, similar={(1, 5): 0.5})

    assert [(1, 5)] == keys
    assert 5 == pytest.approx(found[0].meaning)


def test_a_question_is_asked_in_its_owners_terms() -> None:
    """A person's terms are no other's (the isolation of the index); days are named from today."""
    assert not query_of("my cat", ALICE).keys() & query_of("my cat", 8).keys()
    assert set(term_ids(ALICE, ["@2026-02-28"])) <= query_of("昨天呢", ALICE, today=date(2026, 3, 1)).keys()
    assert {} == query_of("的了吗？", ALICE)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Really?", True), ("真的吗？", True), ("Any allergies? 😊", True), ("（要吗？）", True), ("هل أنت هنا؟", True),
        ("What?! No.", False), ("I see.", False), ("", False), ("What is it? It is tea", False),
    ],
)  # fmt: skip
def test_texts_that_end_in_a_question_mark_ask(text: str, question: bool) -> None:
    """Of any script, with closing marks or a smile behind it."""
    assert question is asks(text)
