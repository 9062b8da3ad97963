"""What the HTTP server serves admins: the API and the console, over the same acts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aiohttp import web

from gateway.admin.api import bearer, routes
from gateway.admin.console import sign_in
from gateway.admin.console.doorman import Doorman
from gateway.admin.console.parts import PARTS
from gateway.admin.console.web import Console
from gateway.admin.entrance import Entrance
from gateway.admin.operations import Service
from gateway.proxies import Network


def doors(
    acts: Service,
    entrance: Entrance,
    *,
    public_url: Callable[[], str | None],
    trusted: Sequence[Network],
    version: str,
) -> list[web.RouteDef]:
    """Return the routes. `trusted`: proxies whose word about a client is taken."""
    doorman = Doorman(entrance, public_url=public_url, trusted=trusted)
    pages = Console(acts, doorman, parts=(*PARTS, sign_in.part(doorman)), public_url=public_url())
    return [*routes(acts, bearer(entrance.tokens), version=version, lost=entrance.lost), *pages.routes()]
