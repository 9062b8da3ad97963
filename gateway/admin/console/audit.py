"""The audit log: who did or saw what, and when; to be looked through and taken along."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from aiohttp import web

from gateway.admin.acts import audit
from gateway.admin.console.asked import DAY_MS, asked, day_ms
from gateway.admin.console.audit_words import WORDS
from gateway.admin.console.fields import Choice, Field
from gateway.admin.console.part import NavEntry, Part, get
from gateway.admin.console.visit import Visit

AUDIT = "/admin/audit"
_FIELDS = ("actor", "operation", "outcome", "channel", "since", "until")
_OUTCOMES = ("done", "refused", "failed")
_MOODS = {"done": "good", "refused": "warn", "failed": "bad"}


async def listing(visit: Visit) -> web.StreamResponse:
    """Show entries, the newest first."""
    wanted = visit.wanted(*_FIELDS)
    page: audit.AuditPage = await visit.perform(
        audit.AUDIT_LIST, asked(audit.AUDIT_LIST, **_given(wanted), after=visit.query.get("after"))
    )
    query = urlencode(wanted)
    return visit.render(
        "audit/list.html",
        entries=page.entries,
        names=page.names,
        moods=_MOODS,
        filtered=bool(wanted),
        more=f"{AUDIT}?{urlencode(wanted | {'after': page.next})}" if page.next else None,
        export=f"{AUDIT}/export?{query}" if query else f"{AUDIT}/export",
        fields=(
            Field(
                name="actor",
                label=visit.t("audit.actor"),
                value=wanted.get("actor", ""),
                help=visit.t("audit.actor.help"),
            ),
            Field(
                name="operation",
                label=visit.t("audit.operation"),
                value=wanted.get("operation", ""),
                help=visit.t("audit.operation.help"),
            ),
            Field(
                name="outcome",
                label=visit.t("audit.outcome"),
                kind="choice",
                value=wanted.get("outcome", ""),
                choices=(
                    Choice("", visit.t("audit.any")),
                    *(Choice(one, visit.t(f"audit.outcome.{one}")) for one in _OUTCOMES),
                ),
            ),
            Field(name="channel", label=visit.t("audit.channel"), value=wanted.get("channel", "")),
            Field(name="since", label=visit.t("audit.since"), kind="date", value=wanted.get("since", "")),
            Field(name="until", label=visit.t("audit.until"), kind="date", value=wanted.get("until", "")),
        ),
    )


async def export(visit: Visit) -> web.StreamResponse:
    """Send the entries as JSON lines."""
    request = asked(audit.AUDIT_EXPORT, **_given(visit.wanted(*_FIELDS)))
    return await visit.stream(await visit.perform(audit.AUDIT_EXPORT, request))


def _given(wanted: Mapping[str, str]) -> dict[str, object]:
    """Return what the act is asked for: whole days of UTC, the last one included. Raises `Invalid` for a day that is none."""
    given: dict[str, object] = {name: value for name, value in wanted.items() if name not in ("since", "until")}
    if "since" in wanted:
        given["from_ms"] = day_ms("since", wanted["since"])
    if "until" in wanted:
        given["until_ms"] = day_ms("until", wanted["until"]) + DAY_MS
    return given


PART = Part(
    name="audit",
    words=WORDS,
    pages=(get("/audit", listing), get("/audit/export", export)),
    nav=(NavEntry(group="access", word="audit.title", path=AUDIT, right="audit"),),
)
