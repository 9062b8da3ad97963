"""Signing in and out: by name and password, or at the identity provider and back."""

from __future__ import annotations

import logging
from math import ceil
from urllib.parse import quote, unquote, urlsplit

from aiohttp import web

from gateway.admin.console import cookies
from gateway.admin.console.doorman import Doorman
from gateway.admin.console.fields import Field
from gateway.admin.console.part import Part, get, post
from gateway.admin.console.sign_in_words import WORDS
from gateway.admin.console.signing import NOBODY, SIGN_IN, local_path
from gateway.admin.console.visit import Visit
from gateway.admin.oidc import BEGUN_S
from gateway.admin.oidc_source import ProviderFault, TurnedAway
from gateway.admin.signing_in import Entered, NotSignedIn

logger = logging.getLogger(__name__)

BACK = f"{SIGN_IN}/back"
_STATUS = {"wrong": 422, "wait": 429, "no_rights": 403, "off": 404, "open": 403, "turned_away": 403, "provider": 502}


def part(door: Doorman) -> Part:
    """Return the pages, which set cookies at this door."""
    pages = _Pages(door)
    return Part(
        name="sign_in",
        words=WORDS,
        pages=(
            get("/sign-in", pages.form, public=True),
            post("/sign-in", pages.enter, public=True),
            get("/sign-in/provider", pages.leave_for_provider, public=True),
            get("/sign-in/back", pages.come_back, public=True),
            post("/sign-out", pages.leave),
        ),
    )


class _Pages:
    def __init__(self, door: Doorman) -> None:
        self._door = door
        self._signing_in = door.entrance.signing_in

    async def form(self, visit: Visit) -> web.StreamResponse:
        """Show the form; to who is signed in, what they wanted to see."""
        if visit.actor.grants:
            return visit.see_other(local_path(visit.query.get("next", "")))
        return self._shown(visit, to=visit.query.get("next", ""))

    async def enter(self, visit: Visit) -> web.StreamResponse:
        """Sign in by name and password."""
        to, name = visit.form.get("next", ""), visit.form.get("name", "")
        way = self._door.way(visit.request)
        if way == "open":
            return self._shown(visit, to=to, name=name)
        try:
            entered = await self._signing_in.by_password(
                name, visit.form.get("password", ""), self._door.comer(visit.request)
            )
        except NotSignedIn as fault:
            return self._shown(visit, to=to, name=name, reason=fault.reason, wait_s=ceil(fault.wait_s))
        if visit.actor != NOBODY:  # nobody shows that cookie any more, unless it was stolen
            await self._signing_in.leave(cookies.read(visit.request.cookies, "session", way))
        response = visit.see_other(local_path(to))
        self._give(visit, response, entered)
        return response

    async def leave_for_provider(self, visit: Visit) -> web.StreamResponse:
        """Send the browser to the identity provider."""
        request, way, to = visit.request, self._door.way(visit.request), visit.query.get("next", "")
        if way == "open":
            return self._shown(visit, to=to)
        try:
            begun = await self._signing_in.begin_provider(self._door.url(request, BACK))
        except (NotSignedIn, ProviderFault) as fault:
            return self._refused(visit, fault, to=to)
        response = web.Response(status=303, headers={"Location": begun.url, "Cache-Control": "no-store"})
        value = f"{begun.kept}~{quote(local_path(to), safe='')}"
        cookies.put(response, "oidc", value, way=way, max_age=BEGUN_S)
        return response

    async def come_back(self, visit: Visit) -> web.StreamResponse:
        """Sign in who comes back. Answers with a page of ours that leads on by itself: a browser that follows another site's
        link brings no strict cookie along, not even over a redirect."""
        request, way = visit.request, self._door.way(visit.request)
        kept, _, to = cookies.read(request.cookies, "oidc", way).partition("~")
        to = local_path(unquote(to))
        try:
            entered = await self._signing_in.by_provider(
                kept, dict(request.query), self._door.comer(request), back=self._door.url(request, BACK)
            )
        except (NotSignedIn, ProviderFault) as fault:
            response = self._refused(visit, fault, to=to)
        else:
            response = visit.render("sign_in/back.html", to=to)
            self._give(visit, response, entered)
        cookies.drop(response, "oidc", way=way)
        return response

    async def leave(self, visit: Visit) -> web.StreamResponse:
        """Sign out."""
        way = self._door.way(visit.request)
        await self._signing_in.leave(cookies.read(visit.request.cookies, "session", way))
        response = visit.see_other(SIGN_IN, told="sign_in.left")
        cookies.drop(response, "session", way=way)
        return response

    def _give(self, visit: Visit, response: web.StreamResponse, entered: Entered) -> None:
        way = self._door.way(visit.request)
        cookies.put(response, "session", entered.secret, way=way, max_age=None)
        if entered.device is not None:
            cookies.put(response, "device", entered.device, way=way, max_age=cookies.DEVICE_S)

    def _refused(self, visit: Visit, fault: NotSignedIn | ProviderFault, *, to: str) -> web.Response:
        if isinstance(fault, NotSignedIn):
            return self._shown(visit, to=to, reason=fault.reason)
        logger.warning("identity provider signed nobody in", extra={"reason": str(fault)})
        reason = "turned_away" if isinstance(fault, TurnedAway) else "provider"
        return self._shown(visit, to=to, reason=reason, detail=str(fault))

    def _shown(
        self, visit: Visit, *, to: str, name: str = "", reason: str = "", wait_s: int = 0, detail: str = ""
    ) -> web.Response:
        if self._door.way(visit.request) == "open":
            reason = "open"
        oidc = self._door.entrance.settings().oidc
        to = local_path(to)
        response = visit.render(
            "sign_in/form.html",
            status=_STATUS.get(reason, 200),
            reason=reason,
            wait_s=wait_s,
            detail=detail,
            to=to,
            provider=None if oidc is None else urlsplit(oidc.issuer).hostname,
            provider_url=f"{SIGN_IN}/provider?next={quote(to, safe='')}",
            fields=(
                Field(
                    name="name",
                    label=visit.t("sign_in.name"),
                    value=name,
                    required=True,
                    attributes={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"},
                ),
                Field(
                    name="password",
                    label=visit.t("sign_in.password"),
                    kind="secret",
                    required=True,
                    attributes={"autocomplete": "current-password"},
                ),
            ),
        )
        if wait_s:
            response.headers["Retry-After"] = str(wait_s)
        return response
