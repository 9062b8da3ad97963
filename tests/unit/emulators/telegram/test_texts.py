"""Texts on the local Telegram: markup, entities and lengths, refused with the platform's own words.

The tables are cases of TDLib's own tests; offsets in complaints are bytes, in entities UTF-16 units.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram import MessageEntity
from telegram.error import BadRequest

from tests.emulators.telegram import entities, markup, texts
from tests.emulators.telegram.emulator import telegram
from tests.emulators.telegram.errors import ApiError
from tests.unit.emulators.telegram.bot_client import client

PREFIX = "Bad Request: can't parse entities: "


def short(marks: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Type, offset, length, and whatever else stands in it."""
    return [
        (m["type"], m["offset"], m["length"], *(m[k] for k in m if k not in ("type", "offset", "length")))
        for m in marks
    ]


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        *[(c, f"Character '{c}' is reserved and must be escaped with the preceding '\\'") for c in "]()#+-=|{}.!"],
        ("🏟 🏟_abacaba", "Can't find end of Italic entity at byte offset 9"),
        ("🏟 🏟_abac * asd ", "Can't find end of Bold entity at byte offset 15"),
        ("🏟 🏟_abac * asd _", "Can't find end of Italic entity at byte offset 21"),
        ("🏟 🏟`", "Can't find end of Code entity at byte offset 9"),
        ("🏟 🏟```", "Can't find end of Pre entity at byte offset 9"),
        ("🏟 🏟```a", "Can't find end of Pre entity at byte offset 9"),
        ("🏟 🏟```a ", "Can't find end of PreCode entity at byte offset 9"),
        ("🏟 🏟__🏟 🏟_", "Can't find end of Italic entity at byte offset 20"),
        ("🏟 🏟_🏟 🏟__", "Can't find end of Underline entity at byte offset 19"),
        ("🏟 🏟```🏟 🏟`", "Can't find end of Code entity at byte offset 21"),
        ("🏟 🏟```🏟 🏟_", "Can't find end of PreCode entity at byte offset 9"),
        ("[telegram\\.org](asd\\)", "Can't find end of a URL at byte offset 16"),
        ("[telegram\\.org](", "Can't find end of a URL at byte offset 16"),
        ("🏟 🏟__🏟 _🏟___", "Can't find end of Italic entity at byte offset 23"),
        ("🏟 🏟||test\\|", "Can't find end of Spoiler entity at byte offset 9"),
        ("🏟 🏟!", "Character '!' is reserved and must be escaped with the preceding '\\'"),
        ("🏟 🏟>", "Character '>' is reserved and must be escaped with the preceding '\\'"),
        ("🏟 🏟![👍", "Can't find end of CustomEmoji entity at byte offset 9"),
        ("🏟 🏟![👍]", "Custom emoji entity must contain a tg://emoji URL"),
        ("🏟 🏟![👍](tg://emoji?id=1234", "Can't find end of a custom emoji URL at byte offset 17"),
        ("🏟 🏟![👍](tg://emoji#x)", "Invalid custom emoji identifier specified"),
        (">*b\n>ld \n>bo\nld*\nasd\ndef", "Can't find end of Bold entity at byte offset 1"),
        (">\n*a*>2", "Character '>' is reserved and must be escaped with the preceding '\\'"),
        ("*cut after escaping\\", "Can't find end of Bold entity at byte offset 0"),
    ],
)
def test_broken_markdown_is_refused_in_the_platforms_words(source: str, complaint: str) -> None:
    with pytest.raises(ApiError) as refused:
        markup.parsed(source, "MarkdownV2")

    assert PREFIX + complaint == refused.value.description


