"""Dates as terms of search, in English and Chinese (field report mem0ai/mem0#4402: the day is the one that the caller names)."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.dates import dates_named, said_on

TODAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    "text",
    [
        "on 8 May, 2023", "May 8th 2023", "the 8th of May 2023", "2023-05-08", "2023/5/8", "MAY 8, 2023", "2023年5月8日",
        "2023 年 05 月 8 号",
    ],
)  # fmt: skip
def test_a_whole_date_asks_for_its_day_in_any_writing(text: str) -> None:
    """However a day is written, what was said on it has all of its terms."""
    assert list(said_on(date(2023, 5, 8))) == dates_named(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what happened in June?", ["@06"]),
        ("since Sept 2021", ["@09", "@2021"]),
        ("in May 2022", ["@05", "@2022"]),
        ("June 3", ["@06-03", "@06"]),
        ("12月5号的会议", ["@12-05", "@12"]),
        ("去年10月", ["@10"]),
        ("2024年的计划", ["@2024"]),
        ("back in 2019", ["@2019"]),
        ("3 June and 5 July", ["@06-03", "@06", "@07-05", "@07"]),
        ("29 February", ["@02-29", "@02"]),
    ],
)
def test_a_part_of_a_date_asks_for_that_part(text: str, expected: list[str]) -> None:
    """A month or a year alone is no day."""
    assert expected == dates_named(text)


@pytest.mark.parametrize(
    "text", ["", "I may come", "may I ask", "31 April 2023", "2023-13-01", "3个月后", "order 20231", "march on", "13月", "5月后"]
)  # fmt: skip
def test_what_is_no_date_is_none(text: str) -> None:
    """The verb "may", spans of time, order numbers and days that no month has are words like others."""
    assert [] == dates_named(text)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("what did I say yesterday?", date(2026, 2, 28)),
        ("the day before yesterday", date(2026, 2, 27)),
        ("昨天我说了什么", date(2026, 2, 28)),
        ("大前天的事", date(2026, 2, 26)),
        ("今天", TODAY),
    ],
)
def test_a_day_may_be_named_from_today(text: str, day: date) -> None:
    """With the day it was said, "yesterday" and 昨天 are dates; without it they are not."""
    assert list(said_on(day)[:2]) == dates_named(text, today=TODAY)
    assert [] == dates_named(text)


@given(st.text(), st.dates(min_value=date(1, 1, 5)))
def test_any_text_has_dates_or_none(text: str, today: date) -> None:
    """Whatever people write, nothing is raised, and terms of dates are no words."""
    assert all(term.startswith("@") for term in dates_named(text, today=today))


@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2099, 12, 31)))
def test_a_written_day_is_found_by_what_was_said_on_it(day: date) -> None:
    """What a question names and what a message is kept under are the same terms, in both languages."""
    assert list(said_on(day)) == dates_named(f"on {day.day} {day:%B} {day.year}")
    assert list(said_on(day)) == dates_named(f"{day.year}年{day.month}月{day.day}日")
