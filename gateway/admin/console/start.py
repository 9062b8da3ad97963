"""The overview: where everybody arrives."""

from __future__ import annotations

from aiohttp import web

from gateway.admin.console.part import NavEntry, Part, get
from gateway.admin.console.start_words import WORDS
from gateway.admin.console.visit import Visit


async def overview(visit: Visit) -> web.StreamResponse:
    """Show what there is for whoever arrived."""
    return visit.render("start/overview.html")


PART = Part(
    name="start",
    words=WORDS,
    pages=(get("", overview),),
    nav=(NavEntry(group="see", word="start.title", path="/admin", right=None),),
)
