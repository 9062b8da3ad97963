"""Markdown as Telegram shows it: text and marks, within its limits, nothing lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.telegram.marks import Mark, silenced, units
from adapters.telegram.render import (
    LIMIT,
    MARKS,
    REQUEST_BYTES,
    beginning,
    chunks,
    measure,
    message,
    rendered,
)
from adapters.text import plain


def shown(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a text, and what each mark covers."""
    told = silenced(rendered(markdown))
    raw = told.text.encode("utf-16-le")
    cut = [raw[2 * mark.offset : 2 * (mark.offset + mark.length)].decode("utf-16-le") for mark in told.marks]
    return told.text, [(mark.kind, covered) for mark, covered in zip(told.marks, cut, strict=True)]


@pytest.mark.parametrize(
    ("markdown", "text", "marks"),
    [
        ("plain", "plain", []),
        ("**b** *i* ~~s~~ `c`", "b i s c", [("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c")]),
        ("**重点：**内容", "重点：内容", [("bold", "重点：")]),
        ("👩🏽‍💻 **粗** 👋 *斜*", "👩🏽‍💻 粗 👋 斜", [("bold", "粗"), ("italic", "斜")]),
        ("# 标题\n\ntext", "标题\n\ntext", [("bold", "标题")]),
        ("## a **b**", "a b", [("bold", "a b")]),
        ("**a `c` b**", "a c b", [("bold", "a "), ("code", "c"), ("bold", " b")]),
        ("[a **b**](https://x.example)", "a b", [("text_link", "a b"), ("bold", "b")]),
        ("[`c`](https://x.example)", "c", [("text_link", "c")]),
        ("<https://x.example>", "https://x.example", []),
        ("[https://x.example](https://x.example)", "https://x.example", []),
        ("[Bob](tg://user?id=5)", "Bob (tg://user?id=5)", []),
        ("[维基](http://wiki/page) [x](https:///y)", "维基 (http://wiki/page) x (https:///y)", []),
        ("[mail](mailto:a@x.example) <a@x.example>", "mail (mailto:a@x.example) a@x.example", []),
        ("![alt](https://x.example/a.png) ![](https://x.example/b.png)", "alt https://x.example/b.png",
         [("text_link", "alt")]),
        ("> one\n> two\n\nafter", "one\ntwo\n\nafter", [("blockquote", "one\ntwo")]),
        ("> a\n>\n> > b", "a\n\nb", [("blockquote", "a\n\nb")]),
        ("```py\nx = 1\n```\nafter", "x = 1\n\nafter", [("pre", "x = 1")]),
        ("    indented", "indented", [("pre", "indented")]),
        ("- a\n- b\n  - c\n\n    d", "• a\n• b\n  • c\n    d", []),
        ("3. a\n4. b", "3. a\n4. b", []),
        ("- a\n  ```\n  x\n    y\n  ```\n- b", "• a\nx\n  y\n• b", [("pre", "x\n  y")]),
        ("---", "———", []),
        ("a\\\nb\nc", "a\nb\nc", []),
        ("costs $5 and $6, a || b || c, List<int>, <b>x</b>", "costs $5 and $6, a || b || c, List<int>, <b>x</b>", []),
        ("| a | 中 |\n|--|--|\n| 1 | 2 |", "a | 中\n--+---\n1 | 2", [("pre", "a | 中\n--+---\n1 | 2")]),
        ("```\n```", "", []),
    ],
)  # fmt: skip
def test_each_form_has_its_look(markdown: str, text: str, marks: list[tuple[str, str]]) -> None:
    """What the outside library loses is here: emphasis beside Chinese, `<…>`, `$…$`, `||`."""
    assert (text, marks) == shown(markdown)


@pytest.mark.parametrize(
    ("markdown", "marks"),
    [
        ("ask @ann_lee, not me@x.example", [("code", "@ann_lee")]),
        ("👩🏽‍💻 **@ann and @bob**", [("code", "@ann"), ("bold", " and "), ("code", "@bob")]),
        ("*@a*nn", [("code", "@ann")]),
        ("*x **y @a**nn z*", [("italic", "x y "), ("bold", "y "), ("code", "@ann"), ("italic", " z")]),
        ("> @ann", [("blockquote", "@ann"), ("code", "@ann")]),
        ("`@ann` [@bob](https://x.example)", [("code", "@ann"), ("text_link", "@bob")]),
        ("```\n@ann\n```", [("pre", "@ann")]),
        ("@ann你好 你好@ann x@ann @a", []),
        ("见 https://www.npmjs.com/package/@types/node 和 @types", [("code", "@types")]),
        ("<https://medium.com/@ann/x-1?y=@bob#@c_d>", []),
        (
            "http://wiki/@ann https://x.example/路/@bob https://@eve.example",
            [("code", f"@{one}") for one in ("ann", "bob", "eve")],
        ),
    ],
)
def test_names_in_an_answer_call_nobody(markdown: str, marks: list[tuple[str, str]]) -> None:
    """A model writes what somebody else told it to (PostHog/posthog#95054): where the platform would find a mention it finds
    code. In a private chat nobody is called anyway."""
    assert (marks, []) == (shown(markdown)[1], [*message("@ann", calls=True).marks])


def test_code_keeps_its_language_and_links_their_address() -> None:
    assert (Mark(kind="pre", offset=0, length=1, language="python"),) == rendered("```python title\nx\n```").marks
    assert (Mark(kind="text_link", offset=0, length=1, url="https://x.example"),) == rendered(
        "[a](https://x.example)"
    ).marks


