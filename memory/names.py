"""What the names of scopes lead to, remembered; and how they come to lead elsewhere.

A room that moves, or a setting that shares memory otherwise, gives a scope another name. The store is the truth; what is
remembered here is forgotten at once when this process changes a name, and at the next look when another one did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple
from weakref import WeakValueDictionary

from memory.base import AgentChange, GroupScope, MovedRoom, Store
from memory.key import Scope

REMEMBERED = 10_000
"""Names; more are looked up again."""


class Named(NamedTuple):
    """The stored scope behind a name: where messages go, and the name that its lane has."""

    id: int
    root: Scope


class Names:
    """The names of one store. Safe for many callers; those who ask for one name go on in the order in which they asked."""

    def __init__(self, store: Store, *, clock: Callable[[], int]) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._store = store
        self._clock = clock
        self._known: dict[Scope, Named] = {}
        self._asking: WeakValueDictionary[Scope, asyncio.Lock] = WeakValueDictionary()
        self._changes = -1  # the store's count at the last look
        self._age = 0  # how often everything was forgotten: what was asked before that is not remembered

    async def find(self, scope: Scope, *, agent_change: AgentChange) -> Named:
        """Return the scope behind a name, opened if it is the first sight of it (`Store.open_scope`)."""
        lock = self._asking.get(scope)
        known = self._known.get(scope)
        if known is not None and lock is None:
            return known
        if lock is None:
            lock = self._asking[scope] = asyncio.Lock()
        async with lock:  # it is fair: nobody who comes later is through with an answer first
            return self._known.get(scope) or await self._ask(scope, agent_change)

    async def _ask(self, scope: Scope, agent_change: AgentChange) -> Named:
        age = self._age
        row = await self._store.open_scope(scope, now_ms=self._clock(), agent_change=agent_change)
        named = Named(row.id, row.root)
        if age == self._age:
            while len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[scope] = named
        return named

    def forget(self) -> None:
        """Look every name up again when it is next asked for."""
        self._age += 1
        self._known.clear()

    async def look(self) -> bool:
        """Forget all if a name has come to lead elsewhere, or a room moved, since the last look; say so. Called now and then,
        because other instances change names, too."""
        changes = await self._store.name_changes()
        if changes == self._changes:
            return False
        self._changes = changes
        self.forget()
        return True

    async def alias(self, name: Scope, target_id: int | None) -> None:
        """Let `name` lead to a scope from now on; None: to itself again (`Store.alias_scope`)."""
        try:
            await self._store.alias_scope(name, target_id)
        finally:
            self.forget()

    async def move_room(self, channel: str, room: str, now_room: str) -> None:
        """Let everything of a room go on under another id (`Store.move_room`)."""
        try:
            await self._store.move_room(channel, room, now_room, now_ms=self._clock())
        finally:
            self.forget()

    async def moved_rooms(self) -> tuple[MovedRoom, ...]:
        """Return every room that has moved, with the id it has now."""
        return await self._store.moved_rooms()

    async def group_scopes(self, channel: str) -> tuple[GroupScope, ...]:
        """Return all names of a channel's group scopes."""
        return await self._store.group_scopes(channel)
