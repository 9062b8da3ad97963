"""Dates as terms of search: every message is found by the day, the month and the year that it was said in, and a question
that names a date asks for them. English and Chinese; pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = "|".join(f"{name}|{name[:3]}" for name in _MONTHS if name != "may") + "|may|sept"
_DAY = r"(?P<day{0}>\d{{1,2}})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s*(?P<year{0}>(?:19|20)\d\d)\b)"
_DATES = re.compile(
    r"\b(?P<year0>(?:19|20)\d\d)[-/.](?P<month0>\d{1,2})(?:[-/.](?P<day0>\d{1,2}))?\b"
    rf"|\b{_DAY.format(1)}\s+(?:of\s+)?(?P<month1>{_MONTH})\b{_YEAR.format(1)}?"
    rf"|\b(?P<month2>{_MONTH})\.?\s+{_DAY.format(2)}\b{_YEAR.format(2)}?"
    rf"|\b(?P<month3>{_MONTH})\.?{_YEAR.format(3)}"
    rf"|\b(?:in|since|of|last|this|during|until|by)\s+(?P<month4>{_MONTH})\b"
    r"|(?:(?P<year5>(?:19|20)\d\d)\s*年\s*)?(?<!\d)(?P<month5>1[0-2]|0?[1-9])\s*月(?!后|前|内)(?:\s*(?P<day5>\d{1,2})\s*[日号])?"
    r"|\b(?P<year6>(?:19|20)\d\d)(?:\b|(?=\s*年))",
    re.I,
)
_AGO = {
    "today": 0, "yesterday": 1, "day before yesterday": 2, "今天": 0, "今日": 0, "昨天": 1, "昨日": 1, "昨晚": 1,
    "前天": 2, "大前天": 3,
}  # fmt: skip
_RELATIVE = re.compile(r"\b(?:day before yesterday|yesterday|today)\b|今[天日]|昨[天日晚]|大?前天", re.I)


def said_on(day: date) -> tuple[str, ...]:
    """Return the terms of something said on `day`: "@2023-05-08", "@05-08", "@05" and "@2023"."""
    return f"@{day.isoformat()}", f"@{day:%m-%d}", f"@{day:%m}", f"@{day.year}"


def dates_named(text: str, *, today: date | None = None) -> list[str]:
    """Return the terms of the dates that `text` names, as far as it names them: "in June" is "@06" alone. With `today`, the
    day it was said, "yesterday" and 昨天 are dates, too. What can't be a date (31 April, month 13) is none."""
    found = [term for match in _DATES.finditer(text) for term in _terms(match)]
    if today is not None:
        days = [today - timedelta(days=_AGO[word.lower()]) for word in _RELATIVE.findall(text)]
        found.extend(term for day in days for term in said_on(day)[:2])
    return found


def _terms(match: re.Match[str]) -> Iterator[str]:
    parts = {name[:-1]: value for name, value in match.groupdict().items() if value is not None}
    year, month, day = parts.get("year"), _month(parts.get("month")), parts.get("day")
    try:
        whole = date(int(year or 2000), month or 1, int(day or 1))  # 2000 knows 29 February
    except ValueError:
        return
    exact, of_day, of_month, of_year = said_on(whole)
    if year and month and day:
        yield exact
    if month and day:
        yield of_day
    if month:
        yield of_month
    if year:
        yield of_year


def _month(name: str | None) -> int | None:
    if name is None or name.isdecimal():
        return int(name) if name else None
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name.lower()[:3]))
