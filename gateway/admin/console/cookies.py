"""What the console's cookies are called and how they are set: by whether the browser speaks to us safely. Pure.

`secure`: over https, straight or by a trusted proxy. `local`: without, but the browser and the gateway are on one machine.
`open`: anybody between could read along, so nobody signs in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from aiohttp import web

Way = Literal["secure", "local", "open"]
CookieName = Literal["session", "device", "oidc"]

DEVICE_S = 365 * 86_400
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How a request came. `proxied`: somebody says to have passed it on; `vouched`: by a proxy that is trusted."""

    host: str
    proxied: bool
    vouched: bool
    forwarded_proto: str
    public_url: str | None


def way_of(line: Line) -> Way:
    """Return how safe the browser's side of the line is."""
    public = urlsplit(line.public_url or "")
    if line.vouched and line.forwarded_proto:
        return "secure" if line.forwarded_proto.rpartition(",")[2].strip().lower() == "https" else "open"
    if public.scheme == "https" and (line.proxied or line.host == public.netloc):
        return "secure"
    return "local" if _is_local(line.host) and not line.proxied else "open"


def _is_local(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in _LOCAL
    except ValueError:
        return False


def name_of(cookie: CookieName, way: Way) -> str:
    """Return the cookie's name. `__Host-`: the browser takes it over https only, and from no neighbouring host."""
    return f"__Host-clew-{cookie}" if way == "secure" else f"clew_{cookie}"


def read(cookies: Mapping[str, str], cookie: CookieName, way: Way) -> str:
    """Return what the browser shows; "": nothing, or nothing that counts on this way."""
    return "" if way == "open" else cookies.get(name_of(cookie, way), "")


def put(response: web.StreamResponse, cookie: CookieName, value: str, *, way: Way, max_age: int | None) -> None:
    """Give the browser a cookie that no script reads and no other site's page sends; `max_age` in seconds, None: until it is
    closed. The one for the provider comes back by a link of another site, which `Lax` lets."""
    response.set_cookie(
        name_of(cookie, way),
        value,
        max_age=max_age,
        path="/",
        secure=way == "secure",
        httponly=True,
        samesite="Lax" if cookie == "oidc" else "Strict",
    )


def drop(response: web.StreamResponse, cookie: CookieName, *, way: Way) -> None:
    """Take a cookie back."""
    response.del_cookie(name_of(cookie, way), path="/", secure=way == "secure", httponly=True)
