"""The same person on several channels: accounts joined by a one-time code, and taken apart again; the protocol of the stores.

The newer person's accounts go over to the older one, with what is known of them: profile items, facts, and what recall finds.
Messages stay as they are, and tell whose they were; `persons.linked_to` leads from the newer person to the older. What went over
is noted, so that it can be undone for `UNDO_MS`. Times and ids as in `memory/base.py`.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Literal, Protocol

import msgspec

from memory.base import Identity

CODE_MS = 600_000
"""How long a code can be used."""

CODE_CHARS = 8
_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without 0 and O, 1 and I and L

TRIES = 5
"""Codes that a person may ask for, and wrong ones that they may try, in `TRIES_MS` each: of 31⁸ codes nobody finds one so."""
TRIES_MS = 600_000

UNDO_MS = 30 * 86_400_000
"""How long a link can be undone as it was."""

MADE_MOST = 50
"""Links that `Links.made` returns at most."""

Refusal = Literal["wrong", "limited", "same"]


def new_code() -> str:
    """Return a code that nobody can guess."""
    return "".join(secrets.choice(_LETTERS) for _ in range(CODE_CHARS))


def digest_of(code: str) -> str:
    """Return what is stored of a code; case, spaces and hyphens do not count. Pure."""
    plain = "".join(char for char in code.upper() if char.isalnum())
    return hashlib.blake2b(plain.encode(errors="replace"), digest_size=16, person=b"clew link").hexdigest()


class Linked(msgspec.Struct, frozen=True, kw_only=True):
    """Two persons are one: all is the survivor's."""

    link_id: int
    survivor_id: int
    absorbed_id: int


class Parted(msgspec.Struct, frozen=True, kw_only=True):
    """Accounts were taken out again. `persons` are whose they are now; `as_it_was` False: the link was too old to be undone, and
    the account is a new person's, of whom nothing is known."""

    persons: tuple[int, ...]
    as_it_was: bool


class LinkRow(msgspec.Struct, frozen=True, kw_only=True):
    """A link that was made and not undone. `accounts` went over with it. It can be undone as it was until `until_ms`."""

    id: int
    survivor_id: int
    absorbed_id: int
    linked_ms: int
    until_ms: int
    accounts: tuple[Identity, ...]


class Links(Protocol):
    """Links on one database, beside its `memory.base.Store` (there as `links`).

    Every implementation passes `tests/contracts/links.py`. Database trouble surfaces as `memory.errors.StoreUnavailable`.
    """

    async def offer(self, person_id: int, digest: str, *, now_ms: int) -> bool:
        """Keep a code for `CODE_MS`, in place of the person's earlier one. False: they have asked for too many."""
        ...

    async def revoke(self, digest: str) -> None:
        """Let a code be worth nothing any more."""
        ...

    async def link(self, person_id: int, digest: str, *, now_ms: int) -> Linked | Refusal:
        """Make the person and the one whose code this is one, and use the code up. `wrong`: no such code, or not any more;
        `limited`: too many wrong ones were tried, and not even a right one is taken now; `same`: they are one already."""
        ...

    async def join(self, person_id: int, other_id: int, *, now_ms: int) -> Linked | Refusal:
        """Make two persons one, without a code: an admin knows that they are. `wrong`: one of them is nobody, or erased."""
        ...

    async def made(self, person_id: int) -> tuple[LinkRow, ...]:
        """Return the links by which the person came to have others' accounts, the newest first; fifty at most."""
        ...

    async def undo(self, link_id: int, *, now_ms: int) -> Parted | None:
        """Undo one link as it was: accounts and what went over go back to the person that they were, but what was forgotten
        since. None: there is no such link, it is undone, or too old (`UNDO_MS`)."""
        ...

    async def unlink(
        self, identity: Identity, *, fresh_id: int, now_ms: int, again_ms: int | None = None
    ) -> Parted | None:
        """Take an account out of what it was joined to: the person that it was, with what went over and was not forgotten since.
        An account that others were joined to lets those go. `fresh_id` is for the new person where one is needed. None: it is
        not linked. `again_ms`: it may have been done since then, with this `fresh_id`: what was done is returned, no more is."""
        ...

    async def move(self, *, limit: int) -> bool:
        """Move up to `limit` messages of what recall finds to whom they belong since a link was made or undone. False: nothing is
        left to move."""
        ...
