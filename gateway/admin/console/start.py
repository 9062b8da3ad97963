"""The overview: where everybody arrives. Whether all is well, and what waits for somebody; each within the reader's rights."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from aiohttp import web

from gateway.admin.acts import dead_letters, health, instances, people, settings, takeover, turns, usage
from gateway.admin.console.charts import Drawing, Series, bars
from gateway.admin.console.figures import ago
from gateway.admin.console.instances import mood
from gateway.admin.console.part import NavEntry, Part, get
from gateway.admin.console.start_words import WORDS
from gateway.admin.console.visit import Visit

HOURS = 24
_HOUR_MS = 3_600_000
_MOST = 200
_GROUPS = {
    "answered": ("answered",),
    "other": ("observed", "ignored", "applied"),
    "unanswered": ("failed", "dead"),
    "waiting": ("accepted", "running"),
}


class Tile(msgspec.Struct, frozen=True, kw_only=True):
    """A figure to look at; `mood` bad or warn: it needs somebody."""

    name: str
    value: str
    told: str = ""
    mood: str = ""
    to: str = ""


async def overview(visit: Visit) -> web.StreamResponse:
    """Show what there is for whoever arrived."""
    channels: tuple[health.ChannelTold, ...] | None = None
    drawing, from_ms, tiles = None, None, []
    if visit.offers(health.HEALTH):
        channels = (await visit.perform(health.HEALTH, health.HealthAsked())).channels
        tiles += [_channels(visit, channels), _waiting(visit, channels)]
    if visit.offers(instances.LIST):
        tiles.append(_instances(visit, await visit.perform(instances.LIST)))
    if visit.offers(turns.COUNTS):
        counts: turns.CountsTold = await visit.perform(turns.COUNTS, turns.CountsAsked(hours=HOURS))
        drawing, from_ms = drawn(visit, counts.counts), counts.from_ms
        tiles += _ended(visit, counts.counts)
    if visit.offers(dead_letters.LIST):
        tiles.append(_letters(visit, await visit.perform(dead_letters.LIST, dead_letters.LettersAsked(limit=_MOST))))
    if visit.offers(takeover.LIST):
        tiles.append(_takeovers(visit, await visit.perform(takeover.LIST, takeover.TakeoversAsked(limit=_MOST))))
    if visit.offers(people.REQUESTS):
        tiles.append(_requests(visit, await visit.perform(people.REQUESTS, people.RequestsAsked(limit=_MOST))))
    if visit.offers(usage.QUOTAS):
        tiles.append(_quotas(visit, await visit.perform(usage.QUOTAS, usage.QuotasAsked(limit=_MOST))))
    problem = (await visit.perform(settings.STATUS)).problem if visit.offers(settings.STATUS) else None
    well = problem is None and not any(tile.mood in ("bad", "warn") for tile in tiles)
    add = visit.leads_to("/admin/connect")
    return visit.render(
        "start/overview.html",
        tiles=tiles,
        well=well,
        problem=problem,
        drawing=drawing,
        from_ms=from_ms,
        channels=channels,
        add=add,
    )


def drawn(visit: Visit, counted: Sequence[turns.CountTold]) -> Drawing:
    """Return the chart of the last day's messages, an hour each, by what became of them."""
    last = visit.now_ms // _HOUR_MS * _HOUR_MS
    hours = [last - back * _HOUR_MS for back in reversed(range(HOURS))]
    series = [
        Series(
            visit.t(f"start.state.{group}"),
            [sum(each.count for each in counted if each.hour_ms == hour and each.state in states) for hour in hours],
        )
        for group, states in _GROUPS.items()
    ]
    return bars([f"{hour // _HOUR_MS % 24:02}:00" for hour in hours], series)


def _channels(visit: Visit, channels: Sequence[health.ChannelTold]) -> Tile:
    up = sum(channel.up for channel in channels)
    return Tile(
        name=visit.t("start.channels"),
        value=visit.t("start.channels.value", up=up, all=len(channels)),
        mood="bad" if up < len(channels) else "",
        to=visit.leads_to("/admin/health"),
    )


def _instances(visit: Visit, told: instances.InstancesTold) -> Tile:
    lost = sum(one.lost and one.left_ms > visit.now_ms - _HOUR_MS for one in told.departed)
    late = any(one.late for one in told.instances)
    ill = sum(mood(one) != "" for one in told.instances)
    return Tile(
        name=visit.t("start.instances"),
        value=str(len(told.instances)),
        told=visit.t("start.instances.lost", lost=lost)
        if lost
        else visit.t("start.instances.ill", ill=ill)
        if ill
        else "",
        mood="warn" if lost or late else "",
        to=visit.leads_to("/admin/instances"),
    )


def _waiting(visit: Visit, channels: Sequence[health.ChannelTold]) -> Tile:
    waiting = sum(channel.waiting for channel in channels)
    lag_s = max((channel.lag_s for channel in channels), default=0)
    span = ago(lag_s * 1000, visit.t)
    return Tile(
        name=visit.t("start.waiting"),
        value=str(waiting),
        told=visit.t("start.waiting.told", span=span) if waiting else visit.t("start.waiting.none"),
        mood="warn" if lag_s > 60 else "",
    )


def _ended(visit: Visit, counted: Sequence[turns.CountTold]) -> list[Tile]:
    def number(group: str) -> str:
        return f"{sum(each.count for each in counted if each.state in _GROUPS[group]):,}"

    to = visit.leads_to("/admin/turns")
    return [
        Tile(name=visit.t("start.answered"), value=number("answered"), to=to),
        Tile(name=visit.t("start.unanswered"), value=number("unanswered"), to=to),
    ]


def _letters(visit: Visit, page: dead_letters.LettersPage) -> Tile:
    count = len(page.letters)
    return Tile(
        name=visit.t("start.letters"),
        value=f"{count}+" if page.next else str(count),
        told=visit.t("start.letters.told"),
        mood="bad" if count else "",
        to=visit.leads_to("/admin/dead-letters"),
    )


def _takeovers(visit: Visit, page: takeover.TakeoversPage) -> Tile:
    asked = sum(each.state == "asked" for each in page.takeovers)
    return Tile(
        name=visit.t("start.takeovers"),
        value=f"{asked}+" if page.next else str(asked),
        told=visit.t("start.takeovers.told", active=len(page.takeovers) - asked),
        mood="warn" if asked else "",
        to=visit.leads_to("/admin/takeovers"),
    )


def _requests(visit: Visit, page: people.RequestsPage) -> Tile:
    count = len(page.requests)
    return Tile(
        name=visit.t("start.requests"),
        value=f"{count}+" if page.next else str(count),
        told=visit.t("start.requests.told"),
        mood="warn" if count else "",
        to=visit.leads_to("/admin/privacy-requests"),
    )


def _quotas(visit: Visit, told: usage.QuotasTold) -> Tile:
    over = sum(line.over for line in told.lines)
    return Tile(
        name=visit.t("start.quotas"),
        value=str(len(told.lines)),
        told=visit.t("start.quotas.told", over=over),
        mood="warn" if told.lines else "",
        to=visit.leads_to("/admin/usage"),
    )


PART = Part(
    name="start",
    words=WORDS,
    pages=(get("", overview),),
    nav=(NavEntry(group="see", word="start.title", path="/admin", right=None),),
)
