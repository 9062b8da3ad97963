"""Small talk in two languages, and the questions that make it an answer (C06, F5)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory.filler_words import CHINESE, ENGLISH
from memory.fillers import asks_question, is_low_value

FILLERS = [
    "ok", "OK!", "OKKKK", "okay okay", "ＯＫ", " k.", "got it", "Got it, thank you so much!!", "ok thanks", "you're welcome",
    "you’re welcome", "It's ok", "haha", "hahahaha", "thank you for your help", "Sounds good 👍",
    "好的", "好的好的", "好的。", "收到", "嗯", "嗯嗯嗯", "谢谢～", "好的谢谢你", "嗯，知道了",
    "好的，收到，谢谢 👍", "哈哈哈哈", "辛苦啦！",
    "👍", "👍🏽👍🏽", "😂😂", "...", "。。。", "~", " ",
]  # fmt: skip
TELLING = [
    "no", "yes", "again", "later", "cancel", "42", "5", "b", "ok 5", "25k or more", "order 8821", "ok but make it blue",
    "Ok, I'll see", "book", "thanksgiving", "?", "？？", "👎", "❌", "1️⃣", "是", "不", "不用", "是的", "继续", "改成蓝色",
    "好的，改成蓝色", "不错的鞋子", "可以退货", "谢谢，那运费呢", "好人卡", "42 码", "نعم", "네", "はい",
]  # fmt: skip
QUESTIONS = [
    "Shall I cancel the order?", "I can cancel it. Would you like that", "Let me know which size.", "Reply with YES to go on.",
    "Please confirm your address.", "Here you go:\n1. Red\n2. Blue", "Choose:\n- A\n- B", "Should I go on? I am ready.",
    "要帮您取消订单吗", "要不要取消", "请确认收货地址。", "需要我帮你催一下主管吗。", "是否继续。", "您要哪一种。",
    "可以的话告诉我尺码。", "确定吗？好的话我就办。",
    "请选择：\n1）红色\n2）蓝色", "1. Red\n2. Blue",
]  # fmt: skip
STATEMENTS = [
    "Your order ships tomorrow.", "See https://shop.example/?order=1", "Use `a ? b : c`.", "```\nwhy?\n```\nDone.", "It was red.",
    "That's all, thank you.", "I changed:\nfoo\nbar", "订单已发货，明天送达。", "已为您取消。", "",
]  # fmt: skip


def test_small_talk_is_low_value() -> None:
    """Case, width, punctuation, emoji, stretched letters and several fillers in a row make no difference."""
    assert [] == [text for text in FILLERS if not is_low_value(text, pending_question=False)]


def test_the_answer_to_a_question_never_is() -> None:
    """F5: 好的 after "shall I cancel the order?" is a decision."""
    assert [] == [text for text in FILLERS if is_low_value(text, pending_question=True)]


def test_what_says_something_is_kept() -> None:
    """Yes, no, numbers, judgements and anything beside a filler are worth their place."""
    assert [] == [text for text in TELLING if is_low_value(text, pending_question=False)]


def test_an_admin_adds_words() -> None:
    """`memory.fillers` adds a channel's own small talk, in any script, normalised alike."""
    extra = ("Ahoy there", "木问题", "네")

    assert not is_low_value("ahoy THERE!", pending_question=False)
    assert all(
        is_low_value(text, pending_question=False, extra=extra)
        for text in ("ahoy THERE!", "木问题木问题~", "네네", "ok 네")
    )


def test_every_word_of_the_list_is_one() -> None:
    """The data means what it says, also shouted."""
    words = [word.strip() for word in f"{ENGLISH}|{CHINESE}".replace("\n", "|").split("|") if word.strip()]

    assert words
    assert [] == [word for word in words if not is_low_value(f"{word.upper()}!!", pending_question=False)]


@given(st.text(max_size=60), st.lists(st.text(max_size=8), max_size=3))
def test_any_text_gets_a_verdict(text: str, extra: list[str]) -> None:
    """No text breaks the filter, and nothing with a digit in it is ever dropped."""
    verdict = is_low_value(text, pending_question=False, extra=extra)

    assert verdict in (True, False)
    assert not is_low_value(text + " 7", pending_question=False)


def test_long_texts_are_never_small_talk() -> None:
    """A page of thanks is somebody's page; it also bounds the work."""
    assert not is_low_value("thanks " * 100, pending_question=False)


def test_a_reply_that_asks_is_recognised() -> None:
    """Question marks, offers, requests and lists of options, in both languages, with and without punctuation."""
    assert [] == [reply for reply in QUESTIONS if not asks_question(reply)]


def test_a_statement_asks_nothing() -> None:
    """Question marks in links and code are none; a list that offers nothing is none."""
    assert [] == [reply for reply in STATEMENTS if asks_question(reply)]
