"""Persons on any database: runs the shared steps (`person_steps.py`) in the transactions that the database gives."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from memory.base import Fact, Identity, Message, ProfileItem, Summary
from memory.called import comparable
from memory.erasure import nothing
from memory.key import encode_part
from memory.people import Account, Erased, Overheard, Person, Posted, Request, RequestKind, Traces
from memory.stores import called_steps, link_steps
from memory.stores import person_steps as steps
from memory.stores.person_steps import Batch, Dialect, Step
from memory.stores.rows import decoded_user, identity_columns

Result = TypeVar("Result")

_message = msgspec.json.Decoder(Message, strict=False).decode
_item = msgspec.json.Decoder(ProfileItem, strict=False).decode
_fact = msgspec.json.Decoder(Fact, strict=False).decode
_overheard = msgspec.json.Decoder(Overheard, strict=False).decode
_traces = msgspec.json.Decoder(Traces).decode
_summary = msgspec.json.Decoder(Summary, strict=False).decode


class Run(Protocol):
    """How a step gets its transaction."""

    def __call__(self, step: Step[Result]) -> Awaitable[Result]: ...


class StoredPersons:
    """`memory.people.Persons` by the steps that `read` and `write` run; `settled` is awaited at the end of an erasure, for what
    a database leaves behind."""

    def __init__(self, dialect: Dialect, *, read: Run, write: Run, settled: Callable[[], Awaitable[None]]) -> None:
        self._dialect = dialect
        self._read = read
        self._write = write
        self._settled = settled

    async def listed(self, *, after_id: int, limit: int) -> tuple[Person, ...]:
        return await self._read(steps.listed(after_id=after_id, limit=limit))

    async def find(self, person_id: int) -> Person | None:
        return await self._read(steps.find(person_id))

    async def family(self, person_id: int) -> tuple[int, ...]:
        return await self._read(steps.family(person_id))

    async def of(self, identity: Identity) -> int | None:
        return await self._read(steps.of(*identity_columns(identity)))

    async def having(self, account: str, *, limit: int) -> tuple[int, ...]:
        return await self._read(steps.having(encode_part(account), limit=limit))

    async def called(self, name: str, *, channels: Sequence[str], limit: int) -> tuple[int, ...]:
        found: list[tuple[str, int]] = []
        for channel in channels if comparable(name) else ():
            found += await self._read(called_steps.called(name, encode_part(channel), limit=limit))
        return tuple(dict.fromkeys(person_id for _, person_id in sorted(found)))[:limit]

    async def names(self, person_id: int, *, channels: Sequence[str] | None, limit: int) -> tuple[str, ...]:
        places = None if channels is None else [encode_part(channel) for channel in channels]
        return await self._read(called_steps.names(person_id, places, limit=limit))

    async def counts(self, person_id: int) -> dict[str, int]:
        return await self._read(steps.counts(person_id))

    async def request(self, person_id: int, kind: RequestKind, *, channel: str | None, now_ms: int) -> Request | None:
        place = None if channel is None else encode_part(channel)
        return await self._write(steps.request(self._dialect, person_id, kind, place, now_ms=now_ms))

    async def requests(
        self, *, after: tuple[int, int], limit: int, person_id: int | None = None
    ) -> tuple[Request, ...]:
        return await self._read(steps.requests(person_id, after=after, limit=limit))

    async def met(self, request_id: int) -> int | None:
        return await self._write(steps.met(request_id))

    async def accounts(self, person_id: int) -> tuple[Account, ...]:
        return await self._read(steps.accounts(person_id))

    async def seen(self, person_id: int) -> tuple[Account, ...]:
        return await self._read(steps.seen(person_id))

    async def messages(self, person_id: int, *, after: tuple[int, int], limit: int) -> tuple[Message, ...]:
        rows = await self._read(steps.messages(self._dialect, person_id, after=after, limit=limit))
        found = [_message(row) for (row,) in rows]
        return tuple(msgspec.structs.replace(row, user=decoded_user(row.user)) for row in found)

    async def sources(self, person_id: int, ids: Sequence[tuple[int, int]]) -> tuple[Message, ...]:
        rows = await self._read(steps.sources(self._dialect, person_id, ids))
        found = [_message(row) for (row,) in rows]
        return tuple(msgspec.structs.replace(row, user=decoded_user(row.user)) for row in found)

    async def overheard(self, person_id: int, *, after: tuple[int, int], limit: int) -> tuple[Overheard, ...]:
        rows = await self._read(steps.overheard(self._dialect, person_id, after=after, limit=limit))
        found = [_overheard(row) for (row,) in rows]
        return tuple(msgspec.structs.replace(row, user=decoded_user(row.user)) for row in found)

    async def items(self, person_id: int, *, after_id: int, limit: int) -> tuple[ProfileItem, ...]:
        rows = await self._read(steps.items(self._dialect, person_id, after_id=after_id, limit=limit))
        return tuple(_item(row) for (row,) in rows)

    async def facts(self, person_id: int, *, after_id: int, limit: int) -> tuple[Fact, ...]:
        rows = await self._read(steps.facts(self._dialect, person_id, after_id=after_id, limit=limit))
        return tuple(_fact(row) for (row,) in rows)

    async def summaries(self, person_id: int, *, after_id: int, limit: int) -> tuple[Summary, ...]:
        rows = await self._read(steps.summaries(self._dialect, person_id, after_id=after_id, limit=limit))
        return tuple(_summary(row) for (row,) in rows)

    async def ask(self, person_id: int, traces: Traces) -> bool:
        return await self._write(steps.asked(person_id, msgspec.json.encode(traces).decode()))

    async def unfinished(self) -> tuple[int, ...]:
        return await self._read(steps.unfinished())

    async def traces(self, person_id: int) -> Traces:
        noted = await self._read(steps.traces(person_id))
        return Traces() if noted is None else _traces(noted)

    async def begin(self, person_id: int, *, now_ms: int) -> bool:
        marked = await self._write(steps.marked(self._dialect, person_id, now_ms=now_ms))
        if marked:
            await self._write(steps.waited(self._dialect))
        return marked

    async def erase(
        self, person_id: int, *, accounts: Sequence[Account], posted: Sequence[Posted], now_ms: int
    ) -> Erased:
        if not await self.begin(person_id, now_ms=now_ms):
            return Erased(counts=nothing())
        counts, scopes = Counter(nothing()), set[int]()
        family = await self._read(steps.family(person_id))
        for step in self._plan(person_id, family, accounts, posted, now_ms=now_ms):
            while (batch := await self._write(step())) is not None:
                counts.update(batch.counts)
                scopes.update(batch.scopes)
        await self._settled()
        return Erased(counts=dict(counts), scopes=tuple(sorted(scopes)))

    def _plan(
        self,
        erased: int,
        persons: Sequence[int],
        accounts: Sequence[Account],
        posted: Sequence[Posted],
        *,
        now_ms: int,
    ) -> Iterable[Callable[[], Step[Batch | None]]]:
        dialect, pseudonym = self._dialect, f"erased-{secrets.token_hex(8)}"
        for person_id in persons:
            yield partial(steps.said, dialect, person_id, pseudonym=pseudonym, now_ms=now_ms)
        for account in accounts:
            yield partial(steps.private, dialect, account)
            yield partial(steps.in_groups, account, pseudonym=pseudonym)
            yield partial(steps.unheard_by_account, account)
            yield partial(steps.choices, erased, account)
        for message in posted:
            yield partial(steps.quoted, dialect, message)
        for person_id in persons:
            yield partial(steps.unheard, person_id)
            yield partial(steps.recalled, person_id)
            yield partial(steps.known, "facts", person_id)
            yield partial(steps.known, "profile_items", person_id)
            yield partial(called_steps.uncalled, person_id)
            yield partial(steps.listings, person_id)
            yield partial(steps.asked_for, person_id)

    async def unlink(self, person_id: int) -> int:
        for joined in await self._read(steps.family(person_id)):
            await self._write(link_steps.forgotten(joined))
        unlinked = await self._write(steps.unlinked(person_id))
        await self._settled()
        return unlinked
