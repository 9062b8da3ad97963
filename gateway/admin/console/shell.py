"""The frame around every page: how it looks, in which language."""

from __future__ import annotations

from aiohttp import web

from gateway.admin.console.looks import LANGUAGE_COOKIE, THEME_COOKIE
from gateway.admin.console.part import Part, post
from gateway.admin.console.shell_words import WORDS
from gateway.admin.console.signing import local_path
from gateway.admin.console.visit import Visit

_YEAR_S = 365 * 24 * 3600
_CHOICES = {"language": (LANGUAGE_COOKIE, ("en", "zh")), "theme": (THEME_COOKIE, ("light", "dark", "system"))}


async def look(visit: Visit) -> web.StreamResponse:
    """Keep a choice of language or theme, and go back to where it was made."""
    response = visit.see_other(local_path(visit.form.get("back", "")))
    for field, (cookie, values) in _CHOICES.items():
        value = visit.form.get(field)
        if value in values:
            response.set_cookie(
                cookie,
                value,
                max_age=_YEAR_S,
                path="/admin",
                httponly=True,
                samesite="Strict",
                secure=visit.request.secure,
            )
    return response


PART = Part(name="shell", words=WORDS, pages=(post("/look", look, public=True),))
