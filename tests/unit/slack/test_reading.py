"""What Slack's forms of text say, as people read them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.reading import from_mrkdwn, mentions, said
from adapters.slack.render import escaped


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("if a &lt; b &amp;&amp; c &gt; d", "if a < b && c > d"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("&nbsp; &copy;", "&nbsp; &copy;"),
        ("<@U1> and <@W2|zoe>", "<@U1> and <@W2>"),
        ("in <#C1|general> or <#C2> or <#C3|>", "in #general or <#C2> or <#C3>"),
        ("<!here> <!channel> <!everyone|@everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@ops> <!subteam^S2>", "@ops @S2"),
        ("<!date^1392734382^{date}|Feb 18, 2014>", "Feb 18, 2014"),
        ("<https://x.example/a?b&amp;c>", "https://x.example/a?b&c"),
        ("<https://x.example|x.example>", "https://x.example"),
        ("<https://x.example|the &lt;plan&gt;>", "the <plan> (https://x.example)"),
        ("<mailto:a@x.example|a@x.example> <tel:+1|+1>", "a@x.example +1"),
        ("`<https://x.example|x.example>` &lt;b&gt;", "`x.example` <b>"),
        ("```\n&lt;b&gt; &amp;amp;\n```", "```\n<b> &amp;\n```"),
        ("你好 &lt;世界&gt; 👩🏽‍💻", "你好 <世界> 👩🏽‍💻"),
        ("a < b", "a < b"),
        ("<>", "<>"),
        ("so <|endoftext|> it <|> ends", "so <|endoftext|> it <|> ends"),
    ],
)
def test_mrkdwn_is_read_as_people_see_it(text: str, read: str) -> None:
    """Tokens first, then what is escaped, once (platform-facts 1.7)."""
    assert read == from_mrkdwn(text)


@pytest.mark.parametrize(
    ("url", "read"),
    [("https://x.example/?q=a|b", "logs (https://x.example/?q=a|b)"), ("#top", "logs (#top)"), ("|", "logs (|)")],
)
def test_a_link_in_rich_text_may_hold_what_has_a_meaning_in_tokens(url: str, read: str) -> None:
    link = {"type": "link", "url": url, "text": "logs"}
    assert read == said({"text": "", "blocks": [rich(section(link))]})


def test_a_table_of_another_shape_says_nothing() -> None:
    assert said({"text": "", "blocks": [{"type": "table", "rows": 5}]}) == ""


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_what_is_escaped_on_the_way_out_is_read_back_the_same(text: str) -> None:
    """Outbound escaping is the mirror of inbound unescaping (platform-facts 6.20)."""
    assert text == from_mrkdwn(escaped(text))


def rich(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": list(elements)}


def section(*elements: dict[str, Any], kind: str = "rich_text_section", **more: Any) -> dict[str, Any]:
    return {"type": kind, "elements": list(elements), **more}


def word(text: str, **style: bool) -> dict[str, Any]:
    return {"type": "text", "text": text, **({"style": style} if style else {})}


@pytest.mark.parametrize(
    ("block", "read"),
    [
        (rich(section(word("see "), word("x < y", code=True), word(" 好", bold=True))), "see `x < y` 好"),
        (
            rich(section({"type": "user", "user_id": "U1"}, {"type": "channel", "channel_id": "C1"}, word("!"))),
            "<@U1><#C1>!",
        ),
        (
            rich(section({"type": "broadcast", "range": "here"}, {"type": "usergroup", "usergroup_id": "S1"})),
            "@here@S1",
        ),
        (
            rich(
                section({"type": "emoji", "name": "wave", "unicode": "1f44b-1f3fd"}, {"type": "emoji", "name": "acme"})
            ),
            "👋🏽:acme:",
        ),
        (rich(section({"type": "emoji", "name": "x", "unicode": "ffffffff"})), ":x:"),
        (rich(section({"type": "link", "url": "https://x.example", "text": "x"})), "x (https://x.example)"),
        (rich(section({"type": "link", "url": "https://x.example"})), "https://x.example"),
        (
            rich(section({"type": "date", "timestamp": 1, "fallback": "today"}, {"type": "color", "value": "#fff"})),
            "today#fff",
        ),
        (
            rich(
                section(word("list:\n")),
                section(section(word("a")), section(word("b")), kind="rich_text_list", style="bullet"),
            ),
            "list:\n- a\n- b",
        ),
        (
            rich(
                section(
                    section(word("c")), section(word("d")), kind="rich_text_list", style="ordered", offset=2, indent=1
                )
            ),
            "  3. c\n  4. d",
        ),
        (rich(section(word("a\nb"), kind="rich_text_quote")), "> a\n> b"),
        (rich(section(word("x = 1"), kind="rich_text_preformatted")), "```\nx = 1\n```"),
        (
            {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}, rich(section(word("b")))], [None, {}], 5]},
            "a | b\n | ",
        ),
    ],
)
def test_blocks_that_say_more_than_the_text_are_read(block: dict[str, Any], read: str) -> None:
    """`text` is derived from rich text; a table is not in it at all."""
    assert read == said({"text": "something else", "blocks": [block]})


@pytest.mark.parametrize(
    ("block", "read"),
    [
        ({"type": "section", "text": {"type": "mrkdwn", "text": "a &lt; <@U1>"}}, "a < <@U1>"),
        ({"type": "section", "text": {"type": "plain_text", "text": "&lt;b&gt;"}}, "<b>"),
        ({"type": "section", "fields": [{"type": "mrkdwn", "text": "a"}, {"type": "mrkdwn", "text": "b"}]}, "a\nb"),
        ({"type": "header", "text": {"type": "plain_text", "text": "Title"}}, "Title"),
        ({"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}, {"type": "image"}]}, "x "),
        ({"type": "markdown", "text": "# x"}, "# x"),
        ({"type": "image", "alt_text": "a cat"}, "a cat"),
        ({"type": "divider"}, ""),
    ],
)
def test_other_blocks_count_where_there_is_no_text(block: dict[str, Any], read: str) -> None:
    """Their text beside them is the whole of what a bot says; without one, the blocks are."""
    assert read == said({"text": "", "blocks": [block]})
    assert "the text" == said({"text": "the text", "blocks": [block]})


@pytest.mark.parametrize(
    ("attachment", "read"),
    [
        ({"pretext": "Alert", "title": "Disk", "text": "90 &gt; 80"}, "Alert\nDisk\n90 > 80"),
        ({"fallback": "a &amp; b"}, "a & b"),
        ({"blocks": [{"type": "header", "text": {"type": "plain_text", "text": "H"}}], "text": "t"}, "H"),
        ({"is_share": True, "text": "somebody else's words"}, ""),
    ],
)
def test_an_alert_that_is_all_attachment_is_read(attachment: dict[str, Any], read: str) -> None:
    assert read == said({"text": "", "attachments": [attachment]})


def test_a_link_preview_is_nobody_s_words() -> None:
    assert "see https://x.example" == said(
        {"text": "see <https://x.example>", "attachments": [{"from_url": "https://x.example", "text": "preview"}]}
    )


def test_files_are_named() -> None:
    files = [{"name": "报告.pdf"}, {"title": "t"}, {"id": "F1"}, {}]

    assert "look\n[file: 报告.pdf]\n[file: t]\n[file: F1]" == said({"text": "look", "files": files})


def test_mentions_stand_in_text_and_in_rich_text_but_not_in_code() -> None:
    blocks = [rich(section({"type": "user", "user_id": "U1"}), section(word("<@U2>"), kind="rich_text_preformatted"))]

    assert {"U1", "U3"} == mentions({"blocks": blocks, "text": "<@U3|x> `<@U4>` ```<@U5>```"})
