"""The gateways that run on one database: a card each, what none of them does, and who has gone."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from gateway.admin.acts import instances as acts
from gateway.admin.console.instances_words import WORDS
from gateway.admin.console.part import NavEntry, Part, get
from gateway.admin.console.visit import Visit
from gateway.instances import WARN_SKEW_S

PATH = "/admin/instances"


async def listing(visit: Visit) -> web.StreamResponse:
    """Show each instance as it says that it is."""
    told: acts.InstancesTold = await visit.perform(acts.LIST)
    return visit.render(
        "instances/list.html",
        seen=told,
        mood=mood,
        holds=lambda held: holds(visit, held),
        off=lambda one: one.skew_s is not None and abs(one.skew_s) > WARN_SKEW_S,
    )


def mood(one: acts.InstanceTold) -> str:
    """Return how much an instance needs somebody: bad, warn or "". Pure."""
    if one.late:
        return "bad"
    off = one.skew_s is not None and abs(one.skew_s) > WARN_SKEW_S
    return "warn" if one.problems or one.other_settings or off else ""


def holds(visit: Visit, held: Iterable[acts.HeldTold]) -> list[tuple[str, list[str]]]:
    """Return what an instance has in hand, by what is done with it."""
    by_kind: dict[str, list[str]] = {}
    for one in held:
        what = visit.t(f"instances.job.{one.what}") if one.kind == "job" and one.what in JOBS else one.what
        by_kind.setdefault(one.kind, []).append(what)
    return [(visit.t(f"instances.holds.{kind}"), names) for kind, names in by_kind.items()]


JOBS = frozenset(key.removeprefix("instances.job.") for key in WORDS if key.startswith("instances.job."))
"""The jobs that have words."""

PART = Part(
    name="instances",
    words=WORDS,
    pages=(get("/instances", listing),),
    nav=(NavEntry(group="see", word="instances.title", path=PATH, right="see", gateway=True),),
)
