"""Recall from what a person said weeks ago, through every database: index, hits, texts, ranking (B02, E23, E27)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date

import pytest

from memory.derived import Fragment, FullStore
from memory.recall import query_of, recalled, wanted
from memory.terms import message_terms, term_ids
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.derived import answered, learned, person
from tests.contracts.store import key, opened, owner, wish

DAY = date(2026, 3, 1)
TALKS = {
    "English": (
        "which medicine can't I take?",
        ["Good morning!", "Is there any medicine you can't take?", "Penicillin.", "And the weather, lovely.", "Bye"],
        "Penicillin.",
    ),
    "Chinese": (
        "我不能吃什么药？",
        ["早上好", "有什么药是您不能吃的吗？", "青霉素", "今天天气不错", "再见"],
        "青霉素",
    ),
    "by its day": ("what did I say on 1 March?", ["Moving house."], "Moving house."),
    "a code": ("status of A-42?", ["Ticket A42 is mine", "Ticket A43 is not"], "Ticket A42 is mine"),
}


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def store(column: Column) -> AsyncIterator[FullStore]:
    async with column.open() as opened:
        yield opened


async def remember(store: FullStore, account: str, texts: list[str]) -> int:
    """Let an account say everything, a turn each, and index that; return its scope."""
    scope, me = await opened(store, user=account), await person(store, account)
    for turn_id, text in enumerate(texts, scope.id):  # any number that is nobody else's
        turn = await answered(store, scope.id, turn_id, text, person_id=me, key=key(user=account))
        kept = message_terms(text, speaker="Zoë", day=DAY)
        terms = tuple(zip(term_ids(me, kept), kept.values(), strict=True))
        fragment = Fragment(scope_id=scope.id, id=turn[0].id, terms=terms)
        await store.derived.settle(learned(turn, person_id=me, fragments=(fragment,)))
    return scope.id


async def recall(store: FullStore, account: str, scope_id: int, question: str) -> list[str]:
    """Return the texts that a question recalls, best first."""
    me = await person(store, account)
    query = query_of(question, me, today=DAY)
    wishes = wish(scope_id, person_id=me, terms=tuple(query))
    loaded = await store.load(wishes)
    keys = wanted(query, loaded.hits, loaded.corpus)
    fetched = await store.derived.fragments(owner(scope_id, person_id=me), keys)
    texts = {row.id: row.text for row in fetched}
    return [texts[one.id] for one in recalled(query, loaded.hits, loaded.corpus, fetched, k=10)]


@pytest.mark.parametrize("kind", TALKS)
async def test_what_was_said_is_recalled(store: FullStore, kind: str) -> None:
    """The answer comes first, in both languages, though it may repeat no word of the question; another person who said the
    very same has only his own, and one who said nothing has nothing."""
    question, talk, answer = TALKS[kind]
    mine = await remember(store, "u1", talk)
    his = await remember(store, "u2", ["Hello there", *talk[::-1]])
    nobody = await opened(store, user="u3")

    found = await recall(store, "u1", mine, question)

    assert answer == found[0]
    assert "Hello there" not in found
    assert answer in await recall(store, "u2", his, question)
    assert [] == await recall(store, "u3", nobody.id, question)
