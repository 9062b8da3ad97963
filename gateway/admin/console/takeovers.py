"""Take-overs: who waits for a human, the conversation with a box to answer in, and handing back."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from gateway.admin.acts import takeover as acts
from gateway.admin.console.asked import asked, problems_of
from gateway.admin.console.fields import Field
from gateway.admin.console.part import NavEntry, Part, get, post
from gateway.admin.console.takeovers_words import WORDS
from gateway.admin.console.visit import Visit
from gateway.admin.operations import Disagrees, FieldProblem, Invalid

TAKEOVERS = "/admin/takeovers"
_MOODS = {"asked": "warn", "active": "good", "ended": "plain"}
WRITING = "active-mine"
"""How it stands for whoever has it: what is half written on their page is not thrown away under their hands."""
_FRESH_MS = 5_000
"""For so long after an operator's act its words may still be on their way into the transcript: looked for again."""


async def listing(visit: Visit) -> web.StreamResponse:
    """Show what waits and what is under way, or what has ended."""
    state = "ended" if visit.query.get("state") == "ended" else "live"
    page: acts.TakeoversPage = await visit.perform(
        acts.LIST, asked(acts.LIST, state=state, after=visit.query.get("after"))
    )
    return visit.render(
        "takeovers/list.html",
        takeovers=page.takeovers,
        state=state,
        moods=_MOODS,
        more=f"{TAKEOVERS}?state={state}&after={page.next}" if page.next else None,
        may_begin=visit.offers(acts.BEGIN),
        field=Field(
            name="turn",
            label=visit.t("takeovers.turn"),
            help=visit.t("takeovers.turn.help"),
            required=True,
            attributes={"inputmode": "numeric", "autocomplete": "off"},
        ),
    )


async def begin(visit: Visit) -> web.StreamResponse:
    """Take a conversation over: by a turn, or by its request's number."""
    request = asked(
        acts.BEGIN,
        turn=visit.form.get("turn", "").strip(),
        takeover=visit.form.get("takeover"),
        over=visit.form.get("over") == "on",
    )
    begun: acts.TakeoverTold = await visit.perform(acts.BEGIN, request)
    return visit.see_other(f"{TAKEOVERS}/{begun.takeover}", told="takeovers.taken")


async def show(visit: Visit) -> web.StreamResponse:
    """Show one."""
    return await _shown(visit, await _found(visit))


async def _found(visit: Visit) -> acts.TakeoverTold:
    found: acts.TakeoverTold = await visit.perform(acts.SHOW, asked(acts.SHOW, takeover=visit.fields["takeover"]))
    return found


async def _shown(
    visit: Visit,
    of: acts.TakeoverTold,
    *,
    status: int = 200,
    problems: Sequence[FieldProblem] = (),
    draft: str | None = None,
) -> web.Response:
    mine = of.mine and of.state == "active"
    said = await _said(visit, of)
    return visit.render(
        "takeovers/one.html",
        status=status,
        of=of,
        problems=problems,
        moods=_MOODS,
        drafted=draft is not None,
        handles=visit.may("handle", of.channel),
        reads=visit.may("read", of.channel),
        mine=mine,
        messages=None if said is None else said.messages,
        note=said and said.note,
        left=said and said.summary,
        marker=_marker(visit, of),
        stand=_stand(of),
        over=False,
        trace=f"/admin/turns/{of.turn}" if visit.leads_to("/admin/turns") else "",
        answer=Field(
            name="text",
            label=visit.t("takeovers.answer"),
            kind="area",
            value=visit.form.get("text", "") if status != 200 else "",
            help=visit.t("takeovers.answer.help"),
            required=True,
        ),
        summary=Field(
            name="summary",
            label=visit.t("takeovers.back.summary"),
            kind="area",
            value=draft or (visit.form.get("summary", "") if status != 200 else ""),
            help=visit.t("takeovers.back.summary.help"),
        ),
    )


