"""The page of help: what there is, who may do what, and the words."""

from __future__ import annotations

from typing import get_args

from aiohttp import web

from gateway.admin.console.help_words import WORDS
from gateway.admin.console.part import NavEntry, Part, get
from gateway.admin.console.visit import Visit
from gateway.admin.rights import RIGHTS, ROLES, Right

_TERMS = ("channel", "room", "scope", "turn", "window", "ledger", "dead")


async def show(visit: Visit) -> web.StreamResponse:
    """Show what can be done, by whom."""
    columns = [visit.t("help.right"), *(visit.t(f"shell.role.{role}") for role in ROLES)]
    return visit.render(
        "help/help.html", columns=columns, roles=ROLES, rights=get_args(Right), held=RIGHTS, terms=_TERMS
    )


PART = Part(
    name="help",
    words=WORDS,
    pages=(get("/help", show),),
    nav=(NavEntry(group="access", word="help.title", path="/admin/help", right=None),),
)
