"""What a reply's Markdown becomes for Slack: whole, within limits, and unable to call anybody."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Quote
from adapters.slack.render import (
    PIECE_CHARS,
    TEXT_BYTES,
    beginning,
    block_text,
    chunks,
    escaped,
    message,
    notification,
    text_only,
)
from tests.emulators.slack.richtext import pings

LIVE = [
    "<!channel>",
    "<!here>",
    "<!everyone>",
    "<!subteam^S1>",
    "<!subteam^S1|@ops>",
    "<@U1>",
    "<@W1|bob>",
    "<#C1>",
    "<!date^1^{date}|x>",
]


@pytest.mark.parametrize("token", LIVE)
@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "`{}`",
        "``{}``",
        "```\n{}\n```",
        "~~~\n{}\n~~~",
        "> {}",
        "* {}",
        "[{}](https://x.example)",
        "| a |\n| - |\n| {} |",
        "    {}",
        "`unclosed {}",
        "```\n{}",
    ],
)
def test_nothing_a_model_writes_calls_anybody(token: str, form: str) -> None:
    """In code too; quoting the question would be enough to ping the company (PostHog/posthog#95054, platform-facts 0.8)."""
    sent = message(form.format(token))

    for text in (sent["text"], sent["blocks"][0]["text"], text_only(form.format(token))["text"]):
        assert not re.search(r"<[@!#]", text)
        assert not pings(text)


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("if a < b", "if a &lt; b"),
        ("`List<int>` and\n```\nx < y\n```", "`List<int>` and\n```\nx < y\n```"),
        ("see <https://x.example/a?b=1&c=2>", "see https://x.example/a?b=1&c=2"),
        ("[a](https://x.example/?b=1&c=2)", "[a](https://x.example/?b=1&c=2)"),
        ("`a ``b` <c `` d", "`a ``b` &lt;c `` d"),
        ("```\na < b\n```` \nc < d", "```\na < b\n```` \nc &lt; d"),
        ("```\na < b\n~~~\nc < d", "```\na < b\n~~~\nc < d"),
        ("> quoted\n\n2*3*4 & more", "> quoted\n\n2*3*4 & more"),
        ("**注意：**请看 👩🏽‍💻", "**注意：**请看 👩🏽‍💻"),
        ("| a | b |\n| - | - |\n| 1 | <2 |", "| a | b |\n| - | - |\n| 1 | &lt;2 |"),
        ("<https://x.example|pay here>", "&lt;https://x.example|pay here>"),
        ("`<https://x.example|pay here>`", "`&lt;https://x.example|pay here>`"),
        (r"\<b> 不是 \\<b> \\\<b>", r"&lt;b> 不是 \\&lt;b> \\&lt;b>"),
        (r"`\<b>` \<https://x.example>", r"`\<b>` &lt;https://x.example>"),
    ],
)
def test_the_rest_of_markdown_is_left_to_slack(markdown: str, shown: str) -> None:
    """Headings, lists, tables and code are what a markdown block knows; a link can't hide its address."""
    assert shown == block_text(markdown)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=400))
def test_no_text_at_all_holds_a_live_token(text: str) -> None:
    sent = message(text)

    assert not re.search(r"<(?:[@#]|!(?:here|channel|everyone|subteam|date))", sent["blocks"][0]["text"])
    assert "<" not in sent["text"]


@pytest.mark.parametrize("markdown", ["", " \n ", "<!-- -->"])
def test_there_is_always_something_to_show(markdown: str) -> None:
    """Slack refuses an empty text and an empty block."""
    sent = message(markdown)

    assert sent["text"].strip()
    assert sent["blocks"][0]["text"].strip()


@pytest.mark.parametrize(
    "text",
    [
        "word " * 20_000,
        "长" * 30_000,
        "<" * 20_000,
        "👩‍👩‍👧‍👦" * 3_000,
        "```python\n" + "x = [1 < 2]\n" * 4_000 + "```",
        "| a | b |\n| - | - |\n" + "| <1> | 二 |\n" * 3_000,
    ],
    ids=["words", "chinese", "escapes", "families", "code", "table"],
)
def test_a_long_answer_fits_message_by_message(text: str) -> None:
    """Posted or edited: neither limit is met (slackapi/bolt-js#2509, openclaw/openclaw#115027)."""
    for piece in chunks(text):
        sent = message(piece)
        assert len(sent["blocks"][0]["text"]) <= PIECE_CHARS
        assert len(sent["text"].encode()) <= TEXT_BYTES


@pytest.mark.parametrize(
    "text",
    [
        "`" * 100_000,
        "`a ``b ```c " * 9_000,
        "".join("`" * n + "x" for n in range(440)),
        "``` x\n" * 15_000,
        "<" * 100_000,
    ],
)
def test_no_text_takes_long_to_make_safe(text: str) -> None:
    """A quadratic reading of these would stop the process for minutes (the test's own time limit is the judge)."""
    for _ in range(20):
        block_text(text)


@pytest.mark.parametrize("length", [10, 3_000, 100_000, 10_000_000])
def test_the_beginning_of_a_growing_answer_is_one_message(length: int) -> None:
    """An open fence is closed; what is beyond the first message waits for the finished answer, and costs nothing until then."""
    piece = beginning("好的：\n\n```py\n" + "x = '<值'\n" * (length // 9))

    assert piece.startswith("好的：\n\n```py\nx = '<值'")
    assert piece.endswith("```")
    assert len(block_text(piece)) <= PIECE_CHARS


def test_a_short_answer_is_one_message() -> None:
    assert ["你好，世界"] == chunks("你好，世界")


def test_what_notifications_show_is_plain_and_cut() -> None:
    assert "Title\n\na &lt; b" == notification("# Title\n\na < **b**")
    assert notification("& " * 3_000).endswith("…")


def test_an_answer_says_which_message_it_answers_where_others_spoke_in_between() -> None:
    """One quoted line, attributed; nothing in it is live or becomes markup."""
    quoted = Quote(name="Ann *x*", text="<!here> why\nis `this` so? " + "长" * 400)
    shown = message("Because.", quoted=quoted)["blocks"][0]["text"]
    line, _, answer = shown.partition("\n\n")

    assert line.startswith(r"> Ann \*x\*: &lt;!here> why is")
    assert line.endswith("…")
    assert "Because." == answer


def test_escaping_is_of_three_characters() -> None:
    assert "&amp;lt; &lt;&gt; \"'" == escaped("&lt; <> \"'")
