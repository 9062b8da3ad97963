"""Persons: found by an account, what is known of them and from which messages, mended, joined and parted, taken along, erased;
and what persons have asked for."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from gateway.admin.acts import people as acts
from gateway.admin.console.asked import asked, problems_of
from gateway.admin.console.fields import Choice, Field
from gateway.admin.console.part import NavEntry, Part, get, post
from gateway.admin.console.people_words import WORDS
from gateway.admin.console.visit import Visit
from gateway.admin.operations import FieldProblem, Invalid, Operation

PEOPLE, REQUESTS = "/admin/people", "/admin/privacy-requests"
_PERSON = "/people/{person:[0-9]{1,19}}"


async def find(visit: Visit) -> web.StreamResponse:
    """Show who was asked for; to whom everything is open: everybody, in pages."""
    who, whole = visit.query.get("who", "").strip(), visit.may("people")
    page = acts.PersonsPage(people=(), next=None)
    if who or whole:
        page = await visit.perform(acts.FIND, asked(acts.FIND, who=who, after=visit.query.get("after")))
    return visit.render(
        "people/find.html",
        people=page.people,
        who=who,
        looked=bool(who) or whole,
        others=page.more,
        more=f"{PEOPLE}?{urlencode({'after': page.next})}" if page.next else None,
        field=Field(
            name="who",
            label=visit.t("people.who"),
            kind="search",
            value=who,
            help=visit.t("people.who.help"),
            attributes={"autocomplete": "off"},
        ),
    )


async def show(visit: Visit) -> web.StreamResponse:
    """Show what is known of a person."""
    return await _shown(visit)


async def _shown(
    visit: Visit,
    *,
    status: int = 200,
    problems: tuple[FieldProblem, ...] = (),
    plan: acts.LinkMade | None = None,
    count: acts.EraseTold | None = None,
) -> web.Response:
    told: acts.PersonTold = await visit.perform(
        acts.SHOW, asked(acts.SHOW, person=visit.fields["person"], language=visit.look.language)
    )
    return visit.render(
        "people/person.html",
        status=status,
        problems=problems,
        person=told.person,
        known=told,
        plan=plan,
        count=count,
        whole=visit.may("people"),
        may_erase=visit.may("erase"),
        talks=visit.leads_to("/admin/conversations"),
        turns=visit.leads_to("/admin/turns"),
        other=Field(
            name="other",
            label=visit.t("people.other"),
            value=visit.form.get("other", ""),
            help=visit.t("people.other.help"),
            required=True,
            attributes={"inputmode": "numeric", "autocomplete": "off"},
        ),
        kind=Field(
            name="kind",
            label=visit.t("people.request.kind"),
            kind="choice",
            choices=tuple(Choice(kind, visit.t(f"people.request.{kind}")) for kind in ("erasure", "export")),
        ),
    )


async def forget(visit: Visit) -> web.StreamResponse:
    """Forget things."""
    given = {"person": visit.fields["person"], "things": visit.form.getall("thing", [])}
    return await _changed(visit, acts.FORGET, "people.forgotten", **given)


async def correct(visit: Visit) -> web.StreamResponse:
    """Put another value in the place of a thing's."""
    given = {name: visit.form.get(name) for name in ("thing", "value")}
    return await _changed(
        visit, acts.CORRECT, "people.corrected", person=visit.fields["person"], language=visit.look.language, **given
    )


async def link(visit: Visit) -> web.StreamResponse:
    """Tell what joining would do; then do it."""
    confirm = visit.form.get("confirm") == "on"
    try:
        request = asked(
            acts.LINK, person=visit.fields["person"], other=visit.form.get("other", "").strip(), confirm=confirm
        )
        made: acts.LinkMade = await visit.perform(acts.LINK, request)
    except Invalid as fault:
        return await _shown(visit, status=422, problems=problems_of(fault))
    return (
        visit.see_other(f"{PEOPLE}/{made.survivor}", told="people.linked")
        if confirm
        else await _shown(visit, plan=made)
    )


async def unlink(visit: Visit) -> web.StreamResponse:
    """Undo a link, or take an account out."""
    return await _changed(
        visit, acts.UNLINK, "people.unlinked", link=visit.form.get("link"), identity=visit.form.get("identity")
    )


async def export(visit: Visit) -> web.StreamResponse:
    """Send everything that is stored of the person."""
    request = asked(acts.EXPORT, person=visit.fields["person"])
    return await visit.stream(await visit.perform(acts.EXPORT, request))


async def erase(visit: Visit) -> web.StreamResponse:
    """Count what would go; then let it go, and show the receipt."""
    confirm = visit.form.get("confirm") == "on"
    count: acts.EraseTold = await visit.perform(
        acts.ERASE, asked(acts.ERASE, person=visit.fields["person"], confirm=confirm)
    )
    return visit.render("people/erased.html", count=count) if confirm else await _shown(visit, count=count)


async def request(visit: Visit) -> web.StreamResponse:
    """Note what the person asked for."""
    given = {"person": visit.fields["person"], "kind": visit.form.get("kind")}
    return await _changed(visit, acts.REQUEST, "people.request.noted", **given)


async def requests(visit: Visit) -> web.StreamResponse:
    """Show what persons have asked for."""
    page: acts.RequestsPage = await visit.perform(acts.REQUESTS, asked(acts.REQUESTS, after=visit.query.get("after")))
    more = f"{REQUESTS}?{urlencode({'after': page.next})}" if page.next else None
    return visit.render("people/requests.html", requests=page.requests, unfinished=page.unfinished, more=more)


async def met(visit: Visit) -> web.StreamResponse:
    """Note that a request is met."""
    await visit.perform(acts.MET, asked(acts.MET, request=visit.fields["request"]))
    return visit.see_other(REQUESTS, told="people.request.settled")


async def _changed(visit: Visit, operation: Operation, told: str, **given: Any) -> web.StreamResponse:
    try:
        await visit.perform(operation, asked(operation, **given))
    except Invalid as fault:
        return await _shown(visit, status=422, problems=problems_of(fault))
    return visit.see_other(f"{PEOPLE}/{visit.fields['person']}", told=told)


PART = Part(
    name="people",
    words=WORDS,
    pages=(
        get("/people", find),
        get(_PERSON, show),
        post(f"{_PERSON}/forget", forget),
        post(f"{_PERSON}/correct", correct),
        post(f"{_PERSON}/link", link),
        post(f"{_PERSON}/unlink", unlink),
        get(f"{_PERSON}/export", export),
        post(f"{_PERSON}/erase", erase),
        post(f"{_PERSON}/request", request),
        get("/privacy-requests", requests),
        post("/privacy-requests/{request:[0-9]{1,19}}/met", met),
    ),
    nav=(
        NavEntry(group="people", word="people.title", path=PEOPLE, right="people"),
        NavEntry(group="people", word="people.requests", path=REQUESTS, right="erase", gateway=True),
    ),
)
