"""What texts are compared by: English stems, pairs of Chinese characters, codes, emoji (report mem0ai/mem0#7164 and kin)."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.terms import MAX_CHARS, message_terms, term_ids, terms


def shared(question: str, message: str) -> set[str]:
    return terms(question).keys() & terms(message).keys()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我的猫", {"猫": 1, "的猫": 1}),
        ("猫", {"猫": 1}),
        ("过敏", {"过敏": 1, "敏": 1}),
        ("猫猫叫什么", {"猫": 2, "叫": 1, "猫猫": 1, "猫叫": 1}),
        ("号8821订", {"号": 1, "8821": 1, "订": 1}),
        ("老妈", {"老妈": 1, "老": 1, "妈": 1, "=妈妈": 1}),
        ("東京タワー", {"東京": 1, "京タ": 1, "タワ": 1, "ワー": 1, "東": 1, "京": 1, "タ": 1, "ワ": 1, "ー": 1}),
        ("안녕", {"안녕": 1, "안": 1, "녕": 1}),
        ("𠮷野", {"𠮷野": 1, "𠮷": 1, "野": 1}),
        ("Painting, painted; PAINTS!", {"paint": 3}),
        ("I went and you go", {"go": 2}),
        ("order A-42", {"order": 1, "a42": 1, "42": 1}),
        ("size 3.5", {"size": 1, "3.5": 1, "3": 1, "5": 1}),
        ("ＡＢＣ１２３", {"abc123": 1}),
        ("Café Zoë", {"cafe": 1, "zoe": 1}),
        ("Straße", {"strass": 1}),
        ("Привет мир", {"привет": 1, "мир": 1}),
        ("नमस्ते", {"नमस्ते": 1}),
        ("🎂 👍🏽", {"🎂": 1, "👍": 1}),
        ("Mary's O'Brien", {"mari": 1, "obrien": 1}),
        ("the of and 的 了 吗", {}),
        ("\ud800 …!? \x00", {}),
        ("", {}),
    ],
)
def test_texts_have_these_terms(text: str, expected: dict[str, int]) -> None:
    """Words by their stem, unspaced scripts by pairs, codes whole, stop words and punctuation not at all."""
    assert expected == terms(text)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("我对什么过敏？", "我从小就花生过敏，一吃就起疹子"),  # a two-character word inside a run: mem0ai/mem0#7164
        ("青霉素", "医生说我青霉素过敏"),
        ("会议室在哪里", "明天的会议室换到三楼了"),  # a longer word than two: rohitg00/agentmemory#344
        ("我的快递單號", "快递到了吗"),
        ("我妈妈的生日", "母亲六十岁了"),
        ("我的猫叫什么名字", "养了一只橘猫"),
        ("when did I volunteer?", "I was volunteering at the shelter"),
        ("what did I buy for the kids", "bought shoes for my children"),
        ("order a42", "It is order A-42."),
        ("iPhone 多少钱", "我想买iPhone15和iPhone"),
        ("what about 8821", "不是8812，是8821"),
        ("who is ZOË", "zoe called"),
    ],
)
def test_a_question_shares_terms_with_what_it_asks_for(question: str, message: str) -> None:
    """Keywords find an answer in Chinese, English and both together (E23)."""
    assert shared(question, message)


@pytest.mark.parametrize(
    ("question", "message"),
    [("order 8821", "8812 it is"), ("的过", "过的"), ("发货", "發貨"), ("a-42", "a-43"), ("什么时候", "什么时候都可以")],
)  # fmt: skip
def test_unlike_things_share_none(question: str, message: str) -> None:
    """Digits and characters keep their order; traditional and simplified writing stay what they are; stop words find
    nothing."""
    assert set() == shared(question, message)


def test_dates_are_terms_too() -> None:
    """A date in a text is found by the question that names it in another way; "yesterday" by the day it means."""
    assert "@2023-06-03" in shared("what was on 3 June 2023?", "考试在2023年6月3日")
    assert "@2026-02-28" in terms("yesterday I fell", today=date(2026, 3, 1))
    assert terms("yesterday I fell") == Counter({"fall": 1, "yesterdai": 1})


def test_a_message_is_kept_with_its_speaker_and_its_day() -> None:
    """Who asks what Zoë said in March finds it, in both languages; what says nothing is kept under nothing."""
    kept = message_terms("昨天我摔了一跤", speaker="Zoë Li", day=date(2026, 3, 1))

    assert {"@2026-03-01", "@03", "@2026-02-28", "zoe", "li"} <= kept.keys()
    assert terms("what did Zoe say in March?").keys() & kept.keys() == {"zoe", "@03"}
    assert Counter() == message_terms("……", speaker="Zoë", day=date(2026, 3, 1))


def test_only_the_beginning_of_an_endless_text_counts() -> None:
    """Text is cut at a bound, and no single term is longer than an index likes."""
    assert "needl" not in terms("hay " * MAX_CHARS + "needle")
    assert all(len(term) <= 64 for term in terms("x" * 5_000 + " 1/" + "y/" * 500))
    assert terms("ﷺ" * MAX_CHARS).total() <= MAX_CHARS


@given(st.text(st.characters(), max_size=300))
def test_any_text_has_terms(text: str) -> None:
    """Nothing raises, lone surrogates included, and no term is empty or of spaces."""
    assert all(term.strip() and times > 0 for term, times in terms(text).items())
    assert len(terms(text)) == len(set(term_ids(7, terms(text))))


@given(st.text(st.characters(codec="latin-1") | st.sampled_from("猫过敏АБвЖΣΔω"), max_size=60))
def test_case_does_not_count(text: str) -> None:
    """What is kept in one case is found in another."""
    assert terms(text.casefold()) == terms(text)


@given(st.integers(-(2**63), 2**63 - 1), st.text(st.characters(), min_size=1))
def test_ids_fit_a_signed_column(owner: int, term: str) -> None:
    """Ids are never negative and have 63 bits, whoever owns them and whatever the term is."""
    (id_,) = term_ids(owner, [term])

    assert 0 <= id_ < 2**63


def test_ids_stay_for_ever_and_differ_between_owners() -> None:
    """What was indexed under an id is found under it by every later version and machine; another owner's is another."""
    assert [2471034443519911945, 411163585005681761] == term_ids(1, ["a", "b"])
    assert not set(term_ids(1, ["过敏", "a"])) & set(term_ids(2, ["过敏", "a"]))
