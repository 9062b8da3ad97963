"""Forgetting on any database: runs the shared steps (`forget_steps.py`) in the transactions that the database gives."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from memory.base import Message
from memory.forgetting import Forgotten, Listing, Place, Worded
from memory.stores import forget_steps as steps
from memory.stores.person_steps import Dialect, recalled
from memory.stores.persons import Run
from memory.stores.rows import decoded_user

_message = msgspec.json.Decoder(Message, strict=False).decode


class StoredForgetting:
    """`memory.forgetting.Forgetting` by the steps that `read` and `write` run."""

    def __init__(self, dialect: Dialect, *, read: Run, write: Run) -> None:
        self._dialect = dialect
        self._read = read
        self._write = write

    async def waiting(self, person_id: int) -> tuple[Message, ...]:
        rows = [_message(row) for (row,) in await self._read(steps.waiting(self._dialect, person_id))]
        return tuple(msgspec.structs.replace(row, user=decoded_user(row.user)) for row in rows)

    async def places(self, scope_ids: Collection[int]) -> dict[int, Place]:
        return await self._read(steps.places(scope_ids))

    async def forget(
        self, person_id: int, *, items: Sequence[int], facts: Sequence[int], withhold: Sequence[Message], now_ms: int
    ) -> Forgotten:
        return await self._write(
            steps.forget(self._dialect, person_id, items=items, facts=facts, withhold=withhold, now_ms=now_ms)
        )

    async def forget_slots(
        self, person_id: int, *, slots: Collection[str], withhold: Sequence[Message], now_ms: int
    ) -> Forgotten:
        return await self._write(
            steps.forget_slots(self._dialect, person_id, slots=slots, withhold=withhold, now_ms=now_ms)
        )

    async def correct(
        self,
        person_id: int,
        *,
        items: Sequence[Worded],
        facts: Sequence[Worded],
        withhold: Sequence[Message],
        now_ms: int,
    ) -> Forgotten:
        return await self._write(
            steps.correct(self._dialect, person_id, items=items, facts=facts, withhold=withhold, now_ms=now_ms)
        )

    async def forget_turn(self, scope_id: int, *, person_id: int, user: str, now_ms: int) -> Forgotten | None:
        return await self._write(
            steps.forget_turn(self._dialect, scope_id, person_id=person_id, user=user, now_ms=now_ms)
        )

    async def forget_all(self, person_id: int, *, now_ms: int) -> Forgotten:
        forgotten = await self._write(steps.forget_all(self._dialect, person_id, now_ms=now_ms))
        while await self._write(recalled(person_id)) is not None:
            pass  # in batches, as of an erasure: a long history must not hold up others
        return forgotten

    async def put_listing(self, person_id: int, listing: Listing) -> None:
        await self._write(steps.put_listing(person_id, listing))

    async def listing(self, person_id: int) -> Listing | None:
        return await self._read(steps.listing(person_id))
