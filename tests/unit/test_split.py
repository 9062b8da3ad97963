"""Where a reply is cut and how its pieces look, by example."""

from __future__ import annotations

import re
import sys
from types import FrameType

import pytest

from adapters.text import beginning, split


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def test_a_text_that_fits_stays_as_it_is() -> None:
    """Not one character of a short reply is touched."""
    text = "# Hi\n\n* a\n* b\n\n[x]: http://y\n"

    assert [text] == split(text, limit=1000, measure=len)


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_nothing_to_see_is_one_piece(text: str) -> None:
    """There is always a piece, also of an empty reply."""
    assert [text] == split(text, limit=10, measure=len)
    assert [""] == split(" " * 500 + "\n", limit=10, measure=len)
    assert [""] == split("```\n" + "\n" * 500 + "```", limit=100, measure=len)


class TestLengths:
    """The limit is the platform's, on what is sent (AstrBotDevs/AstrBot#1646, platform-facts 6: 16, 45)."""

    def test_emoji_are_counted_in_the_platforms_unit(self) -> None:
        """5,000 emoji of two UTF-16 units each make three messages, none of them cut (NousResearch/hermes-agent#11467,
        #55844)."""
        pieces = split("😀" * 5000, limit=4096, measure=utf16_units)

        assert [2048, 2048, 904] == [len(piece) for piece in pieces]

    def test_escapes_are_counted(self) -> None:
        """4,096 exclamation marks double under escaping and are split by that length (NousResearch/hermes-agent#55593)."""
        pieces = split("!" * 4096, limit=4096, measure=lambda text: len(text.replace("!", "\\!")))

        assert [2048, 2048] == [len(piece) for piece in pieces]

    def test_one_character_longer_than_a_message(self) -> None:
        """A letter under thousands of marks is cut within, where nothing else is left to do."""
        text = "a" + "\u0301" * 300

        pieces = split(text, limit=100, measure=len)

        assert text == "".join(pieces)
        assert max(map(len, pieces)) <= 100

    def test_a_limit_below_everything_still_ends(self) -> None:
        """Below the least sensible limit the text is kept rather than the limit."""
        assert "ab" == "".join(split("**a**b", limit=0, measure=len))
        assert "cd" == "".join(split("- > ```\n  > cd\n  > ```", limit=1, measure=len))
        assert ["___"] == split("> ***", limit=1, measure=len)

    def test_a_hundred_thousand_characters_take_few_measurements(self) -> None:
        """The longest answer is measured a bounded number of times, not once per word."""
        calls = []

        pieces = split(
            "A sentence. 一句话。\n\n" * 5000, limit=4000, measure=lambda text: calls.append(text) or len(text)
        )

        assert len(calls) <= 12 * len(pieces)
        assert sum(map(len, calls)) <= 8 * 90_000

    @pytest.mark.parametrize(
        "dense",
        ["*字* ", "*a", "*_~", "`码` ", "# a\n", "1. a\n", "|a|b|\n|-|-|\n", "[", "![", "[a](http://b) ", "<http://b>"],
    )
    def test_text_dense_with_marks_takes_work_in_proportion(self, dense: str) -> None:
        """Also where a message holds a few marks only, and so only a small part of what its characters would allow. Twice the
        text is twice the work, in characters measured and in calls made."""
        (once, measured), (twice, measured_twice) = (
            worked(dense * (length // len(dense))) for length in (3_000, 6_000)
        )

        assert measured_twice <= 2.3 * measured <= 2.3 * 25 * 3_000
        assert twice <= 2.3 * once

    def test_of_a_growing_answer_only_the_beginning_is_split(self) -> None:
        """However long it has become; and it is what the finished answer's first piece will be, where that is no matter of
        what comes later."""
        text, read = "*字* 一句话。A sentence. " * 5_000, list[int]()

        def measure(piece: str) -> int:
            read.append(len(piece))
            return len(piece)

        first = beginning(text, limit=1_000, measure=measure)

        assert split(text, limit=1_000, measure=len)[0] == first
        assert sum(read) <= 3_000 + 6 * 1_000
        assert "```\nx\n```" == beginning("```\nx", limit=100, measure=len)
        assert "" == beginning("[a]: http://b", limit=5, measure=len)


def worked(text: str) -> tuple[int, int]:
    """Split a text where a piece may have twenty marks; return how many calls were made, and how much was measured."""
    calls, measured = 0, 0

    def measure(piece: str) -> int:
        nonlocal measured
        measured += len(piece)
        return max(len(piece), 10 * len(re.findall(r"[*_~`#\[<|]", piece)))

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        split(text, limit=200, measure=measure)
    finally:
        sys.setprofile(before)
    return calls, measured


class TestPlaces:
    """Where people would cut."""

    def test_between_blocks_first(self) -> None:
        """A paragraph that fits a message is not cut to fill the one before it."""
        text = "\n\n".join(["one " * 15, "two " * 15, "three " * 10])

        assert [("one " * 15).strip(), ("two " * 15).strip(), ("three " * 10).strip()] == split(
            text, limit=80, measure=len
        )

    def test_a_heading_goes_with_what_it_heads(self) -> None:
        """No message ends in a heading, or in the words that introduce a list."""
        text = "word " * 14 + "\n\n## Next\n\n" + "more " * 10 + "\n\nSteps:\n\n- a " + "b " * 30

        pieces = split(text, limit=90, measure=len)

        assert ["word", "## Next", "Steps:"] == [
            piece.split("\n")[0][:7].strip()[:7] if i else "word" for i, piece in enumerate(pieces)
        ]

    @pytest.mark.parametrize(
        ("text", "first"),
        [
            ("One is here. Two is there. Three is 3.14 of " + "x" * 60, "One is here. Two is there."),
            ("第一句话在这里。第二句话也在这里！" + "长" * 70, "第一句话在这里。第二句话也在这里！"),
            ("他说：“好的。”然后" + "走" * 60, "他说：“好的。”"),
            ("no sentence ends here but words " + "x" * 60, "no sentence ends here but words"),
            ("没有句号只有逗号的一段很长很长的话，" + "长" * 60, "没有句号只有逗号的一段很长很长的话，"),
        ],
    )
    def test_after_a_sentence_then_a_word(self, text: str, first: str) -> None:
        """English and Chinese alike."""
        assert first == split(text, limit=12 if len(first) < 12 else 40, measure=len)[0]

    def test_no_line_begins_with_a_closing_mark(self) -> None:
        """A Chinese full stop stays with its sentence, even where that is longer than a message."""
        assert "長" * 39 == split("長" * 40 + "。」" + "長" * 20, limit=40, measure=len)[0]

    @pytest.mark.parametrize("character", ["👩‍👩‍👧‍👦", "🇩🇪", "👋🏽", "각", "e\u0301", "1️⃣", "नि"])
    def test_never_inside_a_character(self, character: str) -> None:
        """Families, flags, skin tones, jamo and marks stay together."""
        pieces = split(character * 60, limit=67, measure=utf16_units)

        assert {""} == {piece.replace(character, "") for piece in pieces}


class TestBlocks:
    """What is open at a cut is opened again (vercel/chat; platform-facts 6: 46)."""

    def test_fences_are_closed_and_opened_again(self) -> None:
        """A code block is cut between lines and keeps its language on both sides."""
        text = "```py\n" + "x = 1\n" * 20 + "```"

        assert ["```py\n" + "x = 1\n" * 10 + "```"] * 2 == split(text, limit=70, measure=len)

    def test_fences_hold_fences(self) -> None:
        """Code that shows a fence keeps a longer one; a tilde fence stays one."""
        text = "~~~~md\n" + "```\n~~~\nx\n```\n" * 8 + "~~~~"

        pieces = split(text, limit=80, measure=len)

        assert {"~~~~md"} == {piece.split("\n")[0] for piece in pieces}
        assert {"~~~~"} == {piece.split("\n")[-1] for piece in pieces}

    def test_indentation_survives_a_cut(self) -> None:
        """Only the line break goes; the next line keeps its place."""
        text = "```\nif a:\n" + "    b()\n" * 12 + "```"

        assert all(
            line in ("```", "if a:", "    b()")
            for piece in split(text, limit=64, measure=len)
            for line in piece.split("\n")
        )

    def test_a_line_of_code_longer_than_a_message(self) -> None:
        """Is cut at a space, and inside words if there is none."""
        pieces = split("```\n" + "word " * 15 + "x" * 100 + "\n```", limit=64, measure=len)

        assert ("word " * 15 + "x" * 100).replace(" ", "") == "".join(piece[4:-4] for piece in pieces).replace(" ", "")

    @pytest.mark.parametrize("limit", [64, 100, 300])
    def test_lists_keep_their_numbers(self, limit: int) -> None:
        """An ordered list goes on with the number it had."""
        text = "\n".join(f"{number}. step number {number}" for number in range(7, 40))

        pieces = split(text, limit=limit, measure=len)

        assert text == "\n".join(pieces)
        assert all(len(piece) <= limit for piece in pieces)

    def test_an_inner_list_keeps_its_depth(self) -> None:
        """The item around it is opened again; the rest of an item's text stands without a mark."""
        text = "3. " + "begin " * 10 + "\n   - " + "inner " * 8 + "\n   - " + "other " * 8

        pieces = split(text, limit=64, measure=len)

        assert [
            "3. " + ("begin " * 10).strip(),
            "3. - " + ("inner " * 8).strip(),
            "3. - " + ("other " * 8).strip(),
        ] == pieces

    def test_tables_repeat_their_head(self) -> None:
        """Rows stay whole; each part says what its columns are, aligned as before."""
        text = "| a | b |\n|:--|--:|\n" + "\n".join(f"| {at} | x\\|y |" for at in range(12))

        pieces = split(text, limit=80, measure=len)

        assert {"| a | b |\n|:--|--:|"} == {"\n".join(piece.split("\n")[:2]) for piece in pieces}
        assert text.split("\n")[2:] == [row for piece in pieces for row in piece.split("\n")[2:]]

    def test_a_row_longer_than_a_message(self) -> None:
        """The table becomes lines of text: better than a row lost."""
        pieces = split("| a | b |\n|---|---|\n| " + "x " * 50 + "| y |", limit=64, measure=len)

        assert ["a | b\n\n" + ("x " * 28).strip(), ("x " * 22) + "| y"] == pieces

    def test_quotes_keep_their_mark(self) -> None:
        """Every line of every piece."""
        pieces = split("> " + "said " * 40, limit=64, measure=len)

        assert {"> said"} == {line[:6] for piece in pieces for line in piece.split("\n")}

    def test_a_quotes_lazy_line_stays_text(self) -> None:
        """What was text only because it stood there does not underline a heading now."""
        assert "> para\n> \\===" == split("> para\n===\n\n" + "x" * 80, limit=80, measure=len)[0]


class TestText:
    """Emphasis and links across a cut."""

    def test_emphasis_is_closed_and_opened_again(self) -> None:
        """Bold stays bold on both sides, beside Chinese too."""
        assert ["**" + ("bold " * 12).strip() + "**", "**" + ("bold " * 8).strip() + "**"] == split(
            "**" + ("bold " * 20).strip() + "**", limit=64, measure=len
        )
        assert ["**" + "重点。" * 20 + "**", "**" + "重点。" * 10 + "**后面"] == split(
            "**" + "重点。" * 30 + "**后面", limit=64, measure=len
        )

    def test_a_link_is_not_cut(self) -> None:
        """It goes to the next piece as a whole (markdown's brackets never dangle)."""
        text = "word " * 8 + "[a link of words](http://example.com/x) after it"

        assert [("word " * 8).strip(), "[a link of words](http://example.com/x) after it"] == split(
            text, limit=64, measure=len
        )

    def test_a_link_longer_than_a_message(self) -> None:
        """Falls apart into its text and its address; images and bare addresses likewise."""
        address = "http://example.com/" + "x" * 60

        assert ["read this http://example.com/" + "x" * 34, "x" * 26] == split(
            f"[read this]({address})", limit=63, measure=len
        )
        assert address == "".join(split(f"<{address}>", limit=63, measure=len))
        assert address == "".join(split(f"![]({address})", limit=63, measure=len))
        assert "alt " + address == "".join(split(f"![alt]({address})", limit=63, measure=len)).replace(
            "althttp", "alt http"
        )

    def test_references_are_resolved(self) -> None:
        """A link that had its address at the end of the reply has it in its own piece."""
        text = "See [the page][1] " + "word " * 12 + '\n\n[1]: http://x/y "T"\n'

        assert split(text, limit=64, measure=len)[0].startswith('See [the page](http://x/y "T") word')

    def test_code_spans_keep_their_ticks(self) -> None:
        """Cut in two, both are code; ticks inside need longer ones outside."""
        text = ("a`b " * 20).strip()

        assert [f"``{text[:56]}``", f"``{text[56:]}``"] == split(f"``{text}``", limit=62, measure=len)

    def test_a_cut_makes_no_block_of_text(self) -> None:
        """Text that stands first in a piece after a cut is no heading, list or rule because of that."""
        heading = split("x" * 62 + " # no heading", limit=64, measure=len)
        item = split("x" * 62 + " 1. no list", limit=64, measure=len)

        assert ["x" * 62, "\\# no heading"] == heading
        assert ["x" * 62, "1\\. no list"] == item
