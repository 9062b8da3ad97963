"""What was spent: over time, by whom, and who is near a quota; each within the reader's rights."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from gateway.admin.acts import usage as acts
from gateway.admin.console.asked import problems_of
from gateway.admin.console.charts import Drawing, Series, bars
from gateway.admin.console.fields import Choice, Field
from gateway.admin.console.part import NavEntry, Part, get
from gateway.admin.console.usage_words import WORDS
from gateway.admin.console.visit import Visit
from gateway.admin.operations import FieldProblem, Invalid
from gateway.usage.entries import EMBEDDER
from gateway.usage.reports import By

_BY: tuple[By, ...] = ("channel", "room", "person", "agent", "model", "purpose", "day")
_MEASURES = ("money", "tokens", "messages")
_DEEPER: dict[str, By] = {"channel": "room", "room": "day", "person": "day", "agent": "model", "model": "day"}
_SCALES = ((Decimal(1), ""), (Decimal(1_000), "thousandth"), (Decimal(1_000_000), "millionth"))


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the table; `to` leads to what it is made of, or to the person."""

    name: str
    told: str
    to: str
    spent: acts.SpentLine
    money: str
    share: float


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """A quota that is near its end or over it."""

    whose: str
    to: str
    of: str
    used: str
    share: float
    over: bool
    ends_ms: int


async def spent(visit: Visit) -> web.StreamResponse:
    """Show the figures that the query asks for; those of this month, where it asks for none that make sense."""
    asked, problems = _asked(visit), tuple[FieldProblem, ...]()
    try:
        told = await visit.perform(acts.SUMMARY, asked)
    except Invalid as fault:
        problems, asked = problems_of(fault), acts.SpentAsked(by=asked.by, channel=asked.channel)
        told = await visit.perform(acts.SUMMARY, asked)
    measure = visit.query.get("measure", "money")
    measure = measure if measure in _MEASURES else "money"
    # Days in a chart of days are one series: by the channels that they were spent on.
    by: By = "channel" if asked.by == "day" else asked.by
    days = {"since": told.since, "until": told.until}
    wish = acts.SeriesAsked(by=by, measure=measure, channel=asked.channel, **days)  # type: ignore[arg-type]
    series = await visit.perform(acts.SERIES, wish)
    quotas = await visit.perform(acts.QUOTAS, acts.QuotasAsked(channel=asked.channel, limit=20))
    drawing, unit = drawn(visit, series, by=by, measure=measure)
    return visit.render(
        "usage/spent.html",
        asked=asked,
        sums=told,
        problems=problems,
        money=_money(visit, told.total.money, told.currency),
        fields=_fields(visit, asked, told, measure),
        spans=_spans(visit, told, asked, measure),
        lines=[_line(visit, one, told, asked, measure) for one in told.lines],
        more=_more(asked, told, measure),
        drawing=drawing,
        unit=unit,
        measure=measure,
        quotas=[_quota(visit, one, told.currency) for one in quotas.lines],
        file=f"/admin/usage/export?{urlencode(_without_none({**days, 'channel': asked.channel}))}",
    )


async def export(visit: Visit) -> web.StreamResponse:
    """Send all of it as a file."""
    query = visit.query
    asked = acts.ExportAsked(
        since=query.get("since") or None, until=query.get("until") or None, channel=query.get("channel") or None
    )
    return await visit.stream(await visit.perform(acts.EXPORT, asked))


def drawn(visit: Visit, series: acts.SeriesTold, *, by: By, measure: str) -> tuple[Drawing, str]:
    """Return the chart, and what its figures are in: small sums of money in thousandths or millionths of the currency."""
    named = [
        Series(
            visit.t("usage.others") if one.key is None else _name(visit, one.key, by, one.channel),
            [float(value) for value in one.values],
        )
        for one in series.series
    ]
    if measure != "money":
        return bars(series.days, named), visit.t(f"usage.unit.{measure}")
    most = Decimal(repr(max((sum(day) for day in zip(*(one.values for one in named), strict=True)), default=0.0)))
    scale, word = next(((by_, word) for by_, word in _SCALES if most * by_ >= 1), _SCALES[0])
    scaled = [Series(one.name, [round(float(scale) * (value or 0), 6) for value in one.values]) for one in named]
    unit = visit.t(f"usage.unit.{word}", currency=series.currency) if word else series.currency
    return bars(series.days, scaled), unit


def _asked(visit: Visit) -> acts.SpentAsked:
    query = visit.query
    return acts.SpentAsked(
        by=next((one for one in _BY if one == query.get("by")), "channel"),
        since=query.get("since") or None,
        until=query.get("until") or None,
        channel=query.get("channel") or None,
        after=query.get("after") or None,
    )