@pytest.mark.parametrize(
    ("source", "text", "marks"),
    [
        ("", "", []),
        ("\\\\\\\\\\_\\*\\`", "\\\\_*`", []),
        ("➡️ ➡️_➡️ ➡️_*➡️ ➡️*", "➡️ ➡️➡️ ➡️➡️ ➡️", [("italic", 5, 5), ("bold", 10, 5)]),
        ("🏟 🏟_🏟 *🏟*_", "🏟 🏟🏟 🏟", [("italic", 5, 5), ("bold", 8, 2)]),
        ("🏟 🏟_🏟 __🏟___", "🏟 🏟🏟 🏟", [("italic", 5, 5), ("underline", 8, 2)]),
        ("🏟 🏟__🏟 _🏟_\\___", "🏟 🏟🏟 🏟_", [("underline", 5, 6), ("italic", 8, 2)]),
        ("🏟 🏟```🏟 🏟```", "🏟 🏟 🏟", [("pre", 5, 3, "🏟")]),
        ("🏟 🏟```🏟\r\n🏟```", "🏟 🏟🏟", [("pre", 5, 2, "🏟")]),
        ("🏟 🏟```🏟\n\n🏟```", "🏟 🏟\n🏟", [("pre", 5, 3, "🏟")]),
        ("🏟 🏟```🏟 \\\\\\`🏟```", "🏟 🏟 \\`🏟", [("pre", 5, 5, "🏟")]),
        ("```\nx = 1\n```", "x = 1\n", [("pre", 0, 6)]),
        ("🏟 🏟**", "🏟 🏟", []),
        ("🏟 🏟``````", "🏟 🏟", []),
        ("||test||~del~", "testdel", [("spoiler", 0, 4), ("strikethrough", 4, 3)]),
        ("`_* *_`__*` `*__", "_* *_ ", [("code", 0, 5), ("code", 5, 1), ("bold", 5, 1), ("underline", 5, 1)]),
        ("[](telegram.org)", "", []),
        ("[ ](telegram.org)", " ", [("text_link", 0, 1, "http://telegram.org/")]),
        ("[ ](as)", " ", []),
        ("[telegram\\.org]a", "telegram.orga", [("text_link", 0, 12, "http://telegram.org/")]),
        ("[x](https://a.b/c?q=\\))", "x", [("text_link", 0, 1, "https://a.b/c?q=)")]),
        (
            "[安](tg://user?id=123456)",
            "安",
            [("text_mention", 0, 1, {"id": 123456, "is_bot": False, "first_name": "User"})],
        ),
        ("🏟![👍](tg://emoji?id=25)a", "🏟👍a", [("custom_emoji", 2, 2, "25")]),
        (">a", "a", [("blockquote", 0, 1)]),
        ("abc\n> \n> \n>\ndef", "abc\n \n \n\ndef", [("blockquote", 4, 5)]),
        (">*bold _it_*", "bold it", [("blockquote", 0, 7), ("bold", 0, 7), ("italic", 5, 2)]),
        (">`b\n>ld`\n>asd\ndef", "b\n>ld\nasd\ndef", [("blockquote", 0, 10), ("code", 0, 5)]),
    ],
)
def test_markdown_becomes_text_and_entities(source: str, text: str, marks: list[tuple[Any, ...]]) -> None:
    got, found = markup.parsed(source, "markdownv2")

    assert text == got
    assert sorted(marks, key=repr) == sorted(short(found), key=repr)


@given(st.text(alphabet="ab你😀_*[]()~`>#+-=|{}.!\\\n", max_size=60))
def test_escaped_text_comes_back_as_it_was(text: str) -> None:
    escaped = "".join("\\" + char if char in "_*[]()~`>#+-=|{}.!\\" else char for char in text)

    assert (text, []) == markup.parsed(escaped, "MarkdownV2")


@given(st.text(alphabet="a你😀_*[]()~`>!|\\\n<b/&;i= ", max_size=60), st.sampled_from(["MarkdownV2", "HTML"]))
def test_any_markup_is_parsed_or_refused_and_entities_lie_in_the_text(source: str, mode: str) -> None:
    try:
        text, found = markup.parsed(source, mode)
    except ApiError as refused:
        complaint = refused.description
    else:
        complaint = PREFIX
        entities.checked(text, found)

    assert complaint.startswith(PREFIX)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("🏟 🏟&lt;<abacaba", "Unclosed start tag at byte offset 13"),
        ("🏟 🏟&lt;<abac>", 'Unsupported start tag "abac" at byte offset 13'),
        ("🏟 🏟&lt;<i   =aba>", 'Empty attribute name in the tag "i" at byte offset 13'),
        ("🏟 🏟&lt;<i    aba>", 'Can\'t find end tag corresponding to start tag "i"'),
        ("🏟 🏟&lt;<i  aba  ", 'Unclosed start tag "i" at byte offset 13'),
        ("🏟 🏟&lt;</", "Unexpected end tag at byte offset 13"),
        ("🏟 🏟&lt;<b></b></", "Unexpected end tag at byte offset 20"),
        ("🏟 🏟&lt;<i>a</i   ", "Unclosed end tag at byte offset 17"),
        ("🏟 🏟&lt;<i>a</em   >", 'Unmatched end tag at byte offset 17, expected "</i>", found "</em>"'),
        ("<span>x</span>", 'Tag "span" must have class "tg-spoiler" at byte offset 0'),
        (
            "&#57311;",
            "Text contains invalid Unicode characters after decoding HTML entities, "
            "check for unmatched surrogate code units",
        ),
    ],
)
def test_broken_html_is_refused_in_the_platforms_words(source: str, complaint: str) -> None:
    with pytest.raises(ApiError) as refused:
        markup.parsed(source, "HTML")

    assert PREFIX + complaint == refused.value.description


