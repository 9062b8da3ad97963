"""The page of secrets: put in, named, taken out; never shown."""

from __future__ import annotations

from aiohttp import web

from gateway.admin.acts import vault as acts
from gateway.admin.console.asked import asked, problems_of
from gateway.admin.console.fields import Field
from gateway.admin.console.part import NavEntry, Part, get, post
from gateway.admin.console.secrets_words import WORDS
from gateway.admin.console.visit import Visit
from gateway.admin.operations import FieldProblem, Invalid

SECRETS = "/admin/secrets"


async def listing(visit: Visit) -> web.StreamResponse:
    """Show the secrets by name."""
    return await _listed(visit)


async def put(visit: Visit) -> web.StreamResponse:
    """Store one."""
    try:
        request = asked(acts.PUT, name=visit.form.get("name", "").strip(), value=visit.form.get("value", "").strip())
        await visit.perform(acts.PUT, request)
    except Invalid as fault:
        return await _listed(visit, status=422, problems=problems_of(fault))
    return visit.see_other(SECRETS, told="secrets.stored")


async def remove(visit: Visit) -> web.StreamResponse:
    """Take one out."""
    await visit.perform(acts.REMOVE, asked(acts.REMOVE, name=visit.form.get("name")))
    return visit.see_other(SECRETS, told="secrets.removed")


async def _listed(visit: Visit, *, status: int = 200, problems: tuple[FieldProblem, ...] = ()) -> web.Response:
    told: acts.SecretsTold = await visit.perform(acts.LIST)
    fields = (
        Field(
            name="name",
            label=visit.t("secrets.name"),
            value=visit.form.get("name", ""),
            help=visit.t("secrets.name.help"),
            required=True,
            attributes={"autocomplete": "off", "maxlength": "200"},
        ),
        Field(
            name="value",
            label=visit.t("secrets.value"),
            kind="secret",
            required=True,
            attributes={"autocomplete": "new-password"},
        ),
    )
    # Never the value that was sent, not even where it is at fault.
    shown = [FieldProblem(path=one.path, value="", problem=one.problem, remedy=one.remedy) for one in problems]
    return visit.render(
        "secrets/list.html",
        status=status,
        outcome=told,
        fields=fields,
        problems=shown,
    )


PART = Part(
    name="secrets",
    words=WORDS,
    pages=(get("/secrets", listing), post("/secrets", put), post("/secrets/remove", remove)),
    nav=(NavEntry(group="configure", word="secrets.title", path=SECRETS, right="configure"),),
)