async def news(visit: Visit) -> web.StreamResponse:
    """Send the conversation anew if something has happened since the reader's copy; 204 if nothing has."""
    of = await _found(visit)
    marker = _marker(visit, of)
    if marker and visit.query.get("seen") == marker:
        return web.Response(status=204)
    seen = visit.query.get("stand")
    over = seen not in (None, _stand(of))
    if over and seen != WRITING:
        return web.Response(status=204, headers={"HX-Refresh": "true"})
    said = await _said(visit, of)
    messages = None if said is None else said.messages
    return visit.piece("takeovers/talk.html", of=of, messages=messages, marker=marker, stand=_stand(of), over=over)


async def say(visit: Visit) -> web.StreamResponse:
    """Answer the person."""
    of = await _found(visit)
    try:
        request = asked(acts.SAY, takeover=of.takeover, text=visit.form.get("text"), message=visit.form.get("message"))
        await visit.perform(acts.SAY, request)
    except Invalid as fault:
        return await _shown(visit, of, status=422, problems=problems_of(fault))
    except Disagrees as fault:
        return await _shown(visit, await _found(visit), status=409, problems=problems_of(fault))
    return visit.see_other(_path(visit), told="takeovers.sent")


async def draft(visit: Visit) -> web.StreamResponse:
    """Show the page with a drafted summary in its form."""
    of = await _found(visit)
    try:
        made: acts.DraftTold = await visit.perform(acts.DRAFT, asked(acts.DRAFT, takeover=of.takeover))
    except Disagrees as fault:
        return await _shown(visit, of, status=409, problems=problems_of(fault))
    return await _shown(visit, of, draft=made.summary)


async def hand_back(visit: Visit) -> web.StreamResponse:
    """Give the conversation back, or dismiss a request."""
    of = await _found(visit)
    try:
        request = asked(acts.HAND_BACK, takeover=of.takeover, summary=visit.form.get("summary"))
        await visit.perform(acts.HAND_BACK, request)
    except Invalid as fault:
        return await _shown(visit, of, status=422, problems=problems_of(fault))
    except Disagrees as fault:
        return await _shown(visit, await _found(visit), status=409, problems=problems_of(fault))
    return visit.see_other(TAKEOVERS, told="takeovers.backed")


async def _said(visit: Visit, of: acts.TakeoverTold) -> acts.MessagesTold | None:
    """Return what was said, and why a human was asked for; None: the reader may not see it, or nobody can any more."""
    if not visit.may("read", of.channel) or not of.room:
        return None
    told: acts.MessagesTold = await visit.perform(acts.MESSAGES, asked(acts.MESSAGES, takeover=of.takeover, limit=100))
    return told


def _marker(visit: Visit, of: acts.TakeoverTold) -> str:
    """Return what tells one state of the conversation from the next; "": it is changing just now."""
    young = visit.now_ms - max(of.touched_ms, of.since_ms) < _FRESH_MS
    return "" if young else f"{of.turn}.{of.touched_ms}.{of.state}"


def _stand(of: acts.TakeoverTold) -> str:
    """Return what tells a page that must be made anew from one that need not."""
    return f"{of.state}-mine" if of.mine else of.state


def _path(visit: Visit) -> str:
    return f"{TAKEOVERS}/{visit.fields['takeover']}"


_ONE = "/takeovers/{takeover:[0-9]{1,19}}"

PART = Part(
    name="takeovers",
    words=WORDS,
    pages=(
        get("/takeovers", listing),
        post("/takeovers", begin),
        get(_ONE, show),
        get(f"{_ONE}/news", news),
        post(f"{_ONE}/say", say),
        post(f"{_ONE}/draft", draft),
        post(f"{_ONE}/end", hand_back),
    ),
    nav=(NavEntry(group="people", word="takeovers.title", path=TAKEOVERS, right="see"),),
)
