"""The times of quotas: minutes, and days and months as they begin where the admin lives. Pure."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache, lru_cache
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

Span = Literal["minute", "day", "month"]
SPANS: tuple[Span, ...] = ("minute", "day", "month")


class Starts(NamedTuple):
    """When the times that a moment is in have begun, as they are named in tables; texts sort by time."""

    minute: str
    day: str
    month: str


@cache
def zone(name: str) -> tzinfo:
    """Return the time zone of that name; settings are checked for it. Raises KeyError."""
    return UTC if name == "UTC" else ZoneInfo(name)


def starts(at_ms: int, where: tzinfo) -> Starts:
    """Return the minute (of UTC), day and month of a moment, e.g. `2026-11-30T13:05`, `2026-11-30`, `2026-11`."""
    return _starts(at_ms // 60_000, where)


@lru_cache(maxsize=10_000)  # asked for several times a message, most of them of one minute
def _starts(minutes: int, where: tzinfo) -> Starts:
    moment = datetime.fromtimestamp(minutes * 60, where)
    day = moment.date().isoformat()
    minute = moment if where is UTC else moment.astimezone(UTC)
    return Starts(minute.strftime("%Y-%m-%dT%H:%M"), day, day[:7])


def ends(span: Span, at_ms: int, where: tzinfo) -> datetime:
    """Return when the time that the moment is in is over, in the zone: where clocks change, as they show it then."""
    if span == "minute":
        return datetime.fromtimestamp((at_ms // 60_000 + 1) * 60, where)
    today = datetime.fromtimestamp(at_ms / 1000, where).date()
    return datetime.combine(_next(span, today), time(), where)


def _next(span: Span, today: date) -> date:
    if span == "day":
        return today + timedelta(days=1)
    return (today.replace(day=28) + timedelta(days=4)).replace(day=1)
