"""The same person on several channels, in chat: `/link` shows a one-time code, `/link CODE` elsewhere uses it, `/unlink` takes
the account out again. In private only: a code that was shown to a group is worth nothing any more.

What recall finds follows in the background, some messages at a time (`Mover`), also after a restart.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gateway.live import Live
from gateway.notices import notice
from gateway.people import People
from gateway.routing import Route
from memory.base import Identity
from memory.errors import StoreUnavailable
from memory.links import CODE_CHARS, Linked, Links, Refusal, digest_of, new_code

logger = logging.getLogger(__name__)

AT_ONCE = 50
"""Messages that one transaction moves."""

CLOCKS_MS = 60_000
"""By how much two instances' clocks may differ."""


class Mover:
    """Moves what recall finds to whom it belongs since persons were joined or parted."""

    def __init__(self, links: Links, *, look_s: float | None) -> None:
        """`look_s`: how often the store is asked for what another instance left undone; None: only when woken."""
        self._links = links
        self._look_s = look_s
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Look now."""
        self._wake.set()

    async def run(self) -> None:
        """Work for as long as the gateway runs."""
        while True:
            self._wake.clear()
            try:
                while await self._links.move(limit=AT_ONCE):
                    pass
            except StoreUnavailable:
                logger.warning("recall of joined persons put off: the store is away", exc_info=True)
            try:
                async with asyncio.timeout(self._look_s):
                    await self._wake.wait()
            except TimeoutError:
                pass


class Linking:
    """Answers `/link` and `/unlink`. Each link made or undone is a line in the log, with ids only."""

    def __init__(
        self,
        *,
        links: Links,
        people: People,
        live: Live,
        moving: Callable[[], None],
        joined: Callable[[int, int], Awaitable[None]],
        clock: Callable[[], int],
    ) -> None:
        """`moving` is told when there is something for the `Mover`, `joined` who is whom now (absorbed, survivor); `clock` gives
        milliseconds since 1970, UTC."""
        self._links = links
        self._people = people
        self._live = live
        self._moving = moving
        self._joined = joined
        self._clock = clock

    async def link(self, person_id: int, code: str, route: Route, *, again_ms: int | None = None) -> str:
        """Show a code, or use one. `again_ms` as in `Commands.answer`: a code is worth nothing once it was used."""
        language, prefix = route.language, self._prefix(route)
        if route.event.chat_type != "private":
            if code:
                await self._links.revoke(digest_of(code))
            return notice("link_private", language, prefix=prefix)
        if code:
            return await self._use(person_id, code, route, again_ms=again_ms)
        fresh = new_code()
        if not await self._links.offer(person_id, digest_of(fresh), now_ms=self._clock()):
            return notice("link_limited", language)
        half = CODE_CHARS // 2
        return notice("link_code", language, code=f"{fresh[:half]}-{fresh[half:]}", prefix=prefix)

    async def _use(self, person_id: int, code: str, route: Route, *, again_ms: int | None) -> str:
        made: Linked | Refusal | None = None if again_ms is None else await self._made(person_id, since_ms=again_ms)
        if made is None:
            made = await self._links.link(person_id, digest_of(code), now_ms=self._clock())
        if not isinstance(made, Linked):
            logger.info("link refused", extra={"person": person_id, "reason": made})
            return notice(f"link_{made}", route.language)
        self._changed()
        await self._joined(made.absorbed_id, made.survivor_id)
        logger.info(
            "persons linked",
            extra={"link": made.link_id, "person": made.survivor_id, "absorbed": made.absorbed_id, "by": person_id},
        )
        return notice("link_done", route.language, prefix=self._prefix(route))

    async def _made(self, person_id: int, *, since_ms: int) -> Linked | None:
        """Return the link that this turn has made before it broke off; None: it had not come to that."""
        for link in await self._links.made(person_id):
            if link.linked_ms >= since_ms - CLOCKS_MS:
                return Linked(link_id=link.id, survivor_id=link.survivor_id, absorbed_id=link.absorbed_id)
        return None

    async def unlink(
        self, person_id: int, identity: Identity, route: Route, *, turn_id: int, again_ms: int | None = None
    ) -> str:
        """Take the account out of what it was joined to. `again_ms` as in `Commands.answer`: once only, also where it was in
        several links, and told alike."""
        language, prefix = route.language, self._prefix(route)
        if route.event.chat_type != "private":
            return notice("link_private", language, prefix=prefix)
        since_ms = None if again_ms is None else again_ms - CLOCKS_MS
        parted = await self._links.unlink(identity, fresh_id=turn_id, now_ms=self._clock(), again_ms=since_ms)
        if parted is None:
            return notice("unlink_none", language)
        self._changed()
        logger.info("persons parted", extra={"person": person_id, "parted": parted.persons, "whole": parted.as_it_was})
        return notice("unlink_done" if parted.as_it_was else "unlink_fresh", language)

    def _changed(self) -> None:
        self._people.forget()
        self._moving()

    def _prefix(self, route: Route) -> str:
        made = self._live.made(route.event.channel)
        return made.capabilities.command_prefix if made is not None else ""
