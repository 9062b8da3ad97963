"""Persons as a whole: who there is, what is stored of one, and its end; and the protocol of the stores that do it.

Not on the answer path. Everything is read in pages and erased in batches, so that neither a long history nor a slow disk
holds up the turns of others. Times and ids as in `memory/base.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from memory.base import Fact, Identity, Message, ProfileItem, Summary


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody with their accounts. `erased_ms`: when their erasure began; None: never."""

    id: int
    created_ms: int
    erased_ms: int | None
    identities: tuple[Identity, ...]


class Account(msgspec.Struct, frozen=True, order=True):
    """A person's account as it stands in a key's columns, encoded."""

    user: str
    channel: str


class Posted(msgspec.Struct, frozen=True, order=True):
    """A message by its platform's id; `channel` and `conversation` as in a key's columns, encoded."""

    channel: str
    conversation: str
    message_id: str


class Traces(msgspec.Struct, frozen=True, kw_only=True):
    """By what all that is stored of a person is found, also when their identities are another person's by now."""

    identities: tuple[Identity, ...] = ()
    accounts: tuple[Account, ...] = ()
    posted: tuple[Posted, ...] = ()


class Overheard(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said in a group without asking the bot, kept as background. `user`, `channel`, `conversation` and `agent`
    as in a key's columns, `user` decoded."""

    id: int
    scope_id: int
    text: str
    user: str
    channel: str
    conversation: str
    agent: str
    speaker_name: str
    created_ms: int
    platform_message_id: str | None


DUE_MS = 30 * 86_400_000
"""By when a person's request is to be met: within one month (GDPR Art. 12(3)); 30 days are never longer."""

SEEN_TALKS = 1_000
"""Conversations that `Persons.seen` looks at, messages and what was overheard each."""

RequestKind = Literal["erasure", "export"]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asked for that somebody has to do by `due_ms`. `channel`: where they asked for it, decoded; None: not in
    chat, an admin noted it."""

    id: int
    person_id: int
    kind: RequestKind
    channel: str | None
    asked_ms: int
    due_ms: int


class Erased(msgspec.Struct, frozen=True, kw_only=True):
    """What an erasure did: `counts` of rows by kind (`memory/erasure.py` names them), and the scopes that it touched."""

    counts: dict[str, int]
    scopes: tuple[int, ...] = ()


class Persons(Protocol):
    """Persons on one database, beside its `memory.base.Store` (there as `persons`).

    Every implementation passes `tests/contracts/persons.py`. Database trouble surfaces as `memory.errors.StoreUnavailable`.
    """

    async def listed(self, *, after_id: int, limit: int) -> tuple[Person, ...]:
        """Return up to `limit` persons with greater ids than `after_id`, in the order of their ids; erased ones too."""
        ...

    async def find(self, person_id: int) -> Person | None:
        """Return the person, or whom they are one with now (`memory/links.py`), with all accounts that were joined."""
        ...

    async def family(self, person_id: int) -> tuple[int, ...]:
        """Return the person's number and those of all who are one with them now, in order; none: there is no such person."""
        ...

    async def of(self, identity: Identity) -> int | None:
        """Return the identity's living person; None: there is none."""
        ...

    async def having(self, account: str, *, limit: int) -> tuple[int, ...]:
        """Return up to `limit` living persons who have an account of this id, of whatever kind and tenant, by their ids."""
        ...

    async def called(self, name: str, *, channels: Sequence[str], limit: int) -> tuple[int, ...]:
        """Return up to `limit` persons who have called themselves in these channels by a name with this in it
        (`memory/called.py`), what is nearest to it first; case and width do not count."""
        ...

    async def names(self, person_id: int, *, channels: Sequence[str] | None, limit: int) -> tuple[str, ...]:
        """Return up to `limit` names by which the person has called themselves in these channels (None: in all)."""
        ...

    async def counts(self, person_id: int) -> dict[str, int]:
        """Count what is stored of a person, by kind (of `memory/erasure.py`): an idea of what an erasure would take away."""
        ...

    async def request(self, person_id: int, kind: RequestKind, *, channel: str | None, now_ms: int) -> Request | None:
        """Note what the person asks for; asked again, the first time counts. None: there is no such person, or no more."""
        ...

    async def requests(
        self, *, after: tuple[int, int], limit: int, person_id: int | None = None
    ) -> tuple[Request, ...]:
        """Return up to `limit` requests that are not met, behind `after` (due_ms, id), the most urgent first; the person's alone,
        if one is named. A request's `person_id` is whom the person is one with now. An erasure meets what its person asked
        for."""
        ...

    async def met(self, request_id: int) -> int | None:
        """Note that a request is met, and return whose it was; None: there is none of this number any more."""
        ...

    async def accounts(self, person_id: int) -> tuple[Account, ...]:
        """Return the accounts that the person's stored messages came from, observed ones too."""
        ...

    async def seen(self, person_id: int) -> tuple[Account, ...]:
        """As `accounts`, for whoever only looks: by the person's first and last message in each of their conversations, of the
        `SEEN_TALKS` that began last. What it costs does not grow with how much they said there."""
        ...

    async def messages(self, person_id: int, *, after: tuple[int, int], limit: int) -> tuple[Message, ...]:
        """Return up to `limit` messages of the person's and replies to them behind `after` (scope_id, id), in that order."""
        ...

    async def sources(self, person_id: int, ids: Sequence[tuple[int, int]]) -> tuple[Message, ...]:
        """Return those of the messages (scope_id, id) that the person wrote, in that order."""
        ...

    async def overheard(self, person_id: int, *, after: tuple[int, int], limit: int) -> tuple[Overheard, ...]:
        """Return up to `limit` observed messages of the person's behind `after` (scope_id, id), in that order."""
        ...

    async def items(self, person_id: int, *, after_id: int, limit: int) -> tuple[ProfileItem, ...]:
        """Return up to `limit` profile items behind `after_id`, whatever their status and namespace."""
        ...

    async def facts(self, person_id: int, *, after_id: int, limit: int) -> tuple[Fact, ...]:
        """Return up to `limit` facts behind `after_id`, whatever their status."""
        ...

    async def summaries(self, person_id: int, *, after_id: int, limit: int) -> tuple[Summary, ...]:
        """Return up to `limit` summaries of private talks with the person behind `after_id`."""
        ...

    async def ask(self, person_id: int, traces: Traces) -> bool:
        """Note that the person is to be erased, and by what all of theirs is found, before anything goes: `unfinished` names them
        until `unlink`. Asked again, the later traces count. False: there is no such person."""
        ...

    async def unfinished(self) -> tuple[int, ...]:
        """Return who is to be erased and is not yet: an erasure is under way, or broke off."""
        ...

    async def traces(self, person_id: int) -> Traces:
        """Return what `ask` has noted of the person; empty: nothing, or the erasure is done."""
        ...

    async def begin(self, person_id: int, *, now_ms: int) -> bool:
        """Begin the person's erasure: from now on nothing is stored for them, an append raises `memory.errors.PersonErased`, and
        what their accounts say makes a new person. False: there is no such person."""
        ...

    async def erase(
        self, person_id: int, *, accounts: Sequence[Account], posted: Sequence[Posted], now_ms: int
    ) -> Erased:
        """Take away all that is stored of the person but for their identities (`unlink`), from `begin` on.

        Private talks go altogether, but for what another person has said there since, who has the account now. In groups the
        place of what they said, and of what answered it, stays, without words, names and account. `posted` are further
        messages of theirs, or in reply to them, whose quotes go too. May break off anywhere and be called again; where nothing
        is left, all counts are 0."""
        ...

    async def unlink(self, person_id: int) -> int:
        """Forget the accounts of a person whose erasure has begun, as the last act: by them what is left could be found again.
        Return how many they were."""
        ...
