"""The console's door, over HTTP: who shows which cookie, from where, and by how safe a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aiohttp import web

from gateway.admin.console import cookies
from gateway.admin.console.cookies import Line, Way
from gateway.admin.console.signing import SignedIn
from gateway.admin.entrance import Entrance
from gateway.admin.rights import Actor
from gateway.admin.sessions import csrf_of
from gateway.admin.signing_in import Comer
from gateway.proxies import Network, trusts

_PROXY_HEADERS = ("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via")


class Doorman:
    """Implements `Doorkeeper`."""

    def __init__(
        self, entrance: Entrance, *, public_url: Callable[[], str | None], trusted: Sequence[Network] = ()
    ) -> None:
        """`public_url` is the server's of the moment, `trusted` are its proxies."""
        self.entrance = entrance
        self._public_url = public_url
        self._trusted = trusted

    async def has_owner(self) -> bool:
        oidc = self.entrance.settings().oidc
        by_provider = oidc is not None and any("owner" in roles for roles in oidc.roles.values())
        return by_provider or await self.entrance.users.has_owner()

    async def signed_in(self, request: web.Request) -> SignedIn | None:
        secret = cookies.read(request.cookies, "session", self.way(request))
        session = await self.entrance.sessions.current(secret) if secret else None
        return None if session is None else SignedIn(actor=session.actor, csrf=csrf_of(secret))

    async def lost(self, request: web.Request, actor: Actor) -> None:
        secret = cookies.read(request.cookies, "session", self.way(request))

        async def look() -> Actor | None:
            session = await self.entrance.sessions.current(secret, rests=True)
            return None if session is None else session.actor

        await self.entrance.lost(look, actor)

    def way(self, request: web.Request) -> Way:
        """Return how safe the line to the browser is."""
        peer = request.transport.get_extra_info("peername") if request.transport is not None else None
        address = peer[0] if isinstance(peer, tuple) else None
        return cookies.way_of(
            Line(
                host=request.headers.get("Host", ""),
                proxied=any(name in request.headers for name in _PROXY_HEADERS),
                vouched=trusts(address, trusted=self._trusted),
                forwarded_proto=request.headers.get("X-Forwarded-Proto", ""),
                public_url=self._public_url(),
            )
        )

    def comer(self, request: web.Request) -> Comer:
        """Return who wants in, as far as the request tells; `request.remote` is whom trusted proxies heard."""
        return Comer(
            address=request.remote or "unknown",
            browser=request.headers.get("User-Agent", ""),
            device=cookies.read(request.cookies, "device", self.way(request)),
        )

    def url(self, request: web.Request, path: str) -> str:
        """Return the address under which a browser that came by this request finds `path`."""
        public_url, way = self._public_url(), self.way(request)
        if public_url is not None and way == "secure":
            return public_url.rstrip("/") + path
        return f"{'https' if way == 'secure' else 'http'}://{request.headers.get('Host', '')}{path}"
