"""Text without its disguises, and where it stood before (B54)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.folding import folded, original_spans, with_digits, with_numbers


@pytest.mark.parametrize(
    ("plain", "text"),
    [
        ("Hello", "Ｈｅｌｌｏ"), ("ignore", "ig\u200bn\u202eo\ufeffre"), ("ignore", "ignоrе"), ("cafe", "café"),
        ("cafe", "cafe\u0301"),
        ("123", "１２３"), ("123", "١٢٣"), ("123", "1️⃣2️⃣3️⃣"), ("1-2", "1–2"), ("a\nb", "a\u2028b"), ("a b", "a\u00a0b"), ("fi", "ﬁ"),
        ("你好,世界", "你好，世界"), ("가", "가"), ("が", "が"), ("a", "\U000e0041a"), ("x", "x\u3164"), ("😀", "😀"),
    ],
)  # fmt: skip
def test_a_disguise_is_taken_off(plain: str, text: str) -> None:
    """Widths, invisible characters, look-alikes, accents on Latin letters and foreign digits; other scripts stay as they are."""
    assert plain == folded(text)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("42", "四十二"), ("10", "十"), ("12", "十二"), ("20", "二十"), ("105", "一百零五"), ("110", "一百一十"),
        ("5000", "五千"),
        ("2026", "二〇二六"), ("200", "两百"), ("138", "一三八"), ("百", "百"), ("3亚", "三亚"), ("十百", "十百"),
        ("一二百", "一二百"),
        ("一百二三", "一百二三"), ("0", "零"), ("1204", "一千二百零四"), ("21", "贰拾壹"),
    ],
)  # fmt: skip
def test_a_chinese_number_is_counted(number: str, text: str) -> None:
    """What is no number stays as it is."""
    assert number == with_numbers(text)


def test_chinese_digits_are_replaced_in_place() -> None:
    """So that places stay the same."""
    assert "我的138十" == with_digits("我的一三八十")
    assert "1380345" == with_digits("幺叁捌零三肆伍")


@given(st.text(max_size=200))
def test_all_of_the_folded_text_leads_back_to_all_of_the_original(text: str) -> None:
    """Every single place does, in order."""
    plain = folded(text)

    spans = original_spans(text, [(at, at + 1) for at in range(len(plain))])

    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
    assert all(char in folded(text[start:end]) for char, (start, end) in zip(plain, spans, strict=True))


@given(st.text(max_size=200))
def test_nothing_is_left_to_take_off(text: str) -> None:
    """Twice is the same as once."""
    assert folded(text) == folded(folded(text))
