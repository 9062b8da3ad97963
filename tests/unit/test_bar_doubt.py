"""A model's word for what somebody says is weighed like the rules': asked, supposed, denied or somebody else's, it is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.bar import weigh
from memory.bar_words import NOT_OF_SPEAKER, NOT_OVER
from memory.candidates import Candidate, Source
from memory.rules.doubt import doubted

HIS = [
    ("shoe_size", "42", "She's allergic to nuts and I wear a 42"),
    ("allergy", "eggs", "Don't forget that I'm allergic to eggs"),
    ("allergy", "penicillin", "the doc says penicillin is a no-go for me"),
    ("allergy", "sesame", "sesame makes my throat close up"),
    ("dislike", "red", "I don't like red"),
    ("like", "jazz", "I love jazz, my boyfriend hates it"),
    ("city", "Milan", "I don't live in Rome, I live in Milan"),
    ("city", "Berlin", "we have been in Berlin since 2019, me and my wife"),
    ("role", "nurse", "I'm a nurse and my wife is a teacher"),
    ("name", "Tom", "hey, Tom here"),
    ("diet", "pork", "We don't eat pork"),
    ("allergy", "花生", "我对花生过敏，我老婆没有"),
    ("allergy", "花生", "别忘了我对花生过敏"),
    ("allergy", "芝麻", "一吃芝麻喉咙就肿"),
    ("dislike", "红色", "我不喜欢红色"),
    ("like", "爵士", "我喜欢爵士，他不喜欢"),
    ("city", "天津", "我不住北京，我住天津"),
    ("role", "护士", "我是护士，老婆是老师"),
    ("name", "小雨", "哈喽，小雨来报到"),
    ("diet", "猪肉", "我们家不吃猪肉"),
    ("speaks", "Polish", "My mother tongue is Polish."),
    ("speaks", "粤语", "我会说粤语和葡萄牙语"),
    ("name", "李蕾", "是李蕾不是李雷哈"),
    ("name", "Jonas Weber", "Name is Jonas Weber."),
]
NOT_HIS = [
    ("allergy", "peanuts", "My son Tom is allergic to peanuts and I'm not."),
    ("allergy", "nuts", "My wife is allergic to nuts, can we still book?"),
    ("allergy", "latex", "She's allergic to latex and I wear a 42"),
    ("allergy", "eggs", "I'm not allergic to eggs"),
    ("allergy", "eggs", "Am I allergic to eggs?"),
    ("allergy", "eggs", "If I were allergic to eggs, what could I eat?"),
    ("like", "red", "I don't like red"),
    ("like", "jazz", "my boyfriend loves jazz"),
    ("like", "jazz", "do I like jazz? you tell me"),
    ("city", "Rome", "My brother moved to Rome"),
    ("city", "Rome", "I don't live in Rome, I live in Milan"),
    ("employer", "Bosch", "my dad works at Bosch"),
    ("role", "teacher", "I'm a nurse and my wife is a teacher"),
    ("name", "Anna", "My daughter Anna needs shoes"),
    ("limit", "pregnant", "my wife is pregnant"),
    ("eats", "vegan", "I'm not vegan"),
    ("allergy", "花生", "我老婆对花生过敏"),
    ("allergy", "花生", "孩子对花生过敏"),
    ("allergy", "花生", "我对花生不过敏"),
    ("like", "红色", "我不喜欢红色"),
    ("like", "爵士", "我男朋友喜欢爵士"),
    ("city", "北京", "我不住北京，我住天津"),
    ("city", "罗马", "我哥搬到罗马了"),
    ("role", "老师", "我是护士，老婆是老师"),
    ("name", "朵朵", "我女儿朵朵要买鞋"),
    ("limit", "怀孕", "我老婆怀孕了"),
    ("eats", "素", "我不吃素"),
    ("allergy", "鸡蛋", "如果我对鸡蛋过敏呢"),
    ("allergy", "鸡蛋", "我对鸡蛋过敏吗？"),
    ("city", "Rome", "`I live in Rome`, it says"),
    ("city", "罗马", "“我住在罗马”用英语怎么说"),
]


def verdict(slot: str, value: str, text: str, **fields: str) -> str | None:
    candidate = Candidate(slot=slot, value=value, source_id=1, **({"op": "set", "by": "model"} | fields))  # type: ignore[arg-type]
    return weigh(candidate, {1: Source(id=1, person_id=7, text=text)}, speaker=7)


@pytest.mark.parametrize(("slot", "value", "text"), HIS)
def test_what_the_speaker_says_of_himself_is_believed(slot: str, value: str, text: str) -> None:
    """B24, D14: whoever found it, and however it is said."""
    assert verdict(slot, value, text) is None


@pytest.mark.parametrize(("slot", "value", "text"), NOT_HIS)
def test_what_he_does_not_say_of_himself_is_not_believed(slot: str, value: str, text: str) -> None:
    """B48, B49, F11: a small model makes the speaker's what is his son's, and true what he denies; it would be pinned."""
    assert verdict(slot, value, text) == NOT_OF_SPEAKER


@pytest.mark.parametrize(
    ("slot", "value", "text", "expected"),
    [
        ("allergy", "", "What's for dinner?", NOT_OVER),
        ("allergy", "penicillin", "I'm allergic to penicillin", NOT_OVER),
        ("allergy", "penicillin", "Do you remember my penicillin allergy?", NOT_OVER),
        ("allergy", "penicillin", "It turned out I'm not allergic to penicillin after all", None),
        ("allergy", "", "Please forget my allergies", None),
        ("wish", "", "hi there, how are you", NOT_OVER),
        ("city", "Rome", "I don't live in Rome any more", None),
        ("diet", "pork", "I eat pork now", None),
        ("allergy", "青霉素", "我对青霉素过敏", NOT_OVER),
        ("allergy", "青霉素", "检查说我对青霉素不过敏", None),
        ("like", "猫", "我以前喜欢猫", None),
        ("like", "", "删掉我的喜好", None),
        ("order", "", "where is it", None),
    ],
)
def test_a_model_takes_back_only_what_is_said_to_be_over(
    slot: str, value: str, text: str, expected: str | None
) -> None:
    """D14, D16: an empty retraction of a confused model would have wiped every allergy, in a turn that spoke of none."""
    assert verdict(slot, value, text, op="retract") == expected


def test_only_what_a_model_says_of_a_person_is_doubted() -> None:
    """A retraction takes back what was denied, the task at hand may be somebody's, and the rules know the words around."""
    assert verdict("allergy", "eggs", "I'm not allergic to eggs", op="retract") is None
    assert verdict("product", "shoes", "My wife needs shoes") is None
    assert verdict("allergy", "eggs", "I'm not allergic to eggs", by="rules") is None


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        ("nuts", "What is your son allergic to?", NOT_OF_SPEAKER),
        ("花生", "孩子对什么过敏？", NOT_OF_SPEAKER),
        ("nuts", "Do you have any allergies?", None),
        ("花生", "您对什么过敏？", None),
        ("he's fine, but I'm allergic to nuts", "What is your son allergic to?", None),
    ],
)
def test_a_bare_answer_is_of_whom_the_question_was(text: str, asked: str, expected: str | None) -> None:
    """D14: a model sees the question too, and still takes the answer for the speaker's."""
    value = "花生" if "花生" in text else "nuts"
    candidate = Candidate(op="set", slot="allergy", value=value, source_id=1, by="model")

    assert weigh(candidate, {1: Source(id=1, person_id=7, text=text)}, speaker=7, asked=asked) == expected


def test_once_more_said_of_himself_it_is_believed() -> None:
    assert verdict("allergy", "nuts", "My son is allergic to nuts. I'm allergic to nuts too.") is None


@given(st.text(max_size=300), st.text(max_size=20), st.booleans())
def test_any_text_has_a_verdict(text: str, value: str, deniable: bool) -> None:
    assert doubted(text, value, deniable=deniable) in (True, False)