@pytest.mark.parametrize(
    ("source", "text", "marks"),
    [
        ("&ge;&lt;&gt;&amp;&quot;&laquo;&#12345678;&#x4f60;", '&ge;<>&"&laquo;&#12345678;你', []),
        ("➡️ ➡️<em>➡️ ➡️</em><strong>x</strong>", "➡️ ➡️➡️ ➡️x", [("italic", 5, 5), ("bold", 10, 1)]),
        ("🏟 🏟<i>🏟 &lt🏟</i>", "🏟 🏟🏟 <🏟", [("italic", 5, 6)]),
        ("<i    aba  =  190azAz-.   >a</>", "a", [("italic", 0, 1)]),
        ("<b></b>", "", []),
        (
            "<u>a</u><s>b</s><tg-spoiler>c</tg-spoiler>",
            "abc",
            [("underline", 0, 1), ("strikethrough", 1, 1), ("spoiler", 2, 1)],
        ),
        ('<span class = "tg-spoiler">a</span>', "a", [("spoiler", 0, 1)]),
        ("<a href='telegram.org?&lt;'> </a>", " ", [("text_link", 0, 1, "http://telegram.org/?<")]),
        ("<a>telegram.org </a>", "telegram.org ", [("text_link", 0, 13, "http://telegram.org/")]),
        ("<a>x</a>", "x", []),
        ("<pre>a</pre><code>b</code>", "ab", [("pre", 0, 1), ("code", 1, 1)]),
        ('<pre><code class="language-py">a</code></pre>', "a", [("pre", 0, 1, "py")]),
        ('<code class="language-py">a</code>', "a", [("code", 0, 1)]),
        ('<tg-emoji emoji-id="5">👍</tg-emoji>', "👍", [("custom_emoji", 0, 2, "5")]),
        ("<blockquote>a</blockquote>", "a", [("blockquote", 0, 1)]),
        ("<blockquote expandable>a</blockquote>", "a", [("expandable_blockquote", 0, 1)]),
    ],
)
def test_html_becomes_text_and_entities(source: str, text: str, marks: list[tuple[Any, ...]]) -> None:
    got, found = markup.parsed(source, "html")

    assert text == got
    assert marks == short(found)


def test_other_parse_modes_are_refused() -> None:
    with pytest.raises(ApiError, match="unsupported parse_mode"):
        markup.parsed("x", "Markdown")


def mark(offset: int, length: int, kind: str = "bold", **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length} | more


@pytest.mark.parametrize(
    ("entity", "complaint"),
    [
        (mark(-1, 2), "receive an entity with incorrect offset -1"),
        (mark(0, -1), "receive an entity with incorrect length -1"),
        (mark(9, 1), "entity begins after the end of the text at UTF-16 offset 9"),
        (mark(2, 2), "entity begins in a middle of a UTF-16 symbol at UTF-16 offset 2"),
        (mark(0, 9), "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 9"),
        (mark(0, 2), "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at UTF-16 offset 2"),
    ],
)
def test_an_entity_lies_on_whole_characters_of_the_text(entity: dict[str, Any], complaint: str) -> None:
    """Counted as Python counts, entities behind an emoji are shifted (python-telegram-bot/python-telegram-bot#4319)."""
    with pytest.raises(ApiError) as refused:
        entities.checked("你😀好", [entity])

    assert f"Bad Request: {complaint}" == refused.value.description


def test_only_the_first_hundred_entities_are_honoured_and_empty_ones_are_not() -> None:
    kept = entities.checked(
        "x " * 120, [mark(1, 1), mark(2, 0), mark(0, 1, "text_link")] + [mark(2 * n, 1) for n in range(120)]
    )

    assert [2 * n for n in range(100)] == [entity["offset"] for entity in kept]


def test_text_is_stored_trimmed_and_its_entities_with_it() -> None:
    """Indentation before a plain first line is lost; inside an entity it stays."""
    assert {"text": "a b"} == texts.stored(" \n a\tb \n", [])
    assert {"text": "  a", "entities": [mark(0, 3, "pre")]} == texts.stored("  a \n", [mark(0, 5, "pre")])
    assert {"text": "x\ny", "entities": [mark(2, 1)]} == texts.stored("\n\nx\ny", [mark(4, 1)])
    with pytest.raises(ApiError, match="text must be non-empty"):
        texts.stored(" \n\t", [])


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("/start@clew_bot 你好", [("bot_command", 0, 15)]),
        ("😀 @clew_bot, @x", [("mention", 3, 9)]),
        ("@clew_bot你好", []),  # as in TDLib: letters of any script on either side make it no mention
        ("你好@clew_bot", []),
        ("a/b </no> http://a.b/c. me@a.example #话题", [("url", 10, 12), ("email", 24, 12), ("hashtag", 37, 3)]),
        ("no marks", []),
    ],
)
def test_marks_are_found_in_what_a_person_writes(text: str, marks: list[tuple[Any, ...]]) -> None:
    assert marks == short(entities.found(text))


