"""The health of channels: one card each, with what was not answered and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlencode

from aiohttp import web

from gateway.admin.acts import health as acts
from gateway.admin.acts import turns
from gateway.admin.console.charts import Drawing, Series, bars
from gateway.admin.console.health_words import WORDS
from gateway.admin.console.part import NavEntry, Part, get
from gateway.admin.console.turns import MOODS
from gateway.admin.console.visit import Visit

HOURS = 24
_HOUR_MS = 3_600_000
_SHOWN = ("good", "plain", "bad", "warn")
_REASONS = 12


async def listing(visit: Visit) -> web.StreamResponse:
    """Show each channel; with `probe`, as its platform says now."""
    probe = visit.query.get("probe") == "true"
    told: acts.HealthTold = await visit.perform(acts.HEALTH, acts.HealthAsked(probe=probe))
    counted = (await visit.perform(turns.COUNTS, turns.CountsAsked(hours=HOURS))).counts
    return visit.render(
        "health/list.html",
        channels=told.channels,
        probes=any(visit.may("handle", one.channel) for one in told.channels),
        drawing=_drawn(visit, counted),
        reasons=_reasons(counted),
        lists=visit.leads_to("/admin/turns"),
        query=urlencode,
    )


def _drawn(visit: Visit, counted: Sequence[turns.CountTold]) -> Drawing:
    last = visit.now_ms // _HOUR_MS * _HOUR_MS
    hours = [last - back * _HOUR_MS for back in reversed(range(HOURS))]
    amounts: Counter[tuple[str, int]] = Counter()
    for one in counted:
        amounts[MOODS[one.state], one.hour_ms] += one.count
    series = [Series(visit.t(f"health.state.{mood}"), [amounts[mood, hour] for hour in hours]) for mood in _SHOWN]
    return bars([f"{hour // _HOUR_MS % 24:02}:00" for hour in hours], series)


def _reasons(counted: Sequence[turns.CountTold]) -> list[tuple[str, str, int]]:
    """Return why messages were not answered, the most frequent first: (state, rule, count)."""
    amounts: Counter[tuple[str, str]] = Counter()
    for one in counted:
        if one.state in ("ignored", "observed", "failed", "dead"):
            amounts[one.state, one.rule] += one.count
    return [(state, rule, count) for (state, rule), count in amounts.most_common(_REASONS)]


PART = Part(
    name="health",
    words=WORDS,
    pages=(get("/health", listing),),
    nav=(NavEntry(group="see", word="health.title", path="/admin/health", right="see"),),
)
