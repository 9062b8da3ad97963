"""The console over HTTP: finds the page, makes sure who asks, and shows what goes wrong as a page.

How a part adds its pages (`start.py` is a small whole one):
1. `gateway/admin/console/PART.py`: handlers `async def listing(visit: Visit) -> web.StreamResponse`, and a
   `PART = Part(name="PART", words=WORDS, pages=(get("/things/{id}", one), post("/things/{id}/retry", retry)), nav=(…))`.
   A part whose pages need a live object is made by a function of it, and handed to `Console` in `gateway/app.py`.
2. `gateway/admin/console/PART_words.py`: `WORDS: Catalogue`, keys `PART.…`, English and Chinese.
3. `gateway/admin/console/templates/PART/*.html`: `{% extends "base.html" %}`, `{% import "macros.html" as ui with context %}`;
   words by `t("PART.key", count=3)`. No inline style, no inline script, no `|safe`.
4. One line in `parts.py`. Tests then walk through its pages.

A handler asks for acts by `await visit.perform(OPERATION, request)` and lets `Refused`, `Missing`, `Disagrees` and trouble of
stores pass: they become pages here. It catches `Invalid` to show its form again (`visit.render(…, status=422,
problems=problems_of(fault))`, with `{{ ui.problems(problems) }}` above the form). What is said of a fault is English where it is
raised; its Chinese stands in `faults.json`, and a test asks for it.

A page is `visit.render`, a piece of one for htmx `visit.piece` (`visit.partial` tells which is asked for), the end of a form
`visit.see_other(path, told="PART.saved")`; a `Stream` is `visit.stream`. Every form of method POST holds `{{ ui.csrf() }}`; htmx
sends the token by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from urllib.parse import parse_qsl, quote, urlsplit

from aiohttp import web
from multidict import MultiDict

from adapters.bodies import body_of
from adapters.errors import AdapterFault
from adapters.problems import Problem
from gateway.admin.console import looks
from gateway.admin.console.asked import problems_of
from gateway.admin.console.page import Shelves
from gateway.admin.console.part import Page, Part, get, words_of
from gateway.admin.console.signing import (
    CSRF_FIELD,
    CSRF_HEADER,
    NOBODY,
    SIGN_IN,
    Doorkeeper,
    SignedIn,
    foreign,
    local_path,
    same,
)
from gateway.admin.console.visit import Common, Visit, empty_form
from gateway.admin.operations import Disagrees, Invalid, Missing, Refused, Service
from gateway.errors import BadRequest, GatewayFault, StoreBusy
from memory.errors import MemoryFault
from memory.ids import now_ms

logger = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_SAFE = ("GET", "HEAD")
_FORM_BYTES = 512 * 1024
_FORM_FIELDS = 2000
_FORM_S = 20.0
_FOR_EVER = "public, max-age=31536000, immutable"


class Forged(Exception):
    """A form that no page of ours sent, or one whose session has ended since."""


class Console:
    """The pages below `/admin`. `parts`: in the order of the navigation."""

    def __init__(
        self,
        service: Service,
        doorkeeper: Doorkeeper,
        *,
        parts: tuple[Part, ...],
        public_url: str | None = None,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        """`public_url` is the server's: the origin that forms may come from besides the host they are sent to; `clock` gives
        milliseconds since 1970. Raises ValueError for words that do not carry their part's name."""
        self._doorkeeper = doorkeeper
        self._public_url = public_url
        self._parts = parts
        self._shelves = Shelves()
        nav = tuple(entry for part in parts for entry in part.nav)
        self._common = Common(service=service, words=words_of(parts), nav=nav, clock=clock, lost=doorkeeper.lost)

    @property
    def pages(self) -> tuple[Page, ...]:
        """Every page there is."""
        return tuple(page for part in self._parts for page in part.pages)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes for the server's router; the last one takes what no page does."""
        pages = [web.route(page.method, f"/admin{page.path}".rstrip("/"), self._serving(page)) for page in self.pages]
        lost = get("", _lost)
        return [
            web.get("/admin/static/{digest}/{name}", self._static),
            *pages,
            web.route("*", "/admin", self._serving(lost)),
            web.route("*", "/admin/{tail:.*}", self._serving(lost)),
        ]

    def _serving(self, page: Page) -> Handler:
        async def serve(request: web.Request) -> web.StreamResponse:
            return await self._serve(page, request)

        return serve

    async def _serve(self, page: Page, request: web.Request) -> web.StreamResponse:
        """Answer with the page, or with a page that says why not."""
        visit = Visit(
            request=request,
            actor=NOBODY,
            csrf="",
            look=looks.look_of(request.cookies, request.headers.get("Accept-Language", "")),
            form=empty_form(),
            shelf=await self._shelves.shelf(),
            common=self._common,
        )
        try:
            if not await self._doorkeeper.has_owner() and not page.public:
                return visit.render("shell/no_owner.html", status=503)
            signed_in = await self._doorkeeper.signed_in(request)
            if signed_in is None and not page.public:
                return _to_sign_in(request)
            if signed_in is not None:
                visit = replace(visit, actor=signed_in.actor, csrf=signed_in.csrf)
            if request.method not in _SAFE:
                visit = replace(visit, form=await self._form(request, signed_in))
            return await page.handler(visit)
        except Exception as fault:
            return _told(visit, fault)

    async def _form(self, request: web.Request, signed_in: SignedIn | None) -> MultiDict[str]:
        """Return the form's fields, if a page of ours sent them. Raises `Forged`."""
        if foreign(request, public_url=self._public_url):
            raise Forged
        body = await body_of(request, limit=_FORM_BYTES, seconds=_FORM_S)
        try:
            pairs = parse_qsl(
                body.decode(),
                keep_blank_values=True,
                strict_parsing=bool(body),
                errors="strict",
                max_num_fields=_FORM_FIELDS,
            )
        except ValueError as exc:
            raise Invalid("the form can't be read; send it as application/x-www-form-urlencoded, in UTF-8") from exc
        form = MultiDict(pairs)
        sent = form.pop(CSRF_FIELD, "") or request.headers.get(CSRF_HEADER, "")
        if signed_in is not None and not same(sent, signed_in.csrf):
            raise Forged
        return form

    async def _static(self, request: web.Request) -> web.Response:
        """Return a file. An old page may ask a new release for an old hash: it gets today's file, and may not keep it."""
        asset = (await self._shelves.shelf()).assets.get(request.match_info["name"])
        if asset is None:
            raise Problem(404, "not_found", "the console has no such file")
        kept = asset.digest == request.match_info["digest"]
        response = web.Response(
            body=asset.body,
            content_type=asset.media,
            charset="utf-8",
            headers={"Cache-Control": _FOR_EVER if kept else "no-cache"},
        )
        response.enable_compression()
        return response


