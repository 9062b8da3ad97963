"""The health of channels: one card each, with what was not answered and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlencode

from aiohttp import web

from gateway.admin.acts import health as acts
from gateway.admin.acts import turns
from gateway.admin.console.health_words import WORDS
from gateway.admin.console.part import NavEntry, Part, get
from gateway.admin.console.start import HOURS, drawn
from gateway.admin.console.visit import Visit

_REASONS = 12


async def listing(visit: Visit) -> web.StreamResponse:
    """Show each channel; with `probe`, as its platform says now."""
    probe = visit.query.get("probe") == "true"
    told: acts.HealthTold = await visit.perform(acts.HEALTH, acts.HealthAsked(probe=probe))
    counts: turns.CountsTold = await visit.perform(turns.COUNTS, turns.CountsAsked(hours=HOURS))
    counted = counts.counts
    return visit.render(
        "health/list.html",
        channels=told.channels,
        probes=any(visit.may("handle", one.channel) for one in told.channels),
        drawing=drawn(visit, counted),
        reasons=_reasons(counted),
        from_ms=counts.from_ms or told.counted_from_ms,
        lists=visit.leads_to("/admin/turns"),
        add=visit.leads_to("/admin/connect"),
        query=urlencode,
    )


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
