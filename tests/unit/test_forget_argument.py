"""What people write behind `/forget`, in both languages: numbers in every way, everything, or what a thing is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.forget_argument import Altogether, Called, Everything, Numbered, read


@pytest.mark.parametrize(
    ("argument", "numbers"),
    [
        ("2", (2,)), ("２", (2,)), ("②", (2,)), ("#1", (1,)), ("1.", (1,)), ("no. 1", (1,)), ("number 3!", (3,)),
                ("1 and 2", (1, 2)), ("1, 2,1", (1, 2)), ("1 2", (1, 2)), ("1-3", (1, 2, 3)),
        ("3-1", (3, 1)), ("1 to 2 and 7", (1, 2, 7)),
        ("第2条", (2,)), ("第二條。", (2,)), ("二", (2,)), ("十二", (12,)), ("２、3和5", (2, 3, 5)),
        ("1到3", (1, 2, 3)), ("2号", (2,)),
    ],
)  # fmt: skip
def test_numbers(argument: str, numbers: tuple[int, ...]) -> None:
    """As they are listed, each once; whatever width, script and punctuation."""
    assert Numbered(numbers) == read(argument)


@pytest.mark.parametrize(
    ("argument", "confirmed"),
    [
        ("all", False), ("ALL!", False), ("all of it", False), ("all, please", False), ("请全部", False),
        ("everything about me", False), ("全部", False),
        ("所有内容", False),
        ("all yes", True), ("everything yes", True), ("全部 确定", True), ("全部确认", True), ("所有 是的", True),
    ],
)  # fmt: skip
def test_everything(argument: str, confirmed: bool) -> None:
    """Asked for, or confirmed in one go: that it had been asked is looked up elsewhere."""
    assert Everything(confirmed=confirmed) == read(argument)


@pytest.mark.parametrize(
    ("argument", "slots"),
    [
        ("my address", ("city",)), ("shoe size", ("shoe_size",)), ("my name", ("name",)), ("order number", ("order",)),
        ("my preferences", ("like", "dislike")), ("我的地址", ("city",)), ("鞋码", ("shoe_size",)),
        ("名字和生日", ("birthday", "name")),
        ("過敏", ("allergy",)),
    ],
)  # fmt: skip
def test_what_a_thing_is_called(argument: str, slots: tuple[str, ...]) -> None:
    """By the slots that the words name; traditional characters count as simplified ones."""
    assert Called(slots) == read(argument)


@pytest.mark.parametrize(
    "argument",
    ["", " ", "tea", "my tea", "2024", "1 or 2", "all that jazz", "yes", "全部的茶", "🙂", "'; DROP", "x" * 5000],
)
def test_what_does_not_say(argument: str) -> None:
    """Nothing is guessed: what is forgotten does not come back."""
    assert read(argument) is None


@given(st.text(max_size=60))
def test_takes_any_text(text: str) -> None:
    """Numbers are always those of a list, however hostile what names them."""
    match read(text):
        case Numbered(numbers=numbers):
            assert all(0 <= number <= 999 for number in numbers)


@pytest.mark.parametrize(
    "argument", ["me", "ME, please", "my data.", "all my data", "我", "我的数据", "我的資料", "请我的聊天记录"]
)
def test_altogether(argument: str) -> None:
    """Not what was learned alone; and never what merely begins so."""
    assert Altogether() == read(argument)
    assert Altogether() != read(f"{argument} tea")
