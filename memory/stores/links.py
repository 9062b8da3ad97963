"""Links on any database: runs the shared steps (`link_steps.py`) in the transactions that the database gives."""

from __future__ import annotations

from memory.base import Identity
from memory.links import Linked, LinkRow, Parted, Refusal
from memory.stores import link_steps as steps
from memory.stores.person_steps import Dialect
from memory.stores.persons import Run


class StoredLinks:
    """`memory.links.Links` by the steps that `write` runs. How far `move` has come is remembered here: after a restart it
    begins anew, and passes over what is done."""

    def __init__(self, dialect: Dialect, *, write: Run) -> None:
        self._dialect = dialect
        self._write = write
        self._at: tuple[tuple[int, int], tuple[int, int]] | None = None  # of which link, behind which message

    async def offer(self, person_id: int, digest: str, *, now_ms: int) -> bool:
        return await self._write(steps.offer(person_id, digest, now_ms=now_ms))

    async def revoke(self, digest: str) -> None:
        await self._write(steps.revoke(digest))

    async def link(self, person_id: int, digest: str, *, now_ms: int) -> Linked | Refusal:
        return await self._write(steps.link(self._dialect, person_id, digest, now_ms=now_ms))

    async def join(self, person_id: int, other_id: int, *, now_ms: int) -> Linked | Refusal:
        return await self._write(steps.join(self._dialect, person_id, other_id, now_ms=now_ms))

    async def made(self, person_id: int) -> tuple[LinkRow, ...]:
        return await self._write(steps.made(person_id))

    async def undo(self, link_id: int, *, now_ms: int) -> Parted | None:
        return await self._write(steps.undo(self._dialect, link_id, now_ms=now_ms))

    async def unlink(
        self, identity: Identity, *, fresh_id: int, now_ms: int, again_ms: int | None = None
    ) -> Parted | None:
        step = steps.unlink(self._dialect, identity, fresh_id=fresh_id, now_ms=now_ms, again_ms=again_ms)
        return await self._write(step)

    async def move(self, *, limit: int) -> bool:
        link = await self._write(steps.moving())
        if link is None:
            return False
        at = self._at[1] if self._at is not None and self._at[0] == link else (0, 0)
        reached = await self._write(steps.moved(self._dialect, link, after=at, limit=limit))
        self._at = None if reached is None else (link, reached)
        return True
