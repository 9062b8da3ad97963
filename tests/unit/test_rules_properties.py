"""What holds for rules whatever is written: they never fail, make no words up, and take no longer than a message is long."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.candidates import KnownValue, Source
from memory.rules.extract import propose
from memory.slots import SLOTS
from tests.bench.extraction import LANGUAGES, Score, score, turns

WORDS = (
    "I'm", "I", "my", "not", "allergic to", "nuts", "like", "and", "call me", "Bob", "order", "8821", "it's", ",", ".", "?",
    "size", "42", "if", '"', "“", "”", "forget", "remember that", "我", "对", "花生", "过敏", "不", "是", "喜欢", "叫",
    "王小明", "订单", "尾号", "，", "。", "吗", "不要", "推荐", "他说", "如果", "説", "記住",
    "４２码", "👍", "\u200b", "e\u0301", "ß", "İ", "ﬁ",
    "\x00",
)  # fmt: skip
PHRASES = st.lists(st.sampled_from(WORDS), max_size=14)
TEXTS = st.text(max_size=80) | PHRASES.map(" ".join) | PHRASES.map("".join)
KNOWN = st.lists(
    st.builds(KnownValue, slot=st.sampled_from(sorted(SLOTS)), value=st.sampled_from(WORDS) | st.text(max_size=8)),
    max_size=4,
)


def plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


@given(st.lists(TEXTS, min_size=1, max_size=3), KNOWN, TEXTS)
def test_values_are_the_words_of_the_message_they_cite(texts: list[str], known: list[KnownValue], asked: str) -> None:
    """B50: whatever is written, known and asked, nothing is made up, and every slot is one of the vocabulary's."""
    sources = [Source(id=n, person_id=7, text=text) for n, text in enumerate(texts)]

    found = propose(sources, known=known, asked=asked)

    assert all(plain(one.value) in plain(texts[one.source_id]) for one in found)
    assert {one.slot for one in found} <= set(SLOTS)
    assert all(one.value for one in found if one.op == "set")


@pytest.mark.timeout(60)  # trying everything would take hours
@pytest.mark.parametrize(
    "piece",
    [
        "我", "对花生", "在在在部", "我现在是真的", "不是8是", "I'm allergic to ", "nuts, ", "and nuts ", "I like ", "aA ",
        "not a ", "my favourite ", "order ", "8", "call me ", "，", "I'm A ", '"', "“", "`", "x@", "在部", "1月1号",
        "i want to ", "the the ", ">",
    ],
)  # fmt: skip
def test_hostile_text_costs_no_more_than_plain(piece: str) -> None:
    """The longest message a channel takes, made of the beginnings of rules, is read in a moment: there is a bound to what is
    read, and patterns do not try everything."""
    text = (piece * 32_000)[:32_000]

    propose([Source(id=1, person_id=7, text=text), Source(id=2, person_id=7, text=f"我{text[:300]}过敏")], asked=text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_labelled_turns_are_what_they_claim(language: str) -> None:
    """At least 200 turns, two in five with nothing to find, of four kinds, in slots that exist."""
    everything = turns(language)

    assert len(everything) >= 200
    assert sum(not turn.expect for turn in everything) >= 0.4 * len(everything)
    assert {turn.kind for turn in everything} == {"shop", "it", "travel", "hr"}
    assert [turn.id for turn in everything] == list(range(1, len(everything) + 1))
    assert {change.slot for turn in everything for change in turn.expect} <= set(SLOTS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_rules_reach_their_goal_on_the_labelled_turns(language: str) -> None:
    """The reporting half: precision 0.95, recall 0.6."""
    reporting = score(turn for turn in turns(language) if turn.half == "reporting")

    assert reporting.precision >= 0.95
    assert reporting.recall >= 0.6


def test_a_score_over_nothing_is_perfect() -> None:
    """No division by zero where a slot does not occur."""
    nothing = Score(right=0, found=0, labelled=0)

    assert (nothing.precision, nothing.recall, nothing.f1) == (1.0, 1.0, 1.0)
    assert Score(right=0, found=1, labelled=1).f1 == 0.0