def _fields(visit: Visit, asked: acts.SpentAsked, told: acts.SpentTold, measure: str) -> Sequence[Field]:
    by = tuple(Choice(one, visit.t(f"usage.by.{one}")) for one in _BY)
    measures = tuple(Choice(one, visit.t(f"usage.measure.{one}")) for one in _MEASURES)
    return (
        Field(name="by", label=visit.t("usage.by"), kind="choice", value=asked.by, choices=by),
        Field(name="measure", label=visit.t("usage.chart.of"), kind="choice", value=measure, choices=measures),
        Field(name="since", label=visit.t("usage.since"), kind="date", value=told.since),
        Field(name="until", label=visit.t("usage.until"), kind="date", value=told.until),
        Field(name="channel", label=visit.t("usage.channel"), value=asked.channel or "", help=""),
    )


def _spans(visit: Visit, told: acts.SpentTold, asked: acts.SpentAsked, measure: str) -> list[tuple[str, str]]:
    """Return links to the months around the one that is shown."""
    first = date.fromisoformat(told.until).replace(day=1)
    before = (first - timedelta(days=1)).replace(day=1)
    shown = {"by": asked.by, "measure": measure, "channel": asked.channel}

    def link(since: date, until: date) -> str:
        return _link({**shown, "since": since.isoformat(), "until": until.isoformat()})

    return [
        (visit.t("usage.this_month"), _link(shown)),
        (visit.t("usage.month_before"), link(before, first - timedelta(days=1))),
    ]


def _line(visit: Visit, one: acts.SpentLine, told: acts.SpentTold, asked: acts.SpentAsked, measure: str) -> Line:
    channel = one.key if asked.by == "channel" else one.channel
    deeper = _DEEPER.get(asked.by) if asked.by in ("channel", "room") and channel else None
    shown = {"by": deeper, "measure": measure, "since": told.since, "until": told.until, "channel": channel}
    whole, part = Decimal(told.total.money or 0), Decimal(one.money or 0)
    return Line(
        name=_name(visit, one.key, asked.by, one.channel),
        told=one.name or "",
        to=_person(visit, one.key) if asked.by == "person" else _link(shown) if deeper is not None else "",
        spent=one,
        money=_money(visit, one.money, told.currency),
        share=float(part / whole) if whole else 0.0,
    )


def _quota(visit: Visit, one: acts.QuotaLine, currency: str) -> Quota:
    money = one.measure == "money"
    used, most = (_money(visit, text, currency) if money else f"{int(text):,}" for text in (one.used, one.most))
    return Quota(
        to=_person(visit, one.name) if one.kind == "person" else "",
        whose=visit.t(f"usage.kind.{one.kind}", name=one.name, channel=one.channel or ""),
        of=visit.t(f"usage.span.{one.span}", measure=visit.t(f"usage.measure.{one.measure}")),
        used=visit.t("usage.quota.used.of", used=used, most=most),
        share=one.share,
        over=one.over,
        ends_ms=round(datetime.fromisoformat(one.ends).timestamp() * 1000),
    )


def _person(visit: Visit, person: str) -> str:
    """Return where a person is known, for who may know people."""
    people = visit.leads_to("/admin/people")
    return f"{people}/{person}" if people and person else ""


def _name(visit: Visit, key: str, by: By, channel: str | None) -> str:
    if by == "purpose":
        return visit.t(f"usage.purpose.{key}")
    if key == EMBEDDER:
        return visit.t("usage.embedder")
    if by == "room" and not channel:
        return visit.t("usage.none.channel")
    if not key:
        word = visit.t(f"usage.none.{by}") if by in ("person", "room", "model", "channel") else "–"
        return f"{channel}: {word}" if channel else word
    return f"{channel}: {key}" if channel else key


def _money(visit: Visit, money: str | None, currency: str) -> str:
    """Return an amount for people: to the hundredth, small ones to where they begin."""
    if money is None:
        return visit.t("usage.unknown")
    amount = Decimal(money)
    places = 2 if amount >= 1 or not amount else 4 if amount >= Decimal("0.01") else 6
    return f"{amount:,.{places}f} {currency}"


def _more(asked: acts.SpentAsked, told: acts.SpentTold, measure: str) -> str | None:
    if told.next is None:
        return None
    shown = {"by": asked.by, "measure": measure, "since": told.since, "until": told.until, "channel": asked.channel}
    return _link({**shown, "after": told.next})


def _link(query: dict[str, str | None]) -> str:
    return f"/admin/usage?{urlencode(_without_none(query))}"


def _without_none(query: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in query.items() if value is not None}


PART = Part(
    name="usage",
    words=WORDS,
    pages=(get("/usage", spent), get("/usage/export", export)),
    nav=(NavEntry(group="see", word="usage.title", path="/admin/usage", right="see"),),
)
