"""Markdown as a tree, as plain words, and closed while it is unfinished."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.tree import SyntaxTreeNode

from adapters.markdown import tree
from adapters.text import closed, plain

REPLY = """# Title

1. one
2. two *em* `code`
   - inner

     more

> quoted
> lines

| a | b |
|---|---|
| x | **y** |

***

    indented

```py
x = 1

y = 2
```

[text](http://x/y) <http://bare/> <me@example.com> ![picture](http://p/i.png) [](http://empty) &amp; \\*\\
end
"""

TOLD = """Title

1. one
2. two em code
   • inner
     more

> quoted
> lines

a | b
x | y

———

indented

x = 1

y = 2

text (http://x/y) http://bare/ me@example.com picture (http://p/i.png) http://empty & *
end"""


def shape(node: SyntaxTreeNode) -> str:
    if node.type == "text":
        return "text" if node.content else ""
    return f"{node.type}({''.join(map(shape, node.children))})" if node.children else node.type


class TestTree:
    """One reading for every channel (buckyos/buckyos#567, n3d1117/chatgpt-telegram-bot#151)."""

    @pytest.mark.parametrize(
        ("markdown", "inside"),
        [
            ("**注意：**请看", "strong(text)text"),
            ("他说**“重要”**的", "textstrong(text)text"),
            ("~~删：~~了", "s(text)text"),
            ("這是**「重點」**。", "textstrong(text)text"),
            ("_你好。_ 世界", "em(text)text"),
            ("a**b:**c", "text"),
            ("snake_case_name", "text"),
            ("2 * 3 * 4", "text"),
            ("** 空格 **后", "text"),
            ("<b>no html</b>", "text"),
            ("https://x.y/z_a_b", "text"),
        ],
    )
    def test_emphasis_beside_chinese(self, markdown: str, inside: str) -> None:
        """Chinese needs no spaces around what is bold; other scripts follow CommonMark."""
        assert f"root(paragraph(inline({inside})))" == shape(tree(markdown))

    @pytest.mark.parametrize("hostile", [">" * 500 + "x", "- " * 500 + "x", "1. " * 300 + "x", "> - " * 60 + "x"])
    def test_deep_nesting_loses_nothing(self, hostile: str) -> None:
        """Hundreds of quotes in quotes are shown as they were written."""
        assert hostile == plain(hostile)

    def test_deep_emphasis_loses_nothing(self) -> None:
        """Thousands of stars are stars."""
        hostile = "*" * 3000 + "a" + "*" * 3000

        assert hostile == plain(hostile)


class TestPlain:
    """Notifications and platforms that refuse markup."""

    def test_every_kind_of_block(self) -> None:
        """Marks go, text stays; a link's address stands behind it."""
        assert TOLD == plain(REPLY)

    @given(st.text(st.sampled_from("*_`[]()<>#-+1. \n\t>|~!\\&x你"), max_size=80))
    def test_takes_any_text(self, text: str) -> None:
        """Plain words of plain words are still readable, in addresses as addresses have them; nothing raises."""
        assert text.count("你") == unquote(plain(text)).count("你")


class TestClosed:
    """Replies are shown while they are made (HKUDS/nanobot#4470: the full text each time)."""

    @pytest.mark.parametrize(
        ("so_far", "shown"),
        [
            ("", ""),
            ("see [the pa", "see [the pa"),
            ("```py\nx = ", "```py\nx = \n```"),
            ("```", "```\n```"),
            ("```py\nx\n", "```py\nx\n```"),
            ("```py\nx\n```", "```py\nx\n```"),
            ("```py\nx\n```\nand", "```py\nx\n```\nand"),
            ("~~~~\n```\n~~~", "~~~~\n```\n~~~\n~~~~"),
            ("1. do\n   ```sh\n   ls", "1. do\n   ```sh\n   ls\n   ```"),
            ("> - ```\n>   你好", "> - ```\n>   你好\n>   ```"),
            ("a\r\n```\r\nx", "a\r\n```\r\nx\n```"),
        ],
    )
    def test_an_open_fence_gets_its_end(self, so_far: str, shown: str) -> None:
        """In the quote or item it stands in; a link that is unfinished is text."""
        assert shown == closed(so_far)

    @pytest.mark.parametrize(
        ("so_far", "shown"),
        [
            ("Hello **wor", "Hello **wor**"),
            ("Hello **wor*", "Hello **wor**"),
            ("Hello **", "Hello"),
            ("Hello **wor ", "Hello **wor**"),
            ("**注意：**请看**重", "**注意：**请看**重**"),
            ("> - **要点", "> - **要点**"),
            ("a **b** and *c", "a **b** and *c*"),
            ("*a* **b", "*a* **b**"),
            ("*a and **b", "*a and **b***"),
            ("# Head ~~ol", "# Head ~~ol~~"),
            ("run `ls -l", "run `ls -l`"),
            ("run ``ls ` x", "run ``ls ` x``"),
            ("**bold `co", "**bold `co`**"),
            ("`a **b", "`a **b`"),
            ("**first**\n\nplain **se", "**first**\n\nplain **se**"),
        ],
    )
    def test_marks_that_have_begun_get_their_ends(self, so_far: str, shown: str) -> None:
        """Nobody sees stars that become bold a moment later."""
        assert shown == closed(so_far)

    @pytest.mark.parametrize(
        "text",
        ["2 * 3 = 6", "snake_case and __init", "a < b & c", "5 stars*", "it's `done`", "**done**", "x" * 5000 + "**b"],
    )
    def test_what_is_no_open_mark_stays(self, text: str) -> None:
        """Also in a paragraph too long to be looked at every few seconds."""
        assert text == closed(text)

    @given(st.integers(0, len(REPLY)))
    def test_at_any_moment(self, at: int) -> None:
        """However far the reply has come, what is shown is finished."""
        assert closed(REPLY[:at]) == closed(closed(REPLY[:at]))