def test_a_table_too_wide_for_a_phone_is_not_padded() -> None:
    row = "| " + " | ".join(["word " * 6] * 4) + " |"
    text, _ = shown(f"{row}\n|--|--|--|--|\n| [x](https://x.example) | `c` | b<br>c | 1 |")

    assert "x (https://x.example) | c | b<br>c | 1" == text.splitlines()[1]


def test_what_would_be_empty_is_sent_as_it_stands() -> None:
    """The platform refuses empty messages."""
    assert ["```\n```", "…", "[x]: https://e.example"] == [
        message(piece).text for piece in ("```\n```", "  ", "[x]: https://e.example")
    ]


@pytest.mark.parametrize("unseen", ["\u200b", "\u200b\u200d\ufeff", "\u2060 \u00ad", "\u2800", "\u3164", "\ufffc"])
def test_what_nobody_would_see_is_not_sent_as_such(unseen: str) -> None:
    """To the platform a text of zero-width characters and fillers is an empty one, which it refuses."""
    assert "…" == message(unseen).text
    assert "👩‍💻" == message("👩‍💻").text


def test_text_that_is_no_unicode_can_be_sent() -> None:
    assert "a?b" == rendered("a\ud800b").text


@pytest.mark.parametrize(
    "markdown",
    [
        "好" * 10_000,
        "**👋 @ann_lee** " * 1_000,
        "👩🏽‍💻" * 2_000,
        "`c` " * 1_000,
        "[a](https://x.example/" + "p" * 2_000 + ") " * 1 + " ".join(["[a](https://x.example/" + "q" * 900 + ")"] * 80),
        "```py\n" + "x = '值'\n" * 2_000 + "```",
        "| a | b |\n|--|--|\n" + "| 中 | `c` |\n" * 900,
    ],
    ids=["chinese", "names", "emoji", "marks", "addresses", "code", "table"],
)
def test_no_piece_passes_a_limit(markdown: str) -> None:
    """Text in UTF-16 units, a hundred marks, the request's bytes (platform-facts 2.9)."""
    pieces = chunks(markdown)

    assert len(pieces) > 1
    for piece in pieces:
        told = message(piece)
        assert units(told.text) <= LIMIT
        assert len(told.marks) <= MARKS
        assert sum(len((mark.url or "").encode()) for mark in told.marks) + len(told.text.encode()) < REQUEST_BYTES


def test_a_text_that_just_fits_is_one_message() -> None:
    assert LIMIT == measure("a" * LIMIT)
    assert 1 == len(chunks("👋" * (LIMIT // 2)))
    assert 2 == len(chunks("👋" * (LIMIT // 2) + "a"))


@pytest.mark.parametrize("length", [10, 3_000, 100_000])
def test_the_beginning_of_a_growing_answer_fits_one_message(length: int) -> None:
    """An open fence is closed; what is beyond the first message waits for the finished answer."""
    told = message(beginning("好的：\n\n```py\n" + "x = '值'\n" * (length // 8)))

    assert told.text.startswith("好的：\n\nx = '值'")
    assert ["pre"] == [mark.kind for mark in told.marks]
    assert units(told.text) <= LIMIT


MARKDOWN = st.lists(
    st.sampled_from(
        ["**", "*", "~~", "`", "```\n", "\n", "\n\n", "> ", "- ", "1. ", "# ", "| a | b |\n|--|--|\n", " | ", "[x](",
         "https://x.example)", "![", "]", "<b>", "中文", "：", "👩🏽‍💻", "🇩🇪", "e\u0301", "\u202e", " ", "word", "\\", "---\n",
         "&amp;", "||", "$", "    ", "@ann", "@"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(MARKDOWN)
@example("**a\n\nb** `")
@example("[x](https://x.example)1. ")
def test_marks_are_whole_and_no_word_is_lost(markdown: str) -> None:
    """Marks lie within the text, in order, one inside the other or apart; code bears no other mark; cut nowhere inside a
    character."""
    told = silenced(rendered(markdown))
    end = units(told.text)
    wide = told.text.encode("utf-16-le")
    for mark in told.marks:
        assert 0 <= mark.offset < mark.offset + mark.length <= end
        wide[2 * mark.offset : 2 * (mark.offset + mark.length)].decode("utf-16-le")
    for one in told.marks:
        for two in told.marks:
            assert apart_or_nested(one, two)
            if one is not two and one.kind in ("code", "pre") and overlap(one, two):
                assert "blockquote" == two.kind

    addresses = " ".join(mark.url or "" for mark in told.marks)
    # A link's text may touch what stands behind it, where its address is not written between them.
    assert not [word for word in re.findall(r"\w+", plain(markdown)) if word not in f"{told.text} {addresses}"]


def overlap(one: Mark, two: Mark) -> bool:
    return one.offset < two.offset + two.length and two.offset < one.offset + one.length


def apart_or_nested(one: Mark, two: Mark) -> bool:
    a, b = (one, two) if one.length >= two.length else (two, one)
    inside = a.offset <= b.offset and b.offset + b.length <= a.offset + a.length
    return inside or not overlap(one, two)


def test_a_reply_of_nothing_but_addresses_is_sent_within_the_limit() -> None:
    """Markdown shows nothing of a link's address without the link: it is told as it is written, in messages that fit."""
    addresses = [f"https://example.com/路/{n}" for n in range(400)]
    sent = [message(piece).text for piece in chunks("\n".join(f"[第{n}]: {one}" for n, one in enumerate(addresses)))]

    assert all(0 < units(text) <= LIMIT for text in sent)
    assert set(addresses) <= set("\n".join(sent).split())
    assert "[a]: http://?" == message("[a]: http://\ud800").text