def _to_sign_in(request: web.Request) -> web.Response:
    """Send a reader to the sign-in page, and back afterwards: to the page they asked for, else to the one they were on."""
    piece = "HX-Request" in request.headers
    page = request.path_qs if request.method in _SAFE and not piece else _came_from(request)
    to = SIGN_IN + (f"?next={quote(page, safe='/')}" if page not in ("", "/admin") else "")
    return web.Response(status=401 if piece else 303, headers={"HX-Redirect" if piece else "Location": to})


async def _lost(visit: Visit) -> web.StreamResponse:
    path = visit.request.path
    if path.endswith("/") and visit.request.method in _SAFE:
        return visit.see_other(path.rstrip("/"))
    raise Missing("there is no such page")


def _told(visit: Visit, fault: Exception) -> web.StreamResponse:
    """Return the page that says what went wrong. What nobody expected is logged, and told without details."""
    match fault:
        case Forged():
            kind, status = "forged", 403
        case Refused():
            kind, status = "refused", 403
        case Missing():
            kind, status = "missing", 404
        case Disagrees():
            kind, status = "disagrees", 409
        case Invalid() | BadRequest():
            kind, status = "invalid", 422
        case StoreBusy() | MemoryFault():
            kind, status = "away", 503
            logger.warning("store away", extra={"path": visit.request.path}, exc_info=fault)
        case web.HTTPException() | AdapterFault() | ConnectionError():
            raise fault  # the server's word, or nobody left to tell
        case _:
            kind, status = "broken", 500
            logger.exception("page failed", extra={"path": visit.request.path}, exc_info=fault)
    problems = problems_of(fault) if isinstance(fault, GatewayFault) and status in (403, 409, 422) else ()
    told = {"kind": kind, "problems": problems}
    if visit.partial:
        response = visit.piece("shell/problem_piece.html", status=status, **told)
        response.headers.update({"HX-Retarget": "#notice", "HX-Reswap": "innerHTML"})
        return response
    return visit.render("shell/problem.html", status=status, back=_came_from(visit.request), **told)


def _came_from(request: web.Request) -> str:
    """Return the page of ours that led here; "": none, or this one."""
    try:
        came = urlsplit(request.headers.get("Referer", ""))
    except ValueError:  # no address at all
        return ""
    path = local_path(came.path + (f"?{came.query}" if came.query else ""), otherwise="")
    return "" if path == request.path_qs and request.method in _SAFE else path
