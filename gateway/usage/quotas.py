"""Who has used up what they may: which quotas hold for a message, and what is left of them. Pure.

A hard limit of messages is exact on one instance. Tokens and money are known after a call only, so what is checked before it is
what was spent so far: the calls under way at that moment may pass the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Literal, NamedTuple

from config.channels.base import QuotaLimits, QuotaSettings
from gateway.notices import Language, notice
from gateway.usage.entries import MICRO, NOBODY
from gateway.usage.rows import KINDS, Amounts, Subject, person_subject
from gateway.usage.windows import SPANS, Span, ends

Measure = Literal["messages", "tokens", "money"]
MEASURES: tuple[Measure, ...] = ("messages", "tokens", "money")
SPENT: tuple[Measure, ...] = ("tokens", "money")
"""What is known after a call only."""


class Limit(NamedTuple):
    """One limit of one subject. `most` in millionths, of money."""

    subject: Subject
    measure: Measure
    span: Span
    most: int

    @property
    def rule(self) -> str:
        """The name by which a refusal is told and counted, e.g. `quota_person_money_month`."""
        return f"quota_{self.subject.kind}_{self.measure}_{self.span}"


Used = Callable[[Subject], Mapping[Span, Amounts]]


def limits_of(subject: Subject, limits: QuotaLimits) -> Iterator[Limit]:
    """Yield the limits that are set, the shortest time last: what is over for longest is told first."""
    for span in reversed(SPANS):
        for measure in MEASURES:
            most = getattr(getattr(limits, measure), span)
            if most is not None:
                yield Limit(subject, measure, span, max(1, round(most * MICRO)) if measure == "money" else most)


def limits_for(
    *, channel: str, room: str, person: int, agent: str, quota: QuotaSettings, of_agent: QuotaLimits | None
) -> tuple[Limit, ...]:
    """Return all limits that hold for a message. `room` "": it is private. Of whom nothing is known (an anonymous admin, a
    program) no person's quota holds: one account may be many, or many one."""
    found: list[Limit] = []
    if person != NOBODY:
        found += limits_of(person_subject(person), quota.person)
    if room:
        found += limits_of(Subject("room", channel, room), quota.room)
    found += limits_of(Subject("channel", "", channel), quota.channel)
    if of_agent is not None:
        found += limits_of(Subject("agent", "", agent), of_agent)
    return tuple(found)


def any_set(quota: QuotaSettings, of_agent: QuotaLimits | None) -> bool:
    """Whether any limit is set for a message at all."""
    parts = (quota.person, quota.room, quota.channel, *([of_agent] if of_agent is not None else []))
    return any(part != _NONE for part in parts)


_NONE = QuotaLimits()


def reached(limits: Iterable[Limit], used: Used, *, measures: Collection[Measure] = MEASURES) -> Limit | None:
    """Return the first limit that is used up; None: another message may be answered."""
    return next((limit for limit in limits if limit.measure in measures and _used(used, limit) >= limit.most), None)


def nearing(limits: Iterable[Limit], used: Used, *, soft: float) -> list[Limit]:
    """Return the limits of which the share `soft` is used up, and not all; none for a share of 1."""
    if soft >= 1:
        return []
    return [limit for limit in limits if limit.most * soft <= _used(used, limit) < limit.most]


def _used(used: Used, limit: Limit) -> int:
    return int(getattr(used(limit.subject)[limit.span], limit.measure))


_RULES = {f"quota_{kind}_{measure}_{span}": (kind, span) for kind in KINDS for measure in MEASURES for span in SPANS}


def is_quota(rule: str) -> bool:
    """Whether a message was refused by a quota."""
    return rule in _RULES


def quota_notice(rule: str, language: Language, *, at_ms: int, zone: tzinfo, zone_name: str) -> str:
    """Return what a person is told who was refused by the rule at that moment. How much it was is the admin's
    affair. Raises KeyError for a rule that is no quota's."""
    kind, span = _RULES[rule]
    if span == "minute":
        return notice(f"quota_{kind}_minute", language)
    over = ends(span, at_ms, zone)
    when = (
        over.strftime("%Y-%m-%d %H:%M")
        if language == "en"
        else f"{over.year} 年 {over.month} 月 {over.day} 日 {over:%H:%M}"
    )
    return notice(f"quota_{kind}", language, span=notice(f"quota_{span}", language), when=when, zone=zone_name)
