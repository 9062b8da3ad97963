"""What holds of every split, whatever the text: nothing lost, nothing broken, no limit passed (field-reports I 80 to 82)."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it.tree import SyntaxTreeNode

from adapters.markdown import tree
from adapters.text import closed, plain, split


def characters(text: str) -> int:
    return len(text)


def utf8_bytes(text: str) -> int:
    return len(text.encode())


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def escaped(text: str) -> int:
    """A rendering that makes a text longer (hermes#55593)."""
    return len(re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text))


def rendered(text: str) -> int:
    """A rendering that makes a text shorter: only what is visible counts."""
    return utf16_units(plain(text))


MEASURES = [characters, utf8_bytes, utf16_units, escaped, rendered]
EMOJI = ["👍", "👩‍👩‍👧‍👦", "🇩🇪", "🇨🇳🇯🇵", "👋🏽", "❤️", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]
SCRIPTS = [
    "你好，世界。",
    "请看！",
    "「引用」",
    "カタカナ",
    "한국어",
    "각",
    "שלום",
    "مرحبا",
    "e\u0301",
    "n\u0303o",
    "नमस्ते",
    "ไทย",
    "Straße",
    "\U00020000",
]
PLAIN = [
    "word",
    "Go.",
    "end!",
    "x",
    "2*3*4",
    "a_b_c",
    "if a < b && c > d",
    "<!channel>",
    "@here",
    "C:\\dir",
    "#tag",
    "a|b",
    "&amp;",
    "&",
    "\\*",
    "~",
    "`",
]
STARTS = [
    "# ",
    "- ",
    "1. ",
    "12) ",
    "> ",
    "```",
    "~~~",
    "---",
    "===",
    "| a | b |",
    "|-|-|",
    "[x]: y",
    "    ",
    "* ",
    "+ ",
    "\t",
]

words = st.sampled_from(PLAIN + EMOJI + SCRIPTS) | st.text(max_size=12).filter(lambda text: "\x00" not in text)
SIGNS = ["\n", "\n\n", "**", "*", "_", "~~", "[", "](u)", "![", "`", "<", ">", "  \n", "\\\n"]
soup = st.lists(words | st.sampled_from(STARTS + SIGNS), min_size=30, max_size=90)


def seen(node: SyntaxTreeNode) -> str:
    """What people see of a text, one line a block; the address of a link behind it."""
    if node.type in ("softbreak", "hardbreak"):
        return "\n"
    if node.type in ("text", "code_inline", "fence", "code_block"):
        return node.content
    text = "".join(map(seen, node.children))
    address = "" if node.is_root else str(node.attrs.get("href") or node.attrs.get("src") or "")
    behind = f" {address}" if address and text.strip() not in (address, address.removeprefix("mailto:")) else ""
    return text + behind + ("\n" if node.type == "inline" else "")


def graphemes(pieces: list[str]) -> list[str]:
    """All characters as people see them; a table's head only where it differs from the one before it.
    (Bars aside: they stand between the cells of a row too long for a table.)"""
    found, head = [], ""
    for piece in pieces:
        root = tree(piece)
        for table in [node for node in root.walk() if node.type == "table"]:
            repeated = found and head == seen(table.children[0])
            head = seen(table.children[0])
            if repeated:
                table.children = table.children[1:]
        found += [character for character in regex.findall(r"\X", seen(root)) if character.strip().strip("|")]
    return found


def leaves_open(piece: str) -> bool:
    """Whether a fence has no end: what is closed then has a line more."""
    if "```" not in piece and "~~~" not in piece:
        return False
    end = closed(piece)
    return end != piece and end.count("\n") > piece.rstrip("\n").count("\n")


@pytest.mark.parametrize("measure", MEASURES)
@given(parts=soup, limit=st.integers(64, 200))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=15)
def test_any_text_at_all(measure: Callable[[str], int], parts: list[str], limit: int) -> None:
    """Every piece keeps to the limit, leaves no fence open, and all of them show what the whole showed, whole characters each: a
    mark of emphasis that the whole leaves open is a character like others."""
    text = "".join(parts)

    pieces = split(text, limit=limit, measure=measure)

    assert [] == [piece for piece in pieces if measure(piece) > limit]
    assert [] == [piece for piece in pieces if leaves_open(piece)] or pieces == [text]
    assert graphemes([text]) == graphemes(pieces)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_hundred_thousand_characters(measure: Callable[[str], int]) -> None:
    """The same of the longest answers, within the limits of real platforms."""
    mixture = random.Random(7).choices(PLAIN + EMOJI + SCRIPTS + STARTS + SIGNS + [" ", " ", "\n\n"], k=40_000)
    text = "".join(mixture)[:100_000]

    pieces = split(text, limit=4000, measure=measure)

    assert [] == [piece for piece in pieces if measure(piece) > 4000]
    assert graphemes([text]) == graphemes(pieces)
