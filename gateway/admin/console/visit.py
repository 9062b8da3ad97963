"""One request to the console, as a page's handler sees it: who asks, in which language, and how to answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web
from multidict import MultiDict, MultiMapping

from gateway.admin.api import streamed
from gateway.admin.console import faults
from gateway.admin.console.looks import TOLD_COOKIE, Look, Told, told_cookie, told_of
from gateway.admin.console.page import Shelf
from gateway.admin.console.part import GROUPS, NavEntry
from gateway.admin.console.signing import local_path
from gateway.admin.console.words import translator
from gateway.admin.operations import Operation, Service, Stream
from gateway.admin.reasons import meaning_of
from gateway.admin.rights import Actor, Right, channels_of, may

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # under `no-referrer` a form is posted with `Origin: null`, as a foreign one
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What all visits share."""

    service: Service
    words: Mapping[str, Mapping[str, str]]
    nav: tuple[NavEntry, ...]
    clock: Callable[[], int]
    lost: Callable[[web.Request, Actor], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request that may be answered. `form` holds the fields of a POST, its CSRF token checked; `actor` is `NOBODY` on a page
    that is open to everybody."""

    request: web.Request
    actor: Actor
    csrf: str
    look: Look
    form: MultiMapping[str]
    shelf: Shelf
    common: Common

    @property
    def query(self) -> MultiMapping[str]:
        """The URL's query."""
        return self.request.query

    def wanted(self, *names: str, of: MultiMapping[str] | None = None) -> dict[str, str]:
        """Return what the query, or `of`, says of these names, without space around it; what it leaves empty is not there."""
        said = self.query if of is None else of
        return {name: value for name in names if (value := said.get(name, "").strip())}

    @property
    def fields(self) -> Mapping[str, str]:
        """What stands in the path's `{fields}`."""
        return self.request.match_info

    @property
    def partial(self) -> bool:
        """Whether htmx asks for a piece of a page; a page that is opened, or gone back to, is asked for whole."""
        headers = self.request.headers
        return "HX-Request" in headers and "HX-History-Restore-Request" not in headers

    @property
    def now_ms(self) -> int:
        """Milliseconds since 1970, now."""
        return self.common.clock()

    def t(self, key: str, /, **values: object) -> str:
        """Return the catalogue's words in the reader's language."""
        return translator(self.common.words, self.look.language)(key, **values)

    def means(self, rule: str) -> str:
        """Return what a rule of a turn's record means, in the reader's language; "": no more than its name."""
        reason = meaning_of(rule)
        return "" if reason is None else reason.zh if self.look.language == "zh" else reason.en

    def may(self, right: Right, channel: str | None = None) -> bool:
        """Whether the reader holds a right, for a channel or (None) the whole gateway: to leave out what they can't do."""
        return may(self.actor, right, channel)

    def leads_to(self, path: str) -> str:
        """Return `path` if it stands in the reader's navigation, else "": for links to other parts' pages."""
        return path if any(entry.path == path and self._sees(entry) for entry in self.common.nav) else ""

    def offers(self, operation: Operation) -> bool:
        """Whether an act is there, and the reader has its right: for the whole gateway, if it needs that, or somewhere."""
        if operation.where == "gateway" and not may(self.actor, operation.right):
            return False
        return operation in self.common.service.operations and channels_of(self.actor, operation.right) != frozenset()

    async def perform(self, operation: Operation, request: msgspec.Struct | None = None) -> Any:
        """Carry an act out in the reader's name; see `Service.perform`."""
        return await self.common.service.perform(self.actor, operation, request)

    # Answers

    def render(self, template: str, *, status: int = 200, **values: object) -> web.Response:
        """Return a page. Its template sees `values`, and what `_surroundings` names."""
        told = told_of(self.request.cookies)
        page = self._filled(template, told=told if told is not None and self._says(told) else None, **values)
        response = _html(page, status=status)
        if told is not None:
            response.del_cookie(TOLD_COOKIE, path="/admin")
        return response

    def piece(self, template: str, *, status: int = 200, **values: object) -> web.Response:
        """Return a piece of a page for htmx to put in its place; what a form told waits for the next page."""
        return _html(self._filled(template, told=None, **values), status=status)

    def see_other(self, path: str, *, told: str | None = None, **values: object) -> web.Response:
        """Return the redirect that ends a form, to a path of the console. `told`: a key said on the page that comes."""
        where = local_path(path)
        if "HX-Request" in self.request.headers:
            response = web.Response(status=204, headers={"HX-Redirect": where})
        else:
            response = web.Response(status=303, headers={"Location": where})
        if told is not None:
            value = told_cookie(Told(key=told, values={name: str(each) for name, each in values.items()}))
            response.set_cookie(
                TOLD_COOKIE,
                value,
                max_age=60,
                path="/admin",
                httponly=True,
                samesite="Strict",
                secure=self.request.secure,
            )
        return response

    async def stream(self, stream: Stream) -> web.StreamResponse:
        """Send a download or events piece by piece, until they end, the reader leaves or loses the right, or the server stops."""
        return await streamed(self.request, stream, lost=lambda: self.common.lost(self.request, self.actor))

    def _says(self, told: Told) -> bool:
        """Whether there are words for what was told: another release may have left it, with other ones."""
        try:
            self.t(told.key, **told.values)
        except (KeyError, ValueError):
            return False
        return True

    def _filled(self, template: str, **values: object) -> str:
        return self.shelf.templates.get_template(template).render(self._surroundings() | values)

    def _surroundings(self) -> dict[str, object]:
        """What every template sees."""
        path = self.request.path
        return {
            "t": translator(self.common.words, self.look.language),
            "lang": "zh-CN" if self.look.language == "zh" else "en",
            "look": self.look,
            "actor": self.actor,
            "csrf_token": self.csrf,
            "path": path,
            "here": self.request.path_qs,
            "nav": [(group, entries) for group in GROUPS if (entries := self._entries(group))],
            "may": self.may,
            "now_ms": self.now_ms,
            "told_of": lambda entry: self.t(f"{entry.word}.told"),
            "means": self.means,
            "in_words": lambda text: faults.told(text, self.look.language),
        }

    def _entries(self, group: str) -> list[NavEntry]:
        return [entry for entry in self.common.nav if entry.group == group and self._sees(entry)]

    def _sees(self, entry: NavEntry) -> bool:
        if entry.right is None:
            return bool(self.actor.grants)
        return may(self.actor, entry.right) if entry.gateway else channels_of(self.actor, entry.right) != frozenset()


def empty_form() -> MultiMapping[str]:
    """Return the form of a request that has none."""
    return MultiDict()


def _html(text: str, *, status: int) -> web.Response:
    response = web.Response(text=text, status=status, content_type="text/html", headers=HEADERS)
    response.enable_compression()
    return response
