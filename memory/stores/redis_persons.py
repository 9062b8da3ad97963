"""Persons of a store whose windows are kept in Redis: what is erased there goes from here, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from memory.people import Account, Erased, Persons, Posted


class ForgettingPersons:
    """`memory.people.Persons` around another; `forget` takes a scope's window out of Redis."""

    def __init__(self, persons: Persons, *, forget: Callable[[int], Awaitable[None]]) -> None:
        self._persons = persons
        self._forget = forget
        self.listed = persons.listed
        self.find = persons.find
        self.accounts = persons.accounts
        self.messages = persons.messages
        self.items = persons.items
        self.facts = persons.facts
        self.summaries = persons.summaries
        self.begin = persons.begin
        self.unlink = persons.unlink

    async def erase(
        self, person_id: int, *, accounts: Sequence[Account], posted: Sequence[Posted], now_ms: int
    ) -> Erased:
        erased = await self._persons.erase(person_id, accounts=accounts, posted=posted, now_ms=now_ms)
        for scope_id in erased.scopes:
            await self._forget(scope_id)
        return erased
