"""What the console must know of whoever opens it; sign-in itself is `gateway/admin/signing_in.py`'s."""

from __future__ import annotations

import hmac
from typing import Protocol
from urllib.parse import unquote, urlsplit

import msgspec
from aiohttp import web

from gateway.admin.rights import Actor

CSRF_FIELD, CSRF_HEADER = "csrf", "X-CSRF-Token"

SIGN_IN = "/admin/sign-in"
"""Where who has not signed in is sent; `?next=` holds the path to come back to."""


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    """A session that is good now. `csrf` must come back with every form of it (field `csrf`, or header `X-CSRF-Token`)."""

    actor: Actor
    csrf: str


class Doorkeeper(Protocol):
    """Who is at the door."""

    async def has_owner(self) -> bool:
        """Whether anybody can sign in at all. Without an owner the console shows how to make one, and nothing else."""
        ...

    async def signed_in(self, request: web.Request) -> SignedIn | None:
        """Return the session of the request's cookie; None: none, or one that has ended."""
        ...

    async def lost(self, request: web.Request, actor: Actor) -> None:
        """Return as soon as that session has ended, or its actor may do something else than before."""
        ...


NOBODY = Actor(id="nobody", name="", grants=(), door="console")
"""Who opens a page that is open to everybody."""


def foreign(request: web.Request, *, public_url: str | None) -> bool:
    """Whether a page of another origin sent this form. A program that sends neither header is not a browser, and can't be
    made to send another's cookies."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = request.headers.get("Origin")
    if origin is None:
        return False
    own = {request.headers.get("Host", ""), urlsplit(public_url or "").netloc} - {""}
    try:
        return urlsplit(origin).netloc not in own
    except ValueError:  # no address at all
        return True


def same(sent: str, expected: str) -> bool:
    """Whether two tokens are the same, told in the same time whatever they have in common."""
    return hmac.compare_digest(sent.encode(errors="replace"), expected.encode())


def local_path(path: str, *, otherwise: str = "/admin") -> str:
    """Return `path` if it leads into this console, whatever a link made of it; else `otherwise`."""
    inside = path == "/admin" or path.startswith(("/admin/", "/admin?"))
    plain = path.isascii() and path.isprintable() and "\\" not in path
    steps = unquote(path.partition("?")[0]).split("/")[1:]
    return path if inside and plain and not {"", ".", ".."} & {*steps} else otherwise
