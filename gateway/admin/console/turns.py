"""Turns: found, explained from event to receipt, tried under other settings, and watched live."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from gateway.admin.acts import settings
from gateway.admin.acts import turns as acts
from gateway.admin.console.asked import DAY_MS, asked, day_ms, problems_of
from gateway.admin.console.fields import Choice, Field
from gateway.admin.console.part import NavEntry, Part, get, post
from gateway.admin.console.settings import form_url
from gateway.admin.console.turns_words import WORDS
from gateway.admin.console.visit import Visit
from gateway.admin.operations import FieldProblem, Invalid, Stream
from gateway.admin.tail import Missed, Told

TURNS = "/admin/turns"
MOODS = {
    "answered": "good", "observed": "plain", "ignored": "plain", "applied": "plain", "failed": "bad", "dead": "bad",
    "accepted": "warn", "running": "warn", "replied": "warn",
}  # fmt: skip
PIECES = {"sent": "good", "unknown": "warn", "dead": "bad"}
_FILTERS = ("channel", "states", "rule", "room", "person", "link", "day")


async def listing(visit: Visit) -> web.StreamResponse:
    """Show what came in, the newest first."""
    wanted = visit.wanted(*_FILTERS)
    page, status, problems = acts.TurnsPage(turns=(), next=None), 200, tuple[FieldProblem, ...]()
    try:
        page = await visit.perform(acts.LIST, asked(acts.LIST, **_given(wanted), after=visit.query.get("after")))
    except Invalid as fault:
        status, problems = 422, problems_of(fault)
    return visit.render(
        "turns/list.html",
        status=status,
        problems=problems,
        turns=page.turns,
        moods=MOODS,
        filtered=bool(wanted) or "after" in visit.query,
        linked="link" in wanted,
        more=f"{TURNS}?{urlencode(wanted | {'after': page.next})}" if page.next else None,
        fields=_filters(visit, wanted),
    )


def _given(wanted: dict[str, str]) -> dict[str, object]:
    """Return what the act is asked for. Raises `Invalid` for a day that is none."""
    given: dict[str, object] = {name: value for name, value in wanted.items() if name not in ("states", "day")}
    if "states" in wanted:
        given["states"] = [wanted["states"]]
    if "day" in wanted:
        given["since_ms"] = max(day_ms("day", wanted["day"]), 0)
        given["until_ms"] = max(day_ms("day", wanted["day"]), 0) + DAY_MS
    return given


def _filters(visit: Visit, wanted: dict[str, str]) -> tuple[Field, ...]:
    states = (
        Choice("", visit.t("turns.state.any")),
        *(Choice(state, visit.t(f"turns.state.{state}")) for state in MOODS),
    )
    return (
        Field(name="link", label=visit.t("turns.link"), kind="search", value=wanted.get("link", "")),
        Field(name="day", label=visit.t("turns.day"), kind="date", value=wanted.get("day", "")),
        Field(name="channel", label=visit.t("turns.channel"), value=wanted.get("channel", "")),
        Field(name="room", label=visit.t("turns.room"), value=wanted.get("room", "")),
        Field(
            name="states", label=visit.t("turns.state"), kind="choice", value=wanted.get("states", ""), choices=states
        ),
        Field(name="rule", label=visit.t("turns.rule"), value=wanted.get("rule", "")),
        Field(name="person", label=visit.t("turns.person"), value=wanted.get("person", "")),
    )


async def show(visit: Visit) -> web.StreamResponse:
    """Show one turn from event to what was learned, and say why it ended so."""
    turn = visit.fields["turn"]
    trace: acts.TurnTrace = await visit.perform(acts.TRACE, asked(acts.TRACE, turn=turn))
    why: acts.WhyTold = await visit.perform(acts.WHY, asked(acts.WHY, turn=turn))
    reads = visit.may("read", trace.channel)
    return visit.render(
        "turns/turn.html",
        trace=trace,
        why=why,
        sentence=why.zh if visit.look.language == "zh" else why.en,
        moods=MOODS,
        pieces_moods=PIECES,
        called=lambda kind, name: visit.t(f"turns.{kind}.{name}") if f"turns.{kind}.{name}" in WORDS else "",
        forms=await _forms(visit, trace),
        conversation=f"/admin/conversations/{trace.conversation}" if reads and trace.conversation else "",
        replay=f"{TURNS}/{turn}/replay" if reads and trace.prompt is not None else "",
    )


async def _forms(visit: Visit, trace: acts.TurnTrace) -> list[tuple[str, str]]:
    """Return where the reader may change what the turn was made by: (what, URL)."""
    way = trace.way
    if way is None or not visit.may("configure", trace.channel) or not visit.offers(settings.STATUS):
        return []
    state: settings.StatusTold = await visit.perform(settings.STATUS)
    if trace.channel not in state.channels:
        return []
    place = (
        ("channels", trace.channel) if way.chat_type == "private" else ("channels", trace.channel, "rooms", way.room)
    )
    forms = [(visit.t("turns.settings.place"), form_url(place))]
    if visit.may("configure"):
        forms.append((visit.t("turns.settings.agent", agent=way.agent), form_url(("agents", way.agent))))
    return forms


async def replay(visit: Visit) -> web.StreamResponse:
    """Show the prompt of then beside the one that other settings make."""
    turn = visit.fields["turn"]
    base = "now" if visit.form.get("settings") == "now" else "then"
    lines = visit.form.get("changes", "")
    changes = [line.strip() for line in lines.splitlines() if line.strip()]
    told, status, problems = None, 200, tuple[FieldProblem, ...]()
    try:
        told = await visit.perform(acts.REPLAY, asked(acts.REPLAY, turn=turn, settings=base, changes=changes))
    except Invalid as fault:
        status, problems = 422, problems_of(fault)
    choices = (Choice("then", visit.t("turns.replay.then")), Choice("now", visit.t("turns.replay.now")))
    return visit.render(
        "turns/replay.html",
        status=status,
        problems=problems,
        turn=turn,
        made=told,
        fields=(
            Field(name="settings", label=visit.t("turns.replay.settings"), kind="choice", value=base, choices=choices),
            Field(
                name="changes",
                label=visit.t("turns.replay.changes"),
                kind="lines",
                value=lines,
                help=visit.t("turns.replay.changes.help"),
            ),
        ),
    )


async def live(visit: Visit) -> web.StreamResponse:
    """Show the page that follows what happens."""
    return visit.render("turns/live.html", lists=TURNS)


async def live_events(visit: Visit) -> web.StreamResponse:
    """Send what happens as pieces of that page."""
    stream: Stream = await visit.perform(acts.TAIL, acts.TailAsked())
    return await visit.stream(Stream(pieces=_pieces(visit, stream), media=stream.media))


async def _pieces(visit: Visit, stream: Stream) -> AsyncIterator[bytes]:
    pieces = stream.pieces
    try:
        async for piece in pieces:
            yield _shown(visit, piece)
    finally:
        if isinstance(pieces, AsyncGenerator):  # its reader has left: others may follow in their place
            await pieces.aclose()


def _shown(visit: Visit, piece: bytes) -> bytes:
    name, _, data = piece.partition(b"\ndata: ")
    values: dict[str, object] = {"missed": None, "told": None, "moods": MOODS, "t": visit.t}
    match name:
        case b"event: turn":
            values["told"] = msgspec.json.decode(data, type=Told)
        case b"event: missed":
            values["missed"] = msgspec.json.decode(data, type=Missed)
        case _:
            return piece
    html = visit.shelf.templates.get_template("turns/live_piece.html").render(values)
    return b"".join(b"data: %s\n" % line.encode() for line in html.splitlines()) + b"\n"


PART = Part(
    name="turns",
    words=WORDS,
    pages=(
        get("/turns", listing),
        get("/turns/{turn:[0-9]{1,19}}", show),
        get("/turns/{turn:[0-9]{1,19}}/replay", replay),
        post("/turns/{turn:[0-9]{1,19}}/replay", replay),
        get("/live", live),
        get("/live/events", live_events),
    ),
    nav=(
        NavEntry(group="see", word="turns.title", path=TURNS, right="see"),
        NavEntry(group="see", word="turns.live", path="/admin/live", right="see"),
    ),
)
