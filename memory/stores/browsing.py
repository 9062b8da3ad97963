"""Conversations on any database: runs the shared steps (`browse_steps.py`) as the database says."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol, TypeVar

from memory.browsing import Finds, Mark, Older, Page, SearchMark, Talk, Talks, Wanted
from memory.key import Scope
from memory.stores import browse_steps as steps
from memory.stores.browse_steps import Looked, Spoken

Result = TypeVar("Result")


class Run(Protocol):
    """How a step gets its statements run, on one moment of the database."""

    def __call__(self, step: Looked[Result]) -> Awaitable[Result]: ...


class StoredBrowsing:
    """`memory.browsing.Browsing` by the steps that `run` runs."""

    def __init__(self, spoken: Spoken, *, run: Run) -> None:
        self._spoken = spoken
        self._run = run

    async def talks(self, wanted: Wanted, *, after: Mark | None, limit: int) -> Talks:
        return await self._run(steps.talks(self._spoken, wanted, after=after, limit=limit))

    async def talk(self, talk_id: int) -> Talk | None:
        return await self._run(steps.talk(talk_id))

    async def names(self, talk_id: int) -> tuple[Scope, ...]:
        return await self._run(steps.names(talk_id))

    async def page(
        self, talk_id: int, *, limit: int, before_id: int | None = None, after_id: int | None = None
    ) -> Page:
        return await self._run(steps.page(talk_id, limit=limit, before_id=before_id, after_id=after_id))

    async def unlearned(self, turn_id: int) -> bool | None:
        return await self._run(steps.unlearned(turn_id))

    async def older(self, *, before_ms: int, limit: int) -> Older:
        return await self._run(steps.older(before_ms=before_ms, limit=limit))

    async def search(self, words: Sequence[str], wanted: Wanted, *, after: SearchMark | None, limit: int) -> Finds:
        return await self._run(steps.search(self._spoken, words, wanted, after=after, limit=limit))