def test_nothing_is_found_inside_code_or_a_link_but_inside_bold() -> None:
    text = "/a /b @clew_bot"
    known = [mark(0, 2, "code"), mark(3, 2, "bold"), mark(6, 9, "text_link", url="http://a.b/")]

    assert ["code", "bold", "bot_command", "text_link"] == [m["type"] for m in entities.found(text, known)]


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("httPs://Google.com?1#tes", "https://google.com/?1#tes"),
        ("telegram.org", "http://telegram.org/"),
        ("http://a.b:8080/路?q", "http://a.b:8080/路?q"),
        ("http://me@a.b", "http://me@a.b/"),
        ("http://[2001:db8::1]", "http://[2001:db8::1]/"),
        ("tg://resolve?domain=x", "tg://resolve?domain=x"),
        ("http://localhost", ""),
        ("https://wiki/page.html", ""),
        ("wiki", ""),
        ("http:a.b", ""),
        ("sftp://a.b", ""),
        ("javascript:alert(1)", ""),
        ("", ""),
    ],
)
async def test_a_link_is_kept_only_to_a_place_that_the_platform_takes(url: str, kept: str) -> None:
    """However it was marked; what is not taken is dropped without a word, and its text stays."""
    async with telegram() as tg, client(tg) as bot:
        dm = tg.private(tg.person("Ann"))
        await bot.send_message(dm.id, "x", entities=[MessageEntity("text_link", 0, 1, url=url)] if url else [])
        await bot.send_message(dm.id, f'<a href="{url}">x</a>', parse_mode="HTML")

        expected = [mark(0, 1, "text_link", url=kept)] if kept else []
        assert [("x", expected)] * 2 == [(message.text, message.entities) for message in dm.replies()]


async def test_an_app_can_mark_what_the_platform_would_not_find() -> None:
    """A person without a username is mentioned by `text_mention`, which is no text to search for."""
    async with telegram() as tg:
        ann, text = tg.person("Ann"), "👋🏽 小助手 /x"
        said = ann.says(
            tg.private(ann), text, entities=[entities.covering(text, "小助手", "text_mention", user=tg.bot.user())]
        )

    assert [("text_mention", 5, 3, tg.bot.user()), ("bot_command", 9, 2)] == short(said.entities)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "Message text is empty"),
        ("x" * 4097, "Message is too long"),
        ("😀" * 2049, "Message is too long"),
        ("你" * 10_923, "Text is too long"),
        ("  ", "Text must be non-empty"),
        ("\u200b\u2060 \ufeff", "Text must be non-empty"),
    ],
)
async def test_a_text_has_4096_utf16_units_at_most(text: str, complaint: str) -> None:
    async with telegram() as tg, client(tg) as bot:
        dm = tg.private(tg.person("Ann"))
        with pytest.raises(BadRequest, match=complaint):
            await bot.send_message(dm.id, text)
        await bot.send_message(dm.id, "😀" * 2048)

        assert 4096 == entities.units(dm.replies()[0].text)


async def test_markup_and_entities_arrive_alike() -> None:
    async with telegram() as tg, client(tg) as bot:
        dm = tg.private(tg.person("Ann"))
        await bot.send_message(dm.id, "*你😀* x", parse_mode="MarkdownV2")
        await bot.send_message(dm.id, "<b>你😀</b> x", parse_mode="HTML")
        await bot.send_message(dm.id, "你😀 x", entities=[MessageEntity("bold", 0, 3)])

        assert [("你😀 x", [mark(0, 3)])] * 3 == [(message.text, message.entities) for message in dm.replies()]


async def test_markup_is_looked_at_before_the_chat_and_entities_after() -> None:
    async with telegram() as tg, client(tg) as bot:
        with pytest.raises(BadRequest, match=r"[Cc]an't parse entities"):
            await bot.send_message(1, "Version 1.0", parse_mode="MarkdownV2")
        with pytest.raises(BadRequest, match=r"[Cc]hat not found"):
            await bot.send_message(1, "x", entities=[MessageEntity("bold", 0, 9)])
