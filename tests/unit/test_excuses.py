"""What is no summary, however politely it is said, and what only stands around one."""

from __future__ import annotations

import pytest

from memory.errors import ModelFailed
from memory.excuses import unwrapped
from memory.summary import accepted

EXCUSES = [
    "I'm not able to summarize this conversation.", "I am not able to help with that.", "I cannot assist with this request.",
    "Unfortunately, I can't provide a summary.", "I won't summarize this.", "I don't have access to the conversation.",
    "There is no conversation to summarize.", "There's nothing here", "No summary available.", "N/A", "null", "None", "```\n```",
    "This content violates our policy.", "The content was filtered.", "Your request was blocked by the content filter.",
    "Please provide the messages you'd like me to summarize.", "Hello! How can I help you today?",
    '{"error": "overloaded", "code": "529"}', '{"summary": "I cannot do that."}', "{",
    "我无法总结这段对话。", "我不能提供摘要。", "没有可总结的内容。", "暂无摘要", "无", "该内容违反了我们的政策。",
    "请提供需要总结的消息。",
    "你好！有什么可以帮您？", "很高兴为你服务！", "非常抱歉，我做不到。", "目前无法为您提供总结。",
]  # fmt: skip
SUMMARIES = [
    "Ann wants a refund for order 8821; open. She can't log in; Bob said he was not able to help.",
    "No onions for Ann; her budget is 300. Delivery on Friday to be confirmed.",
    "There are no size 42 boots left; Ann takes 43, answered.",
    "Please-call notes: Ann prefers mail. To do: invoice.",
    "None of the printers on floor 2 work; ticket open.",
    "The content filter of Ann's browser blocks the page; IT looks into it.",
    "小王无法登录系统，已重置密码，待确认。",
    "无糖奶茶两杯，小李对花生过敏；送到公司，未解决。",
    "没有收到的包裹是8821；小王要退款，待确认。",
    "请假三天（5月3日起），已批准；小陈代班。",
    "小王问有什么可以替代花生，已回答。",
]  # fmt: skip


@pytest.mark.parametrize("answer", EXCUSES)
def test_who_speaks_of_himself_or_asks_back_has_not_summarised(answer: str) -> None:
    """F2, s2b-dev/smart-second-brain#435: stored, it would stand for every message that it did not condense."""
    with pytest.raises(ModelFailed, match="no summary"):
        accepted(answer, max_chars=400)


@pytest.mark.parametrize("answer", SUMMARIES)
def test_talk_about_the_same_is_a_summary(answer: str) -> None:
    """People refuse, miss and ask for things: that is what they talk about."""
    assert answer == accepted(answer, max_chars=400)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Sure! Here is the summary: Ann wants a refund.", "Ann wants a refund."),
        ("Here's a summary of the conversation:\nAnn wants a refund.", "Ann wants a refund."),
        ("Summary: Ann wants a refund.", "Ann wants a refund."),
        ("Updated summary: Ann wants a refund.", "Ann wants a refund."),
        ("<summary>Ann wants a refund.</summary>", "Ann wants a refund."),
        ("```text\nAnn wants a refund.\n```", "Ann wants a refund."),
        ('{"summary": "Ann wants a refund."}', "Ann wants a refund."),
        ("好的，以下是摘要：小王想退款。", "小王想退款。"),
        ("摘要：小王想退款。", "小王想退款。"),
        ("以下是对话的摘要：\n小王想退款。", "小王想退款。"),
        ("Ann: wants a refund.", "Ann: wants a refund."),
        ("Topics: refund; open.", "Topics: refund; open."),
    ],
)
def test_what_stands_around_a_summary_is_no_part_of_it(answer: str, expected: str) -> None:
    """Small models can't help it."""
    assert expected == unwrapped(answer).strip()
