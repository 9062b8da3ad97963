"""Persons of a store whose windows are kept in Redis: what is erased there goes from here, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from memory.people import Account, Erased, Persons, Posted, Traces


class ForgettingPersons:
    """`memory.people.Persons` around another; `forget` takes a scope's window out of Redis, `forget_all` every one."""

    def __init__(
        self,
        persons: Persons,
        *,
        forget: Callable[[int], Awaitable[None]],
        forget_all: Callable[[], Awaitable[None]],
    ) -> None:
        self._persons = persons
        self._forget = forget
        self._forget_all = forget_all
        self._under_way: set[int] = set()  # asked for here, and not broken off since; as many as are being erased
        self.listed = persons.listed
        self.find = persons.find
        self.family = persons.family
        self.of = persons.of
        self.having = persons.having
        self.called = persons.called
        self.names = persons.names
        self.counts = persons.counts
        self.request = persons.request
        self.requests = persons.requests
        self.met = persons.met
        self.accounts = persons.accounts
        self.seen = persons.seen
        self.messages = persons.messages
        self.sources = persons.sources
        self.overheard = persons.overheard
        self.items = persons.items
        self.facts = persons.facts
        self.summaries = persons.summaries
        self.unfinished = persons.unfinished
        self.traces = persons.traces
        self.begin = persons.begin

    async def ask(self, person_id: int, traces: Traces) -> bool:
        # Of an erasure that broke off nobody knows which scopes it had touched.
        if person_id not in self._under_way and person_id in await self._persons.unfinished():
            await self._forget_all()
        asked = await self._persons.ask(person_id, traces)
        if asked:
            self._under_way.add(person_id)
        return asked

    async def erase(
        self, person_id: int, *, accounts: Sequence[Account], posted: Sequence[Posted], now_ms: int
    ) -> Erased:
        try:
            erased = await self._persons.erase(person_id, accounts=accounts, posted=posted, now_ms=now_ms)
        except BaseException:
            self._under_way.discard(person_id)
            raise
        for scope_id in erased.scopes:
            await self._forget(scope_id)
        return erased

    async def unlink(self, person_id: int) -> int:
        unlinked = await self._persons.unlink(person_id)
        self._under_way.discard(person_id)
        return unlinked
